"""What curves and the prior for few rows are worth: ``python benchmarks/curves.py``.

Fits temperature scaling and the Bayesian map without and with curves to the tasks of ``make
quality``, and to draws of 50 to 1000 rows of its networks, and compares log-losses on rows that
had no part in the fit. Every result is added to ``results/curves.csv`` at once (a stopped run goes
on where it stopped; delete the file, or lines of it, to measure again); then ``curves.md`` is
written.
"""

import csv
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from _quality_tasks import HALVES, Task, tasks
from threadpoolctl import threadpool_limits

from dircal import BayesianDirichletCalibrator, TemperatureScaling
from dircal.metrics import log_loss

_FOLDER = Path(__file__).resolve().parent
_RESULTS = _FOLDER / "results" / "curves.csv"
_TEMPERATURE, _NONE, _LEARNED = "temperature", "none", "learned"
_SIZES = (50, 100, 200, 500, 1000)
_DRAWS = 3
_TEST_ROWS = 4000
# Differences are relative to the larger of a loss and this.
_LEAST_LOSS = 0.1
# Better or equal: a difference, in percent, that nobody sees in the digits.
_EQUAL = 0.02

_Rows = dict[str, dict[str, float]]


def main() -> None:
    """Measure on one BLAS thread, then tell."""
    known = _read()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (group, task) in enumerate(_all_tasks(), start=1):
            for method in (_TEMPERATURE, _NONE, _LEARNED):
                if method not in known[f"{group}|{task.name}"]:
                    _append(group, task.name, method, _loss(task, method))
            if sys.stderr.isatty():
                print(f"\r{number}: {task.name:60s}", end="", file=sys.stderr, flush=True)
    text = _table(_read())
    (_FOLDER / "curves.md").write_text(text, encoding="utf-8")
    print(text)


def _all_tasks() -> Iterator[tuple[str, Task]]:
    for task in tasks():
        n, k = task.fit_proba.shape
        if task.kind == "UCI":
            yield f"UCI, {task.half}", task
            continue
        yield f"networks, {'fewer than 100' if k < 100 else '100 and more'} classes", task
        rest = replace(
            task, test_proba=task.test_proba[:_TEST_ROWS], test_labels=task.test_labels[:_TEST_ROWS]
        )
        for size in _SIZES:
            # A draw is no draw where it takes nearly all rows.
            if size > 0.8 * n:
                continue
            for draw in range(_DRAWS):
                chosen = np.random.default_rng([draw, size]).permutation(n)[:size]
                yield (
                    f"networks, {size} rows",
                    replace(
                        rest,
                        name=f"{task.name}, draw {draw}",
                        fit_proba=task.fit_proba[chosen],
                        fit_labels=task.fit_labels[chosen],
                    ),
                )


def _loss(task: Task, method: str) -> float:
    classes = range(task.fit_proba.shape[1])
    calibrator = (
        TemperatureScaling(classes=classes)
        if method == _TEMPERATURE
        else BayesianDirichletCalibrator(classes=classes, curves=method)  # type: ignore[arg-type]
    )
    calibrator.fit(task.fit_proba, task.fit_labels)
    proba = calibrator.predict_proba(task.test_proba)
    return float(log_loss(task.test_labels, proba, classes=classes))


def _read() -> _Rows:
    """By group and task, the loss of each method."""
    found: _Rows = defaultdict(dict)
    if _RESULTS.exists():
        with _RESULTS.open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                found[f"{line['group']}|{line['task']}"][line["method"]] = float(line["log_loss"])
    return found


def _append(group: str, task: str, method: str, loss: float) -> None:
    is_new = not _RESULTS.exists()
    with _RESULTS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(["group", "task", "method", "log_loss"])
        writer.writerow([group, task, method, f"{loss:.6g}"])


def _table(found: _Rows) -> str:
    groups: dict[str, list[dict[str, float]]] = defaultdict(list)
    for place, losses in found.items():
        groups[place.split("|")[0]].append(losses)
    lines = [
        "# What curves are worth",
        "",
        "Written by `python benchmarks/curves.py` from `results/curves.csv`: the log-loss of the "
        "Bayesian map with curves on rows that had no part in the fit, as a difference in percent "
        f"of the larger of the other loss and {_LEAST_LOSS}. The weight of the uniform and the "
        "second prior were settled with all networks and half of the UCI tasks in sight, so that "
        f'in these respects "{HALVES[1]}" holds nothing out.',
        "",
        "| tasks | number | against | mean | better or equal | worse by 2 % | worst |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for group, tasks_of in groups.items():
        for other in (_TEMPERATURE, _NONE):
            change = np.array(
                [
                    100.0 * (each[_LEARNED] - each[other]) / max(each[other], _LEAST_LOSS)
                    for each in tasks_of
                ]
            )
            lines.append(
                f"| {group} | {len(change)} | {other} | {change.mean():+.2f} % "
                f"| {np.mean(change <= _EQUAL):.0%} | {np.mean(change > 2.0):.0%} "
                f"| {change.max():+.1f} % |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
