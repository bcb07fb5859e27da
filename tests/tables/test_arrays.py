"""The door: every way to get it wrong has one clear error."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dircal import IdentityCalibrator, IsotonicCalibrator, TemperatureScaling
from dircal.exceptions import DircalWarning, RowSumWarning

GOOD = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6]])
Y = np.array([0, 1, 1, 0])


def changed(value, row=2, column=1):
    X = GOOD.copy()
    X[row, column] = value
    return X


DATES = np.array([["2020", "2021"]] * 4, dtype="datetime64[Y]")
OF_TIME = {
    "dates": DATES,
    "spans": DATES - DATES[0, 0],
    "objects": np.array([[DATES[0, 0]] * 2] * 4, dtype=object),
    "one date": np.array([[0.5, DATES[0, 0]]] * 4, dtype=object),
}


@pytest.mark.parametrize("times", OF_TIME.values(), ids=OF_TIME)
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_times_are_no_numbers(times, scale):
    """NumPy would count them from 1970."""
    with pytest.raises(ValueError, match=r"`X` must hold numbers.*dates and spans of time are no"):
        TemperatureScaling(input_scale=scale).fit(times, Y)
    with pytest.raises(ValueError, match=r"`sample_weight` must hold numbers.*of time are no"):
        TemperatureScaling().fit(GOOD, Y, times[:, 1])


BAD_X = {
    "nan": (changed(np.nan), r"`X` must be finite; row 2, column 1 is nan.*Remove such rows"),
    "infinity": (changed(np.inf), r"`X` must be finite; row 2, column 1 is inf"),
    "negative": (
        changed(-0.25),
        r"`X` must not be negative; row 2, column 1 is -0\.25\..*`input_scale='logit'`",
    ),
    "row sum": (
        changed(0.9),
        r"rows that sum to one; row 2 sums to 1\.5\..*`input_scale='logit'`",
    ),
    "logits": (
        np.array([[3.0, -1.0], [0.5, 2.0], [1.0, 1.0], [0.0, 4.0]]),
        r"`X` must not be negative.*`input_scale='logit'` if these are logits",
    ),
    "positive logits": (
        np.array([[3.0, 1.0], [0.5, 2.0], [1.0, 1.0], [0.0, 4.0]]),
        r"rows that sum to one; row 0 sums to 4\..*`input_scale='logit'`",
    ),
    "empty": (np.empty((0, 2)), r"`X` is empty: 0 sample\(s\).*at least one row"),
    "no columns": (np.empty((4, 0)), r"`X` is empty: 0 feature\(s\)"),
    "three dimensions": (GOOD[None], r"`X` must be a 2D array.*got 3 dimension"),
    "one column of logits": (
        3.0 * GOOD[:, :1],
        r"`X` is a single column .* must lie between 0 and 1; row \d.*`input_scale='logit'`",
    ),
    "one dimension of logits": (-GOOD[:, 0], r"`X` is a single column .* must lie between"),
    "complex": (GOOD + 0j, r"`X` holds complex numbers.*Pass real ones"),
    "columns of one name": (
        pd.DataFrame(GOOD, columns=["a", "a"]),
        r"^`X` must have distinct column names; got 'a' more than once\. Rename its columns",
    ),
    "columns of one number": (pd.DataFrame(GOOD, columns=[1, 1]), r"^`X` must .*; got 1 more"),
    "text": (np.array([["a", "b"]] * 4), r"`X` must hold numbers.*scores only"),
    "sparse": (sparse.csr_array(GOOD), r"`X` is a sparse.*`X\.toarray\(\)`"),
}


@pytest.mark.parametrize(("X", "message"), BAD_X.values(), ids=BAD_X)
def test_bad_scores(X, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        TemperatureScaling().fit(X, Y)


@pytest.mark.parametrize(
    ("X", "message"),
    [BAD_X[name] for name in BAD_X if "of logits" not in name],
    ids=[name for name in BAD_X if "of logits" not in name],
)
def test_bad_scores_to_predict(X, message):
    fitted = TemperatureScaling().fit(GOOD, Y)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        fitted.predict_proba(X)


def test_wrong_number_of_columns_to_predict():
    fitted = TemperatureScaling().fit(GOOD, Y)
    with pytest.raises(ValueError, match=r"`X` has 3 features, but.*fitted with 2 features"):
        fitted.predict_proba(np.full((2, 3), 1 / 3))


def test_non_finite_and_absurd_logits():
    scaling = TemperatureScaling(input_scale="logit")
    with pytest.raises(ValueError, match=r"`X` must be finite; row 2, column 1 is inf"):
        scaling.fit(changed(np.inf), Y)
    with pytest.raises(ValueError, match=r"logit of magnitude 1e\+200.*Check the units"):
        scaling.fit(changed(1e200), Y)


BAD_WEIGHT = {
    "too large": ([1e308] * 4, r"`sample_weight` sums to inf, which cannot.*by their mean"),
    "too small": ([1e-200] * 4, r"`sample_weight` sums to 4e-200, which cannot.*by their mean"),
    "text": (["a", "b", "c", "d"], r"`sample_weight` must hold numbers; got .*'a'.*Pass one"),
    "objects": ([1, 1, {}, 1], r"`sample_weight` must hold numbers"),
    "complex": (np.ones(4) + 1j, r"`sample_weight` must hold numbers; got .*complex"),
    "masked": (
        np.ma.masked_array(np.ones(4), mask=[0, 0, 1, 0]),
        r"`sample_weight` is a masked array.*Remove their rows",
    ),
    "negative": ([1, -2, 1, 1], r"`sample_weight` must be finite and not negative; row 1 .*-2\.0"),
    "nan": ([1, 1, np.nan, 1], r"`sample_weight` must be finite.*row 2 has weight nan"),
    "length": ([1, 1], r"`sample_weight` must have shape \(4,\).*got shape \(2,\)"),
    "number": (2.0, r"`sample_weight` must be one weight for each row; got the number 2\.0"),
    "all zero": ([0, 0, 0, 0], r"`sample_weight` is zero for every row"),
}


@pytest.mark.parametrize(("weight", "message"), BAD_WEIGHT.values(), ids=BAD_WEIGHT)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        TemperatureScaling().fit(GOOD, Y, sample_weight=weight)


def test_rows_that_nearly_sum_to_one_are_renormalised():
    exact = IdentityCalibrator().fit(GOOD, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = exact.predict_proba(GOOD * 1.00005)
    np.testing.assert_allclose(quiet, GOOD, rtol=1e-12)
    with pytest.warns(RowSumWarning, match=r"row \d sums to 1\.005\); they were renormalised"):
        loud = exact.predict_proba(GOOD * 1.005)
    np.testing.assert_allclose(loud, GOOD, rtol=1e-12)
    with pytest.warns(RowSumWarning, match=r"sums to 0\.99\)"):
        exact.predict_proba([[0.33, 0.66]])  # two digits, as files have them
    with pytest.raises(ValueError, match=r"sums to 1\.02"):
        exact.predict_proba(GOOD * 1.02)
    assert issubclass(RowSumWarning, DircalWarning)


def test_the_warning_points_at_the_caller():
    with pytest.warns(RowSumWarning) as caught:
        IdentityCalibrator().fit(GOOD * 1.005, Y)
    assert caught[0].filename == __file__


def test_masked_entries_are_refused():
    masked = np.ma.masked_array(GOOD, mask=GOOD > 0.85)
    with pytest.raises(ValueError, match=r"`X` is a masked array.*Remove their rows"):
        IdentityCalibrator().fit(masked, Y)
    with pytest.raises(ValueError, match=r"`X` is a masked array.*Remove their rows"):
        IsotonicCalibrator().fit(masked[:, 0], Y)


def test_masked_arrays_without_a_masked_entry_are_arrays():
    whole = [np.ma.masked_array(part) for part in (GOOD, Y, np.ones(4))]
    assert IdentityCalibrator().fit(*whole).classes_.tolist() == [0, 1]
