import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

from dircal import PlattCalibrator


def naive(odds, y, weight):
    """Platt's objective as he wrote it, minimised by somebody else."""
    n_positive, n_negative = weight[y == 1].sum(), weight[y == 0].sum()
    target = np.where(y == 1, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(params):
        logit = params[0] * odds + params[1]
        return (weight * (np.logaddexp(0.0, logit) - target * logit)).sum() / weight.sum()

    return minimize(loss, [1.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x


@pytest.mark.parametrize("n", [20, 300])
@pytest.mark.parametrize("weighted", ["plain", "weighted"])
def test_it_is_the_formula(make_problem, n, weighted):
    problem = make_problem(0, n=n, k=2)
    odds = problem.logits[:, 1] - problem.logits[:, 0]
    weight = np.random.default_rng(0).integers(1, 4, n) if weighted == "weighted" else np.ones(n)
    fit = PlattCalibrator(input_scale="logit").fit(odds, problem.y, weight)
    slope, intercept = naive(odds, problem.y, weight)
    assert fit.slope_ == pytest.approx(slope, abs=1e-5)
    assert fit.intercept_ == pytest.approx(intercept, abs=1e-5)
    positive = fit.predict_proba(odds)[:, 1]
    assert_allclose(positive, expit(fit.slope_ * odds + fit.intercept_), rtol=1e-12)


def test_the_mean_probability_is_the_mean_target(make_problem):
    """The intercept sees to it: its gradient is zero."""
    problem = make_problem(1, n=20_000, k=2)
    fit = PlattCalibrator(clip=1e-12).fit(problem.proba, problem.y)
    n_positive = problem.y.sum()
    target = np.where(
        problem.y == 1,
        (n_positive + 1) / (n_positive + 2),
        1 / (20_000 - n_positive + 2),
    )
    assert fit.predict_proba(problem.proba)[:, 1].mean() == pytest.approx(target.mean(), abs=1e-8)


def test_separated_classes_have_a_finite_optimum():
    p = np.array([0.1, 0.2, 0.3, 0.7, 0.8])
    fit = PlattCalibrator().fit(p, [0, 0, 0, 1, 1])
    proba = fit.predict_proba(p)[:, 1]
    assert (np.diff(proba) > 0).all()
    assert 0.05 < proba[0] < 0.5 < proba[-1] < 0.95


def test_an_absent_class_is_smoothed():
    """All rows negative: the target is 1 / (n + 2) for each, and a constant map reaches it."""
    fit = PlattCalibrator(classes=[0, 1]).fit(np.linspace(0.1, 0.9, 50), np.zeros(50))
    assert_allclose(fit.predict_proba(np.linspace(0.1, 0.9, 50))[:, 1], 1 / 52, atol=1e-6)


def test_one_row():
    fit = PlattCalibrator(classes=["no", "yes"]).fit([0.8], ["yes"])
    assert fit.predict_proba([0.8])[0, 1] == pytest.approx(2 / 3, abs=1e-6)


@pytest.mark.parametrize("n", [1, 10_000, 20_000])
@pytest.mark.parametrize("clip", ["learned", np.finfo(float).tiny])
def test_certainty_that_is_never_wrong(n, clip):
    """Far out on a flat curve there is no Newton step; the fit must not begin there."""
    y = np.arange(n) % 2
    fit = PlattCalibrator(classes=[0, 1], clip=clip).fit(y.astype(float), y)
    n_negative = n - y.sum()
    assert fit.predict_proba([0.0])[0, 1] == pytest.approx(1 / (n_negative + 2), rel=1e-3)


def test_zeros_have_a_floor():
    rng = np.random.default_rng(0)
    truth = rng.beta(0.5, 0.5, 3000)
    p, y = rng.binomial(20, truth) / 20, rng.random(3000) < truth
    fit = PlattCalibrator().fit(p, y)
    assert fit.clip_ > 1e-4
    zeros = fit.predict_proba([0.0, 1.0])[:, 1]
    assert_allclose(zeros, [y[p == 0.0].mean(), y[p == 1.0].mean()], atol=0.03)
    assert PlattCalibrator(clip=1e-3).fit(p, y).clip_ == 1e-3


def test_bad_parameters():
    with pytest.raises(ValueError, match="`tol` must be a finite number above 0"):
        PlattCalibrator(tol=0.0).fit([0.1, 0.6], [0, 1])
