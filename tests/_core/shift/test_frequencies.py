"""Class frequencies of unlabelled rows, against EM and known mixtures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal import GenerativeParameters
from dircal._core.shift.frequencies import (
    estimate_frequencies,
    mixture_pvalue,
    no_shift_pvalue,
)

OLD = np.array([0.5, 0.3, 0.2])
ALPHA = np.ones((3, 3)) + 1.5 * np.eye(3)


def sample(frequencies, n, seed):
    """Calibrated probabilities of a world with OLD frequencies, for rows of another one."""
    q, y = GenerativeParameters(ALPHA, frequencies).sample(n, seed)
    return GenerativeParameters(ALPHA, OLD).predict_proba(q), y


def em(proba, old, rounds=5000):
    """Saerens, Latinne and Decaestecker (2002), as they write it."""
    new = old.copy()
    for _ in range(rounds):
        posterior = proba * new / old
        posterior /= posterior.sum(axis=1, keepdims=True)
        before, new = new, posterior.mean(axis=0)
        if np.abs(new - before).max() < 1e-12:
            break
    return new


@pytest.mark.parametrize("new", [[0.1, 0.1, 0.8], [0.01, 0.5, 0.49]])
def test_many_rows_give_what_em_gives(new):
    proba, _ = sample(new, 20_000, 0)
    found = estimate_frequencies(proba, OLD)
    assert_allclose(found.mean, em(proba, OLD), atol=2e-3)
    assert_allclose(found.mean.sum(), 1.0, rtol=1e-9)
    low, high = found.interval(0.999)
    assert ((low <= new) & (new <= high)).all()


def test_few_rows_without_a_shift_leave_the_frequencies_alone():
    proba, _ = sample(OLD, 60, 3)
    moved = np.abs(estimate_frequencies(proba, OLD).mean - OLD).max()
    assert moved < 0.2 * np.abs(em(proba, OLD) - OLD).max()


def test_a_class_that_is_gone_has_next_to_no_frequency():
    proba, y = sample([0.5, 0.5 - 1e-9, 1e-9], 5000, 1)
    assert (y != 2).all()
    found = estimate_frequencies(proba, OLD)
    assert found.mean[2] < 0.01
    low, high = found.interval(0.95)
    assert low[2] == 0.0
    assert high[2] < 0.05


def test_intervals_hold_the_truth():
    """92 % to 97 % of intervals of 95 %, in 100 worlds."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(100):
        new = rng.dirichlet([1.0, 1.0, 1.0])
        low, high = estimate_frequencies(sample(new, 2000, rng)[0], OLD).interval(0.95)
        inside.append((low <= new) & (new <= high))
    assert 0.91 < np.mean(inside) < 0.99


def test_both_tests_keep_their_size_and_see_their_shift():
    rng = np.random.default_rng(0)
    size, power = [], []
    for _ in range(200):
        size.append(no_shift_pvalue(sample(OLD, 500, rng)[0], OLD, np.inf) < 0.05)
        power.append(no_shift_pvalue(sample([0.3, 0.4, 0.3], 500, rng)[0], OLD, np.inf) < 0.05)
    assert 0.01 < np.mean(size) < 0.1
    assert np.mean(power) > 0.95


def test_old_frequencies_that_are_not_known_well_make_the_test_timid():
    proba, _ = sample([0.4, 0.35, 0.25], 500, 0)
    assert no_shift_pvalue(proba, OLD, 100.0) > no_shift_pvalue(proba, OLD, np.inf)


def test_constant_predictions_say_nothing():
    proba = np.tile(OLD, (50, 1))
    assert no_shift_pvalue(proba, OLD, np.inf) == 1.0
    assert_allclose(estimate_frequencies(proba, OLD).mean, OLD, atol=1e-6)


def test_mixtures_of_the_old_bins_pass_and_others_do_not():
    old = np.array([[800.0, 150.0, 50.0], [100.0, 300.0, 600.0]])
    rng = np.random.default_rng(0)
    frequencies = np.array([0.2, 0.8])
    mixed = rng.multinomial(1000, frequencies @ (old / 1000)).astype(float)
    assert mixture_pvalue(old, mixed, frequencies) > 0.05
    assert mixture_pvalue(old, np.array([100.0, 800.0, 100.0]), frequencies) < 1e-6
