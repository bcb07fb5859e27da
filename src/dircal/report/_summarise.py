"""From predictions to a summary: everything is computed here, and nothing is drawn."""

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dircal._typing import ArrayLike, InputScale
from dircal.inference import score_test
from dircal.inference._measure_base import check_drawing
from dircal.metrics._base import read_predictions
from dircal.plots._names_base import names_of
from dircal.report._candidates import check_candidates, check_classes, fit_on_all, predict
from dircal.report._changes import summarise_changes
from dircal.report._classes import summarise_classes
from dircal.report._diagrams import N_BINS
from dircal.report._map import summarise_map
from dircal.report._methods import summarise_methods
from dircal.report._provenance import summarise_data, versions, write_code
from dircal.report._steps import Steps, Watcher
from dircal.report._summary import ScoreFinding, Settings, Summary
from dircal.report._verdict import judge
from dircal.selection._cross_fit import scored_rows
from dircal.selection._splits import (
    Split,
    check_cv,
    deal_within_classes,
    make_splits,
    used_rows,
)
from dircal.validation import Arguments, LabelledScores, check_fit, check_random_state

__all__ = ["summarise"]

LEVEL = 0.95
"""Of intervals and of ranges by chance."""
_ARGUMENTS = Arguments(
    "y_prob",
    "y_true",
    "a report",
    "Pass probabilities, or set `input_scale='logit'` if these are logits.",
)


def summarise(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    calibrators: Any,
    class_names: Sequence[str] | Mapping[Any, str] | None,
    classes: Iterable[Any] | None,
    sample_weight: ArrayLike | None,
    input_scale: InputScale,
    cv: Any,
    n_resamples: int,
    random_state: int | np.random.Generator | None,
    title: str,
    source: str | None,
    watcher: Watcher | None,
) -> Summary:
    """Check, calibrate, measure, and put into words."""
    check_drawing(LEVEL, n_resamples)
    check_cv(cv)
    seed = _seed(random_state)
    candidates = check_candidates(calibrators, input_scale)
    labels_of_columns = check_classes(candidates, classes)
    data = check_fit(
        y_prob,
        y_true,
        sample_weight,
        classes=labels_of_columns,
        input_scale=input_scale,
        arguments=_ARGUMENTS,
    )
    check_classes(candidates, classes, data.classes)
    names = names_of(data.classes, class_names)
    splits = _splits(cv, data) if not all(one.is_fitted for one in candidates) else []
    used = used_rows(data.sample_weight, len(data.labels))
    rows = scored_rows(splits) if splits else used
    scored = data.take(rows)
    y, weight = data.classes[scored.labels], scored.sample_weight
    n_steps = sum(1 if one.is_fitted else len(splits) for one in candidates)
    with Steps(n_steps + len(candidates) + 5, watcher) as steps:
        predicted = predict(candidates, data, splits, rows, steps.begin, steps.advance)
        methods = summarise_methods(
            predicted,
            y,
            data.classes,
            weight,
            level=LEVEL,
            n_resamples=n_resamples,
            seed=seed,
            begin=steps.begin,
            advance=steps.advance,
        )
        chosen = min(methods[1:], key=lambda method: method.measure("log_loss").value)
        steps.begin("looking where a map would act")
        as_they_are = predicted[0].proba
        score = None
        if weight is None:
            found = score_test(
                y, as_they_are, n_resamples=n_resamples, random_state=seed, classes=data.classes
            )
            name_of = dict(zip(data.classes.tolist(), names, strict=True))
            score = ScoreFinding(
                found.pvalue,
                found.family,
                n_resamples,
                tuple((name_of[one], p) for one, p in found.classes.items()),
                tuple((name_of[a], name_of[b], p) for (a, b), p in found.pairs.items()),
            )
        steps.advance()
        steps.begin("drawing the classes")
        best = next(one for one in predicted if one.name == chosen.name)
        of_classes = summarise_classes(
            read_predictions(y, as_they_are, weight, data.classes),
            read_predictions(y, best.proba, weight, data.classes),
            names,
            LEVEL,
        )
        changes = summarise_changes(
            as_they_are, best.proba, scored.labels, weight, data.classes, names, rows
        )
        steps.advance()
        steps.begin(f"fitting {chosen.name} on all rows")
        assert best.candidate is not None
        of_map = summarise_map(fit_on_all(best.candidate, data.take(used)), names)
        steps.advance()
    of_data = summarise_data(data, y_true, names, len(rows), source, input_scale)
    settings = Settings(
        _describe_cv(cv, splits),
        n_resamples,
        seed,
        LEVEL,
        N_BINS,
        versions(),
        write_code(
            candidates,
            chosen,
            options={
                "classes": None if labels_of_columns is None else data.column_classes.tolist(),
                "class_names": None if class_names is None else list(names),
                "title": title,
                "source": source,
            },
            cv=cv,
            input_scale=input_scale,
            weighted=weight is not None,
            n_resamples=n_resamples,
            seed=seed,
        ),
    )
    return Summary(
        title,
        names,
        judge(methods, chosen.name, score, of_data, LEVEL),
        tuple(methods),
        chosen.name,
        score,
        of_classes,
        changes,
        of_map,
        of_data,
        settings,
    )


def _seed(random_state: int | np.random.Generator | None) -> int:
    """One number that every draw begins from, so that each can be repeated on its own."""
    rng = check_random_state(random_state)
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(rng.integers(2**32))


def _splits(cv: Any, data: LabelledScores) -> list[Split]:
    used = used_rows(data.sample_weight, len(data.labels))
    return make_splits(cv, data.labels, used, deal_within_classes)


def _describe_cv(cv: Any, splits: list[Split]) -> str:
    if not splits:
        return "none: all calibrators came fitted"
    if isinstance(cv, numbers.Integral):
        return f"{len(splits)} folds, each with its share of every class, dealt with a fixed seed"
    if hasattr(cv, "split"):
        return f"{len(splits)} folds of {cv!r}"
    return f"{len(splits)} pair(s) of rows to fit and rows to score, given by the user"
