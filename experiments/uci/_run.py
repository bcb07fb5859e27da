"""The stages one after the other, dataset by dataset, without what is already there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console

from experiments._shared.work import Clock, run_all

from ._calibrate import calibrate
from ._collect import collect
from ._costs import Costs
from ._files import Cache
from ._grid import Cell
from ._methods import METHODS
from ._predict import predict
from ._results import Results

__all__ = ["STAGES", "Plan", "run"]

STAGES = ("predict", "calibrate", "collect")


@dataclass(frozen=True)
class Plan:
    """What to run and where to keep it."""

    cells: Sequence[Cell]
    cache: Cache
    results: Results
    earlier: Results
    """Committed results, which tell how long things take."""
    stages: Sequence[str] = STAGES


@dataclass(frozen=True)
class _Todo:
    """What is left of one dataset."""

    dataset: str
    cells: list[Cell]
    predict: list[Cell]
    calibrate: list[Cell]


def run(plan: Plan, console: Console) -> None:
    """Run what is missing; stopped at any moment, the next call goes on from there."""
    todo = [_missing(plan, name, list(own)) for name, own in groupby(plan.cells, lambda c: c[0])]
    train = Costs.of(plan.earlier, "train_seconds")
    fit = Costs.of(plan.earlier, "calibrate_seconds")
    expected = sum(sum(map(train, one.predict)) + sum(map(fit, one.calibrate)) for one in todo)
    with Clock(console, expected) as clock:
        if expected:
            clock.tell(f"This will take about {clock.left()}.")
        for position, one in enumerate(todo, start=1):
            _stage(clock, one.dataset, "training", predict, one.predict, train, (plan.cache,))
            ready = [cell for cell in one.calibrate if plan.cache.predictions(cell).exists()]
            _stage(clock, one.dataset, "calibrating", _calibrate_all, ready, fit, (plan.cache,))
            if "collect" in plan.stages and one.cells:
                collect(plan.cache, plan.results, one.dataset, one.cells)
            if one.predict or one.calibrate:
                done = f"{one.dataset}: {position} of {len(todo)} datasets done"
                clock.tell(f"{done}, about {clock.left()} left")
    _tell_failures(plan, console)


def _missing(plan: Plan, dataset: str, cells: list[Cell]) -> _Todo:
    """Cells of a dataset without rows, by the stage that they wait for."""
    done, failed = plan.results.done(dataset), plan.results.failed()
    cells = [c for c in cells if c not in failed and any((c, m) not in done for m in METHODS)]
    cache = plan.cache
    open_ = [c for c in cells if not all(cache.outcome(c, m).exists() for m in METHODS)]
    train = [c for c in open_ if not _is_tried(cache, c)]
    return _Todo(
        dataset,
        cells,
        train if "predict" in plan.stages else [],
        open_ if "calibrate" in plan.stages else [],
    )


def _is_tried(cache: Cache, cell: Cell) -> bool:
    return cache.predictions(cell).exists() or cache.no_predictions(cell).exists()


def _calibrate_all(cache: Cache, cell: Cell) -> None:
    calibrate(cache, cell, tuple(METHODS))


def _stage(
    clock: Clock,
    dataset: str,
    doing: str,
    function: Callable[[Cache, Cell], None],
    cells: list[Cell],
    costs: Costs,
    first: tuple[Cache],
) -> None:
    """One stage of one dataset."""
    clock.start(f"{dataset}, {doing}")
    if not cells:
        return
    expected = sum(map(costs, cells)) / len(cells)
    for _ in run_all(function, [(*first, cell) for cell in cells]):
        clock.advance(expected)


def _tell_failures(plan: Plan, console: Console) -> None:
    failures = plan.results.read("failures.csv")
    if failures.empty:
        return
    keys = ["dataset", "classifier", "method", "reason"]
    console.print(f"\nNot completed ({len(failures)}):")
    for (dataset, classifier, method, reason), lines in failures.groupby(keys):
        who = f"{method} after {classifier}" if method else classifier
        console.print(f"  {who} on {dataset}, {len(lines)} cells: {reason}", markup=False)
