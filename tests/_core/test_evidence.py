"""Maps that are learned by evidence: priors, posteriors, curves and averages."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax
from scipy.stats import gamma, logistic, multivariate_normal

from dircal._core.bayes import prior as prior_module
from dircal._core.bayes.average import average_by_evidence, wide_and_narrow
from dircal._core.bayes.curvature import Blocks, Curvature
from dircal._core.bayes.evidence import evidence_of_one_step, fit_as_expected, maximise_evidence
from dircal._core.bayes.features import MixturePrior
from dircal._core.bayes.mixture import mix_with_uniform, weights_of_whole_scores
from dircal._core.bayes.models import MODELS, average_models
from dircal._core.bayes.posterior import ExactPosterior, LowRankPosterior
from dircal._core.bayes.prior import GroupedGaussianPrior, curved_prior, full_prior, linear_prior
from dircal._core.bayes.slope import log_slope_prior, most_probable_slope
from dircal._core.bayes.state import EvidenceState
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import log_softmax as log_softmax_of_columns
from dircal._core.model.curved import Curved
from dircal._core.model.objective import Likelihood
from dircal._core.model.statistics import N_STATISTICS, curve_statistics
from dircal._core.model.structure import Diagonal, Full
from dircal._core.optim.newton import Status
from dircal._core.optim.precondition import make_preconditioner
from dircal.maps import CalibrationMap, LogSoftmax

# The slope of the temperature map with a prior.


SCALE = np.log(2.0) / np.log(3.0)
LIMITS = {"tol": 1e-14, "max_iter": 100}


def rows_of(logits, y, weight=None):
    read = CalibrationMap(logits.shape[1], (LogSoftmax(),)).read
    return Rows(ArraySource(logits, y, weight, read))


def naive(logits, y):
    """Minus the logarithm of likelihood times prior, as a function of the logarithm."""
    scores = log_softmax(logits, axis=1)

    def function(u):
        losses = -log_softmax(np.exp(u) * scores, axis=1)[np.arange(len(y)), y]
        return losses.sum() - logistic.logpdf(u, scale=SCALE)

    return function


@pytest.mark.parametrize("u", [-30.0, -1.0, 0.0, 0.3, 5.0])
def test_the_prior_is_logistic_with_quartiles_at_a_factor_of_two(u):
    assert_allclose(log_slope_prior(u), logistic.logpdf(u, scale=SCALE), rtol=1e-12)
    assert_allclose(logistic.cdf(np.log(2.0), scale=SCALE), 0.75)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("n", [20, 300])
def test_it_is_the_largest_posterior_and_its_occam_factor_an_integral(k, n, make_problem):
    problem = make_problem(2, n=n, k=k)
    found = most_probable_slope(rows_of(problem.logits, problem.y), start=0.3, **LIMITS)
    function = naive(problem.logits, problem.y)
    best = minimize_scalar(function, bounds=(-4.0, 3.0), method="bounded", options={"xatol": 1e-9})
    assert_allclose(np.log(found.slope), best.x, atol=1e-6)
    integral, _ = quad(lambda u: np.exp(best.fun - function(u)), -6.0, 6.0, points=[best.x])
    log_prior = logistic.logpdf(best.x, scale=SCALE)
    # Laplace's approximation.
    assert_allclose(found.log_occam_factor, np.log(integral) + log_prior, atol=3.0 / n)


def test_a_classifier_without_errors_has_a_finite_slope():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(50, 3))
    y = logits.argmax(axis=1)
    found = [most_probable_slope(rows_of(logits, y), start=a, **LIMITS).slope for a in (1.0, 1e3)]
    assert 1.0 < found[0] < 100.0
    assert_allclose(found[1], found[0], rtol=1e-6)


def test_scores_that_point_away_or_tell_nothing():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 3))
    away = most_probable_slope(rows_of(logits, logits.argmin(axis=1)), start=1e-6, **LIMITS)
    assert 0.0 < away.slope < 0.1
    flat = most_probable_slope(rows_of(np.zeros((5, 3)), np.arange(5) % 3), start=1.0, **LIMITS)
    assert_allclose(flat.slope, 1.0)
    assert np.isfinite(flat.log_occam_factor)


def test_weights_are_copies(make_problem):
    problem = make_problem(0, n=60, k=3)
    weighted = rows_of(problem.logits, problem.y, np.full(60, 3.0))
    copies = rows_of(np.tile(problem.logits, (3, 1)), np.tile(problem.y, 3))
    found = [most_probable_slope(rows, start=1.0, **LIMITS) for rows in (weighted, copies)]
    assert_allclose(found[0].slope, found[1].slope, rtol=1e-9)
    assert_allclose(found[0].log_occam_factor, found[1].log_occam_factor, rtol=1e-9)


# What a map learned by evidence reads.


CURVED = np.array([3.0, 6.0, 3.0, 1.0, 8.0, 24.0])


def rows_of_problem(problem):
    read = CalibrationMap(problem.logits.shape[1], (LogSoftmax(),)).read
    return Rows(ArraySource(problem.logits, problem.y, None, read))


def scores_of(rows):
    return rows.fold(lambda chunk: [chunk])[0].scores


@pytest.mark.parametrize("surprise", [0.1, 1.0])
def test_scores_are_mixed_and_statistics_lie_below(surprise, make_problem):
    problem = make_problem(0, n=50, k=3)
    prior = MixturePrior(CURVED, normalised=False, surprise=surprise)
    mixed = prior.around(rows_of_problem(problem), 0.0, 0.8)
    u = surprise / 51.0
    assert_allclose(mixed.uniform_weight, u)
    s = np.log(problem.proba).T
    total = np.log(np.exp(0.8 * s).sum(axis=0))
    whole = np.log((1 - u) * softmax(0.8 * s, axis=0) + u / 3) + total
    means = whole.mean(axis=0)
    factor = min(1.0, np.sqrt(whole.var(axis=0).mean() / (means**2).mean()))
    assert_allclose(mixed.row_mean_factor, factor)
    found = scores_of(mixed.rows).reshape(11, 3, 50)
    assert_allclose(found[0], whole - (1 - factor) * means, rtol=1e-9, atol=1e-12)
    # Curves see the whole of a row.
    assert_allclose(found[1:], curve_statistics(whole), rtol=1e-9, atol=1e-12)
    plain = prior.without_curves().around(rows_of_problem(problem), 0.0, 0.8)
    assert_allclose(scores_of(plain.rows), found[0])


def test_a_diagonal_matrix_reads_whole_rows(make_problem):
    problem = make_problem(0, n=10, k=401)
    for mode in (CURVED, CURVED[:3]):
        mixed = MixturePrior(mode, normalised=False).around(rows_of_problem(problem), 0.0, 0.5)
        assert mixed.row_mean_factor == 1.0
        assert len(scores_of(mixed.rows)) == 401 * (11 if len(mode) > 3 else 1)


def test_co_occurrence_is_that_of_the_temperature_map(make_problem):
    problem = make_problem(0, n=60, k=3)
    prior = MixturePrior(CURVED, normalised=False, surprise=0.1)
    mixed = prior.around(rows_of_problem(problem), 0.0, 0.8)
    coupling = EvidenceState(mixed.rows, mixed.prior, 1e-7, 100).moments_of_centre.coupling
    found = mixed.prior.with_coupling(coupling).co_occurrence
    u = mixed.uniform_weight
    proba = (1 - u) * softmax(0.8 * np.log(problem.proba), axis=1) + u / 3
    together = found[:12].reshape(3, 4)
    off = ~np.eye(3, dtype=bool)
    expected = (proba.T @ proba)[off]
    assert_allclose(together[:, :-1][off] / expected, together[0, 1] / expected[0], rtol=1e-9)
    assert not together[:, -1].any()
    assert not together.diagonal().any()
    assert not found[12:].any()


# The mixture of a prediction with the uniform one.


def test_the_mixture_by_hand():
    logits = np.array([[2.0], [0.5], [-1.0]])
    odds = np.exp(0.5 * logits)
    expected = np.log(0.9 * odds / odds.sum() + 0.1 / 3)
    found = mix_with_uniform(logits.copy(), 0.5, 0.1, normalised=True)
    assert_allclose(found, expected, rtol=1e-12)
    moved = mix_with_uniform(logits.copy(), 0.5, 0.1, normalised=False)
    assert_allclose(moved, expected + np.log(odds.sum()), rtol=1e-12)
    bare = mix_with_uniform(logits.copy(), 0.5, 1e-300, normalised=False)
    assert_allclose(bare, 0.5 * logits, rtol=1e-12)


# Groups of parameters, and how far pairs of classes may go.


MODE = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def test_groups_of_a_curved_map():
    prior = curved_prior(3, MODE, 0.7)
    assert prior.names == (
        "diagonal",
        "off_diagonal",
        "intercept",
        "curvature",
        "shared_curve",
        "class_curves",
    )
    assert prior.sums(np.ones(len(prior.group))).tolist() == [3, 6, 3, 2, 8, 12]
    assert_allclose(prior.structure.unpack(prior.centre), 0.7 * np.eye(3, 4))
    assert_allclose(prior.centre[12:], 0.0)
    table = prior.group[:12].reshape(3, 4)
    assert (table == [[0, 1, 1, 2], [1, 0, 1, 2], [1, 1, 0, 2]]).all()


@pytest.mark.parametrize(
    ("k", "base", "n_own", "n_groups"),
    [(23, Full, 4, 6), (24, Full, 0, 5), (400, Full, 0, 5), (401, Diagonal, 0, 5)],
)
def test_what_many_classes_have(k, base, n_own, n_groups):
    prior = curved_prior(k, MODE, 1.0)
    assert isinstance(prior.base, base)
    assert prior.structure.n_own == n_own
    assert len(prior.names) == len(prior.mode) == n_groups
    assert len(prior.group) == len(prior.centre) == prior.structure.n_params
    assert isinstance(linear_prior(k, MODE[:3], 1.0).structure, base)
    assert isinstance(full_prior(k, MODE[:3], 1.0).structure, Full)


def coupling_of(proba):
    """Minus the co-occurrence of classes off the diagonal, with a class more as curves have it."""
    k = len(proba)
    coupling = np.zeros((k + 1, k + 1))
    coupling[:k, :k] = np.diag(proba.sum(axis=1)) - proba @ proba.T
    return coupling


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_variances_are_as_a_power_of_the_co_occurrence(power):
    k = 4
    proba = np.random.default_rng(0).dirichlet(np.full(k, 0.3), size=200).T
    prior = curved_prior(k, MODE, 1.0).with_coupling(coupling_of(proba))
    relative = prior.relative_precisions(power)
    off = ~np.eye(k, k + 1, dtype=bool)
    off[:, -1] = False
    places = np.flatnonzero(off.ravel())
    together = (proba @ proba.T)[off[:, :-1]]
    variances = 1.0 / relative[places]
    assert_allclose(variances, together**power / (together**power).mean(), rtol=1e-9)
    assert_allclose(variances.mean(), 1.0)
    assert_allclose(np.delete(relative, places), 1.0)
    penalty = prior.penalty(MODE, power, 50.0)
    assert_allclose(penalty.weight, MODE[prior.group] * relative / 100.0)


def test_classes_that_never_compete_still_have_a_variance():
    proba = np.zeros((3, 10))
    proba[0, :] = proba[1, :] = 0.5
    prior = full_prior(3, MODE[:3], 1.0).with_coupling(coupling_of(proba))
    relative = prior.relative_precisions(1.0)
    assert np.isfinite(relative).all()
    assert relative.min() > 0.0


def test_rows_without_a_doubt_say_nothing_of_pairs():
    prior = full_prior(3, MODE[:3], 1.0)
    assert prior.with_coupling(coupling_of(np.eye(3))) is prior
    assert_allclose(prior.relative_precisions(1.0), 1.0)
    diagonal = curved_prior(401, MODE, 1.0)
    assert diagonal.with_coupling(np.zeros((402, 402))) is diagonal


# Spreads of log-odds, against matrices written out.


K, M = 4, 12
RNG_POSTERIOR = np.random.default_rng(0)
PLAIN = RNG_POSTERIOR.normal(scale=2.0, size=(K, M))
STACKED = np.concatenate([PLAIN[None], curve_statistics(PLAIN)]).reshape(-1, M)


def naive_gradient(structure, scores, proba, covariance):
    """Gradient of the log-odds in the parameters, by the chain rule, around a covariance."""
    logits = [structure.logits(e, scores) for e in np.eye(structure.n_params)]
    J = np.array(logits).transpose(2, 1, 0)
    spread = np.empty((K, M))
    for m in range(M):
        for i in range(K):
            contrast = -proba[:, m] / np.delete(proba[:, m], i).sum()
            contrast[i] = 1.0
            slope = contrast @ J[m]
            spread[i, m] = np.sqrt(slope @ covariance @ slope)
    return spread


@pytest.mark.parametrize(
    ("structure", "scores"),
    [
        (Full(K, K), PLAIN),
        (Curved(Full(K, K), N_STATISTICS, 4), STACKED),
        (Curved(Full(K, K), N_STATISTICS, 0), STACKED),
    ],
    ids=["linear", "own", "shared"],
)
def test_a_whole_covariance(structure, scores):
    root = RNG_POSTERIOR.normal(size=(structure.n_params, structure.n_params))
    covariance = root @ root.T
    proba = softmax(RNG_POSTERIOR.normal(size=(K, M)), axis=0)
    posterior = ExactPosterior(covariance)
    assert posterior.n_entries == structure.n_params
    found = posterior.spread_of_log_odds(proba, scores)
    assert_allclose(found, naive_gradient(structure, scores, proba, covariance), rtol=1e-9)


@pytest.mark.parametrize("lead", [0.0, 30.0, 400.0])
@pytest.mark.parametrize("base", [Full(K, K), Diagonal(K)], ids=["full", "diagonal"])
def test_low_rank(base, lead):
    """Also of a class beside which squares of the others underflow."""
    logits = RNG_POSTERIOR.normal(size=(K, M))
    moments = base.hessian_moments(softmax(logits, axis=0), np.full(M, 1.0 / M), PLAIN)
    logits[1, ::2] += lead
    proba = softmax(logits, axis=0)
    inverse = make_preconditioner(moments, base.param_class, np.full(base.n_params, 0.1))
    dense = np.array([inverse(e) for e in np.eye(base.n_params)])
    posterior = LowRankPosterior(inverse, 50.0)
    assert posterior.n_entries == base.n_params
    expected = naive_gradient(base, PLAIN, proba, dense / 50.0)
    # Statistics below the scores are passed by.
    for scores in (PLAIN, STACKED):
        assert_allclose(posterior.spread_of_log_odds(proba, scores), expected, rtol=1e-7)


# Evidence of a parabola, against linear algebra written out.


RNG_CURVES = np.random.default_rng(0)
K_CURVES = 3
MODE_CURVES = np.array([3.0, 6.0, 3.0, 1.0, 8.0, 24.0])
PRIOR = curved_prior(K_CURVES, MODE_CURVES, 1.0)
TOGETHER = np.zeros((K_CURVES, K_CURVES + 1))
TOGETHER[:, :-1] = RNG_CURVES.uniform(0.1, 2.0, size=(K_CURVES, K_CURVES)) * ~np.eye(
    K_CURVES, dtype=bool
)
PRIOR = replace(PRIOR, co_occurrence=np.append(TOGETHER.ravel(), np.zeros(len(PRIOR.group) - 12)))
P = len(PRIOR.group)
ROOT = RNG_CURVES.normal(size=(P, 60))
HESSIAN = ROOT @ ROOT.T / 10.0
THETA = RNG_CURVES.normal(scale=0.3, size=P)
AT = MODE_CURVES[PRIOR.group] * PRIOR.relative_precisions(0.5)
WHOLE = Curvature(PRIOR, (Blocks(HESSIAN[None], np.arange(P)[None]),), THETA, AT)


def naive_evidence(precisions, power):
    """Density of the unpenalised optimum: a normal with the covariances of prior and rows."""
    weights = precisions[PRIOR.group] * PRIOR.relative_precisions(power)
    optimum = np.linalg.solve(HESSIAN, (HESSIAN + np.diag(AT)) @ THETA)
    covariance = np.linalg.inv(HESSIAN) + np.diag(1.0 / weights)
    return multivariate_normal.logpdf(optimum, np.zeros(P), covariance)


def test_evidence_is_the_density_of_what_was_seen():
    one, other = MODE_CURVES, MODE_CURVES * RNG_CURVES.uniform(0.2, 5.0, size=6)
    for power in (0.0, 1.0):
        ours = WHOLE.log_evidence(one, 0.5) - WHOLE.log_evidence(other, power)
        ours -= PRIOR.log_hyperprior(one) - PRIOR.log_hyperprior(other)
        assert_allclose(
            ours, naive_evidence(one, 0.5) - naive_evidence(other, power), rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("strength", [2.0, 0.5])
def test_the_prior_of_precisions_is_a_gamma_with_its_mode_in_the_logarithm(strength):
    precisions = MODE_CURVES * np.array([0.7, 4.0, 1.0, 0.1, 2.0, 3.0])
    prior = replace(PRIOR, strength=strength)

    def density(values):
        # That of the logarithm: the density of a gamma times the value.
        return (gamma.logpdf(values, strength, scale=MODE_CURVES / strength) + np.log(values)).sum()

    assert_allclose(prior.log_hyperprior(precisions), density(precisions) - density(MODE_CURVES))
    assert prior.log_hyperprior(MODE_CURVES) == 0.0


def test_precisions_that_are_held_stay_and_the_others_are_best_for_them():
    held = np.array([False, True, False, False, False, False])
    start = MODE_CURVES * np.array([1.0, 3.0, 1.0, 1.0, 1.0, 1.0])
    partly = replace(WHOLE, prior=replace(PRIOR, held=held))
    found = partly.best_precisions(start, 0.5, 1e-10)
    assert found[1] == start[1]
    free = WHOLE.best_precisions(start, 0.5, 1e-10)
    assert abs(np.log(free[1] / start[1])) > 0.1
    for i in np.flatnonzero(~held):
        for factor in (0.9, 1.1):
            other = found.copy()
            other[i] *= factor
            assert WHOLE.log_evidence(other, 0.5) < WHOLE.log_evidence(found, 0.5)


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_the_fixed_point_has_the_largest_evidence(power):
    found = WHOLE.best_precisions(MODE_CURVES, power, 1e-10)
    best = minimize(
        lambda logs: -WHOLE.log_evidence(np.exp(logs), power), np.log(MODE_CURVES), method="BFGS"
    )
    assert_allclose(np.log(found), best.x, atol=1e-3)
    assert -best.fun <= WHOLE.log_evidence(found, power) + 1e-8


def test_effective_parameters_are_traces():
    weights = MODE_CURVES[PRIOR.group]
    inverse = np.linalg.inv(HESSIAN + np.diag(weights))
    expected = PRIOR.sums(1.0 - weights * inverse.diagonal())
    assert_allclose(WHOLE.effective_dof(MODE_CURVES, 0.0), expected, rtol=1e-9)


def test_precisions_stay_above_the_least():
    held = replace(WHOLE, least=50.0).best_precisions(MODE_CURVES, 0.0, 1e-6)
    assert held.min() >= 50.0


def test_equal_classes_make_blocks_exact():
    # With p = 1/k everywhere the Hessian is (I - 1/k) / k kron T, whose parts are known.
    k, rng = 4, np.random.default_rng(0)
    features = np.column_stack([rng.normal(size=(200, k)), np.ones(200)])
    moments = features.T @ features / k
    whole = np.kron(np.eye(k) - 1.0 / k, moments)
    n, at = k * (k + 1), np.array([3.0])
    prior = GroupedGaussianPrior(Full(k, k), ("all",), np.zeros(n, dtype=int), at, np.zeros(n))
    theta, weights = np.zeros(n), np.full(n, 3.0)
    exact = Curvature(prior, (Blocks(whole[None], np.arange(n)[None]),), theta, weights)
    share = 1.0 - 1.0 / k
    blocks = np.repeat(moments[None] * share, k, axis=0) / share
    places = np.arange(n).reshape(k, k + 1)
    for some in (slice(None), slice(2)):
        part = Blocks(blocks[some], places[some], share)
        by_class = Curvature(prior, (part,), theta, weights)
        assert_allclose(
            by_class.log_determinant(at, 0.0), exact.log_determinant(at, 0.0), rtol=1e-10
        )
        assert_allclose(by_class.effective_dof(at, 0.0), exact.effective_dof(at, 0.0), rtol=1e-10)


def test_rounding_determines_no_less_than_nothing():
    """A Hessian of rounding errors, and of single precision at that, may be anything."""
    noise = -0.9 * np.diag(AT)
    curvature = replace(WHOLE, blocks=(Blocks(noise[None], np.arange(P)[None]),))
    assert_allclose(curvature.effective_dof(MODE_CURVES, 0.5), 0.0)


# Precisions of groups: what estimates are worth, and what is exact.


READ_LOGITS = CalibrationMap(2, (LogSoftmax(),)).read
LOOSE = {"tol": 1e-10, "max_iter": 100}


def mixed(rows, slope):
    """Rows after the mixture with the uniform, with their whole row means."""
    mixture = MixturePrior(np.ones(3), normalised=False).around(rows, 0.0, slope).rows.transform
    return replace(rows, transform=replace(mixture, slope=slope, row_mean_factor=1.0))


def prior_of(k):
    return full_prior(k, np.array([k, k * (k - 1.0), k]), 1.0)


def curved(problem):
    """Rows and prior of a map with curves, and pairs of classes that compete more than others."""
    k = problem.proba.shape[1]
    mode = np.array([k, k * (k - 1.0), k, 1.0, 8.0, 8.0 * k])
    around = MixturePrior(mode, normalised=False, surprise=0.1).around(
        rows_of_problem(problem), 0.0, 0.5
    )
    coupling = EvidenceState(around.rows, around.prior, 1e-7, 100).moments_of_centre.coupling
    return replace(around, prior=around.prior.with_coupling(coupling))


@pytest.mark.parametrize(("n", "seed"), [(300, 0), (3000, 1)])
def test_estimates_are_within_a_tenth_of_the_exact_ones(n, seed, make_problem, use_limits):
    rows = mixed(rows_of_problem(make_problem(seed, n=n, k=20)), 0.5)
    exact = maximise_evidence(rows, prior_of(20), **LOOSE)
    use_limits("OptimLimits", max_direct_params=1)
    held = fit_as_expected(rows, replace(prior_of(20), mode=exact.precisions), **LOOSE)
    assert_allclose(held.effective_dof, exact.effective_dof, rtol=0.1)
    learned = maximise_evidence(rows, prior_of(20), **LOOSE)
    assert_allclose(learned.precisions, exact.precisions, rtol=0.2)
    assert_allclose(held.log_evidence, exact.log_evidence, atol=0.01 * n)


def test_spreads_without_the_hessian_are_close(make_problem, use_limits):
    problem = make_problem(0, n=1000, k=20)
    rows = mixed(rows_of_problem(problem), 0.5)
    exact = fit_as_expected(rows, prior_of(20), **LOOSE)
    use_limits("OptimLimits", max_direct_params=1)
    low_rank = fit_as_expected(rows, prior_of(20), **LOOSE)
    scores = rows.fold(lambda chunk: [chunk])[0].scores[:, :50]
    weights = exact.solution.params.reshape(20, 21)
    logits = weights[:, :-1] @ scores + weights[:, -1:]
    proba = np.exp(log_softmax_of_columns(logits))
    ratio = low_rank.posterior.spread_of_log_odds(proba, scores)
    ratio /= exact.posterior.spread_of_log_odds(proba, scores)
    assert 0.9 < np.median(ratio) < 1.1


def test_one_step_is_the_evidence_where_the_loss_is_a_parabola(make_problem):
    rows = mixed(rows_of_problem(make_problem(0, n=30, k=3)), 0.1)
    strong = replace(prior_of(3), mode=np.full(3, 1e4))
    fit = fit_as_expected(rows, strong, tol=1e-14, max_iter=100)
    at = Likelihood(rows, strong.structure).evaluate_with_hessian(strong.centre)
    assert_allclose(evidence_of_one_step(rows, strong, at), fit.log_evidence, atol=1e-6)


def test_curves_without_the_whole_hessian_are_close(make_problem, monkeypatch, use_limits):
    # The coefficients that classes share are few, and have a block of their own.
    monkeypatch.setattr(prior_module, "forms_hessian", lambda n_params: False)
    around = curved(make_problem(0, n=1000, k=12))
    assert around.prior.structure.n_own == 0
    exact = maximise_evidence(around.rows, around.prior, **LOOSE)
    use_limits("OptimLimits", max_direct_params=1)
    estimated = maximise_evidence(around.rows, around.prior, **LOOSE)
    assert_allclose(np.log(estimated.precisions), np.log(exact.precisions), atol=0.4)
    assert_allclose(estimated.effective_dof, exact.effective_dof, rtol=0.3, atol=1.5)
    assert abs(estimated.solution.loss - exact.solution.loss) < 0.01


def test_precisions_satisfy_their_equation(make_problem):
    around = curved(make_problem(0, n=500, k=4))
    fit = maximise_evidence(around.rows, around.prior, tol=1e-13, max_iter=100)
    prior = around.prior
    theta = fit.solution.params - prior.centre
    squares = prior.sums(prior.relative_precisions(fit.power) * theta**2)
    expected = (fit.effective_dof + 4.0) / (squares + 4.0 / prior.mode)
    assert_allclose(fit.precisions, expected, rtol=1e-3)
    assert (fit.effective_dof > 0.0).all()
    assert (fit.effective_dof < [4, 12, 4, 2, 8, 16]).all()


def test_the_fit_is_the_optimum_and_its_evidence_is_as_defined(make_problem):
    around = curved(make_problem(2, n=200, k=3))
    fit = maximise_evidence(around.rows, around.prior, tol=1e-14, max_iter=100)
    state = EvidenceState(around.rows, around.prior, 1e-14, 100)
    weights = fit.precisions[around.prior.group] * around.prior.relative_precisions(fit.power)
    at = state.likelihood.evaluate_with_hessian(fit.solution.params)
    theta = fit.solution.params - around.prior.centre
    assert_allclose(200 * at.gradient, -weights * theta, atol=1e-4)
    # Laplace's approximation, written out.
    system = 200 * at.hessian + np.diag(weights)
    evidence = -200 * at.loss - 0.5 * weights @ theta**2
    evidence += 0.5 * (np.log(weights).sum() - np.linalg.slogdet(system)[1])
    assert_allclose(fit.log_evidence, evidence, rtol=1e-6)
    assert_allclose(fit.posterior.covariance, np.linalg.inv(system), rtol=1e-4, atol=1e-7)


# The mean of a wide prior and a narrow one.


def around(problem):
    k = problem.proba.shape[1]
    read = CalibrationMap(k, (LogSoftmax(),)).read
    mode = np.array([k, k * (k - 1.0), k, 1.0, 8.0, 8.0 * k])
    rows = Rows(ArraySource(problem.logits, problem.y, None, read))
    prior = MixturePrior(mode, normalised=False, surprise=0.1)
    around = prior.around(rows, 0.0, 0.5)
    coupling = EvidenceState(around.rows, around.prior, 1e-7, 100).moments_of_centre.coupling
    return replace(around, prior=around.prior.with_coupling(coupling))


def fits_of(mixed):
    state = EvidenceState(mixed.rows, mixed.prior, 1e-13, 100)
    return state, wide_and_narrow(state, mixed.prior, 1e-13)


def test_each_part_is_the_optimum_of_its_equations(make_problem):
    n = 150
    mixed = around(make_problem(0, n=n, k=4))
    state, fits = fits_of(mixed)
    assert len(fits) == 2
    for fit, factor in zip(fits, (1.0, 10.0), strict=True):
        prior = mixed.prior
        relative = prior.relative_precisions(fit.power)
        theta = fit.solution.params - prior.centre
        gradient = n * state.likelihood.evaluate(fit.solution.params).gradient
        assert_allclose(gradient, -fit.precisions[prior.group] * relative * theta, atol=1e-4)
        expected = (fit.effective_dof + 4.0) / (
            prior.sums(relative * theta**2) + 4.0 / (factor * prior.mode)
        )
        assert_allclose(fit.precisions, expected, rtol=1e-3)


def test_the_mean_is_weighted_by_evidence(make_problem):
    mixed = around(make_problem(0, n=100, k=4))
    _, (wide, narrow) = fits_of(mixed)
    scores = [fit.log_evidence + fit.log_hyperprior for fit in (wide, narrow)]
    share = 1.0 / (1.0 + np.exp(scores[1] - scores[0]))
    assert 0.01 < share < 0.99
    mean = average_by_evidence(mixed.rows, mixed.prior, tol=1e-13, max_iter=100)
    params = [fit.solution.params for fit in (wide, narrow)]
    assert_allclose(
        mean.solution.params, share * params[0] + (1 - share) * params[1], rtol=1e-6, atol=1e-8
    )
    better = wide if share > 0.5 else narrow
    assert_allclose(mean.precisions, better.precisions)
    assert_allclose(mean.log_evidence, np.logaddexp(*scores), rtol=1e-9)
    # Moments of a mixture of two normal distributions, by sampling it.
    rng = np.random.default_rng(0)
    draws = [
        rng.multivariate_normal(fit.solution.params, fit.posterior.covariance, size=int(m))
        for fit, m in ((wide, 2e5 * share), (narrow, 2e5 * (1 - share)))
    ]
    sampled = np.cov(np.concatenate(draws).T)
    scale = np.sqrt(sampled.diagonal())
    assert np.abs((sampled - mean.posterior.covariance) / scale / scale[:, None]).max() < 0.02


@pytest.mark.parametrize("k", [3, 8])
def test_many_rows_have_one_prior_or_nearly_the_same_twice(k, make_problem):
    mixed = around(make_problem(1, n=4000, k=k))
    _, fits = fits_of(mixed)
    mean = average_by_evidence(mixed.rows, mixed.prior, tol=1e-10, max_iter=100)
    for fit in fits:
        assert abs(fit.solution.loss - mean.solution.loss) < 2e-3


def test_a_prior_that_is_out_of_the_question_has_no_part(make_problem, use_limits):
    use_limits("BayesLimits", max_log_evidence_gap=1.0)
    problem = make_problem(0, n=1000, k=4)
    mixed = around(replace(problem, y=(problem.y + 1) % 4))
    _, fits = fits_of(mixed)
    assert len(fits) == 1
    mean = average_by_evidence(mixed.rows, mixed.prior, tol=1e-13, max_iter=100)
    assert_allclose(mean.solution.params, fits[0].solution.params, rtol=1e-6)
    assert_allclose(mean.log_evidence, fits[0].log_evidence + fits[0].log_hyperprior)


def test_without_the_whole_hessian(make_problem, use_limits):
    use_limits("OptimLimits", max_direct_params=1)
    mixed = around(make_problem(0, n=150, k=6))
    _, fits = fits_of(mixed)
    mean = average_by_evidence(mixed.rows, mixed.prior, tol=1e-10, max_iter=100)
    scores = np.array([fit.log_evidence + fit.log_hyperprior for fit in fits])
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    params = shares @ [fit.solution.params for fit in fits]
    assert_allclose(mean.solution.params, params, atol=1e-4)
    assert mean.posterior.n_entries == 42


def test_a_part_that_did_not_converge_is_told(make_problem, monkeypatch):
    mixed = around(make_problem(0, n=150, k=4))
    finish, statuses = EvidenceState.finish, [Status.ITERATION_LIMIT, Status.CONVERGED]

    def failing(self, learned, tol):
        fit = finish(self, learned, tol)
        return replace(fit, solution=replace(fit.solution, status=statuses.pop()))

    monkeypatch.setattr(EvidenceState, "finish", failing)
    mean = average_by_evidence(mixed.rows, mixed.prior, tol=1e-10, max_iter=100)
    assert statuses == []
    assert mean.solution.status is Status.ITERATION_LIMIT


# Maps that are weighed by evidence.


TIGHT = {"tol": 1e-12, "max_iter": 100}


def started(rows):
    k = rows.n_classes
    mode = np.array([k, k * (k - 1.0), k, 1.0, 8.0, 8.0 * k])
    prior = MixturePrior(mode, normalised=False, surprise=0.1)
    slope = most_probable_slope(rows, start=0.5, **TIGHT)
    return prior.around(rows, 0.0, slope.slope), slope


@pytest.fixture
def average(make_problem):
    rows = rows_of_problem(make_problem(0, n=60, k=3))
    mixed, slope = started(rows)
    return rows, mixed, slope, average_models(rows, mixed, slope, **TIGHT)


def test_probabilities_are_prior_times_evidence(average):
    _, _, _, found = average
    assert found.names == tuple(MODELS)
    prior = np.array(list(MODELS.values()))
    odds = prior * np.exp(found.log_evidence - found.log_evidence.max())
    assert_allclose(found.probabilities, odds / odds.sum(), rtol=1e-9)
    assert found.probabilities[0] < 0.5
    kept = found.probabilities >= found.probabilities.max() / 20.0
    assert_allclose(found.shares, kept * found.probabilities / kept.dot(found.probabilities))
    assert found.fit.log_evidence == pytest.approx(
        np.log((odds / prior.sum()).sum()) + found.log_evidence.max()
    )


def test_each_map_has_the_evidence_of_its_own_fit(average):
    _, mixed, slope, found = average
    alone = {
        "vector": mixed.with_slopes_only(),
        "full": mixed.without_curves(),
        "curved": mixed,
    }
    for name, each in alone.items():
        fit = average_by_evidence(each.rows, each.prior, **TIGHT)
        place = found.names.index(name)
        expected = fit.log_evidence + slope.log_occam_factor
        assert_allclose(found.log_evidence[place], expected, rtol=1e-6)
        assert_allclose(found.effective_dof[place], fit.effective_dof.sum() + 1.0, rtol=1e-6)
    assert found.effective_dof[0] == 0.0
    assert found.effective_dof[1] == 1.0


def test_all_maps_do_what_they_do_alone(average):
    """Changes of the loss, from parameters in the places of the most general map."""
    rows, mixed, _, found = average
    for name, each in {"vector": mixed.with_slopes_only(), "full": mixed.without_curves()}.items():
        fit = average_by_evidence(each.rows, each.prior, **TIGHT)
        loss = found.judged.loss + found.judged.changes[found.names.index(name)]
        assert_allclose(loss, fit.solution.loss, rtol=1e-8)
    scores = rows.fold(lambda chunk: chunk.scores.copy())
    labels = rows.fold(lambda chunk: chunk.labels.copy())
    plain = -scores[labels, np.arange(len(labels))].mean()
    assert_allclose(found.judged.loss, plain, rtol=1e-12)
    assert_allclose(found.log_evidence[0], -len(labels) * plain, rtol=1e-9)
    assert_allclose(found.judged.products, found.judged.products.T)
    assert found.judged.changes[0] == 0.0


def test_the_average_is_one_of_parameters_with_the_spread_between_maps(average):
    _, mixed, _, found = average
    assert isinstance(mixed.prior.structure, Curved)
    covariance = found.fit.posterior.covariance
    fit = average_by_evidence(mixed.rows, mixed.prior, **TIGHT)
    share = found.shares[-1]
    assert 0.0 < share < 1.0
    shared = mixed.prior.structure.shared
    assert_allclose(found.fit.solution.params[shared], share * fit.solution.params[shared])
    # Law of total variance for a coefficient that only one map has.
    own = share * np.diagonal(fit.posterior.covariance)[shared]
    between = share * (1.0 - share) * fit.solution.params[shared] ** 2
    assert_allclose(np.diagonal(covariance)[shared], own + between, rtol=1e-6)


def test_with_many_parameters_it_is_estimated(average, use_limits):
    rows, _, _, exact = average
    use_limits("OptimLimits", max_direct_params=5)
    mixed, slope = started(rows)
    found = average_models(rows, mixed, slope, **TIGHT)
    assert_allclose(found.log_evidence[:2], exact.log_evidence[:2], rtol=1e-9)
    assert np.abs(found.log_evidence - exact.log_evidence).max() < 3.0
    assert found.fit.posterior is not None


@pytest.mark.parametrize("factor", [0.2, 1.0])
def test_weights_of_whole_scores(factor):
    rng = np.random.default_rng(0)
    weights, scores = rng.normal(size=(4, 5)), rng.normal(size=(4, 7)) - 3.0
    shrunk = scores - (1.0 - factor) * scores.mean(axis=0)

    def act(table, on):
        logits = table[:, :-1] @ on + table[:, -1:]
        return logits - logits.mean(axis=0)

    assert_allclose(act(weights_of_whole_scores(weights, factor), scores), act(weights, shrunk))


def test_simpler_priors_are_around_the_same_map(average):
    _, mixed, _, _ = average
    linear, slopes = mixed.without_curves(), mixed.with_slopes_only()
    assert isinstance(linear.prior.structure, Full)
    k = mixed.rows.n_classes
    centre = mixed.prior.structure.unpack(mixed.prior.centre)
    assert_allclose(linear.prior.structure.unpack(linear.prior.centre), centre)
    assert_allclose(slopes.prior.structure.unpack(slopes.prior.centre), centre)
    assert slopes.row_mean_factor == linear.row_mean_factor == mixed.row_mean_factor
    assert linear.rows.fold(lambda chunk: chunk.scores.copy()).shape[0] == k
