"""Commands on a folder of Parquet files, each in a process of its own.

    python benchmarks/_tables.py ARGUMENTS...

runs ``dircal ARGUMENTS...`` and prints time and peak memory as JSON, after its own output.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _alone import Say, peak_gigabytes
from _problems import generate
from _timing import Row

__all__ = ["measure_commands"]

_N_CLASSES = 10
_NAMES = [f"c{j}" for j in range(_N_CLASSES)]
_FILE_ROWS, _GROUP_ROWS = 1_000_000, 250_000
# What each command may take, in GB.
_LIMITS = {"evaluate": 2.0, "report": 4.0}


def measure_commands(folder: Path, n_samples: int, say: Say) -> list[Row]:
    """Memory of both commands, beside what they may take, and their processor time in a note."""
    _write(folder, n_samples, say)
    rows = []
    for command, limit in _LIMITS.items():
        say(f"{n_samples:,} rows, dircal {command} ...")
        output = ["-o", str(folder / "report.html"), "--force"] if command == "report" else []
        called = [sys.executable, __file__, command, str(folder), "--label", "y", *output]
        done = subprocess.run(called, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        rows.append(
            Row(
                f"memory: dircal {command}, n={n_samples}, k={_N_CLASSES}",
                "generated, float32 Parquet",
                "GB",
                found["gigabytes"],
                "limit",
                limit,
                1.0,
                f"{found['processor']:.0f} s of processor time, {found['seconds']:.0f} s in all",
            )
        )
    return rows


def _write(folder: Path, n_samples: int, say: Say) -> None:
    """Files of a million rows; those that are there are left as they are."""
    schema = pa.schema([*((name, pa.float32()) for name in _NAMES), ("y", pa.string())])
    names = np.array(_NAMES)
    for i in range(-(-n_samples // _FILE_ROWS)):
        path = folder / f"part-{i:03d}.parquet"
        if path.exists():
            continue
        left = min(_FILE_ROWS, n_samples - i * _FILE_ROWS)
        with pq.ParquetWriter(path.with_suffix(".tmp"), schema) as writer:
            for part in range(-(-left // _GROUP_ROWS)):
                size = min(_GROUP_ROWS, left - part * _GROUP_ROWS)
                problem = generate(size, _N_CLASSES, i * (_FILE_ROWS // _GROUP_ROWS) + part)
                scores = [pa.array(one) for one in problem.proba.T.astype(np.float32)]
                columns = [*scores, pa.array(names[problem.labels])]
                writer.write_table(pa.table(columns, schema=schema))
        path.with_suffix(".tmp").replace(path)
        say(f"{i * _FILE_ROWS + left:,} rows written")


def _run(arguments: list[str]) -> None:
    from dircal.cli import main

    sys.argv = ["dircal", *arguments]
    began = time.perf_counter()
    try:
        main()
    except SystemExit as done:
        if done.code:
            raise
    used = {"seconds": time.perf_counter() - began, "processor": sum(os.times()[:2])}
    print(json.dumps(used | {"gigabytes": peak_gigabytes()}))


if __name__ == "__main__":
    _run(sys.argv[1:])
