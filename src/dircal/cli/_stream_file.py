"""Rows of a stream in a file: scores, labels that may be missing, groups, times and names."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import AnyFloatArray, LabelArray
from dircal.cli._selection import columns_of_classes, columns_of_map
from dircal.cli._source import PredictionsFile, column_called, reject_empty
from dircal.cli.tables import AbstractChunk, AbstractTable
from dircal.tables import label_text

__all__ = ["FileBatch", "StreamColumns", "StreamNames", "batches_of", "texts_of"]


@dataclass(frozen=True)
class StreamNames:
    """Names of columns: of times, of groups, and of what rows are called; None for none."""

    time: str | None
    group: str | None
    key: str | None

    @property
    def by_option(self) -> dict[str, str | None]:
        """The names by the options that give them."""
        return {"time": self.time, "group": self.group, "id": self.key}


@dataclass(frozen=True)
class StreamColumns:
    """Positions of scores, label, group, time and key, and the label of each score."""

    scores: list[int]
    classes: LabelArray
    label: int
    group: int | None
    time: int | None
    key: int | None

    @classmethod
    def of(
        cls,
        table: AbstractTable,
        source: PredictionsFile,
        names: StreamNames,
        calibrator: Any,
        known: LabelArray | None,
    ) -> "StreamColumns":
        """Of a table whose scores a calibrator reads, or whose classes may be ``known``."""
        label = column_called(table, source.label, "--label")
        time, group, key = (
            None if name is None else column_called(table, name, f"--{option}")
            for option, name in names.by_option.items()
        )
        if calibrator is not None:
            scores = columns_of_map(table, source.columns, calibrator)
            # Calibrated probabilities follow the sorted labels.
            return cls(scores, calibrator.classes_, label, group, time, key)
        observed = _observed(table, label, source.classes is None) if known is None else known
        aside = [one for one in (label, group, time, key) if one is not None]
        chosen = columns_of_classes(table, source.columns, source.classes, observed, aside)
        return cls(chosen.positions, chosen.classes, label, group, time, key)

    @property
    def all(self) -> list[int]:
        """Positions of all of them."""
        others = (self.label, self.group, self.time, self.key)
        return [*self.scores, *(one for one in others if one is not None)]


def _observed(table: AbstractTable, label: int, needed: bool) -> LabelArray:
    """Labels that occur in a column: at least one, if they are needed."""
    parts = [_there(chunk, label) for chunk in table.chunks([label])]
    found = [np.unique(part) for part in parts if len(part)]
    if not parts:
        raise ValueError(f"{str(table.path)!r} has no rows. Pass predictions with labels.")
    if not found and not needed:
        return np.array([], dtype=np.str_)
    if not found:
        raise ValueError(
            f"{str(table.path)!r} has no row with a label yet. Name the classes: --classes."
        )
    return np.unique(table.as_labels(np.unique(np.concatenate(found))))


def _there(chunk: AbstractChunk, column: int) -> LabelArray:
    here = ~chunk.is_empty(column)
    return (chunk if here.all() else chunk.take(here)).values(column)


def texts_of(chunk: AbstractChunk, column: int) -> npt.NDArray[np.object_]:
    """What cells say; nothing where they are empty."""
    texts = np.full(chunk.n_rows, "", dtype=object)
    texts[~chunk.is_empty(column)] = [label_text(one) for one in _there(chunk, column).tolist()]
    return texts


@dataclass(frozen=True)
class FileBatch:
    """Some rows; labels and keys are texts, and a label that is missing is an empty one."""

    scores: AnyFloatArray
    labels: npt.NDArray[np.object_]
    groups: LabelArray | None
    times: LabelArray | None
    keys: npt.NDArray[np.object_] | None

    def part(self, rows: slice) -> "FileBatch":
        """Some of the rows."""

        def some(values: Any) -> Any:
            return None if values is None else values[rows]

        return FileBatch(
            self.scores[rows],
            self.labels[rows],
            some(self.groups),
            some(self.times),
            some(self.keys),
        )

    def digest(self) -> str:
        """Return the mark by which the first row is recognised, without its label.

        A label may arrive or be corrected later; scores, group, time and key stay.
        """
        others = [str(one[0]) for one in (self.groups, self.times, self.keys) if one is not None]
        content = self.scores[0].tobytes() + "\0".join(others).encode()
        return hashlib.sha256(content).hexdigest()[:16]


def batches_of(
    table: AbstractTable, columns: StreamColumns, size: int, advance: Callable[[int], None]
) -> Iterator[tuple[int, FileBatch]]:
    """Rows in batches, with the number of the first of each."""
    for chunk in table.chunks(columns.all):
        for option, column in (("--time", columns.time), ("--group", columns.group)):
            if column is not None:
                fix = "Fill it in, or leave the row out."
                reject_empty(chunk, column, table.names[column], option, fix)
        whole = FileBatch(
            chunk.numbers(columns.scores),
            texts_of(chunk, columns.label),
            None if columns.group is None else chunk.values(columns.group),
            None if columns.time is None else table.as_labels(chunk.times(columns.time)),
            None if columns.key is None else texts_of(chunk, columns.key),
        )
        for start in range(0, chunk.n_rows, size):
            yield chunk.first + start, whole.part(slice(start, start + size))
        advance(chunk.advance)
