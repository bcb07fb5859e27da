"""Rows about the command line: large files, each in a process of its own, and its help."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _alone import Say, peak_gigabytes
from _problems import generate
from _timing import Row

import dircal
from dircal.cli import main

__all__ = ["apply_to_csv", "apply_to_parquet", "show_help"]

_N_SAMPLES, _N_CLASSES = 10_000_000, 10
_N_LINES = 200_000
_PIECE = 500_000
_ROUNDS = 2
_HELPS = 10
_INPUT, _OUTPUT, _MAP = "predictions.parquet", "calibrated.parquet", "map.json"


def apply_to_parquet(say: Say) -> list[Row]:
    """``dircal apply`` on ten million rows, against pyarrow reading and writing them."""
    with tempfile.TemporaryDirectory() as folder:
        _write_parquet(Path(folder), say)
        found: dict[str, list[dict[str, float]]] = {"apply": [], "copy": []}
        for i in range(_ROUNDS):
            for task in found:
                say(f"10 000 000 rows of Parquet: {task}, {i + 1} of {_ROUNDS} ...")
                found[task].append(_alone(task, Path(folder)))
    seconds = {task: min(one["seconds"] for one in all_) for task, all_ in found.items()}
    memory = max(one["gigabytes"] for one in found["apply"])
    name, data = "dircal apply, Parquet, n=10 000 000, k=10", "generated k=10, float64"
    beside = "pyarrow: read_table, write_table"
    used = [min(one["processor"] for one in found[task]) for task in ("apply", "copy")]
    note = f"whole processes; processor time {used[0]:.1f} s against {used[1]:.1f} s"
    return [
        Row(name, data, "s", seconds["apply"], beside, seconds["copy"], 3.0, note),
        Row(f"memory: {name}", data, "GB", memory, "limit", 1.0, 1.0),
    ]


def apply_to_csv() -> list[Row]:
    """The same on text, against Python's own reader and writer, which change nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_csv(folder)
        found = {
            task: min(
                (_alone(task, folder) for _ in range(_ROUNDS)), key=lambda one: one["seconds"]
            )
            for task in ("apply_csv", "copy_csv")
        }
    ours, theirs = found["apply_csv"], found["copy_csv"]
    label, data = f"dircal apply, CSV, n={_N_LINES // 1000} 000, k=10", "generated k=10"
    seconds = (ours["seconds"], "Python: csv.reader, csv.writer", theirs["seconds"], None)
    return [
        Row(label, data, "s", *seconds, "whole processes"),
        Row(f"memory: {label}", data, "GB", ours["gigabytes"], "limit", 1.0, 1.0),
    ]


def show_help() -> list[Row]:
    """``dircal --help`` in a fresh interpreter, less what the interpreter takes."""
    commands = (["-m", "dircal", "--help"], ["-c", "pass"])
    times = [[_seconds([sys.executable, *one]) for one in commands] for _ in range(_HELPS)]
    ours, bare = np.min(times, axis=0).tolist()
    note = f"start of the interpreter ({1e3 * bare:.0f} ms) subtracted"
    return [Row("dircal --help", "none", "s", ours - bare, "limit", 0.5, 1.0, note)]


def _write_csv(folder: Path) -> None:
    problem = generate(_N_LINES, _N_CLASSES)
    dircal.save(dircal.DirichletCalibrator().fit(problem.proba, problem.labels), folder / _MAP)
    head = ",".join(map(str, range(_N_CLASSES)))
    lines = (",".join(map(repr, row)) for row in problem.proba.tolist())
    (folder / "predictions.csv").write_text("\n".join([head, *lines]) + "\n")


def _write_parquet(folder: Path, say: Say) -> None:
    problem = generate(_PIECE, _N_CLASSES)
    dircal.save(dircal.DirichletCalibrator().fit(problem.proba, problem.labels), folder / _MAP)
    writer = None
    for start in range(0, _N_SAMPLES, _PIECE):
        say(f"10 000 000 rows of Parquet: writing, {start:,} ...")
        # The same rows in another order: to generate them anew takes longer than everything else.
        turned = np.roll(problem.proba, start // 97, axis=0)
        columns: dict[str, Any] = {str(j): turned[:, j] for j in range(_N_CLASSES)}
        table = pa.table(columns | {"row": np.arange(start, start + _PIECE)})
        writer = writer or pq.ParquetWriter(folder / _INPUT, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def _alone(task: str, folder: Path) -> dict[str, float]:
    """Seconds of a whole process, and its largest memory."""
    began = time.perf_counter()
    command = [sys.executable, str(Path(__file__)), task]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, **json.loads(done.stdout.splitlines()[-1])}


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    return time.perf_counter() - began


def _copy_csv() -> None:
    import csv

    with Path("predictions.csv").open(newline="") as old, Path("out.csv").open("w") as new:
        csv.writer(new).writerows(csv.reader(old))


def _apply(source: str, target: str) -> None:
    sys.argv = ["dircal", "apply", _MAP, source, "-o", target, "--force"]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


def _run(task: str) -> None:
    if task == "copy":
        pq.write_table(pq.read_table(_INPUT), "copy.parquet")
    elif task == "copy_csv":
        _copy_csv()
    elif task == "apply_csv":
        _apply("predictions.csv", "calibrated.csv")
    else:
        _apply(_INPUT, _OUTPUT)
    used = time.process_time()
    print(json.dumps({"gigabytes": peak_gigabytes(), "processor": used}))


if __name__ == "__main__":
    _run(sys.argv[1])
