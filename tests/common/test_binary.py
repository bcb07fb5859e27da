"""Laws that hold for every binary calibrator: with two columns, with one, and scikit-learn's."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from dircal.exceptions import ConvergenceWarning

# As in test_contracts.py: two fits of one problem end this close in their probabilities.
SAME = 1e-6


@pytest.fixture
def quietly():
    """Fit where the optimum may lie at infinity, which is allowed to warn."""

    def fit(calibrator, *args):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return calibrator.fit(*args)

    return fit


def assert_on_simplex(proba, n):
    assert proba.shape == (n, 2)
    assert proba.dtype == np.float64
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


def positive_column(X, scale):
    """What a single column says: a probability, or log-odds."""
    return X[:, 1] - X[:, 0] if scale == "logit" else X[:, 1]


def test_two_columns(scaled_binary):
    calibrator, make = scaled_binary
    X, y = make(0, n=600, k=2)
    fitted = calibrator.fit(X, y)
    assert fitted is calibrator
    assert_on_simplex(fitted.predict_proba(X), 600)
    assert_on_simplex(fitted.predict_proba(X[:1]), 1)
    assert_array_equal(fitted.predict(X), fitted.predict_proba(X).argmax(axis=1))
    assert fitted.n_features_in_ == 2


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)], ids=["(n,)", "(n, 1)"])
def test_one_column_is_as_good_as_two(scaled_binary, shape):
    calibrator, make = scaled_binary
    X, y = make(1, n=400, k=2)
    both = clone(calibrator).fit(X, y).predict_proba(X)
    column = positive_column(X, calibrator.input_scale).reshape(shape)
    fitted = clone(calibrator).fit(column, y)
    assert fitted.n_features_in_ == 1
    assert_array_equal(fitted.column_classes_, [0, 1])
    assert_allclose(fitted.predict_proba(column), both, atol=SAME)
    assert_allclose(fitted.predict_proba(column.tolist()), both, atol=SAME)
    assert_allclose(fitted.predict_proba(column.reshape(-1)), both, atol=SAME)
    with pytest.raises(ValueError, match=r"`X` has 2 features, but.*1 features.*positive class"):
        fitted.predict_proba(X)


def test_the_last_of_the_classes_is_the_one_a_column_speaks_of(binary, make_problem):
    problem = make_problem(1, n=400, k=2)
    labels = np.array(["no", "yes"])[problem.y]
    plain = clone(binary).fit(problem.proba, labels).predict_proba(problem.proba)
    turned = clone(binary).set_params(classes=["yes", "no"]).fit(problem.proba[:, 0], labels)
    assert turned.classes_.tolist() == ["no", "yes"]
    assert turned.column_classes_.tolist() == ["yes", "no"]
    assert_allclose(turned.predict_proba(problem.proba[:, 0]), plain, atol=SAME)


@pytest.mark.representatives
def test_a_named_column_speaks_of_the_label_it_is_named_after(binary, make_problem):
    problem = make_problem(2, n=300, k=2)
    labels = np.array(["no", "yes"])[problem.y]
    frame = pd.DataFrame(problem.proba, columns=["no", "yes"])
    plain = clone(binary).fit(problem.proba, labels).predict_proba(problem.proba)
    assert_allclose(clone(binary).fit(frame, labels).predict_proba(frame[["yes", "no"]]), plain)
    for column in (frame[["yes"]], frame["yes"], pl.Series("yes", problem.proba[:, 1])):
        fitted = clone(binary).fit(column, labels)
        assert_allclose(fitted.predict_proba(column), plain, atol=SAME)
        assert_allclose(fitted.predict_proba(problem.proba[:, 1]), plain, atol=SAME)
        # 1 - p has fewer digits than p: scores near an edge may change sides.
        other = fitted.predict_proba(frame["no"])
        assert np.isclose(other, plain, atol=SAME).all(axis=1).mean() >= 0.97
    nameless = pd.Series(problem.proba[:, 1], index=np.arange(300)[::-1])
    assert_allclose(clone(binary).fit(nameless, labels).predict_proba(nameless), plain, atol=SAME)


@pytest.mark.representatives
def test_a_column_with_another_name_stays_itself(binary, make_problem):
    problem = make_problem(2, n=300, k=2)
    frame = pd.DataFrame({"score": problem.proba[:, 1]})
    fitted = binary.fit(frame, problem.y)
    assert fitted.feature_names_in_.tolist() == ["score"]
    with pytest.raises(ValueError, match=r"columns named \['rank'\].*\['score'\]"):
        fitted.predict_proba(frame.set_axis(["rank"], axis=1))


TOO_MANY = {
    "columns": (np.full((6, 3), 1 / 3), [0, 1, 2] * 2, {}, r"`X` has 3 columns"),
    "labels": (np.full((6, 2), 1 / 2), [0, 1, 2] * 2, {}, r"`y` holds 3 classes: \[0, 1, 2\]"),
    "labels of a column": (np.full(6, 1 / 2), list("abcabc"), {}, r"`y` holds 3 classes"),
    "classes": (np.full(6, 1 / 2), [0, 1] * 3, {"classes": [0, 1, 2]}, r"`classes` has 3 labels"),
}


@pytest.mark.representatives
@pytest.mark.parametrize(("X", "y", "options", "message"), TOO_MANY.values(), ids=TOO_MANY)
def test_more_than_two_classes_need_one_vs_rest(binary, X, y, options, message):
    with pytest.raises(ValueError, match=rf"{message}.*for two classes\..*OneVsRestCalibrator"):
        binary.set_params(**options).fit(X, y)


@pytest.mark.representatives
@pytest.mark.parametrize("value", [-0.25, 1.25])
def test_a_column_of_something_else_is_refused(binary, value):
    X = np.array([0.2, value, 0.7])
    with pytest.raises(ValueError, match=rf"between 0 and 1; row 1 is {value}.*'logit'"):
        clone(binary).fit(X, [0, 1, 1])
    fitted = binary.fit(np.array([0.2, 0.3, 0.7, 0.6, 0.5]), [0, 1, 0, 1, 0])
    with pytest.raises(ValueError, match=rf"between 0 and 1; row 1 is {value}"):
        fitted.predict_proba(X)
    with pytest.raises(ValueError, match="finite; row 1"):
        fitted.predict_proba([0.2, np.nan])


def test_one_class_in_a_column_needs_names(binary):
    with pytest.raises(ValueError, match=r"only 1 class.*single column.*`classes=\[...\]`"):
        binary.fit([0.2, 0.3], [1, 1])


def test_an_absent_class(scaled_binary, quietly):
    calibrator, make = scaled_binary
    X, _ = make(3, n=200, k=2)
    for label in (0, 1):
        y = np.full(200, label)
        with pytest.raises(ValueError, match=r"2 columns, but `y` holds only 1 class"):
            clone(calibrator).set_params(classes=None).fit(X, y)
        fitted = quietly(clone(calibrator).set_params(classes=[0, 1]), X, y)
        proba = fitted.predict_proba(X)
        assert_on_simplex(proba, 200)
        assert proba[:, label].mean() > 0.7


def test_integer_weights_equal_repeated_rows(scaled_binary):
    calibrator, make = scaled_binary
    X, y = make(4, n=400, k=2)
    X = X.round(2)  # ties among the scores
    if calibrator.input_scale == "probability":
        X[:, 0] = 1 - X[:, 1]
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = clone(calibrator).fit(X, y, sample_weight=weight).predict_proba(X)
    repeated = clone(calibrator).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted, repeated.predict_proba(X), atol=SAME)
    used = clone(calibrator).fit(X[weight > 0], y[weight > 0], weight[weight > 0])
    assert_allclose(weighted, used.predict_proba(X), atol=1e-12)


def test_rows_of_weight_zero_are_dropped(scaled_binary):
    calibrator, make = scaled_binary
    X, y = make(5, n=300, k=2)
    weight = np.r_[np.ones(250), np.zeros(50)]
    kept = clone(calibrator).fit(X[:250], y[:250]).predict_proba(X)
    for value in (np.nan, np.inf, -7.0):
        spoilt = X.copy()
        spoilt[250:] = value
        dropped = clone(calibrator).fit(spoilt, y, sample_weight=weight)
        assert_allclose(dropped.predict_proba(X), kept, atol=SAME)
    column = positive_column(X, calibrator.input_scale).copy()
    column[250:] = -7.0
    dropped = clone(calibrator).fit(column, y, sample_weight=weight)
    assert_allclose(dropped.predict_proba(column[:250]), kept[:250], atol=SAME)


def test_order_of_rows_and_memory(scaled_binary, tmp_path):
    calibrator, make = scaled_binary
    X, y = make(6, n=300, k=2)
    plain = clone(calibrator).fit(X, y).predict_proba(X)
    order = np.random.default_rng(0).permutation(300)
    assert_allclose(clone(calibrator).fit(X[order], y[order]).predict_proba(X), plain, atol=SAME)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for same in (mapped, np.asfortranarray(X), X.tolist()):
        assert_allclose(clone(calibrator).fit(same, y).predict_proba(same), plain, rtol=1e-10)
    one_by_one = np.vstack([clone(calibrator).fit(X, y).predict_proba(row[None]) for row in X[:9]])
    assert_allclose(one_by_one, plain[:9], rtol=1e-12)


def test_input_and_parameters_are_never_modified(scaled_binary):
    calibrator, make = scaled_binary
    X, y = make(7, n=200, k=2)
    column, weight = positive_column(X, calibrator.input_scale).copy(), np.ones(200)
    for array in (X, column, y, weight):
        array.setflags(write=False)
    parameters = calibrator.get_params()
    calibrator.fit(X, y, sample_weight=weight).predict_proba(X)
    calibrator.fit(column, y, sample_weight=weight)
    assert calibrator.get_params() == parameters
    again = pickle.loads(pickle.dumps(calibrator))
    assert_array_equal(again.predict_proba(column), calibrator.predict_proba(column))


def test_float32(scaled_binary):
    calibrator, make = scaled_binary
    X, y = make(8, n=400, k=2)
    narrow = X.astype(np.float32)
    wide = clone(calibrator).fit(X, y).predict_proba(X)
    assert_allclose(clone(calibrator).fit(narrow, y).predict_proba(narrow), wide, atol=1e-5)


def test_zeros_and_ones(binary, make_problem, quietly):
    problem = make_problem(9, n=300, k=2)
    p = problem.proba[:, 1].round(1)
    p[:40] = np.arange(40) % 2
    for X in (p, np.column_stack([1 - p, p])):
        fitted = quietly(clone(binary), X, problem.y)
        assert_on_simplex(fitted.predict_proba(X), 300)
    assert_on_simplex(fitted.predict_proba(np.eye(2)), 2)


@pytest.mark.parametrize("magnitude", [1e4, 1e12, 1e90])
def test_huge_logits(binary, configure, magnitude, make_problem, quietly):
    configure(binary, input_scale="logit")
    problem = make_problem(10, n=200, k=2)
    X = problem.logits * magnitude
    assert_on_simplex(quietly(binary, X, problem.y).predict_proba(X), 200)


LABELS = {
    "strings": np.array(["ant", "bee"]),
    "objects": np.array(["ant", "bee"], dtype=object),
    "signs": np.array([-1, 1]),
    "booleans": np.array([False, True]),
    "floats": np.array([1.0, 2.0]),
}


@pytest.mark.representatives
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_any_kind(binary, labels, make_problem):
    problem = make_problem(11, n=200, k=2)
    plain = clone(binary).fit(problem.proba, problem.y).predict_proba(problem.proba)
    named = clone(binary).fit(problem.proba[:, 1], labels[problem.y])
    assert_array_equal(named.classes_, labels)
    assert_allclose(named.predict_proba(problem.proba[:, 1]), plain, atol=SAME)
    assert set(named.predict(problem.proba[:, 1]).tolist()) <= set(labels.tolist())


def test_equal_scores_get_equal_probabilities(binary):
    """Rows that miss the sum of one by rounding are used as given."""
    rng = np.random.default_rng(0)
    p = rng.choice([0.1, 0.3, 0.8], 300)
    X = np.column_stack([1 - p + rng.choice([-1e-9, 0, 1e-9], 300), p])
    y = rng.random(300) < p
    fitted = binary.fit(X, y)
    for value in (0.1, 0.3, 0.8):
        assert len(np.unique(fitted.predict_proba(X)[p == value])) == 2


def test_rows_far_from_one_are_renormalised(binary, make_problem):
    problem = make_problem(12, n=200, k=2)
    exact = clone(binary).fit(problem.proba, problem.y).predict_proba(problem.proba)
    rough = clone(binary).fit(problem.proba * 1.00005, problem.y)
    assert_allclose(rough.predict_proba(problem.proba * 1.00005), exact, atol=SAME)


def test_uniform_rows(binary, quietly):
    fitted = quietly(binary, np.full(100, 0.5), np.arange(100) % 2)
    assert_allclose(fitted.predict_proba([0.5]), 0.5, atol=1e-6)
    assert_on_simplex(fitted.predict_proba([0.0, 0.2, 1.0]), 3)


def test_calibration_helps(binary, make_problem):
    problem = make_problem(13, n=4000, k=2, scale=4.0)
    half = slice(2000), slice(2000, None)
    fitted = binary.fit(problem.proba[half[0]], problem.y[half[0]])
    truth = np.eye(2)[problem.y[half[1]]]
    before = ((problem.proba[half[1]] - truth) ** 2).sum(axis=1).mean()
    after = ((fitted.predict_proba(problem.proba[half[1]]) - truth) ** 2).sum(axis=1).mean()
    assert after < before - 0.01
    assert np.isfinite(cross_val_score(clone(binary), problem.proba, problem.y)).all()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), zeros=st.floats(0.0, 0.9))
def test_any_valid_input_gives_valid_rows(binary, quietly, seed, n, zeros):
    rng = np.random.default_rng(seed)
    p = rng.choice([rng.random(n), rng.beta(0.01, 0.01, n), 10.0 ** -rng.uniform(0, 320, n)])
    p = np.where(rng.random(n) < zeros, rng.integers(0, 2, n), p)
    fitted = quietly(clone(binary).set_params(classes=[0, 1]), p, rng.integers(0, 2, n))
    assert_on_simplex(fitted.predict_proba(p), n)
    assert_on_simplex(fitted.predict_proba(np.linspace(0, 1, 50)), 50)


# Why, and which test asks the same: see test_sklearn.py. One column is no error here, and ten
# columns are refused before their only row is counted.
NOT_FOR_BINARY = {
    "check_fit1d": "test_one_column_is_as_good_as_two",
    "check_fit2d_1feature": "test_one_column_is_as_good_as_two",
    "check_fit2d_1sample": "test_any_valid_input_gives_valid_rows",
}


@pytest.mark.representatives
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_checks_of_scikit_learn(binary, configure, on_the_simplex, scale):
    configure(binary, input_scale=scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            binary,
            expected_failed_checks=on_the_simplex | NOT_FOR_BINARY,
            on_skip=None,
            on_fail=None,
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) >= 20
