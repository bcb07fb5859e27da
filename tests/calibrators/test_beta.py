import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from dircal import BetaCalibrator, DirichletCalibrator
from dircal.exceptions import ConvergenceWarning


def loss_at(params, p, y, weight=None):
    """The formula, written down: a ln p - b ln(1 - p) + c."""
    a, b, c = params
    logit = a * np.log(p) - b * np.log(1 - p) + c
    return np.average(np.logaddexp(0.0, np.where(y == 1, -logit, logit)), weights=weight)


def gradient_at(params, p, y):
    a, b, c = params
    features = np.column_stack([np.log(p), -np.log(1 - p), np.ones_like(p)])
    proba = 1 / (1 + np.exp(-(a * np.log(p) - b * np.log(1 - p) + c)))
    return features.T @ (proba - y) / len(p)


def params_of(calibrator):
    return calibrator.slope_positive_, calibrator.slope_negative_, calibrator.intercept_


def test_test_vectors(vectors, expected):
    p, y = vectors.proba[:, 0], vectors.y == 0
    fit = BetaCalibrator().fit(p, y)
    names = ("ovr_beta_class0_a", "ovr_beta_class0_b", "ovr_beta_class0_c")
    assert_allclose(params_of(fit), [expected[name] for name in names], rtol=1e-6)
    proba = fit.predict_proba(p)[np.arange(240), y.astype(int)]
    assert -np.log(proba).mean() == pytest.approx(expected["ovr_beta_class0_logloss"], abs=1e-9)


def test_predictions_are_the_formula(make_problem):
    problem = make_problem(0, n=300, k=2)
    p = problem.proba[:, 1]
    fit = BetaCalibrator(clip=1e-12).fit(problem.proba, problem.y)
    a, b, c = params_of(fit)
    odds = np.exp(c) * p**a / problem.proba[:, 0] ** b
    assert_allclose(fit.predict_proba(problem.proba)[:, 1], odds / (1 + odds), rtol=1e-9)


@pytest.mark.parametrize("weighted", ["plain", "weighted"])
def test_free_slopes_are_the_dirichlet_map_of_two_classes(make_problem, weighted):
    problem = make_problem(1, n=500, k=2)
    weight = np.random.default_rng(0).random(500) if weighted == "weighted" else None
    beta = BetaCalibrator().fit(problem.proba, problem.y, weight)
    dirichlet = DirichletCalibrator(penalty="none").fit(problem.proba, problem.y, weight)
    W, c = dirichlet.coef_, dirichlet.intercept_
    as_beta = W[1, 1] - W[0, 1], W[0, 0] - W[1, 0], c[1] - c[0]
    assert_allclose(params_of(beta), as_beta, rtol=1e-5)
    assert beta.clip_ == dirichlet.clip_


def test_many_rows_end_at_the_same_optimum(make_problem):
    """Beyond some thousand rows the way leads through single precision."""
    problem = make_problem(2, n=20_000, k=2)
    fit = BetaCalibrator(clip=1e-12).fit(problem.proba, problem.y)
    gradient = gradient_at(params_of(fit), problem.proba[:, 1], problem.y)
    assert_allclose(gradient, 0.0, atol=1e-7)


def humps(seed, n=400):
    """Probabilities whose true curve may fall, so that the best slopes may be negative."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.7, n).clip(1e-6, 1 - 1e-6)
    a, b, c = rng.normal(scale=1.5, size=3)
    y = (rng.random(n) < 1 / (1 + np.exp(-(a * np.log(p) - b * np.log(1 - p) + c)))).astype(int)
    y[:2] = 0, 1
    return p, y


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
@given(seed=st.integers(0, 2**32 - 1))
def test_nonnegative_slopes_meet_the_conditions_of_an_optimum(seed):
    """Karush, Kuhn and Tucker: no gradient where free, none pointing inwards where held."""
    p, y = humps(seed)
    fit = BetaCalibrator(slopes="nonnegative", clip=1e-12).fit(p, y)
    params = np.array(params_of(fit))
    gradient = gradient_at(params, p, y)
    assert (params[:2] >= 0.0).all()
    assert (gradient[:2] >= -1e-6).all()
    assert_allclose(gradient * np.r_[params[:2], 1.0], 0.0, atol=1e-6 * max(1.0, params.max()))


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
def test_free_slopes_may_be_negative():
    rng = np.random.default_rng(0)
    p = rng.beta(0.7, 0.7, 2000).clip(1e-6, 1 - 1e-6)
    odds = np.exp(-np.log(p) + np.log(1 - p))  # the smaller p, the likelier
    fit = BetaCalibrator().fit(p, rng.random(2000) < odds / (1 + odds))
    assert_allclose(params_of(fit), [-1.0, -1.0, 0.0], atol=0.3)


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
def test_every_face_is_reached():
    signs = set()
    for seed in range(40):
        p, y = humps(seed)
        fit = BetaCalibrator(slopes="nonnegative", clip=1e-12).fit(p, y)
        signs.add((fit.slope_positive_ > 0.0, fit.slope_negative_ > 0.0))
        free = BetaCalibrator(clip=1e-12).fit(p, y)
        feasible = min(params_of(free)[:2]) >= 0.0
        assert feasible == np.allclose(params_of(fit), params_of(free), atol=1e-6)
    assert signs == {(True, True), (True, False), (False, True), (False, False)}


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
@pytest.mark.parametrize("seed", range(5))
def test_nonnegative_slopes_are_those_of_a_bounded_solver(seed):
    p, y = humps(seed)
    fit = BetaCalibrator(slopes="nonnegative", clip=1e-12).fit(p, y)
    bounds = [(0, None), (0, None), (None, None)]
    theirs = minimize(loss_at, [1.0, 1.0, 0.0], (p, y), bounds=bounds, method="L-BFGS-B")
    assert loss_at(params_of(fit), p, y) <= theirs.fun + 1e-9


def test_nonnegative_slopes_keep_the_order(make_problem):
    p, y = humps(3)
    fit = BetaCalibrator(slopes="nonnegative").fit(p, y)
    grid = np.linspace(0, 1, 200)
    assert (np.diff(fit.predict_proba(grid)[:, 1]) >= 0).all()


def test_a_faultless_classifier_warns():
    p = np.array([0.1, 0.2, 0.3, 0.7, 0.8])
    with pytest.warns(ConvergenceWarning, match=r"BetaCalibrator has no finite.*PlattCalibrator"):
        fit = BetaCalibrator().fit(p, [0, 0, 0, 1, 1])
    assert (fit.predict(p) == [0, 0, 0, 1, 1]).all()
    with pytest.warns(ConvergenceWarning, match="no finite optimum"):
        BetaCalibrator(max_iter=3).fit(p, [0, 0, 0, 1, 1])  # more steps would not help


def test_zeros_have_the_floor_of_the_linear_calibrators():
    rng = np.random.default_rng(0)
    truth = rng.beta(0.5, 0.5, 3000)
    p = rng.binomial(20, truth) / 20
    y = rng.random(3000) < truth
    X = np.column_stack([1 - p, p])
    fit = BetaCalibrator().fit(p, y)
    assert fit.clip_ == DirichletCalibrator().fit(X, y).clip_ > 1e-4
    assert BetaCalibrator(clip=1e-3).fit(p, y).clip_ == 1e-3
    assert BetaCalibrator(input_scale="logit").fit(rng.normal(size=3000), y).clip_ == 0.0


def test_logits_in_one_and_two_columns(make_problem):
    problem = make_problem(4, n=300, k=2)
    plain = BetaCalibrator(clip=1e-15).fit(problem.proba, problem.y)
    odds = problem.logits[:, 1] - problem.logits[:, 0]
    for X in (problem.logits, odds):
        fit = BetaCalibrator(input_scale="logit").fit(X, problem.y)
        assert_allclose(params_of(fit), params_of(plain), rtol=1e-6)


BAD = {
    "slopes": ({"slopes": "positive"}, r"`slopes` must be one of 'free', 'nonnegative'"),
    "clip": ({"clip": 2.0}, r"`clip` must be a finite number .* below 1; got 2\.0"),
    "tol": ({"tol": 0.0}, r"`tol` must be a finite number above 0"),
    "max_iter": ({"max_iter": 0}, r"`max_iter` must be a whole number"),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        BetaCalibrator(**options).fit([0.1, 0.6], [0, 1])


def test_too_few_iterations_warn(make_problem):
    problem = make_problem(5, n=300, k=2)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 iterations"):
        BetaCalibrator(max_iter=1).fit(problem.proba, problem.y)


def test_the_trace_of_a_penalty_is_in_the_docstring():
    assert "1e-9" in BetaCalibrator.__doc__
    assert "without a penalty" not in " ".join(BetaCalibrator.__doc__.split())
