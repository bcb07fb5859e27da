"""Lazy calibration of Dask frames."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from dircal import TemperatureScaling, distributed

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
    calibrated = distributed.apply(fitted, lazy)
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
    calibrated = distributed.apply(fitted, turned, columns=["w", "x", "y", "z"], prefix="p_")
    computed = calibrated.compute(scheduler="synchronous")
    assert list(computed.columns)[-4:] == ["p_w", "p_x", "p_y", "p_z"]
    assert_array_equal(computed["w"], frame["ant"].iloc[:100])
    assert_array_equal(computed["p_x"], fitted.predict_proba(frame[NAMES].iloc[:100])[:, 1])


def test_an_empty_partition(fitted, lazy):
    empty = lazy[lazy["w"] > 5.0]
    computed = distributed.apply(fitted, empty).compute(scheduler="synchronous")
    assert len(computed) == 0
    assert list(computed.columns) == ["w", *NAMES, "y"]


def test_what_cannot_be_applied(fitted, lazy, frame):
    with pytest.raises(ValueError, match="`frame` must be a Dask DataFrame"):
        distributed.apply(fitted, frame)
    with pytest.raises(ValueError, match="lacks columns that the calibrator reads"):
        distributed.apply(fitted, lazy[["ant", "bee"]])
    with pytest.raises(ValueError, match="`columns` must name 4 columns"):
        distributed.apply(fitted, lazy, columns=["ant"])
    with pytest.raises(ValueError, match="`prefix` is 'p', but the frame has a column 'pant'"):
        distributed.apply(fitted, lazy.assign(pant=1.0), prefix="p")
