"""The stages one after the other, network by network, without what is already there."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from rich.console import Console

from experiments._shared.work import Clock, run_all

from ._calibrate import calibrate
from ._collect import all_names, collect
from ._files import Cache
from ._methods import names_of
from ._networks import Entry, read_network
from ._results import Results

__all__ = ["STAGES", "Plan", "run"]

STAGES = ("calibrate", "collect")


@dataclass(frozen=True)
class Plan:
    """What to run and where to keep it."""

    networks: Sequence[Entry]
    cache: Cache
    results: Results
    earlier: Results
    """Committed results, which tell how long things take."""
    quick: bool = False
    stages: Sequence[str] = STAGES


def run(plan: Plan, console: Console) -> None:
    """Run what is missing; stopped at any moment, the next call goes on from there."""
    seconds = _seconds(plan.earlier)
    done = plan.results.done()
    waiting = [entry for entry in plan.networks if _is_open(entry, done)]
    expected = {entry.name: seconds.get(entry.name, _guess(entry)) for entry in waiting}
    with Clock(console, sum(expected.values())) as clock:
        if waiting:
            clock.tell(f"This will take about {clock.left()}.")
        for position, entry in enumerate(waiting, start=1):
            clock.start(entry.name)
            if "calibrate" in plan.stages:
                _calibrate(plan, entry, clock, expected[entry.name])
            if "collect" in plan.stages:
                collect(plan.cache, plan.results, entry.path)
            told = f"{entry.name}: {position} of {len(waiting)} networks done"
            clock.tell(f"{told}, about {clock.left()} left")
    _tell_failures(plan, console)


def _is_open(entry: Entry, done: set[tuple[str, str]]) -> bool:
    return any((entry.name, name) not in done for name in all_names(read_network(entry.path)))


def _calibrate(plan: Plan, entry: Entry, clock: Clock, expected: float) -> None:
    names = list(names_of(read_network(entry.path)))
    calls = [(plan.cache, entry.path, name, plan.quick) for name in names]
    for _ in run_all(calibrate, calls):
        clock.advance(expected / len(names))


def _seconds(earlier: Results) -> dict[str, float]:
    """How long each network took before."""
    fits = earlier.read("fits.csv")
    if fits.empty:
        return {}
    spent: pd.Series = fits.groupby("network")["seconds_with_measures"].sum()
    seconds: dict[str, float] = spent.to_dict()
    return seconds


def _guess(entry: Entry) -> float:
    """Seconds of a network that has not been run: they grow with the entries of the matrix."""
    return 30.0 * float(max(1.0, (entry.n_classes / 20) ** 1.5))


def _tell_failures(plan: Plan, console: Console) -> None:
    failures = plan.results.read("failures.csv")
    if failures.empty:
        return
    console.print(f"\nNot completed ({len(failures)}):")
    for line in failures.itertuples(index=False):
        console.print(f"  {line.method} on {line.network}: {line.reason}", markup=False)
