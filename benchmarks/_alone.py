"""Fits that are run in a process of their own, so that its peak memory is theirs alone.

    python benchmarks/_alone.py TASK FOLDER

reads the data in FOLDER, prints a line at each pass over the rows and at last its findings as
JSON. `run_alone` is the other end.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from _passes import Passes, count_passes
from _problems import FloatArray, usual_strengths
from threadpoolctl import threadpool_limits

from dircal import DirichletCalibrator, calibration_test
from dircal._core.model.objective import Evaluation, Linearisation, Objective
from dircal._core.model.structure import Full

__all__ = ["INPUTS", "LABELS", "TOL", "Say", "peak_gigabytes", "run_alone"]

Say = Callable[[str], None]

INPUTS, LABELS = "inputs.npy", "labels.npy"
TOL = 1e-10
"""Promised accuracy of the objective with very many classes."""
_N_PREDICTED = 1_000_000
_REPEATS = 3


def run_alone(task: str, folder: Path, say: Say) -> dict[str, Any]:
    """Findings of ``task`` on the data in ``folder``; ``say`` is told how far it is."""
    command = [sys.executable, __file__, task, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = ""
        for line in process.stdout:
            if not line.startswith("{"):
                say(line.strip())
    if process.returncode != 0:
        raise RuntimeError(f"The process for {task!r} ended with {process.returncode}.")
    findings: dict[str, Any] = json.loads(line)
    return findings


def _many_classes(folder: Path) -> dict[str, Any]:
    """ODIR with usual strengths on logits: peak memory, and the loss against time."""
    inputs, labels = np.load(folder / INPUTS), np.load(folder / LABELS)
    classes = np.arange(inputs.shape[1])
    strengths = usual_strengths(*inputs.shape)
    calibrator = DirichletCalibrator(**strengths, input_scale="logit", tol=TOL, classes=classes)
    watch = _Watch()
    began = time.perf_counter()
    with watch.watching():
        passes = count_passes(lambda: calibrator.fit(inputs, labels), _say)
    seconds = time.perf_counter() - began
    return {
        "gigabytes": peak_gigabytes(),
        "seconds": seconds,
        "passes": str(passes),
        "converged": not passes.warning,
        "evaluation_seconds": watch.durations,
        "elapsed": [end - began for end in watch.ends],
        "losses": watch.losses,
        "best_loss": watch.loss_of(calibrator),
    }


def _many_rows(folder: Path) -> dict[str, Any]:
    """A fit with usual strengths on a memory map, one loss and gradient, a slice of predictions."""
    inputs, labels = np.load(folder / INPUTS, mmap_mode="r"), np.load(folder / LABELS)
    calibrator = DirichletCalibrator(**usual_strengths(*inputs.shape))
    watch = _Watch()
    began = time.perf_counter()
    with watch.watching():
        passes = count_passes(lambda: calibrator.fit(inputs, labels), _say)
    seconds = time.perf_counter() - began
    fitted = peak_gigabytes()
    predicting = _seconds(lambda: calibrator.predict_proba(inputs[:_N_PREDICTED]))
    predicted = peak_gigabytes()
    with threadpool_limits(1):
        evaluations = [_seconds(lambda: watch.loss_of(calibrator)) for _ in range(_REPEATS)]
    return {
        "gigabytes": fitted,
        "seconds": seconds,
        "passes": str(passes),
        "predict_seconds": predicting,
        "predict_gigabytes": predicted,
        "evaluation_seconds": evaluations,
    }


def _test_of_classes(folder: Path) -> dict[str, Any]:
    """The calibration test of the classes with 10 000 draws."""
    proba, labels = np.load(folder / INPUTS), np.load(folder / LABELS)
    classes = range(proba.shape[1])
    calibration_test(labels, proba, statistic="classwise_ece", random_state=0, classes=classes)
    return {"gigabytes": peak_gigabytes()}


def _say(passes: Passes) -> None:
    print(passes, flush=True)


class _Watch:
    """The objective of a full matrix during a fit: when and how long it was evaluated."""

    def __init__(self) -> None:
        self.objective: Objective | None = None
        self.durations: list[float] = []
        self.ends: list[float] = []
        self.losses: list[float] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Write down every loss and gradient, and remember whose Hessian was asked for."""
        evaluate, look = Objective.evaluate, Objective.linearise

        def evaluation(objective: Objective, params: FloatArray) -> Evaluation:
            began = time.perf_counter()
            found = evaluate(objective, params)
            self._note(objective, began, found.loss)
            return found

        def linearise(objective: Objective, *args: Any) -> Linearisation:
            began = time.perf_counter()
            model = look(objective, *args)
            self._note(objective, began, model.at.loss)
            return model

        with (
            mock.patch.object(Objective, "evaluate", evaluation),
            mock.patch.object(Objective, "linearise", linearise),
        ):
            yield

    def loss_of(self, calibrator: DirichletCalibrator) -> float:
        """The watched objective at the fitted map; takes one loss and gradient."""
        assert self.objective is not None
        weights = np.column_stack([calibrator.coef_, calibrator.intercept_])
        return self.objective.evaluate(self.objective.structure.pack(weights)).loss

    def _note(self, objective: Objective, began: float, loss: float) -> None:
        self._remember(objective)
        self.ends.append(time.perf_counter())
        self.durations.append(self.ends[-1] - began)
        self.losses.append(loss)

    def _remember(self, objective: Objective) -> None:
        if isinstance(objective.structure, Full):
            self.objective = objective


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def peak_gigabytes() -> float:
    """Largest resident memory of this process so far, pages of mapped files included."""
    status = Path("/proc/self/status")
    if status.is_file():
        # On Linux `getrusage` also counts what the parent had in memory when it started us.
        lines = status.read_text(encoding="ascii").splitlines()
        peak = next(line.split()[1] for line in lines if line.startswith("VmHWM:"))
        return int(peak) * 1024 / 1e9
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


if __name__ == "__main__":
    tasks = {
        "many_classes": _many_classes,
        "many_rows": _many_rows,
        "test_of_classes": _test_of_classes,
    }
    print(json.dumps(tasks[sys.argv[1]](Path(sys.argv[2]))))
