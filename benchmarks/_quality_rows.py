"""One row for each task, draw and method: measured once, kept in a file, never measured again."""

import csv
import time
import warnings
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from _quality_methods import METHODS, TEMPERATURE, UNCALIBRATED, applies
from _quality_tasks import Task
from experiments._shared.versions import versions

from dircal.metrics import brier_score, classwise_ece, log_loss

__all__ = ["Row", "key_of", "measure", "read_rows"]

PATH = Path(__file__).resolve().parent / "results" / "quality.csv"
# A probability of zero costs this much, as in the paper.
_CLIP = 1e-15
_NORMAL = 1.96

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """What one method did to one task.

    ``low`` and ``high`` bound the change of the log-loss from that of the uncalibrated rows, and
    ``low_temperature`` and ``high_temperature`` that from temperature scaling, by paired intervals
    of 95 %. ``change`` is the first one itself, and ``harm`` the probability that it is above zero
    where the method foretells that, else NaN. ``version`` is the one of dircal, with its commit.
    """

    task: str
    kind: str
    source: str
    classifier: str
    half: str
    n: int
    k: int
    draw: int
    method: str
    log_loss: float
    brier: float
    classwise_ece: float
    seconds: float
    change: float
    low: float
    high: float
    low_temperature: float
    high_temperature: float
    harm: float
    version: str


def key_of(row: Row) -> tuple[str, int, int, str]:
    """What makes it the only one of its kind."""
    return row.task, row.n, row.draw, row.method


def read_rows() -> list[Row]:
    """Rows of the file, if there is one."""
    if not PATH.exists():
        return []
    with PATH.open(encoding="utf-8") as file:
        return [
            Row(**{f.name: f.type(line[f.name]) for f in fields(Row)})  # type: ignore[operator]
            for line in csv.DictReader(file)
        ]


def measure(task: Task, known: set[tuple[str, int, int, str]]) -> None:
    """Measure the methods that this task lacks, and add them to the file."""
    n, k = task.fit_proba.shape
    missing = [
        method
        for method in METHODS
        if applies(method, task.kind, n, k, task.draw)
        and (task.name, n, task.draw, method) not in known
    ]
    if not missing:
        return
    picked = np.arange(len(task.test_labels)), task.test_labels
    others = [
        -np.log(_fit_and_predict(task, method)[1][picked].clip(_CLIP))
        for method in (UNCALIBRATED, TEMPERATURE)
    ]
    for method in missing:
        _append(_measure(task, method, *others))


def _fit_and_predict(task: Task, method: str) -> tuple[Any, FloatArray, float]:
    """The fitted calibrator, its probabilities, and the processor time of the fit."""
    calibrator = METHODS[method](task.fit_proba.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        calibrator.fit(task.fit_proba, task.fit_labels)
        seconds = time.process_time() - began
        proba = np.asarray(calibrator.predict_proba(task.test_proba), dtype=np.float64)
    return calibrator, proba / proba.sum(axis=1, keepdims=True), seconds


def _measure(task: Task, method: str, uncalibrated: FloatArray, temperature: FloatArray) -> Row:
    n, k = task.fit_proba.shape
    calibrator, proba, seconds = _fit_and_predict(task, method)
    y, classes = task.test_labels, range(k)
    losses = -np.log(proba[np.arange(len(y)), y].clip(_CLIP))
    change = losses - uncalibrated
    return Row(
        task.name,
        task.kind,
        task.source,
        task.classifier,
        task.half,
        n,
        k,
        task.draw,
        method,
        float(log_loss(y, proba, classes=classes)),
        float(brier_score(y, proba, classes=classes)),
        float(classwise_ece(y, proba, classes=classes)),
        seconds,
        float(change.mean()),
        *_interval(change),
        *_interval(losses - temperature),
        float(getattr(calibrator, "probability_of_harm_", np.nan)),
        versions().split(", ")[0].removeprefix("dircal "),
    )


def _interval(difference: FloatArray) -> tuple[float, float]:
    error = _NORMAL * float(difference.std(ddof=1)) / np.sqrt(len(difference))
    return float(difference.mean() - error), float(difference.mean() + error)


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
