"""The stages one after the other, source by source, without what is already there."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from experiments._shared.work import Clock, run_all

from ._collect import collect
from ._files import Cache, Results
from ._measure import is_measured, measure
from ._networks import Member

__all__ = ["STAGES", "Plan", "run"]

STAGES = ("measure", "collect")


@dataclass(frozen=True)
class Plan:
    """What to run and where to keep it."""

    members: Sequence[Member]
    cache: Cache
    results: Results
    draws: int
    """Behind each likelihood-ratio test."""
    stages: Sequence[str] = STAGES


def run(plan: Plan, console: Console) -> None:
    """Run what is missing; stopped at any moment, the next call goes on from there."""
    done = plan.results.done()
    # Gains of a source are of all its networks: where one is new, all are measured.
    new = {one.source for one in plan.members if done.get(one.name) != one.entry.sha256}
    waiting = [one for one in plan.members if one.source in new]
    if not waiting:
        return
    with Clock(console, sum(map(_seconds, waiting))) as clock:
        clock.tell(f"This will take about {clock.left()}.")
        if "measure" in plan.stages:
            for position, member in enumerate(waiting, start=1):
                clock.start(member.name)
                for _ in run_all(measure, [(plan.cache, member, plan.draws)]):
                    clock.advance(_seconds(member))
                told = f"{member.name}: {position} of {len(waiting)} networks measured"
                clock.tell(f"{told}, about {clock.left()} left")
    if "collect" in plan.stages:
        there = {one.name for one in waiting if is_measured(plan.cache, one)}
        whole = [one for one in waiting if _is_whole(one.source, waiting, there)]
        collect(plan.cache, plan.results, whole)


def _is_whole(source: str, waiting: Sequence[Member], there: set[str]) -> bool:
    return all(one.name in there for one in waiting if one.source == source)


def _seconds(member: Member) -> float:
    """A guess: they grow with the entries of the matrix."""
    return 3.0 + 60.0 * float((member.entry.n_classes / 200) ** 1.5)
