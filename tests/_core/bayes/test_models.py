"""Maps that are weighed by evidence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.bayes.average import average_by_evidence
from dircal._core.bayes.features import MixturePrior
from dircal._core.bayes.mixture import weights_of_whole_scores
from dircal._core.bayes.models import MODELS, average_models
from dircal._core.bayes.slope import most_probable_slope
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.curved import Curved
from dircal._core.model.structure import Full
from dircal.maps import CalibrationMap, LogSoftmax

LIMITS = {"tol": 1e-12, "max_iter": 100}


def rows_of(problem):
    read = CalibrationMap(problem.proba.shape[1], (LogSoftmax(),)).read
    return Rows(ArraySource(problem.logits, problem.y, None, read))


def started(rows):
    k = rows.n_classes
    mode = np.array([k, k * (k - 1.0), k, 1.0, 8.0, 8.0 * k])
    prior = MixturePrior(mode, normalised=False, surprise=0.1)
    slope = most_probable_slope(rows, start=0.5, **LIMITS)
    return prior.around(rows, 0.0, slope.slope), slope


@pytest.fixture
def average(make_problem):
    rows = rows_of(make_problem(0, n=60, k=3))
    mixed, slope = started(rows)
    return rows, mixed, slope, average_models(rows, mixed, slope, **LIMITS)


def test_probabilities_are_prior_times_evidence(average):
    _, _, _, found = average
    assert found.names == tuple(MODELS)
    prior = np.array(list(MODELS.values()))
    odds = prior * np.exp(found.log_evidence - found.log_evidence.max())
    assert_allclose(found.probabilities, odds / odds.sum(), rtol=1e-9)
    kept = np.append(False, found.probabilities[1:] >= found.probabilities[1:].max() / 20.0)
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
        fit = average_by_evidence(each.rows, each.prior, **LIMITS)
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
        fit = average_by_evidence(each.rows, each.prior, **LIMITS)
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
    fit = average_by_evidence(mixed.rows, mixed.prior, **LIMITS)
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
    found = average_models(rows, mixed, slope, **LIMITS)
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
