"""Tables in parts, and a cluster of two processes."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from dircal import scan
from dircal.tables import TableLimits

NAMES = ["ant", "bee", "cat", "dog"]


@pytest.fixture(scope="session")
def frame():
    """Probabilities with string labels, weights of which some are zero, and logits beside them."""
    rng = np.random.default_rng(0)
    n, k = 20_000, len(NAMES)
    logits = rng.normal(scale=3.0, size=(n, k))
    y = (0.5 * logits + rng.normal(scale=0.5, size=k) + rng.gumbel(size=(n, k))).argmax(axis=1)
    table = pd.DataFrame(softmax(logits, axis=1), columns=NAMES)
    table["y"] = np.array(NAMES)[y]
    table["w"] = rng.integers(0, 3, n).astype(float)
    return table


@pytest.fixture(scope="session")
def cut():
    """Cuts a frame into parts."""

    def cut_frame(table, n_parts):
        ends = np.linspace(0, len(table), n_parts + 1).astype(int)
        return [table.iloc[i:j] for i, j in pairwise(ends)]

    return cut_frame


@pytest.fixture(scope="session")
def in_parts():
    """Describe a table, with labels in column y, that is read again in every pass."""

    def scan_in_parts(source, **options):
        table = scan(source, **{"label": "y", **options})
        return replace(table, limits=TableLimits(memory_bytes=0))

    return scan_in_parts


@pytest.fixture(scope="session")
def client():
    """A client of two worker processes, on any ports, with minutes to start."""
    import dask

    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "10 minutes"}),
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                scheduler_port=0,
                dashboard_address=":0",
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client
