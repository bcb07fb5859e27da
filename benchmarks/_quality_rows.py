"""One row for each task and method: measured once, kept in a file, never measured again."""

import csv
import time
import warnings
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from _quality_methods import METHODS, UNCALIBRATED, applies
from _quality_tasks import Task

from dircal.metrics import brier_score, classwise_ece, log_loss

__all__ = ["Row", "measure", "read_rows"]

PATH = Path(__file__).resolve().parent / "results" / "quality.csv"
# A probability of zero costs this much, as in the paper.
_CLIP = 1e-15
_NORMAL = 1.96


@dataclass(frozen=True)
class Row:
    """What one method did to one task; ``low`` and ``high`` bound the change of the log-loss."""

    task: str
    kind: str
    classifier: str
    half: str
    n: int
    k: int
    method: str
    log_loss: float
    brier: float
    classwise_ece: float
    seconds: float
    low: float
    high: float


def read_rows() -> list[Row]:
    """Rows of the file, if there is one."""
    if not PATH.exists():
        return []
    with PATH.open(encoding="utf-8") as file:
        return [
            Row(**{f.name: f.type(line[f.name]) for f in fields(Row)})  # type: ignore[operator]
            for line in csv.DictReader(file)
        ]


def measure(task: Task, known: set[tuple[str, str]]) -> list[Row]:
    """Measure the methods that this task lacks, and add them to the file."""
    n, k = task.fit_proba.shape
    rows = []
    for method in METHODS:
        if (task.name, method) in known or not applies(method, n, k):
            continue
        row = _measure(task, method)
        rows.append(row)
        _append(row)
    return rows


def _measure(task: Task, method: str) -> Row:
    n, k = task.fit_proba.shape
    calibrator = METHODS[method](k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        calibrator.fit(task.fit_proba, task.fit_labels)
        seconds = time.process_time() - began
        proba = np.asarray(calibrator.predict_proba(task.test_proba), dtype=np.float64)
    y, classes = task.test_labels, range(k)
    proba = proba / proba.sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    losses = -np.log(proba[rows, y].clip(_CLIP))
    change = losses + np.log(task.test_proba[rows, y].clip(_CLIP))
    error = 0.0 if method == UNCALIBRATED else float(change.std(ddof=1) / np.sqrt(len(y)))
    return Row(
        task.name,
        task.kind,
        task.classifier,
        task.half,
        n,
        k,
        method,
        float(log_loss(y, proba, classes=classes)),
        float(brier_score(y, proba, classes=classes)),
        float(classwise_ece(y, proba, classes=classes)),
        seconds,
        float(change.mean() - _NORMAL * error),
        float(change.mean() + _NORMAL * error),
    )


def _append(row: Row) -> None:
    """Add a line; six digits are more than enough."""
    new = not PATH.exists()
    PATH.parent.mkdir(exist_ok=True)
    values = {
        name: f"{value:.6g}" if isinstance(value, float) else value
        for name, value in asdict(row).items()
    }
    with PATH.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(values), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(values)
