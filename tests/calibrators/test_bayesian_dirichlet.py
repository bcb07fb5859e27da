"""Bayesian Dirichlet calibration: known answers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from dircal import BayesianDirichletCalibrator, DirichletCalibrator, TemperatureScaling
from dircal.exceptions import SmallSampleWarning
from dircal.maps import Affine, WithCurves

# Small problems keep these tests fast; one test is about the warning.
pytestmark = pytest.mark.filterwarnings("ignore::dircal.exceptions.SmallSampleWarning")

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


def whole_scores(fitted, q):
    """The scores s of the Notes."""
    t, u, k = fitted.mixture_temperature_, fitted.uniform_weight_, q.shape[1]
    z = (q ** (1 / t)).sum(axis=1, keepdims=True)
    return np.log((1 - u) * q ** (1 / t) / z + u / k) + np.log(z)


def statistics(s):
    """The statistics of curves (10, n, k) of the Notes."""
    r = log_softmax(s, axis=1)
    entropy = -(np.exp(r) * r).sum(axis=1, keepdims=True) / np.log(s.shape[1])
    x = r - np.log1p(-np.exp(r))
    knots = (-4.5, -1.5, 1.5, 4.5, -6.0, -3.0, 0.0, 3.0)
    hinges = [np.logaddexp(0.0, x - knot) for knot in knots]
    return np.array([(r - r.max(axis=1, keepdims=True)) ** 2 / 10, entropy * r, *hinges])


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize("curves", ["learned", "none"])
def test_learned_is_the_optimum_of_its_definition(curves, power, make_problem, use_limits):
    # With one prior in place of two, so that there is one optimum.
    use_limits("BayesLimits", narrow_factor=1.0, co_occurrence_powers=(power,))
    n, k = 300, 3
    problem, new = make_problem(0, n=n, k=k, scale=3.0), make_problem(1, n=6, k=k).proba
    fitted = BayesianDirichletCalibrator(curves=curves, clip=1e-300).fit(problem.proba, problem.y)
    assert_allclose(fitted.uniform_weight_, 0.1 / (n + 1))
    alpha = list(fitted.precisions_.values())
    s = whole_scores(fitted, problem.proba)
    level = np.sqrt(s.var(axis=1).mean() / (s.mean(axis=1) ** 2).mean())
    assert_allclose(fitted.row_mean_factor_, level, rtol=1e-9)
    assert level < 0.9
    off = ~np.eye(k, dtype=bool)
    p = softmax(s, axis=1)
    variances = (p.T @ p)[off] ** power
    variances /= variances.mean()

    def parts(params):
        V, b, c = params[: k * k].reshape(k, k), params[k * k :][:k], params[k * k + k :]
        return V, b, c[:10], c[10:].reshape(k, 4)

    def logits(params, s, f):
        V, b, shared, own = parts(params)
        z = (s - (1 - level) * s.mean(axis=1, keepdims=True)) @ V.T + b
        z += np.einsum("c,cmi->mi", shared, f)
        return z + np.einsum("ic,cmi->mi", own, f[-4:])

    def loss(params, f):
        V, b, shared, own = parts(params)
        total = -log_softmax(logits(params, s, f), axis=1)[np.arange(n), problem.y].sum()
        total += 0.5 * alpha[0] * ((np.diag(V) - 1.0) ** 2).sum()
        total += 0.5 * alpha[1] * (V[off] ** 2 / variances).sum() + 0.5 * alpha[2] * (b @ b)
        if curves == "none":
            return total + 0.5 * (shared @ shared + (own**2).sum())
        total += 0.5 * alpha[3] * (shared[:2] @ shared[:2])
        total += 0.5 * alpha[4] * (shared[2:] @ shared[2:])
        return total + 0.5 * alpha[5] * (own**2).sum()

    # Without curves their statistics count as nothing.
    there = 1.0 if curves == "learned" else 0.0
    f = there * statistics(s)
    start = np.concatenate([np.eye(k).ravel(), np.zeros(k + 10 + 4 * k)])
    best = minimize(loss, start, (f,), method="BFGS", options={"gtol": 1e-5}).x
    V, b, shared, own = parts(best)
    assert_allclose(of_prior(fitted), V, atol=1e-3)
    assert_allclose(fitted.intercept_, b, atol=1e-3)
    together = np.tile(shared, (k, 1))
    together[:, -4:] += own
    assert_allclose(fitted.curve_coef_, there * together, atol=1e-3)
    s_new = whole_scores(fitted, new)
    proba = softmax(logits(best, s_new, there * statistics(s_new)), axis=1)
    assert_allclose(fitted.predict_proba(new), proba, atol=1e-4)


def test_learned_precisions_are_of_the_groups(make_problem):
    problem = make_problem(0, n=500, k=4)
    linear = {"diagonal": 4, "off_diagonal": 12, "intercept": 4}
    curved = {"curvature": 2, "shared_curve": 8, "class_curves": 16}
    for curves, sizes in (("none", linear), ("learned", linear | curved)):
        fitted = BayesianDirichletCalibrator(curves=curves).fit(problem.proba, problem.y)
        assert list(fitted.precisions_) == list(fitted.effective_parameters_) == list(sizes)
        for name, effective in fitted.effective_parameters_.items():
            assert 0.0 < effective < sizes[name]
            assert fitted.precisions_[name] > 0.0
    assert (
        not BayesianDirichletCalibrator(curves="none")
        .fit(problem.proba, problem.y)
        .curve_coef_.any()
    )


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


@pytest.mark.parametrize("weight", [1e4, 1e8])
def test_rows_that_stand_for_thousands_converge(weight):
    # Curves of two classes overlap so much that some have next to no curvature but the prior's.
    rng = np.random.default_rng(80)
    logits = rng.normal(scale=0.12, size=(363, 2)) + np.array([0.5, -0.5])
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    calibrator = BayesianDirichletCalibrator(input_scale="logit")
    assert calibrator.fit(logits, y, np.full(363, weight)).n_iter_ < 50


@pytest.mark.parametrize("prior", ["learned", "fixed"])
def test_next_to_no_weight_says_next_to_nothing(prior, make_problem):
    problem = make_problem(0, n=50, k=3)
    calibrator = BayesianDirichletCalibrator(prior=prior)
    fitted = calibrator.fit(problem.proba, problem.y, np.full(50, 1e-30))
    assert fitted.uniform_weight_ < 1.0
    if prior == "fixed":
        assert_allclose(fitted.predict_proba(problem.proba), 1.0 / 3.0, atol=1e-6)
    else:
        # A tenth of the uniform, and nothing beside the temperature.
        assert_allclose(fitted.uniform_weight_, 0.1)
        assert_allclose(fitted.coef_, fitted.coef_[0, 0] * np.eye(3), atol=1e-9)
        assert_allclose(fitted.intercept_, 0.0, atol=1e-9)
        assert_allclose(fitted.curve_coef_, 0.0, atol=1e-9)


def test_many_rows_find_the_map(make_problem):
    rng = np.random.default_rng(0)
    W = np.array([[1.2, -0.3, 0.1], [0.0, 0.7, 0.2], [0.3, -0.2, 0.9]])
    b = np.array([0.5, -0.3, -0.2])
    q = rng.dirichlet(np.full(3, 2.0), size=50_000)
    truth = softmax(np.log(q) @ W.T + b, axis=1)
    y = (truth.cumsum(axis=1) > rng.random((len(q), 1))).argmax(axis=1)
    fitted = BayesianDirichletCalibrator().fit(q, y)
    assert np.abs(fitted.predict_proba(q) - truth).mean() < 0.01
    straight = BayesianDirichletCalibrator(curves="none").fit(q, y)
    assert np.abs(straight.predict_proba(q) - truth).mean() < 0.01
    found = straight.linear_parameters()
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
    assert_allclose(learned.mixture_temperature_, spread, rtol=1e-9)
    assert_allclose(fixed.mixture_temperature_, best, rtol=1e-6)
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


@pytest.mark.parametrize("curves", ["learned", "none"])
def test_intervals_by_finite_differences(curves, make_problem):
    k = 3
    problem = make_problem(0, n=200, k=k)
    calibrator = BayesianDirichletCalibrator(curves=curves, clip=1e-300)
    fitted = calibrator.fit(problem.proba, problem.y)
    new = make_problem(1, n=5, k=k).proba
    s = whole_scores(fitted, new)
    read = s - (1.0 - fitted.row_mean_factor_) * s.mean(axis=1, keepdims=True)
    f = statistics(s)
    covariance = fitted.fit_.details.posterior.covariance
    # Own coefficients move logits as shared ones do: the split of both does not matter here.
    coefficients = fitted.curve_coef_

    def log_odds(away):
        V = of_prior(fitted) + away[: k * (k + 1)].reshape(k, k + 1)[:, :-1]
        b = fitted.intercept_ + away[: k * (k + 1)].reshape(k, k + 1)[:, -1]
        z = read @ V.T + b + np.einsum("ic,cmi->mi", coefficients, f)
        if curves == "learned":
            shared, own = np.split(away[k * (k + 1) :], [10])
            z += np.einsum("c,cmi->mi", shared, f)
            z += np.einsum("ic,cmi->mi", own.reshape(k, 4), f[-4:])
        p = softmax(z, axis=1)
        return np.log(p) - np.log1p(-p)

    step = 1e-5
    steps = step * np.eye(len(covariance))
    slopes = np.stack([(log_odds(e) - log_odds(-e)) / (2 * step) for e in steps])
    naive = np.sqrt(np.einsum("emi,ef,fmi->mi", slopes, covariance, slopes))
    middle = log_odds(np.zeros(len(covariance)))
    assert_allclose(fitted.predict_proba(new), expit(middle), rtol=1e-6)
    lower, upper = fitted.predict_interval(new)
    assert_allclose(lower, expit(middle - 1.959964 * naive), rtol=1e-5)
    assert_allclose(upper, expit(middle + 1.959964 * naive), rtol=1e-5)


@pytest.mark.parametrize("level", [0.0, 1.0, "wide"])
def test_bad_levels(level, make_problem):
    problem = make_problem(0, n=60, k=3)
    fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    with pytest.raises(ValueError, match="`level`"):
        fitted.predict_interval(problem.proba, level=level)


def test_bad_prior_and_curves(make_problem):
    problem = make_problem(0, n=60, k=3)
    with pytest.raises(ValueError, match=r"`curves` must be .*'some'"):
        BayesianDirichletCalibrator(curves="some").fit(problem.proba, problem.y)
    with pytest.raises(ValueError, match=r"`prior` must be .*'flat'"):
        BayesianDirichletCalibrator(prior="flat").fit(problem.proba, problem.y)


def test_a_normalised_map_has_no_parameters(make_problem):
    problem = make_problem(0, n=60, k=3)
    fitted = BayesianDirichletCalibrator(prior="fixed").fit(problem.proba, problem.y)
    for ask in (fitted.linear_parameters, fitted.canonical_parameters):
        with pytest.raises(ValueError, match=r"`prior` must be 'learned'.*got prior='fixed'"):
            ask()


def test_a_curved_map_has_no_parameters(make_problem):
    problem = make_problem(0, n=60, k=3)
    fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    for ask in (
        fitted.linear_parameters,
        fitted.canonical_parameters,
        fitted.generative_parameters,
        fitted.interpretation_points,
    ):
        with pytest.raises(ValueError, match=r"`curves` must be 'none'.*got curves='learned'"):
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


def test_better_than_moderate_strengths_where_rows_are_few(make_problem):
    bayes = BayesianDirichletCalibrator(classes=range(8))
    moderate = DirichletCalibrator(lam=(8 * 7) ** 2 / 100, mu=8**2 / 100, classes=range(8))
    losses = {bayes: [], moderate: []}
    for seed in range(10):
        problem = make_problem(seed, n=1100, k=8)
        for calibrator, found in losses.items():
            fitted = calibrator.fit(problem.proba[:100], problem.y[:100])
            proba = fitted.predict_proba(problem.proba[100:])
            found.append(-np.log(proba[np.arange(1000), problem.y[100:]]).mean())
    assert np.mean(losses[bayes]) < np.mean(losses[moderate])


def drawn(truth, seed):
    """Labels drawn from probabilities (n, k)."""
    uniform = np.random.default_rng(seed).random((len(truth), 1))
    return (truth.cumsum(axis=1) > uniform).argmax(axis=1).clip(max=truth.shape[1] - 1)


def loss_of(calibrator, X, truth):
    """Expected log-loss where labels have probabilities ``truth``."""
    return -(truth * np.log(calibrator.predict_proba(X))).sum(axis=1).mean()


@pytest.mark.parametrize("k", [3, 10])
def test_groups_switch_themselves_off(k):
    logits = np.random.default_rng(k).normal(scale=3.0, size=(4000, k))
    truth = softmax(logits / 1.7, axis=1)
    y = drawn(truth, 0)
    fitted = BayesianDirichletCalibrator(input_scale="logit").fit(logits[:2000], y[:2000])
    simple = TemperatureScaling(input_scale="logit").fit(logits[:2000], y[:2000])
    curved = {"curvature": 2, "shared_curve": 8, "class_curves": 4 * k}
    assert sum(fitted.effective_parameters_[name] for name in curved) < 0.2 * sum(curved.values())
    assert sum(fitted.effective_parameters_.values()) < 0.3 * (k * (k + 1) + 10 + 4 * k)
    new = logits[2000:]
    assert np.abs(fitted.predict_proba(new) - simple.predict_proba(new)).mean() < 0.02
    losses = [loss_of(each, new, truth[2000:]) for each in (fitted, simple)]
    assert losses[0] < losses[1] * 1.01


def test_a_curve_is_found():
    # Too sure by far where two classes compete, and right where one stands alone.
    k, n = 4, 8000
    logits = np.random.default_rng(0).normal(scale=3.0, size=(n + 4000, k))
    f = statistics(logits)
    truth = softmax(log_softmax(logits, axis=1) * 0.9 - 0.6 * f[1] - 0.25 * f[0], axis=1)
    y = drawn(truth, 0)
    bent, straight = (
        BayesianDirichletCalibrator(input_scale="logit", curves=curves).fit(logits[:n], y[:n])
        for curves in ("learned", "none")
    )
    entropy = -(truth[n:] * np.log(truth[n:])).sum(axis=1).mean()
    beyond = [loss_of(each, logits[n:], truth[n:]) - entropy for each in (bent, straight)]
    assert beyond[0] < 0.005
    assert beyond[1] > 3.0 * beyond[0]
    assert bent.log_evidence_ > straight.log_evidence_ + 10.0
    assert bent.effective_parameters_["curvature"] > 1.0


def test_fifty_rows_are_temperature_scaling_or_nearly(make_problem):
    losses = []
    for seed in range(8):
        logits = np.random.default_rng(seed).normal(scale=3.0, size=(1050, 5))
        truth = softmax(0.6 * logits, axis=1)
        y = drawn(truth, seed)
        fits = [
            cls(input_scale="logit", classes=range(5)).fit(logits[:50], y[:50])
            for cls in (BayesianDirichletCalibrator, TemperatureScaling)
        ]
        losses.append([loss_of(each, logits[50:], truth[50:]) for each in fits])
    ours, simple = np.mean(losses, axis=0)
    assert ours < 1.02 * simple


def test_weights_are_copies(make_problem):
    problem = make_problem(0, n=80, k=3)
    times = np.random.default_rng(0).integers(1, 4, size=80)
    weighted = BayesianDirichletCalibrator().fit(problem.proba, problem.y, times)
    copies = BayesianDirichletCalibrator().fit(
        np.repeat(problem.proba, times, axis=0), np.repeat(problem.y, times)
    )
    assert_allclose(
        weighted.predict_proba(problem.proba), copies.predict_proba(problem.proba), atol=1e-7
    )
    assert_allclose(weighted.log_evidence_, copies.log_evidence_, rtol=1e-6)


@pytest.mark.parametrize("k", [5, 26])
def test_relabelling_permutes_curves(k, make_problem):
    problem = make_problem(0, n=400, k=k)
    order = np.random.default_rng(0).permutation(k)
    fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    other = BayesianDirichletCalibrator().fit(problem.proba[:, order], np.argsort(order)[problem.y])
    assert_allclose(
        other.predict_proba(problem.proba[:, order]),
        fitted.predict_proba(problem.proba)[:, order],
        atol=1e-5 if k > 25 else 1e-7,
    )
    assert_allclose(other.curve_coef_, fitted.curve_coef_[order], atol=1e-4 if k > 25 else 1e-6)


@pytest.mark.parametrize("n", [200, 2000])
def test_ties_among_classes_are_settled_by_rows_not_by_their_order(n):
    """Beyond 25 classes some stand for all, and hard votes make many of them alike."""
    k, rng = 30, np.random.default_rng(3)
    scores = rng.normal(size=(n, k))
    y = (3.0 * scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    votes = np.eye(k)[scores.argmax(axis=1)]
    calibrator = BayesianDirichletCalibrator(classes=range(k))
    plain = calibrator.fit(votes, y).predict_proba(votes)
    rows, order = rng.permutation(n), rng.permutation(k)
    shuffled = calibrator.fit(votes[rows], y[rows]).predict_proba(votes)
    assert_allclose(shuffled, plain, atol=1e-6)
    relabelled = calibrator.fit(votes[:, order], np.argsort(order)[y])
    assert_allclose(relabelled.predict_proba(votes[:, order]), plain[:, order], atol=1e-6)


def test_two_classes_have_curves_of_one_log_odds(make_problem):
    problem = make_problem(0, n=300, k=2)
    fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    proba = fitted.predict_proba(problem.proba)
    turned = BayesianDirichletCalibrator().fit(problem.proba[:, ::-1], 1 - problem.y)
    assert_allclose(turned.predict_proba(problem.proba[:, ::-1]), proba[:, ::-1], atol=1e-7)
    lower, upper = fitted.predict_interval(problem.proba)
    assert_allclose(lower[:, 0], 1.0 - upper[:, 1], atol=1e-9)
    assert ((lower < proba) & (proba < upper)).all()


CORNERS = {
    "absent classes": lambda p: (p.proba[p.y < 3], p.y[p.y < 3]),
    "fewer rows than classes": lambda p: (p.proba[:3], p.y[:3]),
    "one row": lambda p: (p.proba[:1], p.y[:1]),
    "separated classes": lambda p: (p.proba, p.proba.argmax(axis=1)),
    "zeros and ones": lambda p: (np.eye(5)[p.proba.argmax(axis=1)], p.y),
    "uniform rows": lambda p: (np.full_like(p.proba, 0.2), p.y),
}


@pytest.mark.parametrize("corner", CORNERS.values(), ids=CORNERS)
def test_corners(corner, make_problem):
    X, y = corner(make_problem(0, n=100, k=5))
    fitted = BayesianDirichletCalibrator(classes=range(5)).fit(X, y)
    new = np.vstack([X, np.eye(5), np.full((1, 5), 0.2)])
    proba = fitted.predict_proba(new)
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(axis=1), 1.0)
    assert proba.min() > 0.0
    lower, upper = fitted.predict_interval(new)
    assert ((lower >= 0.0) & (lower <= proba) & (proba <= upper) & (upper <= 1.0)).all()
    assert np.isfinite(fitted.log_evidence_)


def test_many_classes_share_their_curves(make_problem):
    problem = make_problem(0, n=600, k=30)
    fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    assert "class_curves" not in fitted.precisions_
    assert_allclose(fitted.curve_coef_, np.tile(fitted.curve_coef_[0], (30, 1)))
    assert fitted.map_.find(WithCurves).coefficients.shape == (1, 10)
    loss = -np.log(fitted.predict_proba(problem.proba)[np.arange(600), problem.y]).mean()
    assert_allclose(fitted.fit_.record.known.comparison.loss, loss, rtol=1e-9)


@pytest.mark.parametrize("curves", ["learned", "none"])
def test_very_many_classes_have_a_diagonal_matrix(curves, make_problem):
    k, n = 401, 300
    problem = make_problem(0, n=n, k=k)
    calibrator = BayesianDirichletCalibrator(
        input_scale="logit", classes=range(k), curves=curves, tol=1e-9
    )
    fitted = calibrator.fit(problem.logits, problem.y)
    assert_allclose(fitted.coef_, np.diag(np.diag(fitted.coef_)))
    assert fitted.row_mean_factor_ == 1.0
    assert "off_diagonal" in fitted.precisions_
    # The map is the one that was fitted.
    proba = fitted.predict_proba(problem.logits)
    assert_allclose(
        fitted.fit_.record.known.comparison.loss,
        -np.log(proba[np.arange(n), problem.y]).mean(),
        rtol=1e-9,
    )
    lower, upper = fitted.predict_interval(problem.logits[:5])
    assert ((lower <= proba[:5]) & (proba[:5] <= upper)).all()


def test_intervals_of_few_rows_warn(make_problem):
    problem = make_problem(0, n=400, k=10)
    fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    with pytest.warns(SmallSampleWarning, match="fitted on 400 rows.* at least 550 rows, 5 for"):
        fitted.predict_interval(problem.proba)
