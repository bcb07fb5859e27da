"""Groups of parameters, and how far pairs of classes may go."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.bayes.prior import curved_prior, full_prior, linear_prior
from dircal._core.model.structure import Diagonal, Full

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
