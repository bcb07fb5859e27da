"""Rows of ``results/quality.csv`` by task and method, and tables of them as Markdown."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from _quality_methods import UNCALIBRATED
from _quality_rows import Row

__all__ = [
    "Table",
    "by_source",
    "losses_of",
    "markdown",
    "means_by_source",
    "relative",
    "select",
    "summary",
    "table_of",
]

# Differences are relative to the loss, or to this where it is less.
_LEAST_LOSS = 0.1

FloatArray = npt.NDArray[np.float64]
Found = dict[str, Row]
Table = dict[tuple[str, int, int], Found]
"""By task, number of rows and draw: the row of each method."""


def table_of(rows: Iterable[Row]) -> Table:
    """All rows."""
    table: Table = {}
    for row in rows:
        table.setdefault((row.task, row.n, row.draw), {})[row.method] = row
    return table


def select(table: Table, condition: Callable[[Row], bool]) -> Table:
    """Tasks of which a condition holds."""
    return {key: found for key, found in table.items() if condition(next(iter(found.values())))}


def _with_all(table: Table, methods: tuple[str, ...]) -> list[Found]:
    return [found for found in table.values() if all(method in found for method in methods)]


def losses_of(table: Table, *methods: str) -> list[FloatArray]:
    """Log-losses of the methods on the tasks that have all of them."""
    both = _with_all(table, methods)
    return [np.array([found[method].log_loss for found in both]) for method in methods]


def relative(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """Difference of losses as a part of theirs."""
    result: FloatArray = (ours - theirs) / np.maximum(theirs, _LEAST_LOSS)
    return result


def by_source(table: Table) -> dict[str, list[Found]]:
    """Tasks by what counts as one."""
    sources: dict[str, list[Found]] = {}
    for found in table.values():
        sources.setdefault(next(iter(found.values())).source, []).append(found)
    return sources


def means_by_source(table: Table, value: Callable[[Row], float], *methods: str) -> list[FloatArray]:
    """Means over the tasks of each source that have all of the methods, one for each method."""
    sources = by_source({key: f for key, f in table.items() if all(m in f for m in methods)})
    return [
        np.array([np.mean([value(f[method]) for f in each]) for each in sources.values()])
        for method in methods
    ]


def summary(table: Table, rival: str) -> str:
    """One line for each method, the best first."""
    best = {key: min(row.log_loss for row in found.values()) for key, found in table.items()}
    lines = []
    for method in _ranked(table):
        rows = {key: found[method] for key, found in table.items() if method in found}
        difference = 100.0 * relative(*losses_of(table, method, rival))
        alone = method == rival or not len(difference)
        lines.append(
            [
                method,
                len(rows),
                *(
                    f"{np.mean([getattr(row, name) for row in rows.values()]):.4f}"
                    for name in ("log_loss", "brier", "classwise_ece")
                ),
                "" if alone else f"{100.0 * np.mean(difference < 0.0):.0f} %",
                "" if alone else _interval(difference),
                f"{100.0 * np.mean([row.low > 0.0 for row in rows.values()]):.1f} %",
                f"{100.0 * np.mean([row.low_temperature > 0.0 for row in rows.values()]):.1f} %",
                f"{np.mean([row.log_loss - best[key] for key, row in rows.items()]):.4f}",
                f"{np.mean([row.seconds for row in rows.values()]):.3f}",
            ]
        )
    columns = "method|tasks|log-loss|Brier|cw-ECE|won|difference, %|harm|harm, temperature|regret"
    return markdown([*columns.split("|"), "seconds"], lines)


def _ranked(table: Table) -> list[str]:
    """By mean log-loss relative to the uncalibrated, best first."""
    names = {method for found in table.values() for method in found}

    def key(method: str) -> float:
        ours, none = losses_of(table, method, UNCALIBRATED)
        return float(relative(ours, none).mean()) if len(ours) else np.inf

    return sorted(names, key=key)


def _interval(values: FloatArray) -> str:
    """Mean over tasks with its 95 % interval."""
    if len(values) < 2:
        return ""
    error = 1.96 * float(values.std(ddof=1)) / np.sqrt(len(values))
    return f"{values.mean():+.2f} ± {error:.2f}"


def markdown(columns: list[str], lines: list[list[Any]]) -> str:
    """A table."""
    cells = [columns, ["---"] * len(columns), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in cells)
