"""What a report was asked for, in the words of its user, and the same checked."""

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dircal._typing import ArrayLike, InputScale
from dircal.decide import CostTable, check_costs
from dircal.inference import AbstractEvaluationSplit, check_drawing, make_evaluation_split
from dircal.plots import names_of
from dircal.report._candidates import Candidate, check_candidates, check_classes
from dircal.report._limits import REPORT_LIMITS
from dircal.selection import check_cv
from dircal.tables import (
    Arguments,
    ArrayRows,
    LabelledRows,
    ScoreTable,
    check_fit,
    check_fit_arrays,
    check_random_state,
    reject_soft_labels,
)

__all__ = ["REPORTING", "Request", "Task", "check_request"]

REPORTING = Arguments(
    "y_prob",
    "y_true",
    "a report",
    "Pass probabilities, or set `input_scale='logit'` if these are logits.",
)
"""How the door speaks of the rows of a report."""


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of `Report.from_predictions`."""

    y_true: ArrayLike | ScoreTable
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
    y_old: ArrayLike | None = None
    prob_old: ArrayLike | None = None
    costs: CostTable | None = None

    @property
    def table(self) -> ScoreTable | None:
        """The table, if the rows are one."""
        return self.y_true if isinstance(self.y_true, ScoreTable) else None

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        table = self.table
        return self.sample_weight is not None or (table is not None and table.weight is not None)


@dataclass(frozen=True, eq=False)
class Task:
    """The same, checked: calibrators, rows, how they are dealt, and old rows."""

    request: Request
    candidates: list[Candidate]
    split: AbstractEvaluationSplit
    names: tuple[str, ...]
    seed: int
    columns_were_named: bool
    old: ArrayRows | None

    @property
    def data(self) -> LabelledRows:
        """All rows."""
        return self.split.data

    @property
    def n_steps(self) -> int:
        """Fits and applications, tests, and four more; one for old rows."""
        fits = sum(1 if one.is_fitted else self.split.n_fits for one in self.candidates)
        return fits + len(self.candidates) + 5 + (self.old is not None)


def check_request(request: Request) -> Task:
    """Through the door."""
    check_drawing(REPORT_LIMITS.get().confidence_level, request.n_resamples)
    if request.cv is not None:
        check_cv(request.cv)
    seed = _seed(request.random_state)
    candidates = check_candidates(request.calibrators, request.input_scale)
    labels_of_columns = check_classes(candidates, request.classes)
    is_fitted = all(one.is_fitted for one in candidates)
    data = _check_rows(request, labels_of_columns)
    split = make_evaluation_split(data, request.cv, is_fitted=is_fitted)
    check_classes(candidates, request.classes, split.data.classes)
    names = names_of(split.data.classes, request.class_names)
    old = _check_old(request, split.data)
    _check_costs(request, split.data)
    return Task(request, candidates, split, names, seed, labels_of_columns is not None, old)


def _check_rows(request: Request, classes: Any) -> LabelledRows:
    table = request.table
    data = check_fit(
        request.y_prob if table is None else table,
        request.y_true if table is None else None,
        request.sample_weight,
        classes=classes,
        input_scale=request.input_scale,
        arguments=REPORTING,
    )
    return _once_each(data)


def _once_each(data: LabelledRows) -> LabelledRows:
    """Count rows with equally many annotators once: intervals are of rows."""
    found = data.weight_range() if data.has_soft_labels else None
    return data.unweighted() if found is not None and found[0] == found[1] else data


def _check_old(request: Request, data: LabelledRows) -> ArrayRows | None:
    """Old rows of the same columns and classes, where there are any."""
    if request.y_old is None and request.prob_old is None:
        return None
    for name, other in (("y_old", "prob_old"), ("prob_old", "y_old")):
        if getattr(request, name) is None:
            raise ValueError(
                f"`{name}` is None, but `{other}` is given. Pass old rows and their labels, or "
                "neither."
            )
    _refuse_weights("y_old", request, data)
    old = check_fit_arrays(
        request.prob_old,
        request.y_old,
        None,
        classes=data.column_classes,
        input_scale=request.input_scale,
        arguments=replace(REPORTING, scores="prob_old", labels="y_old"),
        order_is_known=True,
    )
    if _has_soft_labels(old):
        reject_soft_labels("y_old")
    return old


def _check_costs(request: Request, data: LabelledRows) -> None:
    if request.costs is not None:
        _refuse_weights("costs", request, data)
        check_costs(request.costs).require_classes(data.classes)


def _refuse_weights(name: str, request: Request, data: LabelledRows) -> None:
    """Raise unless rows count alike, with one label each, in memory: they are tested."""
    if not data.is_in_memory:
        raise ValueError(
            f"`{name}` needs all rows in memory, but the table is read in parts. Pass a table that "
            f"fits into memory, or leave `{name}` out."
        )
    if request.is_weighted:
        raise ValueError(
            f"`{name}` is given, and so is `sample_weight`: what it is for is tested, and with "
            "weights there are no tests. Leave one of them out."
        )
    if _has_soft_labels(data.in_memory):
        raise ValueError(
            f"`{name}` is given, and `y_true` holds soft labels: what it is for is tested, and "
            f"tests need one label for each row. Leave `{name}` out, or pass the most frequent "
            "label, `y_true.argmax(axis=1)`."
        )


def _has_soft_labels(data: ArrayRows) -> bool:
    """Whether rows without weights of their own have several labels, or several annotators."""
    return data.targets is not None or data.sample_weight is not None


def _seed(random_state: int | np.random.Generator | None) -> int:
    """One number that every draw begins from, so that each can be repeated on its own."""
    rng = check_random_state(random_state)
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(rng.integers(2**32))
