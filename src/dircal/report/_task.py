"""What a report was asked for, in the words of its user, and the same checked."""

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dircal._typing import ArrayLike, InputScale
from dircal.inference import ArrayTrial, PartsTrial, check_drawing
from dircal.plots import names_of
from dircal.report._candidates import Candidate, check_candidates, check_classes
from dircal.selection import (
    check_cv,
    deal_within_classes,
    make_splits,
    scored_rows,
    used_rows,
)
from dircal.validation import (
    Arguments,
    LabelledScores,
    PartitionedScores,
    check_fit,
    check_random_state,
)

__all__ = ["LEVEL", "REPORTING", "Request", "TableInParts", "Task", "check_request"]

LEVEL = 0.95
"""Of intervals and of ranges by chance."""
REPORTING = Arguments(
    "y_prob",
    "y_true",
    "a report",
    "Pass probabilities, or set `input_scale='logit'` if these are logits.",
)
"""How the door speaks of the rows of a report."""


@dataclass(frozen=True, eq=False)
class TableInParts:
    """A table that is read in parts, and how a user names its columns.

    ``read`` gives its rows, checked with the labels of the columns as far as they are known.
    """

    read: Callable[[Iterable[Any] | None], PartitionedScores]
    label: str
    weight: str | None
    columns: Sequence[str] | None


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of `Report.from_predictions`, or of a report on a ``table`` in parts."""

    y_true: ArrayLike | None
    y_prob: ArrayLike | None
    calibrators: Any
    class_names: Sequence[str] | Mapping[Any, str] | None
    classes: Iterable[Any] | None
    sample_weight: ArrayLike | None
    input_scale: InputScale
    cv: Any
    n_resamples: int
    random_state: int | np.random.Generator | None
    title: str
    source: str | None
    table: TableInParts | None = None


@dataclass(frozen=True, eq=False)
class Task:
    """The same, checked: calibrators, rows, and how they are dealt."""

    request: Request
    candidates: list[Candidate]
    trial: ArrayTrial | PartsTrial
    names: tuple[str, ...]
    seed: int
    columns_were_named: bool

    @property
    def data(self) -> LabelledScores | PartitionedScores:
        """All rows."""
        return self.trial.data

    @property
    def n_steps(self) -> int:
        """Fits and applications, tests, and four more."""
        fits = sum(1 if one.is_fitted else self.trial.n_fits for one in self.candidates)
        return fits + len(self.candidates) + 5


def check_request(request: Request) -> Task:
    """Through the door."""
    check_drawing(LEVEL, request.n_resamples)
    if request.cv is not None:
        check_cv(request.cv)
    seed = _seed(request.random_state)
    candidates = check_candidates(request.calibrators, request.input_scale)
    labels_of_columns = check_classes(candidates, request.classes)
    is_fitted = all(one.is_fitted for one in candidates)
    trial = (_trial_of_arrays if request.table is None else _trial_of_parts)(
        request, labels_of_columns, is_fitted
    )
    check_classes(candidates, request.classes, trial.data.classes)
    names = names_of(trial.data.classes, request.class_names)
    return Task(request, candidates, trial, names, seed, labels_of_columns is not None)


def _trial_of_arrays(request: Request, classes: Any, is_fitted: bool) -> ArrayTrial:
    assert request.y_prob is not None
    assert request.y_true is not None
    data = check_fit(
        request.y_prob,
        request.y_true,
        request.sample_weight,
        classes=classes,
        input_scale=request.input_scale,
        arguments=REPORTING,
    )
    data = _once_each(data)
    used = used_rows(data.sample_weight, len(data.labels))
    if is_fitted:
        return ArrayTrial(data, [], used, used)
    splits = make_splits(request.cv, data.labels, used, deal_within_classes)
    return ArrayTrial(data, splits, scored_rows(splits), used)


def _trial_of_parts(request: Request, classes: Any, is_fitted: bool) -> PartsTrial:
    assert request.table is not None
    data = request.table.read(classes)
    return PartsTrial.of_fitted(data) if is_fitted else PartsTrial.deal(data, request.cv)


def _once_each(data: LabelledScores) -> LabelledScores:
    """Rows that all have as many annotators count once: intervals are of rows."""
    weight = data.sample_weight
    alike = data.targets is not None and weight is not None and np.ptp(weight) == 0.0
    return replace(data, sample_weight=None) if alike else data


def _seed(random_state: int | np.random.Generator | None) -> int:
    """One number that every draw begins from, so that each can be repeated on its own."""
    rng = check_random_state(random_state)
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(rng.integers(2**32))
