"""How batches of a table become checked parts, where they lie."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.data.parts import Part
from dircal._typing import InputScale
from dircal.tables._batches import AbstractBatch, BatchRows
from dircal.tables._columns import Arguments
from dircal.tables._conversion import NamedScores, as_array
from dircal.tables._known_labels import LabelReader
from dircal.tables._raw_rows import Agreement, PartSummary, RawRows
from dircal.tables._values import as_matrix

__all__ = ["CheckedPart", "PartReader"]


@dataclass(frozen=True)
class CheckedPart:
    """A part that was read, and its summary."""

    raw: RawRows | None
    summary: PartSummary

    def __sizeof__(self) -> int:
        # Dask asks, to know how much it holds.
        return object.__sizeof__(self) + (0 if self.raw is None else self.raw.n_bytes)


@dataclass(frozen=True)
class PartReader:
    """Reads and checks batches.

    Parameters
    ----------
    scores : tuple of str
        Columns with the scores.
    labels : LabelReader
        Reads the labels.
    weight : str or None
        Column with the weights, if there are any.
    input_scale : {"probability", "logit"}
        Scale of the scores.
    arguments : Arguments
        Names of the arguments in messages.
    """

    scores: tuple[str, ...]
    labels: LabelReader
    weight: str | None
    input_scale: InputScale
    arguments: Arguments

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [*self.scores, *self._others]

    @property
    def _others(self) -> list[str]:
        columns = self.labels.columns
        labels = [columns] if isinstance(columns, str) else columns
        return [*labels, *([] if self.weight is None else [self.weight])]

    def check(self, batch: AbstractBatch, frame: Any = None) -> CheckedPart:
        """Read a batch, or the ``frame`` that it is, and summarise it.

        Errors are part of the summary: of several, that of the first batch is raised, whichever is
        read first.
        """
        place: Callable[[int], str] = batch.place
        try:
            raw, n_left_out = self.read(batch, frame)
            if raw is None:
                return CheckedPart(None, PartSummary(n_left_out=n_left_out))
            place = raw.place
            arguments = replace(self.arguments, row=place)
            summary = raw.summary(arguments)
            worst = raw.worst_sum(self.input_scale, arguments)
            return CheckedPart(raw, replace(summary, worst=worst, n_left_out=n_left_out))
        except ValueError as error:
            text = str(error)
            where = "" if place(0).partition(" of ")[2] in text else f" (In {batch.name}.)"
            return CheckedPart(None, PartSummary(error=text + where))

    def read(self, batch: AbstractBatch, frame: Any = None) -> tuple[RawRows | None, int]:
        """Read the arrays of a batch, None without rows; and count the rows that are left out."""
        if frame is None:
            rows = batch.read(self.scores, self._others)
        else:
            rows = batch.of_frame(frame, self.scores, self._others)  # type: ignore[attr-defined]
        if rows.n_rows == 0:
            return None, 0
        known = self.labels.read(rows, self.arguments.labels)
        weight = None if self.weight is None else rows.others[self.weight]
        scores, place, kept = rows.scores, rows.place, known.kept
        if kept is not None:
            if len(kept) == 0:
                return None, rows.n_rows
            scores, place = _take(rows, kept), partial(_place_of_kept, place, kept)
            weight = None if weight is None else as_array(weight)[kept]
        n_left_out = 0 if kept is None else rows.n_rows - len(kept)
        arguments = replace(self.arguments, row=place)
        return RawRows.of(scores, known.labels, weight, arguments), n_left_out

    def part(self, raw: RawRows, agreed: Agreement, first: int, *, keeps: bool) -> Part:
        """Make a part that begins at row ``first`` of all, with columns assigned to classes."""
        return Part(first, raw.assign(agreed, self.input_scale), raw.place, {} if keeps else None)


def _take(rows: BatchRows, kept: npt.NDArray[np.intp]) -> Any:
    matrix, names = as_matrix(rows.scores)
    return NamedScores(matrix[kept], names)


def _place_of_kept(place: Callable[[int], str], kept: npt.NDArray[np.intp], row: int) -> str:
    return place(int(kept[row]))
