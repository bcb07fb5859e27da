"""Fits during which workers are killed.

A program, because a worker that is lost while Dask starts it raises errors in a thread of Dask,
which would reach whichever test runs by then. It prints one line of JSON for each case: workers
killed, when, whether the map is the undisturbed one, and the number of folds.
"""

import json
import os
import signal
import sys
import threading
import time
from dataclasses import replace

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from dircal import VectorScaling, scan
from dircal.tables import TableLimits
from dircal.tables._dask_parts import DaskParts

CASES = [(1, "fold"), (2, "fold"), (1, "between")]
# A cluster gives up a worker that has not restarted after 15 seconds, which a busy machine exceeds.
PATIENCE = {
    "distributed.comm.timeouts.connect": "10 minutes",
    "distributed.deploy.lost-worker-timeout": "10 minutes",
}


def kill(client, n_workers):
    """Kill workers, as the system does when memory runs out; their nannies start others."""
    for process in list(client.run(os.getpid).values())[:n_workers]:
        os.kill(process, signal.SIGKILL)


class Slowly:
    """A function, slow enough for a worker to be killed while it runs."""

    def __init__(self, function):
        self.function = function

    def __call__(self, part):
        time.sleep(0.2)
        return self.function(part)


def fit(client, frame):
    """Fit in bundles of 64 kB, of which a small table makes many."""
    limits = TableLimits(min_bundle_bytes=2**16)
    return VectorScaling().fit(
        replace(scan(frame, label="y", weight="w", client=client), limits=limits)
    )


def disturbed_fit(client, frame, n_workers, when):
    """Fit with workers killed at the sixth fold; return the fit and the number of folds."""
    folds, fold = [], DaskParts.fold

    def disturbed(self, function):
        folds.append(function)
        if len(folds) == 6 and when == "between":
            kill(client, n_workers)
        if len(folds) == 6 and when == "fold":
            threading.Timer(0.02, kill, (client, n_workers)).start()
        return fold(self, Slowly(function) if len(folds) == 6 else function)

    DaskParts.fold = disturbed
    try:
        fitted = fit(client, frame)
    finally:
        DaskParts.fold = fold
    return fitted, len(folds)


def main(path):
    lazy = dd.from_pandas(pd.read_parquet(path), npartitions=7, sort=False)
    with (
        dask.config.set(PATIENCE),
        LocalCluster(
            n_workers=2, threads_per_worker=1, scheduler_port=0, dashboard_address=":0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        whole = fit(client, lazy)
        for n_workers, when in CASES:
            client.wait_for_workers(2, timeout=600)
            fitted, n_folds = disturbed_fit(client, lazy, n_workers, when)
            same = np.array_equal(fitted.coef_, whole.coef_)
            same = same and np.array_equal(fitted.intercept_, whole.intercept_)
            sys.stdout.write(json.dumps([n_workers, when, same, n_folds]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
