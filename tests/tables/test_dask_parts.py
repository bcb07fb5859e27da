"""On a cluster of two processes: the map of one machine, also where a worker is lost."""

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pytest
from distributed import Client
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from dircal import (
    AutoCalibrator,
    DirichletCalibrator,
    IdentityCalibrator,
    MatrixScaling,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
    evaluate,
    scan,
)
from dircal.tables import TableLimits, _dask_parts

NAMES = ["ant", "bee", "cat", "dog"]
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
CALIBRATORS = {
    "temperature": TemperatureScaling(),
    "vector": VectorScaling(),
    "matrix": MatrixScaling(),
    "dirichlet": DirichletCalibrator(),
    "auto": AutoCalibrator(),
    "identity": IdentityCalibrator(),
    "one-vs-rest": OneVsRestCalibrator(PlattCalibrator()),
}


def in_bundles(source, **options):
    """Describe a table in parts, in bundles of 64 kB, of which a small table makes many."""
    limits = TableLimits(memory_bytes=0, min_bundle_bytes=2**16)
    return replace(scan(source, label="y", **options), limits=limits)


@pytest.fixture(scope="module")
def lazy(frame):
    return dd.from_pandas(frame, npartitions=7, sort=False)


@pytest.mark.parametrize("calibrator", CALIBRATORS.values(), ids=CALIBRATORS)
def test_a_cluster_gives_the_map_that_arrays_give(calibrator, frame, lazy, client, in_parts):
    fitted = clone(calibrator).fit(in_parts(lazy, weight="w", client=client))
    whole = calibrator.fit(frame[NAMES], frame["y"], frame["w"])
    scores = frame[NAMES]
    assert_allclose(fitted.predict_proba(scores), whole.predict_proba(scores), rtol=0, atol=1e-10)
    assert pickle.loads(pickle.dumps(fitted)).predict_proba(scores).shape == (len(frame), 4)


def test_a_cluster_and_this_process_agree_to_the_last_digit(frame, cut, client, tmp_path):
    table = frame.drop(columns="w")
    many = dd.from_pandas(table, npartitions=64, sort=False)
    for i, part in enumerate(cut(table, 64)):
        part.to_parquet(tmp_path / f"{i:02}.parquet", index=False)
    here = [many.get_partition(i).compute(scheduler="synchronous") for i in range(64)]
    calibrator = DirichletCalibrator()
    on_cluster = clone(calibrator).fit(in_bundles(many, client=client))
    from_frames = clone(calibrator).fit(in_bundles(here))
    without_client = clone(calibrator).fit(in_bundles(many))
    assert_array_equal(on_cluster.coef_, from_frames.coef_)
    assert_array_equal(on_cluster.coef_, without_client.coef_)
    files = clone(calibrator).fit(in_bundles(tmp_path, client=client))
    assert_array_equal(files.coef_, clone(calibrator).fit(in_bundles(tmp_path)).coef_)
    assert_allclose(files.coef_, on_cluster.coef_, rtol=0, atol=1e-10)


def test_one_worker_and_two_agree_to_the_last_digit(lazy, client):
    both = VectorScaling().fit(in_bundles(lazy, weight="w", client=client))
    with Client(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        dashboard_address=":0",
        set_as_default=False,
    ) as alone:
        one = VectorScaling().fit(in_bundles(lazy, weight="w", client=alone))
    assert_array_equal(one.coef_, both.coef_)
    assert_array_equal(one.intercept_, both.intercept_)


def test_results_of_folds_are_small(lazy, client, monkeypatch):
    """No more than a few matrices of p x p come back; rows do not, but for the subsample."""
    sizes = []
    add = _dask_parts.add_up_tree

    def note(results):
        sizes.append(max(len(pickle.dumps(one)) for one in results))
        return add(results)

    monkeypatch.setattr(_dask_parts, "add_up_tree", note)
    fitted = DirichletCalibrator(clip=1e-6).fit(in_bundles(lazy, weight="w", client=client))
    n_parameters = fitted.coef_.size + fitted.intercept_.size
    looks = sorted(sizes)[:-2]
    assert len(looks) > 5
    assert looks[-1] < 8 * n_parameters**2 + 4096


def test_workers_read_text_like_this_process(frame, client, tmp_path):
    numbered = frame.rename(columns=dict(zip(NAMES, "0123", strict=True)))
    path = tmp_path / "p.csv"
    numbered.assign(y=frame["y"].map(NAMES.index)).to_csv(path, index=False)
    there, here = (
        VectorScaling().fit(scan(path, label="y", weight="w", client=one)) for one in (client, None)
    )
    assert there.classes_.tolist() == here.classes_.tolist() == [0, 1, 2, 3]
    assert_allclose(there.coef_, here.coef_, rtol=0, atol=1e-8)


def test_workers_that_are_lost_change_no_digit(frame, tmp_path):
    frame.to_parquet(tmp_path / "frame.parquet")
    program = Path(__file__).with_name("lost_workers.py")
    command = [sys.executable, "-W", "ignore", program, tmp_path / "frame.parquet"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result[:3] for result in results] == [
        [1, "fold", True],
        [2, "fold", True],
        [1, "between", True],
    ]
    assert all(n_folds > 6 for *_, n_folds in results)


def test_a_bad_row_is_named_with_its_partition(frame, client, in_parts):
    table = frame.drop(columns="w").copy()
    table.loc[10_003, "bee"] = np.nan
    lazy = dd.from_pandas(table, npartitions=4, sort=False)
    with pytest.raises(ValueError, match="row 3 of partition 2, column 'bee' is nan"):
        TemperatureScaling().fit(in_parts(lazy, client=client))


def test_measures_and_lazy_calibration(frame, lazy, client, in_parts):
    fitted = VectorScaling().fit(in_parts(lazy, weight="w", scores=NAMES, client=client))
    calibrated = fitted.predict_proba(scan(lazy, scores=NAMES)).to_dask()
    options = {"label": "y", "weight": "w", "scores": NAMES, "client": client}
    found = evaluate(scan(calibrated, **options))
    same = evaluate(scan(lazy, **options), calibrator=fitted)
    assert found.measures == pytest.approx(same.measures, abs=1e-12)
