"""A file of predictions with labels, read whole: what every command but `apply` starts from."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dircal._progress import Progress
from dircal._typing import AnyFloatArray, FloatArray, InputScale, LabelArray
from dircal.calibrators import IdentityCalibrator
from dircal.cli._label_columns import check_label_columns, read_label_columns
from dircal.cli._selection import columns_of_classes
from dircal.cli._source import PredictionsFile, column_called, open_file, reject_empty
from dircal.cli._unchanged import changed, unchanged
from dircal.cli.tables import AbstractChunk, AbstractTable
from dircal.exceptions import DircalWarning, warn
from dircal.inference import effective_annotators
from dircal.metrics import Predictions
from dircal.tables import (
    ROW_SUM_TOLERANCE,
    Arguments,
    as_labels,
    check_predictions,
    check_values,
    check_weight,
)

__all__ = ["FileRows", "arguments_of", "doubt_logits", "labels_of_column", "read_rows"]


@dataclass(frozen=True)
class FileRows:
    """What a file holds.

    ``scores`` (n, c) with the names of their ``columns``; ``classes`` are the labels of these, or
    of both classes where there is one column; ``labels`` (n,), or soft ones (n, k) in the order of
    the classes, and ``weights`` if there are any; ``is_array`` where the names are no more
    than numbers of columns.
    """

    scores: AnyFloatArray
    columns: list[str]
    classes: LabelArray
    labels: LabelArray
    weights: FloatArray | None
    is_array: bool

    @property
    def labels_once(self) -> LabelArray:
        """Labels in which every row counts once, however many annotators it has."""
        if self.labels.ndim == 1 or self.labels.dtype.kind == "f":
            return self.labels
        shares: LabelArray = self.labels / self.labels.sum(axis=1, keepdims=True)
        return shares

    @property
    def mean_annotators(self) -> float | None:
        """Annotators of a row in the mean; None where there are no counts of them."""
        is_counts = self.labels.ndim == 2 and self.labels.dtype.kind == "i"
        return float(self.labels.sum(axis=1).mean()) if is_counts else None

    def weighed(self, scale: InputScale) -> "FileRows":
        """The same with annotators as the rows that they are worth, in the weights."""
        if self.mean_annotators is None:
            return self
        scores, classes = self.scores, self.classes.tolist()
        if scores.shape[1] == 1:
            rest = np.zeros_like(scores) if scale == "logit" else 1.0 - scores
            scores = np.hstack([rest, scores])
        worth = effective_annotators(scores, self.labels, input_scale=scale, classes=classes)
        weights = worth if self.weights is None else worth * self.weights
        return replace(self, labels=self.labels_once, weights=weights)

    def predictions(self, scale: InputScale, *, judged: bool = False) -> Predictions:
        """The rows as measures take them: checked probabilities, whatever the scale.

        Where the order of the columns was ``judged`` before, nothing is said of it again.
        """
        if len(self.columns) == 1:
            raise ValueError(
                f"one column of scores was chosen, {self.columns[0]!r}, but measures need one for "
                "each class. Choose both."
            )
        classes = self.classes.tolist()
        data = check_predictions(
            self.labels_once,
            self.scores,
            self.weights,
            classes,
            name="X",
            input_scale=scale,
            from_a_map=judged,
        )
        identity = IdentityCalibrator(input_scale=scale)._fit_checked(data)
        proba = identity._predict_checked(data)
        return Predictions.of_checked(data).with_probabilities(proba)


def read_rows(source: PredictionsFile) -> FileRows:
    """Labels first, since they tell which columns are the scores, then the scores."""
    with unchanged(source.path), open_file(source) as table:
        aside = []
        is_array, soft = table.score_columns is not None, None
        if source.label_columns is not None:
            soft = read_label_columns(table, source)
            labels, kept = soft.classes, soft.are_known(source.unlabelled)
            _refuse_none(kept, table)
            aside += soft.positions
        elif is_array and source.label.endswith(".npy") and source.label not in table.names:
            labels, kept = _labels_beside(source, table)
        else:
            aside.append(column_called(table, source.label, "--label"))
            labels, kept = labels_of_column(table, aside[0], source.unlabelled)
        weighed = []
        if source.weights is not None:
            weighed.append(column_called(table, source.weights, "--weights"))
        known = np.unique(labels) if soft is None else labels
        aside += weighed
        chosen = columns_of_classes(table, source.columns, source.classes, known, aside)
        columns = chosen.positions + weighed
        scores, places = _read_numbers(table, columns, kept, source.scale)
        weights = None
        if source.weights is not None:
            scores, weights = scores[:, :-1], check_weight(scores[:, -1], len(scores))
        names = [table.names[i] for i in chosen.positions]
        if len(names) > 1:
            check_values(scores, weights, source.scale, arguments_of(source, names, places))
        if source.scale == "logit":
            doubt_logits(scores, source, "Leave --scale logit out if they are.")
        if soft is not None:
            labels = soft.of_rows(kept, chosen.classes)
            check_label_columns(labels, source.path, weights)
        if not kept.all():
            n_left = len(kept) - len(labels)
            warn(f"{n_left:,} of {len(kept):,} rows have no label and are left out.", DircalWarning)
        return FileRows(scores, names, chosen.classes, labels, weights, is_array)


def arguments_of(source: PredictionsFile, names: list[str], row: Callable[[int], str]) -> Arguments:
    """How the door speaks of the numbers of a file."""
    return Arguments(
        scores=str(source.path),
        labels=source.label,
        caller="a map",
        fix="Pass --scale logit if these are logits; otherwise check that --columns names all "
        "classes and nothing else.",
        row=row,
        column=lambda j: f"column {names[j]!r}",
    )


def labels_of_column(
    table: AbstractTable, column: int, unlabelled: str | None
) -> tuple[LabelArray, npt.NDArray[np.bool_]]:
    """Labels, and which of all rows they belong to."""
    parts, kept = [], []
    fix = "Leave out the rows without a label"
    fix += "." if unlabelled is None else ", or pass --skip-unlabelled."
    with Progress("Reading labels", table.size, table.unit) as progress:
        for chunk in table.chunks([column]):
            here = np.ones(chunk.n_rows, bool)
            if unlabelled == "skip":
                here = ~chunk.is_empty(column)
            else:
                reject_empty(chunk, column, table.names[column], repr(str(table.path)), fix)
            parts.append((chunk if here.all() else chunk.take(here)).values(column))
            kept.append(here)
            progress.advance(chunk.advance)
    if not parts:
        raise ValueError(f"{str(table.path)!r} has no rows. Pass predictions with their labels.")
    found = np.concatenate(kept)
    _refuse_none(found, table)
    labels = table.as_labels(np.concatenate([part for part in parts if len(part)]))
    return _checked(labels, table, table.names[column]), found


def _refuse_none(kept: npt.NDArray[np.bool_], table: AbstractTable) -> None:
    if not kept.any():
        raise ValueError(f"{str(table.path)!r} has no row with a label. Pass another --label.")


def _labels_beside(
    source: PredictionsFile, table: AbstractTable
) -> tuple[LabelArray, npt.NDArray[np.bool_]]:
    from dircal.cli.tables._arrays import empty_labels, read_labels

    path = Path(source.label)
    with unchanged(path):
        labels = read_labels(path)
    if len(labels) != table.size:
        raise ValueError(
            f"{str(path)!r} has {len(labels)} labels, but {str(table.path)!r} has {table.size} "
            "rows. Pass one label for each row."
        )
    kept = np.ones(len(labels), bool)
    if source.unlabelled == "skip":
        kept = ~empty_labels(labels)
        _refuse_none(kept, table)
    return _checked(labels[kept], table, source.label), kept


def _checked(labels: LabelArray, table: AbstractTable, name: str) -> LabelArray:
    """Labels that can be labels; bytes become text."""
    if labels.dtype.kind == "S":
        try:
            labels = np.char.decode(labels, "utf-8")
        except UnicodeDecodeError:
            raise ValueError(
                f"--label {name!r} holds bytes that are not text in UTF-8. Save the labels as text."
            ) from None
    words = Arguments(str(table.path), "--label", "a map", "")
    return as_labels(labels, len(labels), words)


def _read_numbers(
    table: AbstractTable, columns: list[int], kept: npt.NDArray[np.bool_], scale: InputScale
) -> tuple[AnyFloatArray, Callable[[int], str]]:
    """The rows of some columns that are kept, and how people find a row in the file."""
    parts: list[AnyFloatArray] = []
    all_kept, n_kept = bool(kept.all()), np.count_nonzero(kept)
    with Progress("Reading", table.size, table.unit) as progress:
        for chunk in table.chunks(columns):
            here = kept[chunk.first : chunk.first + chunk.n_rows]
            part = chunk if all_kept else chunk.take(here)
            numbers = part.numbers(columns)
            _refuse_missing(part, numbers, [table.names[i] for i in columns], table.path, scale)
            parts.append(numbers)
            progress.advance(chunk.advance)
    scores = np.concatenate(parts)
    if len(scores) != n_kept:
        raise changed(table.path)
    return scores, lambda row: _place(table, columns, int(np.flatnonzero(kept)[row]))


def _place(table: AbstractTable, columns: list[int], row: int) -> str:
    """Read again to find it: cheaper than to remember where all rows were."""
    place = f"row {row}"
    for chunk in table.chunks(columns):
        if chunk.first > row:
            break
        place = chunk.place(row - chunk.first)
    return place


def _refuse_missing(
    chunk: AbstractChunk, numbers: AnyFloatArray, names: list[str], path: Path, scale: InputScale
) -> None:
    missing = ~np.isfinite(numbers)
    if scale == "logit":
        # These mask a class.
        missing &= numbers != -np.inf
    bad = np.argwhere(missing)
    if len(bad):
        i, j = bad[0].tolist()
        raise ValueError(
            f"{str(path)!r}: {chunk.place(i)}, column {names[j]!r} is {numbers[i, j]}. Scores must "
            "be finite numbers: repair such rows, or leave them out."
        )


def doubt_logits(scores: AnyFloatArray, source: PredictionsFile, fix: str) -> None:
    """Say so where what is taken for logits looks like probabilities."""
    within = scores.shape[1] > 1 and float(scores.min()) >= 0.0 and float(scores.max()) <= 1.0
    if within and np.abs(scores.sum(axis=1) - 1.0).max() <= ROW_SUM_TOLERANCE:
        warn(
            f"{str(source.path)!r} is read as logits, but rows look like probabilities: they lie "
            f"between 0 and 1 and sum to one. {fix}",
            DircalWarning,
        )
