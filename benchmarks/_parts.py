"""Fits of one table in memory, streamed and on a cluster, each in a process of its own.

    python benchmarks/_parts.py TASK FILE

prints processor time and peak memory as JSON. `fit_alone` is the other end.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from _alone import Say, peak_gigabytes
from _problems import generate
from _timing import Row

from dircal import DirichletCalibrator, scan

__all__ = ["compare_engines"]

_N_CLASSES, _N_PARTS = 10, 64
_NAMES = [f"c{j}" for j in range(_N_CLASSES)]


def compare_engines(folder: Path, n_samples: int, say: Say) -> list[Row]:
    """The same fit of so many rows in 64 row groups, in memory, streamed, and by two workers."""
    path = folder / "scores.parquet"
    _write(path, n_samples)
    found = {}
    for task in _TASKS:
        say(f"{n_samples:,} rows, {task} ...")
        command = [sys.executable, __file__, task, str(path)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[task] = json.loads(done.stdout.splitlines()[-1])
    memory, streamed, cluster = (found[task] for task in _TASKS)
    what = f"n={n_samples}, k={_N_CLASSES}"
    data, beside = f"generated, {_N_PARTS} row groups", "DirichletCalibrator().fit in memory"
    return [
        Row(
            f"processor time: Dask, two workers, {what}",
            data,
            "s",
            cluster["processor"],
            beside,
            memory["processor"],
            1.25,
        ),
        Row(
            f"processor time: streamed Parquet, {what}",
            data,
            "s",
            streamed["processor"],
            beside,
            memory["processor"],
            1.5,
        ),
        Row(
            f"peak memory: streamed Parquet, {what}",
            data,
            "GB",
            streamed["gigabytes"],
            beside,
            memory["gigabytes"],
            0.25,
        ),
    ]


def _write(path: Path, n_samples: int) -> None:
    schema = pa.schema([*((name, pa.float64()) for name in _NAMES), ("y", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for part in range(_N_PARTS):
            problem = generate(n_samples // _N_PARTS, _N_CLASSES, part)
            columns = [*problem.proba.T, problem.labels]
            writer.write_table(pa.table([pa.array(one) for one in columns], schema=schema))


def _in_memory(path: str) -> dict[str, float]:
    table = pq.read_table(path).to_pandas()
    DirichletCalibrator(classes=range(_N_CLASSES)).fit(table[_NAMES].to_numpy(), table["y"])
    return {}


def _in_parts(path: str) -> dict[str, float]:
    table = scan(path, label="y", scores=_NAMES, classes=range(_N_CLASSES))
    DirichletCalibrator().fit(table)
    return {}


def _on_dask(path: str) -> dict[str, float]:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, scheduler_port=0, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        before = _processor() + sum(client.run(_processor).values())
        frame = dd.read_parquet(path, split_row_groups=1)
        table = scan(frame, label="y", scores=_NAMES, classes=range(_N_CLASSES))
        DirichletCalibrator().fit(table)
        after = _processor() + sum(client.run(_processor).values())
    return {"processor": after - before}


def _processor() -> float:
    return sum(os.times()[:2])


_TASKS: dict[str, Any] = {"memory": _in_memory, "streamed": _in_parts, "dask": _on_dask}


if __name__ == "__main__":
    start, began = _processor(), time.perf_counter()
    own = _TASKS[sys.argv[1]](sys.argv[2])
    used = {"processor": _processor() - start, "seconds": time.perf_counter() - began}
    print(json.dumps(used | {"gigabytes": peak_gigabytes()} | own))
