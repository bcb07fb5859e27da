"""Rows about very many classes and very many rows, each fitted in a process of its own."""

import shutil
import tempfile
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from _alone import INPUTS, LABELS, TOL, Say, run_alone
from _problems import generate
from _report import Series, show_amount
from _timing import Row

__all__ = ["enough_disk", "very_many_classes", "very_many_rows"]

_MANY_CLASSES = (10_000, 1_000)
_MANY_ROWS = (10_000_000, 10)
_PIECE = 500_000
# The map takes 0.4 GB and the labels 0.1 GB; a disk should not be filled to the brim.
_FREE_BYTES = 2e9


def enough_disk(n_bytes: float = _FREE_BYTES) -> bool:
    """Whether the folder for temporary files has so much room, by default for the memory map."""
    return shutil.disk_usage(tempfile.gettempdir()).free >= n_bytes


def very_many_classes(say: Say) -> tuple[list[Row], Series]:
    """Memory of a fit with 1000 classes, and its time for each decade of accuracy."""
    n_samples, n_classes = _MANY_CLASSES
    with tempfile.TemporaryDirectory() as folder:
        problem = generate(n_samples, n_classes)
        assert problem.logits is not None
        np.save(Path(folder, INPUTS), problem.logits)
        np.save(Path(folder, LABELS), problem.labels)
        found = run_alone("many_classes", Path(folder), say)
    name = "Dirichlet ODIR, k=1000, n=10 000"
    memory = Row(f"memory: {name}", problem.name, "GB", found["gigabytes"], "limit", 1.5, 1.0)
    return [memory, _time_for_a_decade(name, problem.name, found)], _loss_against_time(found)


def very_many_rows(say: Say) -> list[Row]:
    """Memory and time of the default fit on ten million rows of a memory map."""
    n_samples, n_classes = _MANY_ROWS
    with tempfile.TemporaryDirectory() as folder:
        _write_in_pieces(Path(folder), n_samples, n_classes, say)
        found = run_alone("many_rows", Path(folder), say)
    data = f"generated k={n_classes}, float32 map"
    name = "n=10 000 000, k=10"
    predicted = f"{show_amount(found['predict_seconds'], 's')} for 1 000 000 rows"
    evaluation = min(found["evaluation_seconds"])
    return [
        Row(f"memory: Dirichlet ODIR, {name}", data, "GB", found["gigabytes"], "limit", 1.0, 1.0),
        Row(
            f"memory: predict_proba after that, {name}",
            data,
            "GB",
            found["predict_gigabytes"],
            "limit",
            1.0,
            None,
            predicted,
        ),
        Row(
            f"Dirichlet ODIR, floor learned, {name}",
            data,
            "s",
            found["seconds"],
            "one loss and gradient",
            evaluation,
            None,
            found["passes"],
        ),
    ]


def _time_for_a_decade(name: str, data: str, found: dict[str, Any]) -> Row:
    """Whole time by decades of accuracy, in units of the evaluations of the fit itself.

    They are spread over the fit, so that a busy moment hits both alike.
    """
    first, last = found["losses"][0], found["losses"][-1]
    # Without convergence nothing is promised; the last step tells how far away the end may be.
    accuracy = TOL if found["converged"] else found["losses"][-2] - last
    decades = float(np.log10((first - found["best_loss"]) / accuracy))
    seconds = found["seconds"]
    evaluations = found["evaluation_seconds"]
    note = f"{decades:.1f} decades in {seconds:.0f} s: {found['passes']}"
    return Row(
        f"time for a decade: {name}",
        data,
        "s",
        seconds / decades,
        "one loss and gradient, median of the fit's own",
        median(evaluations),
        40.0,
        f"{note}; fastest evaluation {show_amount(min(evaluations), 's')}",
    )


def _loss_against_time(found: dict[str, Any]) -> Series:
    """Every evaluation is saved; the table has the first one below each power of ten."""
    evaluation = median(found["evaluation_seconds"])
    points = [
        {
            "seconds": seconds,
            "evaluations": seconds / evaluation,
            "loss": loss,
            "above_best": loss - found["best_loss"],
        }
        for seconds, loss in zip(found["elapsed"], found["losses"], strict=True)
    ]
    cells = [
        (
            f"{point['above_best']:.1e}",
            f"{point['loss']:.10f}",
            show_amount(point["seconds"], "s"),
            f"{point['evaluations']:.0f}",
        )
        for point in _one_each_decade(points)
    ]
    columns = ("loss above the last", "loss", "after", "in evaluations")
    return Series("Loss against time, k=1000, n=10 000", columns, cells, points)


def _one_each_decade(points: list[dict[str, float]]) -> list[dict[str, float]]:
    """The first point, and the first one below each power of ten."""
    chosen = points[:1]
    for point in points:
        if np.ceil(np.log10(max(point["above_best"], TOL / 10))) < np.ceil(
            np.log10(chosen[-1]["above_best"])
        ):
            chosen.append(point)
    return chosen


def _write_in_pieces(folder: Path, n_samples: int, n_classes: int, say: Say) -> None:
    """A float32 file of probabilities and one of labels, never in memory as a whole."""
    inputs = np.lib.format.open_memmap(
        folder / INPUTS, mode="w+", dtype=np.float32, shape=(n_samples, n_classes)
    )
    labels = np.empty(n_samples, dtype=np.int64)
    for part, start in zip(count(), range(0, n_samples, _PIECE)):
        piece = generate(min(_PIECE, n_samples - start), n_classes, part)
        inputs[start : start + _PIECE] = piece.proba
        labels[start : start + _PIECE] = piece.labels
        say(f"{start + len(piece.labels):,} rows written")
    inputs.flush()
    np.save(folder / LABELS, labels)
