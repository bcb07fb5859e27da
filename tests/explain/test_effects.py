import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal.explain._effects import measure_effects, shifts_of_pairs
from dircal.maps import Affine, CalibrationMap, LogProbability, Normalise, Scale

READ = CalibrationMap(2, (Normalise(), LogProbability())).read

K = 4


@pytest.fixture
def source(make_problem):
    problem = make_problem(0, n=500, k=K)
    weight = np.random.default_rng(0).integers(0, 3, 500).astype(float)
    source = ArraySource(problem.proba, problem.y, weight, READ, chunk_rows=70)
    return Rows(source), problem, weight


def affine(weights):
    return Affine(weights[:, :-1], weights[:, -1]).apply


def test_effects_are_the_naive_sums_over_rows(source):
    rows, problem, weight = source
    weights = np.eye(K, K + 1) * 0.7 + 0.1 * np.random.default_rng(1).normal(size=(K, K + 1))
    slope = 0.6
    effects = measure_effects(rows, slope, affine(weights))

    scores = np.log(problem.proba)
    mapped = log_softmax(scores @ weights[:, :-1].T + weights[:, -1], axis=1)
    share = weight / weight.sum()
    assert_allclose(effects.before, share @ problem.proba, rtol=1e-10)
    assert_allclose(effects.after, share @ np.exp(mapped), rtol=1e-10)
    tempered = np.exp(log_softmax(slope * scores, axis=1))
    assert_allclose(effects.tempered, share @ tempered, rtol=1e-10)
    sums = {}
    changed = 0.0
    for row, after, part in zip(scores, mapped, share, strict=True):
        j, i = np.argsort(row)[-2:]
        shift = (after[j] - after[i]) - slope * (row[j] - row[i])
        chance = 1.0 / (1.0 + np.exp(slope * (row[i] - row[j])))
        counted = 4.0 * chance * (1.0 - chance)
        total = sums.setdefault((i, j), np.zeros(5))
        parts = [1.0, after.argmax() == j, counted, counted * (row[i] - row[j]), counted * shift]
        total += part * np.array(parts)
        changed += part * (after.argmax() != i)
    assert effects.decisions_changed == pytest.approx(changed)
    listed = zip(effects.leader, effects.second, strict=True)
    for p, pair in enumerate(listed):
        total = sums[pair]
        assert effects.share[p] == pytest.approx(total[0])
        assert effects.flipped[p] == pytest.approx(total[1])
        assert effects.contested[p] == pytest.approx(total[2])
        assert effects.gap[p] == pytest.approx(total[3] / total[2])
        assert effects.shift[p] == pytest.approx(total[4] / total[2])
    assert effects.share.sum() == pytest.approx(1.0)

    truth = np.arange(500), problem.y
    tempered = log_softmax(slope * scores, axis=1)
    naive = [-share @ logs[truth] for logs in (scores, tempered, mapped)]
    assert_allclose(effects.losses, naive, rtol=1e-10)


def test_a_temperature_map_has_no_effects_beyond_itself(source):
    effects = measure_effects(source[0], 0.5, Scale(0.5).apply)
    assert_allclose(effects.shift, 0.0, atol=1e-12)
    assert_allclose(effects.flipped, 0.0)
    assert effects.decisions_changed == 0.0


def test_common_causes_are_not_blamed_on_pairs(source):
    # An intercept for class 1 and another slope: everything is gains and slope, nothing a pair's.
    weights = np.eye(K, K + 1) * 0.8
    weights[1, -1] = -0.7
    effects = measure_effects(source[0], 0.5, affine(weights))
    assert np.abs(effects.shift).max() > 0.5
    assert_allclose(shifts_of_pairs(effects), 0.0, atol=1e-6)


def test_a_pair_with_a_shift_of_its_own_keeps_it(source):
    weights = np.eye(K, K + 1) * 0.8
    weights[1, -1] = -0.7
    effects = measure_effects(source[0], 0.5, affine(weights))
    odd = int(np.flatnonzero((effects.leader == 0) & (effects.second == 3))[0])
    effects.shift[odd] += 1.0
    rests = shifts_of_pairs(effects)
    assert rests[odd] == pytest.approx(1.0, abs=0.2)
    assert np.abs(np.delete(rests, odd)).max() < 0.2
