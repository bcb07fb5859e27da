"""What the rows of ``results/quality.csv`` say, as Markdown."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from _quality_methods import AUTO, BAYES, GRID, OUR_SMS, SMS, UNCALIBRATED
from _quality_rows import Row
from _quality_tasks import HALVES

__all__ = ["write_tables"]

_PATH = Path(__file__).resolve().parent / "quality.md"
# Differences are relative to the loss, or to this where it is less.
_LEAST_LOSS = 0.1

FloatArray = npt.NDArray[np.float64]
Table = dict[str, dict[str, Row]]


def write_tables(rows: Iterable[Row]) -> str:
    """Write the page and return it."""
    table: Table = {}
    for row in rows:
        table.setdefault(row.task, {})[row.method] = row
    rival = SMS if any(SMS in found for found in table.values()) else OUR_SMS
    parts = [
        "# Which calibrator is best?",
        f"{len(table)} tasks; written by `make quality` from `results/quality.csv`. Wins and "
        f"differences are against {rival}, on the tasks that both have: a method with fewer "
        "tasks was measured on those alone, and its means do not compare with others. "
        "Constants of the prior and of the floor were chosen by averages over the half "
        "developed on; the rule for the level of the scores and the half standard error of "
        "AutoCalibrator with tasks of both in sight, so that in these two respects nothing is "
        "held out.",
        "## Promises",
        _promises(table, rival),
    ]
    for title, part in _parts(table).items():
        parts += [f"## {title} ({len(part)} tasks)", _summary(part, rival)]
    parts += ["## Bayesian Dirichlet by group", _groups(table, rival)]
    text = "\n\n".join(parts) + "\n"
    temporary = _PATH.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(_PATH)
    return text


def _parts(table: Table) -> dict[str, Table]:
    """All tasks, and the pieces of which each is told by itself."""

    def where(condition: Callable[[Row], bool]) -> Table:
        return {
            name: found for name, found in table.items() if condition(next(iter(found.values())))
        }

    parts = {"All": table}
    for kind in ("UCI", "networks"):
        for half in HALVES:
            parts[f"{kind}, {half}"] = where(lambda r, a=kind, b=half: (r.kind, r.half) == (a, b))  # type: ignore[misc]
    return {title: part for title, part in parts.items() if part}


def _losses(table: Table, *methods: str) -> list[FloatArray]:
    """Log-losses of the methods on the tasks that have all of them."""
    both = [found for found in table.values() if all(method in found for method in methods)]
    return [np.array([found[method].log_loss for found in both]) for method in methods]


def _relative(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    return (ours - theirs) / np.maximum(theirs, _LEAST_LOSS)


def _summary(table: Table, rival: str) -> str:
    best = {name: min(row.log_loss for row in found.values()) for name, found in table.items()}
    lines = []
    for method in _methods(table):
        rows = [found[method] for found in table.values() if method in found]
        ours, theirs = _losses(table, method, rival)
        harmed = [row.low > 0.0 for row in rows]
        regret = [row.log_loss - best[row.task] for row in rows]
        difference = 100.0 * _relative(ours, theirs)
        lines.append(
            [
                method,
                len(rows),
                f"{np.mean([row.log_loss for row in rows]):.4f}",
                f"{np.mean([row.brier for row in rows]):.4f}",
                f"{np.mean([row.classwise_ece for row in rows]):.4f}",
                "" if method == rival or not len(ours) else f"{_won(difference)} %",
                "" if method == rival else _interval(difference),
                f"{100.0 * np.mean(harmed):.1f} %",
                f"{np.mean(regret):.4f}",
                f"{np.mean([row.seconds for row in rows]):.3f}",
            ]
        )
    columns = [
        "method",
        "tasks",
        "log-loss",
        "Brier",
        "cw-ECE",
        "won",
        "difference, %",
        "harm",
        "regret",
        "seconds",
    ]
    return _markdown(columns, lines)


def _interval(values: FloatArray) -> str:
    """Mean over tasks with its 95 % interval."""
    if len(values) < 2:
        return ""
    error = 1.96 * float(values.std(ddof=1)) / np.sqrt(len(values))
    return f"{values.mean():+.2f} ± {error:.2f}"


def _groups(table: Table, rival: str) -> str:
    lines = [
        [name, len(change), _interval(change), f"{change.max():+.2f}", f"{_won(change)} %"]
        for name, change in _changes_by_group(table, rival).items()
    ]
    return _markdown(["group", "tasks", "difference, %", "worst, %", "won"], lines)


def _changes_by_group(table: Table, rival: str) -> dict[str, FloatArray]:
    """Differences in percent by classifier, and by thirds of n and of k."""
    rows = [found[BAYES] for found in table.values() if BAYES in found and rival in found]
    n = np.quantile([row.n for row in rows], [1 / 3, 2 / 3])
    k = np.quantile([row.k for row in rows], [1 / 3, 2 / 3])
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(f"classifier {row.classifier}", []).append(row)
    for name, edges, value in (("n", n, "n"), ("k", k, "k")):
        for third in range(3):
            inside = [
                row for row in rows if int(np.searchsorted(edges, getattr(row, value))) == third
            ]
            if inside:
                sizes = [getattr(row, value) for row in inside]
                groups[f"{name} from {min(sizes)} to {max(sizes)}"] = inside
    return {
        name: 100.0
        * _relative(*_losses({row.task: table[row.task] for row in inside}, BAYES, rival))
        for name, inside in groups.items()
    }


def _won(change: FloatArray) -> str:
    return f"{100.0 * np.mean(change < 0.0):.0f}"


def _promises(table: Table, rival: str) -> str:
    """The numbers to reach, on both halves."""
    lines = []
    for half in HALVES:
        part = {n: f for n, f in table.items() if next(iter(f.values())).half == half}
        uci = {n: f for n, f in part.items() if next(iter(f.values())).kind == "UCI"}
        nets = {n: f for n, f in part.items() if next(iter(f.values())).kind != "UCI"}
        lines += [[half, *line] for line in _promises_of(part, uci, nets, rival)]
    return _markdown(["half", "what", "value", "target", "met"], lines)


def _promises_of(part: Table, uci: Table, nets: Table, rival: str) -> list[list[str]]:
    lines: list[list[str]] = []

    def say(what: str, value: float, limit: float, unit: str = " %", below: bool = True) -> None:
        met = value <= limit if below else value >= limit
        sign = "≤" if below else "≥"
        lines.append(
            [what, f"{value:.3g}{unit}", f"{sign} {limit:g}{unit}", "yes" if met else "NO"]
        )

    if rival == SMS:
        fixed, sms = _losses(part, OUR_SMS, SMS)
        say("fixed against SMS, largest difference", 100 * _largest(fixed, sms), 0.1)
    for name, some, limit in (("UCI", uci, -3.0), ("networks", nets, 0.0)):
        if some:
            ours, theirs = _losses(some, BAYES, rival)
            say(f"mean log-loss, {name}", 100 * (ours.mean() / theirs.mean() - 1), limit)
    ours, theirs = _losses(part, BAYES, rival)
    change = 100 * _relative(ours, theirs)
    say("tasks won", 100 * float(np.mean(change < 0)), 60.0, below=False)
    say("worst task", float(change.max()), 5.0)
    say("90th percentile", float(np.quantile(change, 0.9)), 1.0)
    means = [change.mean() for change in _changes_by_group(part, rival).values()]
    say("worst group", float(max(means)), 0.5)
    ours, grid = _losses(part, BAYES, GRID)
    if len(ours):
        say("mean log-loss against the grid", 100 * (ours.mean() / grid.mean() - 1), 0.0)
        with_grid = [found for found in part.values() if GRID in found]
        speed = np.mean([f[GRID].seconds for f in with_grid]) / np.mean(
            [f[BAYES].seconds for f in with_grid]
        )
        say("times faster than the grid", float(speed), 5.0, "", below=False)
    with_auto = {name: found for name, found in part.items() if AUTO in found}
    if not with_auto:
        return lines
    auto, bayes, none = _losses(with_auto, AUTO, BAYES, UNCALIBRATED)
    harmed = np.mean([found[AUTO].low > 0.0 for found in with_auto.values()])
    say("Auto: harm", 100 * float(harmed), 5.0)
    of_mean = (none - auto).mean() / (none - bayes).mean()
    say("Auto: gain kept", 100 * float(of_mean), 95.0, below=False)
    kept = np.log(none / auto).mean() / np.log(none / bayes).mean()
    say("Auto: geometric gain kept", 100 * float(kept), 90.0, below=False)
    return lines


def _largest(ours: FloatArray, theirs: FloatArray) -> float:
    return float(np.abs(_relative(ours, theirs)).max())


def _methods(table: Table) -> list[str]:
    """By mean log-loss relative to the uncalibrated, best first."""
    names = {method for found in table.values() for method in found}

    def key(method: str) -> float:
        ours, none = _losses(table, method, UNCALIBRATED)
        return float(_relative(ours, none).mean()) if len(ours) else np.inf

    return sorted(names, key=key)


def _markdown(columns: list[str], lines: list[list[Any]]) -> str:
    cells = [columns, ["---"] * len(columns), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in cells)
