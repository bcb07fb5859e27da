"""What a report was asked for, in the words of its user, and the same checked."""

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, InputScale
from dircal.inference import check_drawing
from dircal.plots import names_of
from dircal.report._candidates import Candidate, check_candidates, check_classes
from dircal.selection import (
    Split,
    check_cv,
    deal_within_classes,
    make_splits,
    scored_rows,
    used_rows,
)
from dircal.validation import Arguments, LabelledScores, check_fit, check_random_state

__all__ = ["LEVEL", "Request", "Task", "check_request"]

LEVEL = 0.95
"""Of intervals and of ranges by chance."""
_ARGUMENTS = Arguments(
    "y_prob",
    "y_true",
    "a report",
    "Pass probabilities, or set `input_scale='logit'` if these are logits.",
)


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of `Report.from_predictions`."""

    y_true: ArrayLike
    y_prob: ArrayLike
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


@dataclass(frozen=True, eq=False)
class Task:
    """The same, checked: calibrators, rows, the folds, and the rows that are scored."""

    request: Request
    candidates: list[Candidate]
    data: LabelledScores
    names: tuple[str, ...]
    splits: list[Split]
    used: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]
    seed: int
    columns_were_named: bool

    @property
    def n_steps(self) -> int:
        """Fits and applications, tests, and four more."""
        fits = sum(1 if one.is_fitted else len(self.splits) for one in self.candidates)
        return fits + len(self.candidates) + 5


def check_request(request: Request) -> Task:
    """Through the door."""
    check_drawing(LEVEL, request.n_resamples)
    check_cv(request.cv)
    seed = _seed(request.random_state)
    candidates = check_candidates(request.calibrators, request.input_scale)
    labels_of_columns = check_classes(candidates, request.classes)
    data = check_fit(
        request.y_prob,
        request.y_true,
        request.sample_weight,
        classes=labels_of_columns,
        input_scale=request.input_scale,
        arguments=_ARGUMENTS,
    )
    data = _once_each(data)
    check_classes(candidates, request.classes, data.classes)
    names = names_of(data.classes, request.class_names)
    used = used_rows(data.sample_weight, len(data.labels))
    splits = []
    if not all(one.is_fitted for one in candidates):
        splits = make_splits(request.cv, data.labels, used, deal_within_classes)
    rows = scored_rows(splits) if splits else used
    named = labels_of_columns is not None
    return Task(request, candidates, data, names, splits, used, rows, seed, named)


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
