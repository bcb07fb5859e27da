"""Soft labels in a file: a column for each class, with probabilities or counts of annotators."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import LabelArray
from dircal.cli._source import PredictionsFile, column_called, items_of, list_of_columns, numbers_of
from dircal.cli.tables import AbstractTable
from dircal.tables import Arguments, check_soft_labels

__all__ = ["LabelColumns", "check_label_columns", "read_label_columns"]


@dataclass(frozen=True)
class LabelColumns:
    """Soft labels (n, k) of all rows, the label of each column, and where these are in the file."""

    numbers: npt.NDArray[Any]
    classes: LabelArray
    positions: list[int]

    def of_rows(self, kept: npt.NDArray[np.bool_], classes: LabelArray) -> npt.NDArray[Any]:
        """Those of some rows, with columns in the order of ``classes``; whole numbers as such."""
        order = [self.classes.tolist().index(label) for label in classes.tolist()]
        numbers = self.numbers[kept][:, order]
        whole = np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()
        return numbers.astype(np.int64) if whole else numbers

    def are_known(self, unlabelled: str | None) -> npt.NDArray[np.bool_]:
        """Which rows have a label: not those without any annotator, nor empty ones to "skip"."""
        numbers = np.nan_to_num(self.numbers) if unlabelled == "skip" else self.numbers
        known: npt.NDArray[np.bool_] = (numbers != 0.0).any(axis=1)
        return known


def read_label_columns(table: AbstractTable, source: PredictionsFile) -> LabelColumns:
    """The columns that ``--label-columns`` names, or in NPZ and NPY files the array."""
    assert source.label_columns is not None
    if table.score_columns is not None:
        array = _array(table, source.label_columns)
        return LabelColumns(array, _classes(source, None, array.shape[1]), [])
    positions, names = _columns(table, source.label_columns)
    classes = _classes(source, names, len(names))
    return LabelColumns(numbers_of(table, positions), classes, positions)


def check_label_columns(labels: npt.NDArray[Any], path: Path, weights: Any) -> None:
    """Refuse what is neither probabilities nor counts, in the words of the command line."""
    words = Arguments(str(path), "--label-columns", "a map", "")
    check_soft_labels(labels, weights, words)


def _columns(table: AbstractTable, given: str) -> tuple[list[int], list[str]]:
    """Positions of the columns, and what they are called after."""
    if "*" not in given:
        names = items_of(given)
        if len({*names}) < len(names) or len(names) < 2:
            raise ValueError(
                f"--label-columns {given!r} must name two columns or more, each once. One column "
                "with the label itself is --label."
            )
        return [column_called(table, name, "--label-columns") for name in names], names
    before, _, after = given.partition("*")
    found = [
        i
        for i, name in enumerate(table.names)
        if name.startswith(before) and name.endswith(after) and len(name) > len(before + after)
    ]
    if len(found) < 2 or "*" in after:
        raise ValueError(
            f"--label-columns {given!r} must have one star, in the place of the label, and fit two "
            f"columns or more; it fits {len(found)}. {list_of_columns(table)}"
        )
    return found, [table.names[i][len(before) : len(table.names[i]) - len(after)] for i in found]


def _array(table: AbstractTable, name: str) -> npt.NDArray[Any]:
    """A second array, in the same NPZ file or in an NPY file of its own."""
    beside = Path(name)
    if beside.suffix == ".npy":
        found: npt.NDArray[Any] = np.load(beside, allow_pickle=False)
    else:
        with np.load(table.path, allow_pickle=False) as stored:
            if name not in stored.files:
                raise ValueError(
                    f"--label-columns: {str(table.path)!r} has no array {name!r}; it has "
                    f"{', '.join(map(repr, stored.files))}."
                )
            found = stored[name]
    if found.ndim != 2 or found.dtype.kind not in "fiub" or len(found) != table.size:
        raise ValueError(
            f"--label-columns: the array {name!r} must be numbers with a row for each of the "
            f"{table.size} rows and a column for each class; got {found.dtype} of shape "
            f"{found.shape}."
        )
    return found


def _classes(source: PredictionsFile, names: list[str] | None, k: int) -> LabelArray:
    """Labels of the columns: --classes, or what they are called after, or their numbers."""
    texts = names if source.classes is None else items_of(source.classes)
    if texts is None:
        return np.arange(k)
    if len(texts) != k:
        raise ValueError(
            f"--classes names {len(texts)} labels, but --label-columns {k} columns. Name the label "
            "of each, in their order."
        )
    if all(text.lstrip("-").isdecimal() for text in texts):
        return np.array([int(text) for text in texts])
    return np.array(texts)
