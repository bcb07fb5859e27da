"""Calibrated tables: lazy columns of Dask frames, and files."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from dircal import TemperatureScaling, scan

NAMES = ["ant", "bee", "cat", "dog"]


@pytest.fixture(scope="module")
def fitted(frame):
    return TemperatureScaling().fit(frame[NAMES], frame["y"])


@pytest.fixture(scope="module")
def lazy(frame):
    table = frame[["w", *NAMES, "y"]].iloc[:100]
    table.index = pd.Index(np.arange(100) * 3, name="id")
    return dd.from_pandas(table, npartitions=3)


def test_index_and_other_columns_stay_and_nothing_is_computed(fitted, lazy, frame):
    calibrated = fitted.predict_proba(scan(lazy)).to_dask()
    assert isinstance(calibrated, dd.DataFrame)
    assert list(calibrated.columns) == ["w", *NAMES, "y"]
    assert calibrated.divisions == lazy.divisions
    computed = calibrated.compute(scheduler="synchronous")
    assert (computed.dtypes == calibrated.dtypes).all()
    assert computed.index.name == "id"
    assert_array_equal(computed[NAMES], fitted.predict_proba(frame[NAMES].iloc[:100]))
    assert_array_equal(computed["y"], frame["y"].iloc[:100])


def test_a_prefix_keeps_the_scores_and_columns_may_be_named(fitted, lazy, frame):
    turned = lazy.rename(columns=dict(zip(NAMES, "wxyz", strict=True)) | {"w": "weight", "y": "l"})
    table = scan(turned, scores=["w", "x", "y", "z"])
    calibrated = fitted.predict_proba(table).to_dask(prefix="p_")
    computed = calibrated.compute(scheduler="synchronous")
    assert list(computed.columns)[-4:] == ["p_w", "p_x", "p_y", "p_z"]
    assert_array_equal(computed["w"], frame["ant"].iloc[:100])
    assert_array_equal(computed["p_x"], fitted.predict_proba(frame[NAMES].iloc[:100])[:, 1])


def test_an_empty_partition(fitted, lazy):
    empty = lazy[lazy["w"] > 5.0]
    computed = fitted.predict_proba(scan(empty)).to_dask().compute(scheduler="synchronous")
    assert len(computed) == 0
    assert list(computed.columns) == ["w", *NAMES, "y"]


def test_tables_that_do_not_fit_a_map(fitted, lazy, frame, tmp_path):
    with pytest.raises(ValueError, match=r"the table is not a Dask DataFrame. Call `write`"):
        fitted.predict_proba(scan(frame)).to_dask()
    with pytest.raises(ValueError, match="the table is not one file"):
        fitted.predict_proba(scan(lazy)).write(tmp_path / "out.csv")
    with pytest.raises(ValueError, match="the table lacks columns that the map reads: 'ant'"):
        fitted.predict_proba(scan(lazy[["ant", "bee"]])).to_dask()
    with pytest.raises(ValueError, match="1 columns are chosen, but the map reads 4"):
        fitted.predict_proba(scan(lazy, scores=["ant"])).to_dask()
    with pytest.raises(ValueError, match="the table has a column called 'pant' already"):
        fitted.predict_proba(scan(lazy.assign(pant=1.0))).to_dask(prefix="p")
