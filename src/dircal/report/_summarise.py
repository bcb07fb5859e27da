"""From predictions to a summary: everything is computed here, and nothing is drawn."""

import numpy as np

from dircal.inference import score_test_of
from dircal.report._candidates import Predicted, fit_on_all, predict
from dircal.report._changes import summarise_changes
from dircal.report._classes import summarise_classes
from dircal.report._limits import REPORT_LIMITS
from dircal.report._map import summarise_map
from dircal.report._methods import summarise_methods
from dircal.report._provenance import row_numbers, summarise_data, summarise_settings
from dircal.report._savings import summarise_savings
from dircal.report._shift import OldAndNew, ShiftSummary, summarise_shift
from dircal.report._steps import Steps, Watcher, watched_steps
from dircal.report._summary import ScoreFinding, Summary
from dircal.report._task import Request, Task, check_request
from dircal.report._verdict import judge
from dircal.tables import Passes

__all__ = ["summarise"]


def summarise(request: Request, watcher: Watcher | None, passes: Passes) -> Summary:
    """Check, calibrate, measure, and put into words."""
    limits = REPORT_LIMITS.get()
    task = check_request(request)
    names = task.names
    passes.expect(task.data.shape[0])
    with watched_steps(task.n_steps, watcher, passes) as steps:
        predicted = predict(task.candidates, task.split, steps)
        methods = summarise_methods(
            predicted, limits.confidence_level, request.n_resamples, task.seed, steps
        )
        chosen = min(methods[1:], key=lambda method: method.measure("log_loss").value)
        best = next(one for one in predicted if one.name == chosen.name)
        steps.begin("looking where a map would act")
        score = _find_where(predicted[0], task)
        steps.advance()
        steps.begin("drawing the classes")
        before, after = predicted[0].predictions, best.predictions
        of_classes = summarise_classes(before, after, names, limits.confidence_level)
        changes = summarise_changes(before, after, names, row_numbers(task))
        steps.advance()
        steps.begin(f"fitting {chosen.name} on all rows")
        of_map = summarise_map(fit_on_all(best, task.split), names)
        steps.advance()
        of_shift = _compare_with_old(task, best, steps)
    of_costs = None
    if request.costs is not None:
        of_costs = summarise_savings(
            before, after, chosen.name, request.costs, limits.confidence_level
        )
    of_data = summarise_data(task, before)
    return Summary(
        request.title,
        names,
        judge(methods, chosen.name, score, of_classes, of_data, limits.confidence_level),
        tuple(methods),
        chosen.name,
        score,
        of_classes,
        changes,
        of_map,
        of_data,
        summarise_settings(task, methods, chosen, score),
        of_shift,
        of_costs,
    )


def _compare_with_old(task: Task, best: Predicted, steps: Steps) -> ShiftSummary | None:
    """What has changed since the old rows, if there are any."""
    if task.old is None:
        return None
    steps.begin("comparing with the old rows")
    assert best.candidate is not None
    split, data = task.split, task.data.in_memory
    assert split.scored_rows is not None
    scored = data.take(split.scored_rows)
    rows = OldAndNew(task.old, data, split.splits, scored, best.predictions)
    rng = np.random.default_rng(task.seed)
    found = summarise_shift(rows, best.candidate, task.names, task.request.n_resamples, rng)
    steps.advance()
    return found


def _find_where(as_they_are: Predicted, task: Task) -> ScoreFinding | None:
    """Where a map would act; nothing is tested with weights or soft labels."""
    predictions, n_resamples = as_they_are.predictions, task.request.n_resamples
    if predictions.is_weighted or predictions.has_soft_labels:
        return None
    found = score_test_of(
        predictions, n_resamples, REPORT_LIMITS.get().alpha, np.random.default_rng(task.seed)
    )
    name_of = dict(zip(predictions.classes.tolist(), task.names, strict=True))
    return ScoreFinding(
        found.pvalue,
        found.family,
        n_resamples,
        found.source,
        tuple((name_of[one], p) for one, p in found.classes.items()),
        tuple((name_of[a], name_of[b], p) for (a, b), p in found.pairs.items()),
    )
