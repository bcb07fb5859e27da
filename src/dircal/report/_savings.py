"""What would calibration save? Costs of decisions before and after the map."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dircal._numerals import format_level, format_number, format_percent
from dircal.decide import (
    CostTable,
    DecidedRows,
    Savings,
    paid,
    realised_cost_of,
    savings_of,
)
from dircal.metrics import Predictions
from dircal.plots import CostCoverageDisplay
from dircal.report._limits import REPORT_LIMITS

__all__ = ["CoverageCurve", "Decided", "SavingsSummary", "summarise_savings"]

# Actions with a line of their own, and those of which all costs are shown.
_LISTED, _MOST_COSTS = 6, 20


@dataclass(frozen=True)
class Decided:
    """Costs of a row, foretold and paid with its interval, and the share of each action.

    ``pvalue`` is that of the hypothesis that costs are as foretold.
    """

    name: str
    foretold: float
    paid: float
    low: float
    high: float
    pvalue: float
    shares: tuple[float, ...]


@dataclass(frozen=True)
class CoverageCurve:
    """Points (coverage, value) and where the probabilities themselves would stop, if anywhere."""

    name: str
    points: tuple[tuple[float, float], ...]
    stop: tuple[float, float] | None


@dataclass(frozen=True)
class SavingsSummary:
    """What decisions cost with the probabilities before and after the map, a row.

    ``costs`` has a row for each class and a column for each action. ``question`` is the action that
    costs the same in every class, such as to ask a person, and ``ask`` is what it costs; both are
    None where there is none, and the curves are then of errors instead of costs.
    """

    sentence: str
    points: tuple[str, ...]
    effect: str
    actions: tuple[str, ...]
    costs: tuple[tuple[float, ...], ...]
    before: Decided
    after: Decided
    saved: float
    low: float
    high: float
    pvalue: float
    changed: float
    level: float
    question: str | None
    ask: float | None
    curves: tuple[CoverageCurve, ...]

    @property
    def listed(self) -> list[tuple[str, float, float]]:
        """Actions with their shares before and after, the rarest of many as one."""
        every = list(zip(self.actions, self.before.shares, self.after.shares, strict=True))
        if len(every) <= _LISTED:
            return every
        largest = sorted(every, key=lambda one: -max(one[1], one[2]))[: _LISTED - 1]
        kept = [one for one in every if one in largest]
        then, now = 1.0 - sum(one[1] for one in kept), 1.0 - sum(one[2] for one in kept)
        return [*kept, ("any other action", max(then, 0.0), max(now, 0.0))]

    @property
    def fits_a_table(self) -> bool:
        """Whether people can read all costs."""
        return max(len(self.actions), len(self.costs)) <= _MOST_COSTS


def summarise_savings(
    before: Predictions, after: Predictions, name: str, costs: CostTable, level: float
) -> SavingsSummary:
    """Decisions of the same rows; ``name`` is that of the map between."""
    rows = [DecidedRows(one.probabilities, one.labels, one.classes) for one in (before, after)]
    saved = savings_of(rows[0], rows[1], costs, level)
    names = "before", f"after {name}"
    first, second = (_decided(*each, costs, level) for each in zip(names, rows, strict=True))
    place = _question(costs)
    asked = None if place is None else float(costs.matrix[0, place])
    return SavingsSummary(
        _sentence(saved, name),
        tuple(_points(saved, first, second)),
        _effect(saved),
        costs.actions,
        tuple(tuple(row) for row in costs.matrix.tolist()),
        first,
        second,
        saved.saved,
        saved.low,
        saved.high,
        saved.pvalue,
        saved.changed,
        level,
        None if place is None else costs.actions[place],
        asked,
        tuple(_curves(dict(zip(names, rows, strict=True)), costs, place)),
    )


def _question(costs: CostTable) -> int | None:
    """The action that costs the same whatever the class, if others do not."""
    same = np.ptp(costs.matrix, axis=0) == 0.0
    found = np.flatnonzero(same)
    return int(found[0]) if len(found) == 1 and len(costs.actions) > 2 else None


def _decided(name: str, rows: DecidedRows, costs: CostTable, level: float) -> Decided:
    found = realised_cost_of(rows, costs, level)
    best = paid(rows, costs).choice.best
    shares = np.bincount(best, minlength=len(costs.actions)) / len(best)
    return Decided(
        name,
        found.predicted,
        found.mean,
        found.low,
        found.high,
        found.pvalue,
        tuple(shares.tolist()),
    )


def _effect(saved: Savings) -> str:
    """In the words of the verdict."""
    if saved.low > 0.0:
        return "better"
    return "worse" if saved.high < 0.0 else "unclear"


def _sentence(saved: Savings, name: str) -> str:
    before, after, size = map(format_number, (saved.before, saved.after, abs(saved.saved)))
    if saved.changed == 0.0:
        return f"{name} saves nothing: no decision changes. A row costs {before}."
    ends = saved.low, saved.high
    effect = _effect(saved)
    if effect == "worse":
        ends = -saved.high, -saved.low
    low, high = map(format_number, ends)
    range_ = f"{format_level(saved.level)}: {low} to {high}"
    costs = f"a row costs {before} before and {after} after"
    if effect == "unclear":
        return (
            f"No clear saving: {costs} {name}, a difference of {format_number(saved.saved)} that "
            f"may be chance ({range_})."
        )
    word = "saves" if effect == "better" else "costs"
    part = ""
    if saved.before > 0.0:
        share = format_percent(abs(saved.saved) / saved.before)
        part = f", {share} {'less' if effect == 'better' else 'more'}"
    return (
        f"{name} {word} {size} a row ({range_}): {costs}{part}. That is "
        f"{format_number(1000.0 * abs(saved.saved))} for a thousand rows."
    )


def _points(saved: Savings, *both: Decided) -> Iterator[str]:
    """Whether costs were foretold, and how many decisions change."""
    for one in both:
        told = f"The probabilities {one.name} foretold {format_number(one.foretold)} a row"
        if one.pvalue >= 1.0 - saved.level:
            yield f"{told}, and it was {format_number(one.paid)}: no evidence that they mislead."
        else:
            word = "too little" if one.foretold < one.paid else "too much"
            yield f"{told}, which is {word}: it was {format_number(one.paid)}."
    yield f"Another action is best in {format_percent(saved.changed)} of the rows."


def _curves(
    rows: dict[str, DecidedRows], costs: CostTable, question: int | None
) -> Iterator[CoverageCurve]:
    """Costs by coverage where there is a question to fall back on, errors elsewhere."""
    if question is None:
        display = CostCoverageDisplay.of_rows(rows, None, None)
    else:
        left = [i for i in range(len(costs.actions)) if i != question]
        others = CostTable(
            costs.matrix[:, left], costs.classes, tuple(costs.actions[i] for i in left)
        )
        display = CostCoverageDisplay.of_rows(rows, others, float(costs.matrix[0, question]))
    for one in display.curves:
        values = one.risk if one.cost is None else one.cost
        n = len(values)
        chosen = np.unique(
            np.linspace(0, n - 1, min(n, REPORT_LIMITS.get().n_saving_points))
            .round()
            .astype(np.intp)
        )
        points = zip(one.coverage[chosen].tolist(), values[chosen].tolist(), strict=True)
        yield CoverageCurve(one.name, tuple(points), one.stop)
