"""From predictions to a summary: everything is computed here, and nothing is drawn."""

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, InputScale
from dircal.inference import check_drawing, score_test_of
from dircal.plots import names_of
from dircal.report._candidates import (
    Candidate,
    Predicted,
    check_candidates,
    check_classes,
    fit_on_all,
    predict,
)
from dircal.report._changes import summarise_changes
from dircal.report._classes import summarise_classes
from dircal.report._diagrams import BINS
from dircal.report._map import summarise_map
from dircal.report._methods import summarise_methods
from dircal.report._provenance import summarise_data, versions, write_code
from dircal.report._steps import Steps, Watcher
from dircal.report._summary import Method, ScoreFinding, Settings, Summary
from dircal.report._verdict import judge
from dircal.selection import (
    Split,
    check_cv,
    deal_within_classes,
    make_splits,
    scored_rows,
    used_rows,
)
from dircal.validation import Arguments, LabelledScores, check_fit, check_random_state

__all__ = ["Request", "summarise"]

LEVEL = 0.95
"""Of intervals and of ranges by chance."""
# Level at which the score test names classes and pairs.
_ALPHA = 0.05
_ARGUMENTS = Arguments(
    "y_prob",
    "y_true",
    "a report",
    "Pass probabilities, or set `input_scale='logit'` if these are logits.",
)


@dataclass(frozen=True, eq=False)
class Request:
    """What a report was asked for, in the words of its user."""

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
class _Task:
    """The same, checked: calibrators, rows, the folds, and the rows that are scored."""

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


def summarise(request: Request, watcher: Watcher | None) -> Summary:
    """Check, calibrate, measure, and put into words."""
    task = _check(request)
    n_resamples, names = request.n_resamples, task.names
    with Steps(task.n_steps, watcher) as steps:
        predicted = predict(
            task.candidates, task.data, task.splits, task.rows, steps.begin, steps.advance
        )
        methods = summarise_methods(
            predicted,
            level=LEVEL,
            n_resamples=n_resamples,
            seed=task.seed,
            begin=steps.begin,
            advance=steps.advance,
        )
        chosen = min(methods[1:], key=lambda method: method.measure("log_loss").value)
        best = next(one for one in predicted if one.name == chosen.name)
        steps.begin("looking where a map would act")
        score = _find_where(predicted[0], names, n_resamples, task.seed)
        steps.advance()
        steps.begin("drawing the classes")
        before, after = predicted[0].predictions, best.predictions
        of_classes = summarise_classes(before, after, names, LEVEL)
        changes = summarise_changes(before, after, names, task.rows)
        steps.advance()
        steps.begin(f"fitting {chosen.name} on all rows")
        assert best.candidate is not None
        of_map = summarise_map(fit_on_all(best.candidate, task.data.take(task.used)), names)
        steps.advance()
    of_data = summarise_data(
        task.data, request.y_true, names, len(task.rows), request.source, request.input_scale
    )
    return Summary(
        request.title,
        names,
        judge(methods, chosen.name, score, of_data, LEVEL),
        tuple(methods),
        chosen.name,
        score,
        of_classes,
        changes,
        of_map,
        of_data,
        _settings(request, task, chosen),
    )


def _check(request: Request) -> _Task:
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
    return _Task(candidates, data, names, splits, used, rows, seed, named)


def _find_where(
    as_they_are: Predicted, names: tuple[str, ...], n_resamples: int, seed: int
) -> ScoreFinding | None:
    """Where a map would act; nothing is tested with weights."""
    predictions = as_they_are.predictions
    if predictions.sample_weight is not None:
        return None
    found = score_test_of(predictions, n_resamples, _ALPHA, np.random.default_rng(seed))
    name_of = dict(zip(predictions.classes.tolist(), names, strict=True))
    return ScoreFinding(
        found.pvalue,
        found.family,
        n_resamples,
        tuple((name_of[one], p) for one, p in found.classes.items()),
        tuple((name_of[a], name_of[b], p) for (a, b), p in found.pairs.items()),
    )


def _settings(request: Request, task: _Task, chosen: Method) -> Settings:
    """How the numbers were made, and the lines that make them again."""
    columns = task.data.column_classes.tolist() if task.columns_were_named else None
    code = write_code(
        task.candidates,
        chosen,
        options={
            "classes": columns,
            "class_names": None if request.class_names is None else list(task.names),
            "title": request.title,
            "source": request.source,
        },
        cv=request.cv,
        input_scale=request.input_scale,
        weighted=task.data.sample_weight is not None,
        n_resamples=request.n_resamples,
        seed=task.seed,
    )
    return Settings(
        _describe_cv(request.cv, task.splits),
        request.n_resamples,
        task.seed,
        LEVEL,
        BINS.n_bins,
        versions(),
        code,
    )


def _seed(random_state: int | np.random.Generator | None) -> int:
    """One number that every draw begins from, so that each can be repeated on its own."""
    rng = check_random_state(random_state)
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(rng.integers(2**32))


def _describe_cv(cv: Any, splits: list[Split]) -> str:
    if not splits:
        return "none: all calibrators came fitted"
    if isinstance(cv, numbers.Integral):
        return f"{len(splits)} folds, each with its share of every class, dealt with a fixed seed"
    if hasattr(cv, "split"):
        return f"{len(splits)} folds of {cv!r}"
    return f"{len(splits)} pair(s) of rows to fit and rows to score, given by the user"
