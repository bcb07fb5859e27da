import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from sklearn.base import clone

from dircal import (
    BetaCalibrator,
    CalibratorCV,
    HistogramCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    load,
    save,
    scan,
)
from dircal._core.data import simplex
from dircal.exceptions import ConvergenceWarning, RowSumWarning
from dircal.maps import CalibrationMap, Columns, Complement, Lookup, OneVsRest
from dircal.tables import TableLimits

INNER = {
    "beta": BetaCalibrator(),
    "frequency": HistogramCalibrator(strategy="frequency"),
    "isotonic": IsotonicCalibrator(),
    "platt": PlattCalibrator(),
    "temperature": TemperatureScaling(),
    "width": HistogramCalibrator(),
}
each_inner = pytest.mark.parametrize("inner", INNER.values(), ids=INNER)


def naive(inner, X, y, new, weight=None):
    """One class after another, by hand."""
    logits = inner.input_scale == "logit"
    columns = []
    for j in range(X.shape[1]):
        rest = [np.delete(Z, j, axis=1) for Z in (X, new)]
        rest = [logsumexp(Z, axis=1) if logits else Z.sum(axis=1) for Z in rest]
        one = clone(inner).set_params(classes=[0, 1])
        one.fit(np.column_stack([rest[0], X[:, j]]), (y == j).astype(int), weight)
        columns.append(one.predict_proba(np.column_stack([rest[1], new[:, j]]))[:, 1])
    proba = np.column_stack(columns)
    return proba / proba.sum(axis=1, keepdims=True)


@each_inner
@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_it_is_the_formula(inner, k, scale, make_problem):
    problem, other = make_problem(0, n=500, k=k), make_problem(1, n=100, k=k)
    inner = clone(inner).set_params(input_scale=scale)
    X, new = (problem.logits, other.logits) if scale == "logit" else (problem.proba, other.proba)
    weight = np.random.default_rng(0).integers(0, 3, 500)
    fit = OneVsRestCalibrator(inner).fit(X, problem.y, weight)
    assert len(fit.calibrators_) == k
    used = weight > 0
    expected = naive(inner, X[used], problem.y[used], new, weight[used])
    assert_allclose(fit.predict_proba(new), expected, atol=1e-6)


def test_test_vectors(vectors, expected):
    fit = OneVsRestCalibrator(BetaCalibrator()).fit(vectors.proba, vectors.y)
    first = fit.calibrators_[0]
    assert first.slope_positive_ == pytest.approx(expected["ovr_beta_class0_a"], rel=1e-6)
    assert first.slope_negative_ == pytest.approx(expected["ovr_beta_class0_b"], rel=1e-6)
    assert first.intercept_ == pytest.approx(expected["ovr_beta_class0_c"], rel=1e-6)


def test_zeros_of_every_class_become_uniform():
    never = CalibrationMap(2, (Columns((1,)), Lookup([], [0.0]), Complement()))
    calibrated = CalibrationMap(3, (OneVsRest((never,) * 3, "probability"),))
    assert_allclose(calibrated(np.full((2, 3), 1 / 3)), 1 / 3)


def test_the_rest_beside_a_probability_of_one_is_not_lost(monkeypatch):
    """1 - p is zero for both rows; the sum of the others tells them apart."""
    q = np.array([[1.0, 1e-20, 0.0], [1.0, 1e-30, 0.0], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]] * 5)
    y = np.array([0, 0, 1, 2] * 5)
    y[4] = 1
    rest = []
    original = BetaCalibrator.method_class.learn

    def spy(self, data):
        rest.append(data.inputs[:2, 0].copy())
        return original(self, data)

    monkeypatch.setattr(BetaCalibrator.method_class, "learn", spy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        OneVsRestCalibrator(BetaCalibrator()).fit(q, y)
    assert_allclose(rest[0], [1e-20, 1e-30], rtol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 6))
def test_the_rest_of_logits(seed, k):
    rng = np.random.default_rng(seed)
    block = rng.normal(scale=rng.choice([1.0, 50.0, 1e4]), size=(k, 20))
    expected = [logsumexp(np.delete(block, j, axis=0), axis=0) for j in range(k)]
    assert_allclose(simplex.rest_of_logits(block), expected, rtol=1e-12, atol=1e-12)
    proba = np.exp(block - logsumexp(block, axis=0))
    expected = [np.delete(proba, j, axis=0).sum(axis=0) for j in range(k)]
    assert_allclose(simplex.rest_of_proba(proba), expected, rtol=1e-12, atol=1e-300)


@each_inner
def test_blocks_of_classes_and_of_rows_change_nothing(
    inner, make_problem, monkeypatch, use_limits, tmp_path
):
    problem = make_problem(2, n=700, k=5)
    plain = OneVsRestCalibrator(inner).fit(problem.proba, problem.y).predict_proba(problem.proba)
    np.save(tmp_path / "X.npy", problem.proba)
    np.save(tmp_path / "y.npy", problem.y)
    two_classes = TableLimits(pair_cells=2 * 2 * 700)
    mapped = replace(scan(tmp_path / "X.npy", label=str(tmp_path / "y.npy")), limits=two_classes)
    use_limits("DataLimits", min_chunk_rows=100, chunk_elements=1)
    pieces = OneVsRestCalibrator(inner).fit(mapped)
    assert_allclose(pieces.predict_proba(problem.proba), plain, atol=1e-8)


def test_exact_ties_survive():
    """Scores as files have them: equal ones stay equal, whatever the rounding of the sums."""
    rng = np.random.default_rng(0)
    counts = rng.multinomial(10, [0.5, 0.3, 0.2], 2000)
    q = counts / 10
    y = np.array([rng.choice(3, p=row) for row in q])
    fit = OneVsRestCalibrator(IsotonicCalibrator()).fit(q, y)
    assert all(len(one.knots_) <= 11 for one in fit.calibrators_)
    narrow = OneVsRestCalibrator(IsotonicCalibrator()).fit(q.astype(np.float32), y)
    assert all(len(one.knots_) <= 11 for one in narrow.calibrators_)


def test_one_warning_names_the_classes(make_problem):
    problem = make_problem(3, n=300, k=4)
    y = np.where(problem.y >= 2, 0, problem.y)
    labels = np.array(["a", "b", "c", "d"])
    calibrator = OneVsRestCalibrator(BetaCalibrator(classes=labels))
    with pytest.warns(ConvergenceWarning, match=r"2 of 4 classes: \['c', 'd'\]") as caught:
        calibrator.fit(problem.proba, labels[y])
    assert len(caught) == 1
    assert "BetaCalibrator has no finite optimum" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_rows_are_judged_once(make_problem):
    problem = make_problem(3, n=300, k=3)
    with pytest.warns(RowSumWarning, match="sums to 1.005") as caught:
        OneVsRestCalibrator(IsotonicCalibrator()).fit(problem.proba * 1.005, problem.y)
    assert len(caught) == 1


def test_scale_and_classes_are_those_of_the_innermost():
    inner = IsotonicCalibrator(input_scale="logit", classes=["b", "a"])
    outer = OneVsRestCalibrator(OneVsRestCalibrator(inner))
    assert outer.input_scale == "logit"
    fitted = clone(outer).fit([[1.0, 0.0], [0.0, 1.0]] * 5, ["b", "a"] * 5)
    assert fitted.column_classes_.tolist() == ["b", "a"]
    outer.set_params(calibrator__calibrator__input_scale="probability")
    assert outer.input_scale == "probability"


@each_inner
def test_classes_are_told_on_the_outside(inner, make_problem, tmp_path):
    problem = make_problem(4, n=300, k=3)
    names = ["cow", "ant", "bee"]
    y = np.array(names)[problem.y]
    outside = OneVsRestCalibrator(clone(inner), classes=names).fit(problem.proba, y)
    inside = OneVsRestCalibrator(clone(inner).set_params(classes=names)).fit(problem.proba, y)
    assert outside.classes == names
    assert outside.column_classes_.tolist() == names
    assert clone(outside).get_params()["classes"] == names
    assert_allclose(outside.predict_proba(problem.proba), inside.predict_proba(problem.proba))
    search = CalibratorCV(OneVsRestCalibrator(clone(inner), classes=names), [{}], cv=3)
    assert search.fit(problem.proba, y).column_classes_.tolist() == names
    save(outside, tmp_path / "map.json")
    assert load(tmp_path / "map.json").classes == names


def test_an_absent_class_is_told_on_the_outside(make_problem):
    problem = make_problem(4, n=300, k=3)
    rows = problem.y < 2
    calibrator = OneVsRestCalibrator(IsotonicCalibrator(), classes=range(3))
    calibrator.fit(problem.proba[rows], problem.y[rows])
    assert calibrator.predict_proba(problem.proba).shape == (300, 3)


def test_classes_inside_and_outside_must_not_differ():
    inner = IsotonicCalibrator(classes=["b", "a"])
    calibrator = OneVsRestCalibrator(inner, classes=["a", "b"])
    with pytest.raises(ValueError, match=r"must not differ; got \['a', 'b'\] and \['b', 'a'\]"):
        calibrator.fit([[0.1, 0.9], [0.9, 0.1]], ["a", "b"])


def test_calibrators_within_calibrators(make_problem):
    problem = make_problem(4, n=300, k=3)
    nested = OneVsRestCalibrator(OneVsRestCalibrator(IsotonicCalibrator()))
    proba = nested.fit(problem.proba, problem.y).predict_proba(problem.proba)
    assert_allclose(proba.sum(axis=1), 1.0)


def test_frames_go_by_name_for_every_class(make_problem):
    problem = make_problem(5, n=300, k=3)
    frame = pd.DataFrame(problem.proba, columns=["ant", "bee", "cow"])
    y = np.array(["ant", "bee", "cow"])[problem.y]
    calibrator = OneVsRestCalibrator(HistogramCalibrator())
    plain = clone(calibrator).fit(problem.proba, y).predict_proba(problem.proba)
    turned = clone(calibrator).fit(frame[["cow", "ant", "bee"]], y)
    assert turned.column_classes_.tolist() == ["cow", "ant", "bee"]
    assert_allclose(turned.predict_proba(frame), plain, atol=1e-12)


BAD = {
    "a class": (
        IsotonicCalibrator,
        r"`calibrator` must be a calibrator of dircal; got the class Iso",
    ),
    "nothing": (None, r"`calibrator` must be a calibrator of dircal; got None"),
    "a name": ("logistic", r"got 'logistic'\. Pass for example"),
    "its own parameters": (HistogramCalibrator(n_bins=0), r"`n_bins` must be a whole number"),
    "its scale": (IsotonicCalibrator(input_scale="odds"), r"`input_scale` must be one of"),
}


@pytest.mark.parametrize(("calibrator", "message"), BAD.values(), ids=BAD)
def test_bad_calibrators(calibrator, message):
    with pytest.raises(ValueError, match=message):
        OneVsRestCalibrator(calibrator).fit([[0.5, 0.5], [0.2, 0.8]], [0, 1])


def test_the_given_calibrator_stays_unfitted(make_problem):
    problem = make_problem(6, n=100, k=3)
    inner = IsotonicCalibrator()
    OneVsRestCalibrator(inner).fit(problem.proba, problem.y)
    assert not hasattr(inner, "knots_")
    assert inner.classes is None


@each_inner
@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_of_weight_zero_count_for_nothing_but_keep_their_number(
    inner, scale, bad, make_problem
):
    problem = make_problem(7, n=200, k=3)
    X = (problem.logits if scale == "logit" else problem.proba).copy()
    weight = np.r_[np.zeros(50), np.ones(150)]
    X[:50] = bad
    inner = clone(inner).set_params(input_scale=scale)
    whole = OneVsRestCalibrator(inner).fit(X, problem.y, weight)
    part = OneVsRestCalibrator(inner).fit(X[50:], problem.y[50:])
    assert_allclose(whole.predict_proba(X[50:]), part.predict_proba(X[50:]), atol=1e-8)
    search = CalibratorCV(inner, [{}], cv=[(np.arange(50, 120), np.arange(120, 200))])
    shifted = clone(search).set_params(cv=[(np.arange(70), np.arange(70, 150))])
    whole = OneVsRestCalibrator(search).fit(X, problem.y, weight)
    part = OneVsRestCalibrator(shifted).fit(X[50:], problem.y[50:])
    assert_allclose(whole.predict_proba(X[50:]), part.predict_proba(X[50:]), atol=1e-8)


@pytest.mark.parametrize("calibrator", [IsotonicCalibrator, HistogramCalibrator])
@pytest.mark.parametrize("seed", range(5))
def test_tied_logits_do_not_feel_the_order_of_columns(calibrator, seed):
    rng = np.random.default_rng(seed)
    logits = np.round(2.0 * rng.normal(size=(300, 5))) / 2.0
    y = np.r_[:5, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)[5:]]
    plain = OneVsRestCalibrator(calibrator(input_scale="logit")).fit(logits, y)
    order = rng.permutation(5)
    place = np.argsort(order)
    turned = OneVsRestCalibrator(calibrator(input_scale="logit")).fit(logits[:, order], place[y])
    assert_allclose(
        turned.predict_proba(logits[:, order]), plain.predict_proba(logits)[:, order], atol=1e-12
    )
