"""The door: every way to get it wrong has one clear error."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dircal import DirichletCalibrator, IdentityCalibrator, TemperatureScaling, VectorScaling
from dircal.exceptions import DircalWarning, RowSumWarning

GOOD = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6]])
Y = np.array([0, 1, 1, 0])


def changed(value, row=2, column=1):
    X = GOOD.copy()
    X[row, column] = value
    return X


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
    "one dimension": (GOOD[:, 0], r"`X` must be a 2D array.*got 1 dimension.*\(4,\).*reshape"),
    "three dimensions": (GOOD[None], r"`X` must be a 2D array.*got 3 dimension"),
    "one column": (GOOD[:, :1], r"single column.*np\.column_stack\(\[1 - p, p\]\)"),
    "complex": (GOOD + 0j, r"`X` holds complex numbers.*Pass real ones"),
    "text": (np.array([["a", "b"]] * 4), r"`X` must hold numbers.*scores only"),
    "sparse": (sparse.csr_array(GOOD), r"`X` is a sparse.*`X\.toarray\(\)`"),
}


@pytest.mark.parametrize(("X", "message"), BAD_X.values(), ids=BAD_X)
def test_bad_scores(X, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        TemperatureScaling().fit(X, Y)


@pytest.mark.parametrize(
    ("X", "message"),
    [BAD_X[name] for name in BAD_X if name != "one column"],
    ids=[name for name in BAD_X if name != "one column"],
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


BAD_Y = {
    "pandas NA": (pd.array(["a", "b", pd.NA, "a"], dtype="string"), r"`y` holds <NA>.*Remove"),
    "not a time": (
        np.array(["2020", "2021", "NaT", "2020"], dtype="datetime64[D]"),
        r"`y` holds NaT.*Remove the rows",
    ),
    "no duration": (np.array([1, 2, "NaT", 1], dtype="timedelta64[D]"), r"`y` holds NaT"),
    "masked": (
        np.ma.masked_array(Y, mask=[0, 0, 1, 0]),
        r"`y` is a masked array.*Remove their rows",
    ),
    "none": (None, r"`y` is None.*Pass the true label"),
    "length": (Y[:3], r"`y` has 3 labels, but `X` has 4 rows.*one label for each row"),
    "nan": (np.array([0, 1, np.nan, 0]), r"`y` holds NaN.*Remove the rows"),
    "missing": (np.array(["a", "b", None, "a"], dtype=object), r"`y` holds None.*Remove the rows"),
    "continuous": (np.array([0.1, 1.0, 0.0, 1.0]), r"`y` must hold labels; got .*0\.1.*classes"),
    "mixed": (np.array([1, "b", "b", 1], dtype=object), r"labels of one type; got int and str"),
    "too many": (
        np.array([0, 1, 2, 0]),
        r"`X` has 2 columns, but `y` holds 3 classes: \[0, 1, 2\]",
    ),
    "too few": (
        np.array([1, 1, 1, 1]),
        r"2 columns, but `y` holds only 1 class.*`classes=\[...\]`",
    ),
}


@pytest.mark.parametrize(("y", "message"), BAD_Y.values(), ids=BAD_Y)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        TemperatureScaling().fit(GOOD, y)


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


BAD_CLASSES = {
    "a set": ({0, 1}, r"`classes` must be a list or an array; got a set\..*in the order"),
    "an iterator": (iter([0, 1]), r"`classes` must be a list or an array; got a list_iterator"),
    "a string": ("01", r"`classes` must be a list or an array; got a str"),
    "unknown label": ([0, 2], r"`y` holds the label 1, which is not among `classes` \[0, 2\]"),
    "number": ([0, 1, 2], r"`classes` has 3 labels \[0, 1, 2\], but `X` has 2 columns"),
    "repeated": ([0, 0], r"`classes` must be distinct labels; got \[0, 0\]"),
    "another type": (["0", "1"], r"`y` holds the label 0, which is not among `classes`"),
}


@pytest.mark.parametrize(("classes", "message"), BAD_CLASSES.values(), ids=BAD_CLASSES)
def test_bad_classes(classes, message):
    with pytest.raises(ValueError, match=message):
        TemperatureScaling(classes=classes).fit(GOOD, Y)


BAD_PARAMETERS = {
    "penalty": ({"penalty": "l1"}, r"`penalty` must be one of 'odir', 'l2', .*; got 'l1'"),
    "penalty type": ({"penalty": None}, r"`penalty` must be one of .*; got None"),
    "negative lam": ({"lam": -1.0}, r"`lam` must be a finite number at least 0; got -1\.0"),
    "nan lam": ({"lam": np.nan}, r"`lam` must be a finite number at least 0; got nan"),
    "lam as text": ({"lam": "1"}, r"`lam` must be a finite number at least 0; got '1'"),
    "lam as truth": ({"lam": True}, r"`lam` must be a finite number at least 0; got True"),
    "negative mu": ({"mu": -1.0}, r"`mu` must be a finite number at least 0; got -1\.0"),
    "mu with l2": ({"penalty": "l2", "mu": 1.0}, r"`mu` weighs .*got mu=1\.0.*penalty='odir'"),
    "mu without penalty": ({"penalty": "none", "mu": 1.0}, r"`mu` weighs .* penalty='none'"),
    "lam without penalty": ({"penalty": "none", "lam": 1.0}, r"`lam` has no effect.*lam=1\.0"),
    "scale": ({"input_scale": "logits"}, r"`input_scale` must be one of .*; got 'logits'"),
    "clip zero": ({"clip": 0.0}, r"`clip` must be a finite number at least .*; got 0\.0"),
    "clip one": ({"clip": 1.0}, r"`clip` must be a finite number .* below 1; got 1\.0"),
    "clip word": ({"clip": "auto"}, r"`clip` must be 'learned' or a number; got 'auto'"),
    "tol": ({"tol": 0.0}, r"`tol` must be a finite number above 0; got 0\.0"),
    "max_iter": ({"max_iter": 0}, r"`max_iter` must be a whole number of at least 1; got 0"),
    "max_iter half": ({"max_iter": 1.5}, r"`max_iter` must be a whole number .*; got 1\.5"),
}


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS.values(), ids=BAD_PARAMETERS)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        DirichletCalibrator(**parameters).fit(GOOD, Y)


def test_vector_scaling_has_fewer_penalties():
    with pytest.raises(ValueError, match="`penalty` must be one of 'none', 'l2'; got 'odir'"):
        VectorScaling(penalty="odir").fit(GOOD, Y)


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


def test_zero_weight_rows_may_carry_unknown_labels():
    X = np.vstack([GOOD, [[0.5, 0.5]]])
    fitted = TemperatureScaling().fit(X, [*Y, 7], sample_weight=[1, 1, 1, 1, 0])
    np.testing.assert_array_equal(fitted.classes_, [0, 1])


def test_frame_columns_may_name_absent_classes():
    frame = pd.DataFrame(np.full((4, 3), 1 / 3), columns=["b", "a", "c"])
    fitted = IdentityCalibrator().fit(frame, ["a", "b", "a", "b"])
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    numbered = frame.set_axis(["2", "1", "3"], axis=1)
    fitted = IdentityCalibrator().fit(numbered, [1, 2, 1, 2])
    assert fitted.classes_.tolist() == [1, 2, 3]
    assert fitted.column_classes_.tolist() == [2, 1, 3]


def test_frames_with_other_names_keep_their_order_and_their_names():
    frame = pd.DataFrame(GOOD, columns=["p_no", "p_yes"])
    fitted = IdentityCalibrator().fit(frame, Y)
    assert fitted.feature_names_in_.tolist() == ["p_no", "p_yes"]
    np.testing.assert_allclose(fitted.predict_proba(frame), GOOD)
    with pytest.raises(ValueError, match=r"columns named \['p_yes', 'p_no'\].*\['p_no', 'p_yes'\]"):
        fitted.predict_proba(frame[["p_yes", "p_no"]])


def test_names_of_a_frame_win_over_the_order_of_classes():
    frame = pd.DataFrame(GOOD[:, ::-1], columns=["yes", "no"])
    labels = np.array(["no", "yes"])[Y]
    fitted = IdentityCalibrator(classes=["no", "yes"]).fit(frame, labels)
    np.testing.assert_allclose(fitted.predict_proba(frame), GOOD)


def test_many_labels_are_shortened_in_messages():
    with pytest.raises(ValueError, match=r"\[0, 1, 2, 3, 4, 5, \.\.\.\]"):
        TemperatureScaling(classes=range(9)).fit(GOOD, Y)


def test_half_a_match_of_names_is_refused():
    frame = pd.DataFrame(np.full((3, 3), 1 / 3), columns=["a", "b", "x"])
    with pytest.raises(ValueError, match=r"named after labels.*also 'x'.*\['a', 'b', 'c'\]"):
        IdentityCalibrator().fit(frame, ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"named after labels.*also 'b'"):
        IdentityCalibrator().fit(frame, ["a", "x", "y"])


def test_numbered_columns_of_a_frame_are_no_names():
    frame = pd.DataFrame(np.array([[0.2, 0.5, 0.3]] * 3))
    shifted = IdentityCalibrator().fit(frame, [1, 2, 3])
    assert shifted.column_classes_.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"3 columns, but `y` holds only 2 class"):
        IdentityCalibrator().fit(frame, [1, 2, 2])  # is 0 absent, or 3?


def test_float_labels_are_matched_by_name():
    frame = pd.DataFrame(GOOD[:, ::-1], columns=[2, 1])
    fitted = IdentityCalibrator().fit(frame, Y + 1.0)
    np.testing.assert_allclose(fitted.predict_proba(frame), GOOD)


def test_masked_entries_are_refused():
    masked = np.ma.masked_array(GOOD, mask=GOOD > 0.85)
    with pytest.raises(ValueError, match=r"`X` is a masked array.*Remove their rows"):
        IdentityCalibrator().fit(masked, Y)


def test_masked_arrays_without_a_masked_entry_are_arrays():
    whole = [np.ma.masked_array(part) for part in (GOOD, Y, np.ones(4))]
    assert IdentityCalibrator().fit(*whole).classes_.tolist() == [0, 1]
