"""The e-process, against a transcription row by row, and maps against Newton's method."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from scipy.special import softmax

from dircal._core.shift.bets import BETS
from dircal._core.shift.eprocess import Segment, advance, new_streams, next_update

FLOOR = np.log(1e-6)


def stream(seed, n, k, slope=1.0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    said = softmax(slope * np.log(p), axis=1)
    return np.maximum(np.log(said), FLOOR), y


def run(scores, y, bets, sizes=None):
    """One stream, in pieces that end at the latest where maps are renewed."""
    streams, path, at = new_streams(1, scores.shape[1], bets), [], 0
    sizes = iter(sizes or [len(y)] * len(y))
    left = next(sizes)
    while at < len(y):
        step = min(int(next_update(streams.n_rows)[0] - streams.n_rows[0]), left, len(y) - at)
        part = slice(at, at + step)
        segment = Segment(scores[None, part], y[None, part], np.ones((1, step), bool), FLOOR)
        path += advance(streams, segment, bets, np.log(20.0))[0].tolist()
        at, left = at + step, left - step
        if left == 0:
            left = next(sizes)
    return streams, np.array(path)


@pytest.mark.parametrize("name", BETS)
def test_gradients_and_hessians_are_derivatives(name):
    scores, y = stream(0, 30, 4)
    bet = BETS[name](4)
    rng = np.random.default_rng(1)
    start = rng.normal(scale=0.1, size=len(bet.precision))

    def loss(params):
        log_q = bet.log_proba(params[None], scores[None].copy())[0]
        return -log_q[np.arange(30), y].sum()

    def gradient(params):
        proba = np.exp(bet.log_proba(params[None], scores[None].copy()))
        return -bet.moments(scores[None], proba, np.eye(4)[y][None] - proba)[0][0]

    assert check_grad(loss, gradient, start) < 1e-4
    proba = np.exp(bet.log_proba(start[None], scores[None].copy()))
    hessian = bet.moments(scores[None], proba, np.eye(4)[y][None] - proba)[1][0]
    for i in range(len(start)):
        step = np.zeros(len(start))
        step[i] = 1e-5
        numeric = (gradient(start + step) - gradient(start - step)) / 2e-5
        assert_allclose(hessian[i], numeric, atol=1e-4)


def test_it_is_the_product_of_bets_row_by_row():
    """A transcription: weights by Bayes within a block, maps and shares at its end."""
    scores, y = stream(0, 400, 3, slope=1.5)
    bets = [BETS["temperature"](3), BETS["frequencies"](3)]
    streams, path = run(scores, y, bets)
    weights, log_e, n = np.array([0.5, 0.25, 0.25]), 0.0, 0
    params = [np.zeros(1), np.zeros(3)]
    kept = [[np.zeros((len(p), len(p))), np.zeros(len(p))] for p in params]
    while n < len(y):
        end = min(int(next_update(np.array([n]))[0]), len(y))
        for i in range(n, end):
            p = np.exp(scores[i])
            q = [p, *(np.exp(b.log_proba(t[None], scores[None, i : i + 1])[0, 0])
                      for b, t in zip(bets, params, strict=True))]  # fmt: skip
            gains = np.array([one[y[i]] / p[y[i]] for one in q])
            log_e += np.log(weights @ gains)
            weights = weights * gains / (weights @ gains)
            assert_allclose(path[i], log_e, rtol=1e-9, atol=1e-12)
        block = slice(n, end)
        for bet, theta, sums in zip(bets, params, kept, strict=True):
            proba = np.exp(bet.log_proba(theta[None], scores[None, block].copy()))
            g, h = bet.moments(scores[None, block], proba, np.eye(3)[y[block]][None] - proba)
            sums[0] = sums[0] + h[0]
            sums[1] = sums[1] + h[0] @ theta + g[0]
            theta[:] = np.linalg.solve(sums[0] + np.diag(bet.precision), sums[1])
            for i in range(2):
                sums[i] = sums[i] * np.exp(-(end - n) / bet.horizon)
        shared = (end - n) / (end + 1000.0)
        weights = (1 - shared) * weights + shared * np.array([0.5, 0.25, 0.25])
        n = end
    assert streams.n_rows[0] == 400


def test_pieces_make_no_difference():
    """Sums are added up in another order: the last digits may differ."""
    scores, y = stream(1, 1500, 3, slope=1.3)
    bets = [BETS[name](3) for name in ("temperature", "frequencies", "full")]
    whole, path = run(scores, y, bets)
    pieces, path_of_pieces = run(scores, y, bets, sizes=[1] * 40 + [7] * 100 + [1000])
    assert_allclose(path_of_pieces, path, rtol=1e-9, atol=1e-9)
    assert pieces.alarm_row == whole.alarm_row


def test_streams_do_not_know_each_other():
    bets = [BETS["temperature"](3), BETS["full"](3)]
    alone, paths = zip(*(run(*stream(seed, 24, 3), bets) for seed in range(3)), strict=True)
    together = new_streams(3, 3, bets)
    for part in (slice(0, 8), slice(8, 16), slice(16, 24)):
        rows = [stream(seed, 24, 3) for seed in range(3)]
        scores, y = np.stack([r[0][part] for r in rows]), np.stack([r[1][part] for r in rows])
        advance(together, Segment(scores, y, np.ones((3, 8), bool), FLOOR), bets, 3.0)
    for i, one in enumerate(alone):
        assert_allclose(together.log_e[i], one.log_e[0])
        assert_allclose(together.params[1][i], one.params[1][0])
        assert_allclose(paths[i][-1], together.log_e[i])


def test_the_mean_of_e_is_one():
    """Over all labels, by enumeration of four rows of two classes."""
    p = np.array([0.3, 0.8, 0.5, 0.6])
    scores = np.log(np.column_stack([1 - p, p]))
    bets = [BETS["temperature"](2), BETS["full"](2)]
    total = 0.0
    for labels in np.ndindex(2, 2, 2, 2):
        y = np.array(labels)
        chance = np.exp(scores[np.arange(4), y].sum())
        streams = new_streams(1, 2, bets)
        for params in streams.params:
            params += 0.3  # whatever was learned before
        segment = Segment(scores[None], y[None], np.ones((1, 4), bool), FLOOR)
        total += chance * np.exp(advance(streams, segment, bets, 3.0)[0, -1])
    assert_allclose(total, 1.0, rtol=1e-12)


def test_the_beginning_is_the_lowest_point():
    before, y_before = stream(2, 3000, 3)
    after, y_after = stream(3, 2000, 3, slope=2.0)
    scores, y = np.vstack([before, after]), np.append(y_before, y_after)
    bets = [BETS["temperature"](3), BETS["frequencies"](3), BETS["full"](3)]
    streams, path = run(scores, y, bets)
    assert 3000 < streams.alarm_row[0] < 3500
    assert streams.alarm_row[0] == 1 + np.argmax(path >= np.log(20.0))
    assert 2700 < streams.began[0] < 3400
    since = slice(int(streams.began[0]), None)
    assert_allclose(streams.since[0], 5000 - streams.began[0])
    assert_allclose(streams.observed[0], np.bincount(y[since], minlength=3))
    assert_allclose(streams.predicted[0], np.exp(scores[since]).sum(axis=0))
