"""The stages one after the other, network by network, without what is already there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from experiments._shared.work import Clock, run_all

from ._calibrate import calibrate, setting_of
from ._collect import all_names, collect
from ._example import Example
from ._files import Cache, Setting
from ._methods import METHODS, names_of
from ._networks import Entry
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
    examples: Sequence[Example] = ()
    quick: bool = False
    stages: Sequence[str] = STAGES


def run(plan: Plan, console: Console) -> None:
    """Run what is missing; stopped at any moment, the next call goes on from there."""
    settings = {entry.name: setting_of(entry, plan.quick) for entry in plan.networks}
    done = plan.results.done(settings)
    waiting = [entry for entry in plan.networks if _is_open(entry, done)]
    seconds = _seconds(plan.earlier, settings)
    expected = {
        entry.name: seconds.get(entry.name, _guess(entry, settings[entry.name].grid))
        for entry in waiting
    }
    with Clock(console, sum(expected.values())) as clock:
        if waiting:
            clock.tell(f"This will take about {clock.left()}.")
        for position, entry in enumerate(waiting, start=1):
            clock.start(entry.name)
            if "calibrate" in plan.stages:
                _calibrate(plan, entry, clock, expected[entry.name])
            if "collect" in plan.stages:
                collect(plan.cache, plan.results, entry, settings[entry.name], plan.examples)
            told = f"{entry.name}: {position} of {len(waiting)} networks done"
            clock.tell(f"{told}, about {clock.left()} left")
    _tell_failures(plan, console)


def _is_open(entry: Entry, done: set[tuple[str, str]]) -> bool:
    return any((entry.name, name) not in done for name in all_names(entry))


def _calibrate(plan: Plan, entry: Entry, clock: Clock, expected: float) -> None:
    names = list(names_of(entry))
    calls = [(plan.cache, entry, name, plan.quick) for name in names]
    for _ in run_all(calibrate, calls):
        clock.advance(expected / len(names))


def _seconds(earlier: Results, settings: Mapping[str, Setting]) -> dict[str, float]:
    """How long each network took before, in the same setting."""
    fits, same = earlier.read("fits.csv"), earlier.done(settings)
    seconds: dict[str, float] = {}
    for line in fits.to_dict("records"):
        name, method = line["network"], line["method"]
        # Methods that come along are in the time of those that they come with.
        if (name, method) in same and method in METHODS:
            seconds[name] = seconds.get(name, 0.0) + line["seconds_with_measures"]
    return seconds


def _guess(entry: Entry, grid: str) -> float:
    """Seconds of a network that has not been run: they grow with the entries of the matrix."""
    draws = 22.0 if entry.has_logits else 8.0
    if grid == "quick":
        return draws / 5
    share = {"paper": 3.0, "2 x 1": 0.4}.get(grid, 1.0)
    return draws + share * 100.0 * float((entry.n_classes / 100) ** 1.5)


def _tell_failures(plan: Plan, console: Console) -> None:
    failures = plan.results.read("failures.csv")
    if failures.empty:
        return
    console.print(f"\nNot completed ({len(failures)}):")
    for line in failures.itertuples(index=False):
        console.print(f"  {line.method} on {line.network}: {line.reason}", markup=False)
