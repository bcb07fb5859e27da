"""What a report was asked for, in the words of its user, and the same checked."""

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, InputScale
from dircal.decide import CostTable, check_costs
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
    y_old: ArrayLike | None = None
    prob_old: ArrayLike | None = None
    costs: CostTable | None = None


@dataclass(frozen=True, eq=False)
class Task:
    """The same, checked: calibrators, rows, the folds, the rows that are scored, and old rows."""

    request: Request
    candidates: list[Candidate]
    data: LabelledScores
    names: tuple[str, ...]
    splits: list[Split]
    used: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]
    seed: int
    columns_were_named: bool
    old: LabelledScores | None

    @property
    def n_steps(self) -> int:
        """Fits and applications, tests, and four more; one for old rows."""
        fits = sum(1 if one.is_fitted else len(self.splits) for one in self.candidates)
        return fits + len(self.candidates) + 5 + (self.old is not None)


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
    check_classes(candidates, request.classes, data.classes)
    names = names_of(data.classes, request.class_names)
    used = used_rows(data.sample_weight, len(data.labels))
    splits = []
    if not all(one.is_fitted for one in candidates):
        splits = make_splits(request.cv, data.labels, used, deal_within_classes)
    rows = scored_rows(splits) if splits else used
    named = labels_of_columns is not None
    old = _check_old(request, data)
    if request.costs is not None:
        _refuse_weights("costs", request)
        check_costs(request.costs).require_classes(data.classes)
    return Task(request, candidates, data, names, splits, used, rows, seed, named, old)


def _check_old(request: Request, data: LabelledScores) -> LabelledScores | None:
    """Old rows of the same columns and classes, where there are any."""
    if request.y_old is None and request.prob_old is None:
        return None
    for name, other in (("y_old", "prob_old"), ("prob_old", "y_old")):
        if getattr(request, name) is None:
            raise ValueError(
                f"`{name}` is None, but `{other}` is given. Pass old rows and their labels, or "
                "neither."
            )
    _refuse_weights("y_old", request)
    return check_fit(
        request.prob_old,
        request.y_old,
        None,
        classes=data.column_classes,
        input_scale=request.input_scale,
        arguments=replace(_ARGUMENTS, scores="prob_old", labels="y_old"),
        order_is_known=True,
    )


def _refuse_weights(name: str, request: Request) -> None:
    if request.sample_weight is not None:
        raise ValueError(
            f"`{name}` is given, and so is `sample_weight`: what it is for is tested, and with "
            "weights there are no tests. Leave one of them out."
        )


def _seed(random_state: int | np.random.Generator | None) -> int:
    """One number that every draw begins from, so that each can be repeated on its own."""
    rng = check_random_state(random_state)
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(rng.integers(2**32))
