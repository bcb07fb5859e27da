"""Bayesian Dirichlet calibration: known answers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from dircal import BayesianDirichletCalibrator, DirichletCalibrator, TemperatureScaling
from dircal.maps import Affine

SINGLE_ZERO = float(np.finfo(np.float32).tiny)


def sms(proba, y, new):
    """Structured matrix scaling, transcribed from its definition; solved by BFGS."""
    n, k = proba.shape
    t = TemperatureScaling(classes=range(k), clip=SINGLE_ZERO).fit(proba, y).temperature_

    def read(q):
        return np.log((1 - 1 / (n + 1)) * softmax(np.log(q) / t, axis=1) + 1 / (n + 1) / k)

    r, rows, off = read(proba), np.arange(n), ~np.eye(k, dtype=bool)

    def loss(params):
        D, b = params[: k * k].reshape(k, k), params[k * k :]
        mean = -log_softmax(r + r @ D.T + b, axis=1)[rows, y].mean()
        ridge = k / n * (np.diag(D) @ np.diag(D) + b @ b) + k * (k - 1) / n * (D[off] ** 2).sum()
        return mean + ridge

    best = minimize(loss, np.zeros(k * k + k), method="BFGS", options={"gtol": 1e-9}).x
    D, b = best[: k * k].reshape(k, k), best[k * k :]
    return softmax(read(new) @ (np.eye(k) + D).T + b, axis=1)


@pytest.mark.parametrize(("n", "k"), [(60, 2), (80, 3), (300, 4)])
def test_fixed_is_structured_matrix_scaling(n, k, make_problem):
    problem, new = make_problem(0, n=n, k=k), make_problem(1, n=50, k=k).proba
    fixed = BayesianDirichletCalibrator(prior="fixed", clip=SINGLE_ZERO)
    ours = fixed.fit(problem.proba, problem.y).predict_proba(new)
    assert_allclose(ours, sms(problem.proba, problem.y, new), atol=1e-5)
    assert fixed.precisions_ == {
        "diagonal": 2.0 * k,
        "off_diagonal": 2.0 * k * (k - 1),
        "intercept": 2.0 * k,
    }


def of_prior(fitted):
    """The matrix V that the prior is about, from W."""
    means = fitted.coef_.mean(axis=1, keepdims=True)
    return fitted.coef_ + (1.0 / fitted.row_mean_factor_ - 1.0) * (means - means.mean())


def test_learned_is_the_optimum_of_its_definition(make_problem):
    n, k = 300, 5
    problem, new = make_problem(0, n=n, k=k, scale=3.0), make_problem(1, n=6, k=k).proba
    fitted = BayesianDirichletCalibrator(clip=1e-300).fit(problem.proba, problem.y)
    t, u, alpha = fitted.temperature_, fitted.uniform_weight_, list(fitted.precisions_.values())

    def whole(q):
        z = (q ** (1 / t)).sum(axis=1, keepdims=True)
        return np.log((1 - u) * q ** (1 / t) / z + u / k) + np.log(z)

    s = whole(problem.proba)
    level = np.sqrt(s.var(axis=1).mean() / (s.mean(axis=1) ** 2).mean())
    assert_allclose(fitted.row_mean_factor_, level, rtol=1e-9)
    assert level < 0.9

    def read(q):
        return whole(q) - (1 - level) * whole(q).mean(axis=1, keepdims=True)

    r, off = read(problem.proba), ~np.eye(k, dtype=bool)

    def loss(params):
        V, b = params[: k * k].reshape(k, k), params[k * k :]
        total = -log_softmax(r @ V.T + b, axis=1)[np.arange(n), problem.y].sum()
        total += 0.5 * alpha[0] * ((np.diag(V) - 1.0) ** 2).sum()
        return total + 0.5 * alpha[1] * (V[off] ** 2).sum() + 0.5 * alpha[2] * (b @ b)

    start = np.append(np.eye(k).ravel(), np.zeros(k))
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-6}).x
    V, b = best[: k * k].reshape(k, k), best[k * k :]
    assert_allclose(of_prior(fitted), V, atol=1e-4)
    proba = softmax(read(new) @ V.T + b, axis=1)
    assert_allclose(fitted.predict_proba(new), proba, atol=1e-5)
    # The posterior is one of V, too.
    spread = fitted._posterior.spread_of_log_odds(proba.T, read(new).T).T
    log_odds = np.log(proba) - np.log1p(-proba)
    lower, upper = fitted.predict_interval(new)
    for end, sign in ((lower, -1.0), (upper, 1.0)):
        assert_allclose(end, expit(log_odds + sign * 1.959964 * spread), atol=1e-5)


def test_learned_precisions_satisfy_their_equation(make_problem):
    problem = make_problem(0, n=500, k=4)
    fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    theta = of_prior(fitted) - np.eye(4)
    squares = {
        "diagonal": (np.diag(theta) ** 2).sum(),
        "off_diagonal": (theta[~np.eye(4, dtype=bool)] ** 2).sum(),
        "intercept": (fitted.intercept_**2).sum(),
    }
    mode = {"diagonal": 4.0, "off_diagonal": 12.0, "intercept": 4.0}
    for name, precision in fitted.precisions_.items():
        effective = fitted.effective_parameters_[name]
        expected = (effective + 4.0) / (squares[name] + 4.0 / mode[name])
        assert_allclose(precision, expected, rtol=1e-4)
        assert 0.0 < effective < {"diagonal": 4, "off_diagonal": 12, "intercept": 4}[name]


def test_evidence_is_the_integral_over_the_prior():
    # Two classes and rows that say little: the integral by sampling the prior.
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20, 2))
    y = (logits + rng.gumbel(size=(20, 2))).argmax(axis=1)
    fitted = BayesianDirichletCalibrator(prior="fixed", input_scale="logit").fit(logits, y)
    scores = fitted.map_.before(Affine).read(logits)
    draws = rng.normal(size=(200_000, 2, 3)) / 2.0  # alpha = 4 in all groups
    z = np.einsum("dij,jm->dim", draws[:, :, :2] + np.eye(2), scores) + draws[:, :, 2:]
    odds = np.take_along_axis(z, y[None, None], axis=1) - np.take_along_axis(
        z, 1 - y[None, None], axis=1
    )
    log_likelihood = -np.logaddexp(0.0, -odds[:, 0]).sum(axis=1)
    integral = np.log(np.exp(log_likelihood).mean())
    assert_allclose(fitted.log_evidence_, integral, atol=0.05)


def test_few_rows_stay_near_temperature_scaling(make_problem):
    problem = make_problem(3, n=12, k=3)
    learned = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    assert np.abs(learned.coef_ - np.eye(3)).max() < 0.5
    assert sum(learned.effective_parameters_.values()) < 5.0


@pytest.mark.parametrize("weight", [1e4, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("seed", range(6))
def test_few_rows_of_large_weight(seed, weight):
    # They can be fitted without an error, so that the precisions fall without end: into the
    # rounding errors of the Hessian, if they were let.
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(12, 3))
    y = rng.integers(0, 3, 12)
    y[:3] = [0, 1, 2]
    loose = BayesianDirichletCalibrator(input_scale="logit", tol=1e-10)
    fitted = loose.fit(logits, y, np.full(12, weight))
    assert min(fitted.precisions_.values()) > 0.0
    for name, size in {"diagonal": 3, "off_diagonal": 6, "intercept": 3}.items():
        assert -1e-3 < fitted.effective_parameters_[name] < size + 1e-3
    rows = np.arange(12)
    assert -np.log(fitted.predict_proba(logits)[rows, y]).mean() < np.log(3.0)


@pytest.mark.parametrize("prior", ["learned", "fixed"])
def test_next_to_no_weight_says_next_to_nothing(prior, make_problem):
    problem = make_problem(0, n=50, k=3)
    calibrator = BayesianDirichletCalibrator(prior=prior)
    fitted = calibrator.fit(problem.proba, problem.y, np.full(50, 1e-30))
    assert fitted.uniform_weight_ < 1.0
    assert_allclose(fitted.predict_proba(problem.proba), 1.0 / 3.0, atol=1e-6)


def test_many_rows_find_the_map(make_problem):
    rng = np.random.default_rng(0)
    W = np.array([[1.2, -0.3, 0.1], [0.0, 0.7, 0.2], [0.3, -0.2, 0.9]])
    b = np.array([0.5, -0.3, -0.2])
    q = rng.dirichlet(np.full(3, 2.0), size=50_000)
    truth = softmax(np.log(q) @ W.T + b, axis=1)
    y = (truth.cumsum(axis=1) > rng.random((len(q), 1))).argmax(axis=1)
    fitted = BayesianDirichletCalibrator().fit(q, y)
    assert np.abs(fitted.predict_proba(q) - truth).mean() < 0.01
    found = fitted.linear_parameters()
    linear = softmax(np.log(q) @ found.W.T + found.b, axis=1)
    assert np.abs(linear - truth).mean() < 0.01


def test_rows_that_are_nearly_uniform_have_a_lower_temperature(make_problem):
    problem = make_problem(0, n=2000, k=3, scale=0.4)
    best = TemperatureScaling(clip=SINGLE_ZERO).fit(problem.proba, problem.y).temperature_
    spread = np.log(problem.proba).var(axis=1).mean() ** 0.5
    assert spread < 0.5 * best
    learned, fixed = (
        BayesianDirichletCalibrator(prior=prior, clip=SINGLE_ZERO).fit(problem.proba, problem.y)
        for prior in ("learned", "fixed")
    )
    assert_allclose(learned.temperature_, spread, rtol=1e-9)
    assert_allclose(fixed.temperature_, best, rtol=1e-6)
    assert learned.explain().comparison.temperature == pytest.approx(best, rel=1e-6)


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
def test_scores_that_point_away_from_the_labels_are_used(make_problem):
    problem = make_problem(0, n=2000, k=3)
    turned = (problem.y + 1) % 3  # class j is said where class j + 1 is meant
    fitted = BayesianDirichletCalibrator().fit(problem.proba, turned)
    rows = np.arange(2000)
    loss = -np.log(fitted.predict_proba(problem.proba)[rows, turned]).mean()
    straight = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    best = -np.log(straight.predict_proba(problem.proba)[rows, problem.y]).mean()
    assert loss < best + 0.02


def test_no_output_is_zero():
    X = np.repeat(np.eye(3), 20, axis=0)
    fitted = BayesianDirichletCalibrator().fit(X, np.repeat([0, 1, 2], 20))
    proba = fitted.predict_proba(np.eye(3))
    assert proba.min() > 1e-6
    assert (proba.argmax(axis=1) == [0, 1, 2]).all()


def test_zeros_of_votes_get_a_floor(make_problem):
    # Shares of 20 votes, as a forest has them: a zero says "rare", and not how rare.
    problem = make_problem(0, n=1000, k=4, scale=1.5)
    rng = np.random.default_rng(0)
    votes = rng.multinomial(20, problem.proba) / 20.0
    assert BayesianDirichletCalibrator().fit(votes, problem.y).clip_ > 1e-6
    assert BayesianDirichletCalibrator().fit(problem.proba, problem.y).clip_ < 1e-300


@pytest.mark.parametrize("k", [3, 30])
def test_intervals_hold_the_prediction_and_shrink_with_rows(k, make_problem):
    problem = make_problem(0, n=4000, k=k)
    few = BayesianDirichletCalibrator().fit(problem.proba[:500], problem.y[:500])
    many = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    new = make_problem(1, n=40, k=k).proba
    widths = []
    for fitted in (few, many):
        lower, upper = fitted.predict_interval(new)
        proba = fitted.predict_proba(new)
        assert (lower >= 0.0).all()
        assert (lower <= proba).all()
        assert (proba <= upper).all()
        assert (upper <= 1.0).all()
        widths.append((upper - lower).mean())
    assert widths[1] < 0.8 * widths[0]
    narrow = np.subtract(*few.predict_interval(new, level=0.5)[::-1])
    wide = np.subtract(*few.predict_interval(new, level=0.99)[::-1])
    assert (narrow <= wide).all()


def test_intervals_without_a_width_hold_the_prediction(make_problem):
    problem = make_problem(0, n=500, k=4)
    fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y, np.full(500, 1e6))
    proba = fitted.predict_proba(problem.proba)
    lower, upper = fitted.predict_interval(problem.proba, level=1e-12)
    assert ((lower <= proba) & (proba <= upper)).all()


def test_intervals_by_finite_differences(make_problem):
    problem = make_problem(0, n=200, k=3)
    fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    new = make_problem(1, n=5, k=3).proba
    scores, covariance = fitted.map_.before(Affine).read(new), fitted._posterior.covariance
    scores -= (1.0 - fitted.row_mean_factor_) * scores.mean(axis=0)
    weights = np.column_stack([of_prior(fitted), fitted.intercept_])

    def log_odds(params):
        w = params.reshape(3, 4)
        p = softmax(w[:, :3] @ scores + w[:, 3:], axis=0)
        return np.log(p) - np.log1p(-p)

    step = 1e-5
    slopes = np.stack(
        [
            (log_odds(weights.ravel() + step * e) - log_odds(weights.ravel() - step * e))
            / (2 * step)
            for e in np.eye(12)
        ]
    )
    naive = np.sqrt(np.einsum("eim,ef,fim->im", slopes, covariance, slopes))
    proba = fitted.predict_proba(new).T
    assert_allclose(fitted._posterior.spread_of_log_odds(proba, scores), naive, rtol=1e-6)


@pytest.mark.parametrize("level", [0.0, 1.0, "wide"])
def test_bad_levels(level, make_problem):
    problem = make_problem(0, n=60, k=3)
    fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    with pytest.raises(ValueError, match="`level`"):
        fitted.predict_interval(problem.proba, level=level)


def test_bad_prior(make_problem):
    problem = make_problem(0, n=60, k=3)
    with pytest.raises(ValueError, match=r"`prior` must be .*'flat'"):
        BayesianDirichletCalibrator(prior="flat").fit(problem.proba, problem.y)


def test_a_normalised_map_has_no_parameters(make_problem):
    problem = make_problem(0, n=60, k=3)
    fitted = BayesianDirichletCalibrator(prior="fixed").fit(problem.proba, problem.y)
    for ask in (fitted.linear_parameters, fitted.canonical_parameters):
        with pytest.raises(ValueError, match=r"`prior` must be 'learned'.*got prior='fixed'"):
            ask()


def test_logits_and_probabilities_agree(make_problem):
    problem = make_problem(0, n=300, k=4, scale=1.0)
    options = {"clip": 1e-300}
    a = BayesianDirichletCalibrator(**options).fit(problem.proba, problem.y)
    b = BayesianDirichletCalibrator(input_scale="logit", **options).fit(problem.logits, problem.y)
    assert_allclose(a.predict_proba(problem.proba), b.predict_proba(problem.logits), atol=1e-7)


@pytest.mark.parametrize("prior", ["learned", "fixed"])
def test_explanations_tell_of_the_map(prior, make_problem):
    # Zeros of votes that are never wrong: without the softening they would be all that counts.
    problem = make_problem(0, n=500, k=4, scale=2.0)
    votes = np.random.default_rng(0).multinomial(50, problem.proba) / 50.0
    y = np.where(votes[np.arange(500), problem.y] > 0.0, problem.y, votes.argmax(axis=1))
    fitted = BayesianDirichletCalibrator(prior=prior).fit(votes, y)
    proba = fitted.predict_proba(votes)
    explanation = fitted.explain()
    assert "BayesianDirichletCalibrator" in str(explanation)
    loss = -np.log(proba[np.arange(500), y]).mean()
    assert_allclose(explanation.comparison.loss, loss, rtol=1e-5)
    changed = (proba.argmax(axis=1) != votes.argmax(axis=1)).mean()
    for each in (explanation, fitted.explain(votes)):
        assert_allclose(each.decisions_changed, changed, atol=1e-6)
        after = {effect.label: effect.after for effect in each.classes}
        assert_allclose([after[j] for j in range(4)], proba.mean(axis=0), atol=1e-5)


def test_better_than_default_dirichlet_where_rows_are_few(make_problem):
    losses = {BayesianDirichletCalibrator: [], DirichletCalibrator: []}
    for seed in range(10):
        problem = make_problem(seed, n=1100, k=8)
        for cls, found in losses.items():
            fitted = cls(classes=range(8)).fit(problem.proba[:100], problem.y[:100])
            proba = fitted.predict_proba(problem.proba[100:])
            found.append(-np.log(proba[np.arange(1000), problem.y[100:]]).mean())
    assert np.mean(losses[BayesianDirichletCalibrator]) < np.mean(losses[DirichletCalibrator])
