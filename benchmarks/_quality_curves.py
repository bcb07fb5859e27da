"""Learning curves: what methods do with 50 to 5000 rows of networks, and harm that was foretold."""

from itertools import pairwise

import numpy as np
from _quality_methods import AUTO, CANDIDATES, DIRICHLET, METHODS, TEMPERATURE
from _quality_rows import Row
from _quality_tables import FloatArray, Table, by_source, markdown, means_by_source, select
from _quality_tasks import NETWORKS, SIZES

__all__ = ["ahead_of_candidates", "curve_table", "reliability", "sizes_of", "worst_networks"]

_LARGEST = 5000
_EDGES = (0.0, 0.01, 0.05, 0.15, 0.3, 0.5, 1.0)


def sizes_of(table: Table) -> dict[int, Table]:
    """Draws of networks by the number of rows; the largest ones are all rows that a file has."""
    found = {
        size: select(table, lambda r, n=size: r.kind == NETWORKS and r.n == n and r.draw > 0)  # type: ignore[misc]
        for size in SIZES
    }
    found[_LARGEST] = select(
        table, lambda r: r.kind == NETWORKS and r.n >= 0.9 * _LARGEST and r.draw == 0
    )
    return {size: part for size, part in found.items() if part}


def curve_table(table: Table) -> str:
    """Log-loss relative to temperature scaling, in percent: means over sources."""
    sizes = sizes_of(table)
    lines = []
    for method in METHODS:
        cells = [
            _against(part, method, TEMPERATURE) if any(method in f for f in part.values()) else ""
            for part in sizes.values()
        ]
        if method != TEMPERATURE and any(cells[:-1]):
            lines.append([method, *cells])
    counts = [f"{len(by_source(part))} / {len(part)}" for part in sizes.values()]
    lines.append(["*sources / draws*", *counts])
    return markdown(["rows", *(str(size) for size in sizes)], lines)


def _against(part: Table, method: str, other: str) -> str:
    ours, theirs = means_by_source(part, _log_loss, method, other)
    return f"{100.0 * (ours.mean() / theirs.mean() - 1.0):+.2f}"


def _log_loss(row: Row) -> float:
    return row.log_loss


def ahead_of_candidates(table: Table) -> list[tuple[int, str, float, float]]:
    """For each number of rows the best single candidate and Auto against it, in percent.

    The two numbers are ratios of mean log-losses, over sources and over draws.
    """
    found = []
    for size, every_task in sizes_of(table).items():
        # Those that are being measured have not got it yet.
        part = {key: each for key, each in every_task.items() if AUTO in each}
        present = [m for m in CANDIDATES if all(m in each for each in part.values())]
        of_sources = means_by_source(part, _log_loss, AUTO, *present)
        best = 1 + int(np.argmin([each.mean() for each in of_sources[1:]]))
        every = [np.array([f[m].log_loss for f in part.values()]) for m in (AUTO, *present)]
        best_of_draws = min(each.mean() for each in every[1:])
        found.append(
            (
                size,
                present[best - 1],
                100.0 * float(of_sources[0].mean() / of_sources[best].mean() - 1.0),
                100.0 * float(every[0].mean() / best_of_draws - 1.0),
            )
        )
    return found


def worst_networks(table: Table, method: str = DIRICHLET) -> list[tuple[int, str, float, int, int]]:
    """For each number of rows, the network on which a method is worst against temperature scaling.

    With the difference in percent of the mean over draws, the number of networks on which it is
    more than two, and the number of networks.
    """
    found = []
    for size, part in sizes_of(table).items():
        changes: dict[str, list[tuple[float, float]]] = {}
        for (task, _, _), each in part.items():
            if method in each:
                pair = each[method].log_loss, each[TEMPERATURE].log_loss
                changes.setdefault(task, []).append(pair)
        means = {task: np.mean(pairs, axis=0) for task, pairs in changes.items()}
        percent = {task: 100.0 * float(a / b - 1.0) for task, (a, b) in means.items()}
        worst = max(percent, key=lambda task: percent[task])
        above = sum(value > 2.0 for value in percent.values())
        found.append((size, worst, percent[worst], above, len(percent)))
    return found


def reliability(table: Table) -> str:
    """How often Auto does harm against how often it foretells that it will."""
    lines = []
    for low, high in pairwise(_EDGES):
        line: list[str | int] = [f"{low:g} to {high:g}"]
        for kind in (NETWORKS, "UCI"):
            rows = [
                found[AUTO]
                for found in select(table, lambda r, k=kind: r.kind == k).values()  # type: ignore[misc]
                if AUTO in found
            ]
            inside = [row for row in rows if low <= row.harm < high or row.harm == high == 1.0]
            # Where nothing is changed, no harm is done.
            foretold: FloatArray = np.array([row.harm for row in inside])
            done = np.array([row.change > 0.0 for row in inside])
            means = [f"{100 * x.mean():.1f} %" if len(x) else "" for x in (foretold, done)]
            line += [len(inside), *means]
        lines.append(line)
    columns = ["foretold", "networks", "mean", "harmed", "UCI", "mean", "harmed"]
    return markdown(columns, lines)
