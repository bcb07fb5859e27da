"""The numbers to reach, and what was reached."""

from collections.abc import Callable

import numpy as np
from _quality_curves import ahead_of_candidates, sizes_of, worst_networks
from _quality_methods import AUTO, BAYES, DIRICHLET, GRID, OUR_SMS, SMS
from _quality_rows import Row
from _quality_tables import Table, losses_of, markdown, means_by_source, relative, select
from _quality_tasks import HALVES, NETWORKS, UCI

__all__ = ["promises"]

_MANY_CLASSES = 100


def promises(table: Table, rival: str) -> str:
    """One line for each number."""
    whole = select(table, lambda row: row.draw == 0)
    lines = [
        *_against_rival(whole, rival),
        *_of_auto(table, whole),
        *_of_dirichlet(table, whole),
    ]
    return markdown(["what", "value", "target", "met"], lines)


def _line(
    what: str, value: float, limit: float, unit: str = " %", least: bool = False
) -> list[str]:
    met = value >= limit if least else value <= limit
    sign = "≥" if least else "≤"
    return [what, f"{value:+.3g}{unit}", f"{sign} {limit:g}{unit}", "yes" if met else "NO"]


def _against_rival(whole: Table, rival: str) -> list[list[str]]:
    lines = []
    if rival == SMS:
        for half in HALVES:
            part = select(whole, lambda row, h=half: row.half == h)  # type: ignore[misc]
            largest = float(np.abs(relative(*losses_of(part, OUR_SMS, SMS))).max())
            lines.append(_line(f"fixed prior against SMS, largest, {half}", 100 * largest, 0.1))
    parts: dict[str, tuple[Callable[[Row], bool], float]] = {
        "UCI, developed on": (lambda row: row.kind == UCI and row.half == HALVES[0], -6.5),
        "UCI, held out": (lambda row: row.kind == UCI and row.half == HALVES[1], -6.0),
        "networks, k < 100": (lambda row: row.kind == NETWORKS and row.k < _MANY_CLASSES, -4.0),
        "networks, k ≥ 100": (lambda row: row.kind == NETWORKS and row.k >= _MANY_CLASSES, -2.7),
    }
    for name, (condition, limit) in parts.items():
        part = select(whole, condition)
        for method in (AUTO, BAYES):
            ours, theirs = losses_of(part, method, rival)
            if not len(ours):
                continue
            ratio = 100 * float(ours.mean() / theirs.mean() - 1)
            lines.append(_line(f"{method} against {rival}, {name}", ratio, limit))
            if name.startswith(NETWORKS):
                ours, theirs = means_by_source(part, lambda row: row.log_loss, method, rival)
                ratio = 100 * float(ours.mean() / theirs.mean() - 1)
                lines.append(_line(f"the same, {len(ours)} sources", ratio, limit))
    return lines


def _of_auto(table: Table, whole: Table) -> list[list[str]]:
    lines = []
    for size, best, of_sources, of_draws in ahead_of_candidates(table):
        what = f"Auto against its best candidate ({best}), {size} rows, sources"
        lines.append(_line(what, of_sources, 0.0))
        lines.append(_line(f"the same, draws, {size} rows", of_draws, 0.0))
    groups = {
        "UCI": select(whole, lambda row: row.kind == UCI),
        **{f"networks, {size} rows": part for size, part in sizes_of(table).items()},
    }
    for name, part in groups.items():
        nothing = means_by_source(part, lambda row: row.low > 0.0, AUTO)[0]
        temperature = means_by_source(part, lambda row: row.low_temperature > 0.0, AUTO)[0]
        lines.append(_line(f"Auto: harm against nothing, {name}", 100 * nothing.mean(), 1.0))
        lines.append(_line(f"Auto: harm against temperature, {name}", 100 * temperature.mean(), 5))
    both = [found for found in table.values() if AUTO in found and BAYES in found]
    ratios = np.array([found[AUTO].seconds / found[BAYES].seconds for found in both])
    total = sum(f[AUTO].seconds for f in both) / sum(f[BAYES].seconds for f in both)
    lines.append(_line("Auto: time of a fit, by that of the curved map, sums", total, 2.0, ""))
    lines.append(_line("the same, median of ratios", float(np.median(ratios)), 2.0, ""))
    return lines


def _of_dirichlet(table: Table, whole: Table) -> list[list[str]]:
    lines = []
    for half in HALVES:
        part = select(whole, lambda row, h=half: row.half == h)  # type: ignore[misc]
        ours, grid = losses_of(part, DIRICHLET, GRID)
        if not len(ours):
            continue
        ratio = 100 * float(ours.mean() / grid.mean() - 1)
        lines.append(_line(f"Dirichlet against the grid, {half}, {len(ours)} tasks", ratio, 1.0))
        with_grid = [found for found in part.values() if GRID in found]
        speed = sum(f[GRID].seconds for f in with_grid) / sum(
            f[DIRICHLET].seconds for f in with_grid
        )
        lines.append(_line(f"times faster than the grid, {half}", speed, 30.0, "", least=True))
    for size, task, worst, above, count in worst_networks(table):
        what = (
            f"Dirichlet against temperature, {size} rows, worst network "
            f"({task}; {above} of {count} above)"
        )
        lines.append(_line(what, worst, 2.0))
    return lines
