"""Scores that are not finite, classes that are masked, and frames without rows in memory."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dircal import HistogramCalibrator, TemperatureScaling
from dircal.exceptions import ColumnOrderWarning
from dircal.tables._values import reject_lazy

INF = np.inf
Z = np.array([[2.0, 0.0, -1.0], [0.0, 1.0, -INF], [-1.0, -INF, 2.0], [0.5, 1.0, -0.5]])
Y = np.array(["a", "b", "c", "a"])


def changed(row, value):
    Z_ = Z.copy()
    Z_[row] = value
    return Z_


BAD = {
    "nan beside a mask": (changed(1, [0, np.nan, -INF]), r"finite; row 1, column 1 is nan"),
    "plus infinity": (changed(1, [0, INF, -INF]), r"finite; row 1, column 1 is inf"),
    "no class left": (
        changed(2, -INF),
        r"must leave a class in each row; in row 2 every logit is -inf.*Leave such rows out",
    ),
    "too large": (changed(2, [-1e200, -INF, 1.0]), r"a logit of magnitude 1e\+200"),
}


@pytest.mark.parametrize(("X", "message"), BAD.values(), ids=BAD)
def test_bad_logits(X, message):
    scaling = TemperatureScaling(input_scale="logit")
    with pytest.raises(ValueError, match=f"(?s){message}"):
        scaling.fit(X, Y)
    scaling.fit(Z, Y)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        scaling.predict_proba(X)


def test_a_label_on_a_masked_class_is_refused():
    scaling = TemperatureScaling(input_scale="logit", classes=["c", "a", "b"])
    with pytest.raises(ValueError, match=r"`y` holds 'b' for row 1.*masks this class.*-inf.*clip"):
        scaling.fit(Z, Y)
    # Rows of weight zero count for nothing.
    scaling.fit(Z, Y, sample_weight=[1, 0, 1, 1])


def test_masks_in_another_order_of_the_columns_are_told_as_such(make_problem):
    """Labels fall on masked classes because they are taken for other columns: both are said."""
    problem = make_problem(0, n=400, k=3)
    logits = np.log(problem.proba**3)
    lowest = logits.argmin(axis=1)
    masked = lowest != problem.y
    logits[np.flatnonzero(masked), lowest[masked]] = -INF
    y = np.array(["low", "mid", "top"])[problem.y]
    scaling = TemperatureScaling(input_scale="logit", classes=["top", "low", "mid"])
    with (
        pytest.warns(ColumnOrderWarning, match=r"pass `classes=\['low', 'mid', 'top'\]`"),
        pytest.raises(ValueError, match=r"masks this class.*order of the columns"),
    ):
        scaling.fit(logits, y)


def test_rows_that_cannot_be_counted_may_hold_anything():
    scaling = TemperatureScaling(input_scale="logit", classes=["a", "b", "c"])
    weighted = scaling.fit(changed(2, -INF), Y, [1, 1, 0, 1])
    assert np.isfinite(weighted.temperature_)


def test_probabilities_have_no_masks():
    with pytest.raises(ValueError, match=r"finite; row 1, column 2 is -inf"):
        TemperatureScaling().fit(Z, Y)


def test_one_column_of_log_odds():
    """Minus infinity leaves the other class; plus infinity is refused as everywhere."""
    column = np.array([-2.0, -INF, 1.0, 3.0, -0.5])
    fitted = HistogramCalibrator(input_scale="logit").fit(column, [0, 0, 1, 1, 1])
    assert fitted.predict_proba(column)[1].tolist() == [1.0, 0.0]
    assert np.isfinite(fitted.bin_edges_[1:-1]).all()
    with pytest.raises(ValueError, match="is inf"):
        fitted.predict_proba([INF])
    with pytest.raises(ValueError, match="masks this class"):
        HistogramCalibrator(input_scale="logit").fit(column, [0, 1, 1, 1, 1])


@pytest.mark.parametrize(
    "eager", [np.ones((2, 2)), [[1, 2]], pd.DataFrame({"a": [1]}), pa.table({"a": [1]}), None]
)
def test_what_holds_rows_passes(eager):
    reject_lazy("X", eager)


def test_arrays_of_dask_are_told():
    array = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="`y_prob` is a lazy collection of Dask"):
        reject_lazy("y_prob", array.ones((4, 2)))
