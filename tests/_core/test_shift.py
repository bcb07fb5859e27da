"""Class frequencies, bets and random effects."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from scipy.special import softmax

from dircal import AutoCalibrator, GenerativeParameters, TemperatureScaling, VectorScaling
from dircal._core.shift.bets import BETS
from dircal._core.shift.cells import add_offsets, cells_of, count_cells, estimate_mixture
from dircal._core.shift.change_point import find_change
from dircal._core.shift.effect_curvature import DenseCurvature, LowRankCurvature, diagonal_curvature
from dircal._core.shift.eprocess import Segment, advance, new_streams, next_update
from dircal._core.shift.frequencies import estimate_frequencies, no_shift_pvalue
from dircal._core.shift.random_effects import _Rows, _Structure, fit_random_effects

# Class frequencies of unlabelled rows, against EM and known mixtures.


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


def labelled_cells(seed, n=2000, power=1.0):
    """Old rows in cells, with probabilities that are off by a power."""
    proba, y = sample(OLD, n, seed)
    proba = proba**power / (proba**power).sum(axis=1, keepdims=True)
    return count_cells(proba, y, None), proba, y


def test_cells_count_every_row_once():
    cells, proba, y = labelled_cells(0)
    assert_allclose(cells.class_weights, np.bincount(y))
    assert_allclose(cells.proba.sum(axis=1), proba.sum(axis=0))
    # Two tops of two classes with the same log-odds are two cells of the same interval.
    first, second = cells_of(np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([0.5, 0.5]))
    assert second - first == cells.counts.shape[1] // 3
    # The class with the largest ratio leads, although another one is more probable.
    assert cells_of(np.array([[0.95, 0.05]]), np.array([0.99, 0.01])) >= second - first


def test_cells_of_a_fit_are_those_of_its_rows():
    q, y = GenerativeParameters(ALPHA, OLD).sample(500, 0)
    weight = np.random.default_rng(0).integers(0, 3, 500).astype(float)
    for calibrator in (TemperatureScaling(), VectorScaling(), AutoCalibrator()):
        fitted = calibrator.fit(q, y, sample_weight=weight)
        record = next(fitted.fit_.records()).complete()
        expected = count_cells(fitted.predict_proba(q), y, weight)
        assert_allclose(record.cells.counts, expected.counts, atol=1e-9)
        assert_allclose(record.cells.proba, expected.proba, atol=1e-9)


@pytest.mark.parametrize("power", [1.0, 1.6])
def test_frequencies_by_cells_need_no_calibrated_map(power):
    cells, *_ = labelled_cells(0, 20_000, power)
    new = np.array([0.1, 0.2, 0.7])
    proba, _ = sample(new, 20_000, 1)
    proba = proba**power / (proba**power).sum(axis=1, keepdims=True)
    start = estimate_frequencies(proba, OLD).mean
    found = estimate_mixture(cells, proba, OLD, start)
    assert_allclose(found.frequencies.sum(), 1.0)
    assert_allclose(found.frequencies, new, atol=0.015)
    assert (np.abs(found.frequencies - new) < 3.0 * found.standard_errors).all()
    assert found.pvalue < 1e-6
    assert found.misfit_pvalue > 0.01


def test_rows_that_are_no_mixture_are_found():
    cells, *_ = labelled_cells(0)
    proba, _ = sample(OLD, 2000, 1)
    same = estimate_mixture(cells, proba, OLD, OLD)
    assert same.pvalue > 0.01
    assert same.misfit_pvalue > 0.01
    blurred = 0.5 * proba + 0.5 / 3
    assert estimate_mixture(cells, blurred, OLD, OLD).misfit_pvalue < 1e-6


def test_offsets_bring_mean_probabilities_to_class_frequencies():
    cells, proba, y = labelled_cells(0)
    assert cells.centred_pvalue() > 0.01
    off = proba * [3.0, 1.0, 1.0]
    off /= off.sum(axis=1, keepdims=True)
    cells = count_cells(off, y, None)
    assert cells.centred_pvalue() < 1e-6
    moved = add_offsets(off, cells.centred_offsets())
    assert_allclose(moved.mean(axis=0), cells.frequencies, atol=0.01)


def test_classes_without_old_rows_are_allowed():
    cells = count_cells(np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]), np.array([0, 1]), None)
    proba, _ = sample(OLD, 50, 1)
    found = estimate_mixture(cells, proba, cells.frequencies, OLD)
    low, high = found.interval(0.95)
    assert np.isfinite(found.frequencies).all()
    assert ((low >= 0.0) & (low <= high) & (high <= 1.0)).all()
    assert 0.0 <= found.misfit_pvalue <= 1.0


def test_many_classes_have_fewer_cells_or_none(use_limits):
    proba, y = sample(OLD, 100, 0)
    use_limits("ShiftLimits", max_cell_entries=9)
    assert count_cells(proba, y, None).counts.shape == (3, 3)
    use_limits("ShiftLimits", max_cell_classes=2)
    assert count_cells(proba, y, None) is None


# The e-process, against a transcription row by row, and maps against Newton's method.


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
        log_q = bet.log_proba(params[None], scores[None].copy())
        return -bet.gains(params[None], log_q, scores[None], y[None]).sum()

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


def test_the_change_is_found_by_a_scan():
    before, y_before = stream(2, 3000, 3)
    after, y_after = stream(3, 2000, 3, slope=2.0)
    scores, y = np.vstack([before, after]), np.append(y_before, y_after)
    bets = [BETS["temperature"](3), BETS["frequencies"](3), BETS["full"](3)]
    streams, path = run(scores, y, bets)
    assert 3000 < streams.alarm_row[0] < 3500
    assert streams.alarm_row[0] == 1 + np.argmax(path >= np.log(20.0))
    found = find_change(
        streams.segment_ends[0], streams.segment_sums[0], streams.open_sums[0], 5000
    )
    assert 2900 < found.row < 3100
    assert found.low <= 3000 <= found.high < 3500
    assert found.since.correct == pytest.approx((scores.argmax(axis=1) == y)[found.row :].sum())
    predicted, observed, _ = found.since.by_class
    assert_allclose(observed, np.bincount(y[found.row :], minlength=3))
    assert_allclose(predicted, np.exp(scores[found.row :]).sum(axis=0))


# Curvature of diagonal effects: a dense Hessian, summed row by row, as oracle.


def naive_hessian(proba, scores, weight):
    k, m = proba.shape
    hessian = np.zeros((2 * k + 1, 2 * k + 1))
    for r in range(m):
        jacobian = np.column_stack([scores[:, r], np.diag(scores[:, r]), np.eye(k)])
        p = proba[:, r]
        hessian += weight[r] * jacobian.T @ (np.diag(p) - np.outer(p, p)) @ jacobian
    return hessian


def problem(k, m, weight=1.0):
    rng = np.random.default_rng(k + m)
    proba = rng.dirichlet(np.ones(k), m).T
    precision = np.repeat(rng.uniform(1.0, 30.0, 3), [1, k, k])
    return proba, rng.normal(size=(k, m)), weight * rng.random(m), precision


@pytest.mark.parametrize(
    ("k", "m", "kind"),
    [
        (9, 1, LowRankCurvature),
        (9, 17, LowRankCurvature),
        (9, 18, DenseCurvature),
        (12, 60, DenseCurvature),
    ],
)
def test_few_rows_and_many_agree_with_the_whole_hessian(k, m, kind):
    proba, scores, weight, precision = problem(k, m)
    curvature = diagonal_curvature(proba, scores, weight, precision)
    assert isinstance(curvature, kind)
    hessian = naive_hessian(proba, scores, weight) + np.diag(precision)
    gradient = np.random.default_rng(0).normal(size=2 * k + 1)
    assert_allclose(curvature.solve(gradient), np.linalg.solve(hessian, gradient), rtol=1e-10)
    assert_allclose(curvature.variances, np.linalg.inv(hessian).diagonal(), rtol=1e-10)
    expected = np.linalg.slogdet(hessian)[1] - np.log(precision).sum()
    assert_allclose(curvature.log_determinant, expected, rtol=1e-10)


@pytest.mark.parametrize("m", [3, 40])
@pytest.mark.parametrize("weight", [1e12, 1e15, 1e25])
def test_weights_beyond_all_digits_stay_within_the_prior(m, weight):
    """Directions that rows do not see keep the variance of the prior, and no more."""
    proba, scores, weights, precision = problem(9, m, weight)
    curvature = diagonal_curvature(proba, scores, weights, precision)
    assert (curvature.variances > 0.0).all()
    assert (curvature.variances <= 1.0 / precision).all()
    assert curvature.log_determinant > 0.0
    assert np.isfinite(curvature.solve(np.ones(19))).all()


# Random effects of groups: derivatives, and precisions that find the truth.


def scores_and_labels(seed, n, k, slope=1.0, intercepts=0.0):
    rng = np.random.default_rng(seed)
    scores = np.log(rng.dirichlet(np.ones(k), n)).T
    scores -= scores.mean(axis=0)
    truth = softmax(slope * scores.T + intercepts, axis=1)
    return scores, (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("shrunk", [1.0, 0.1])
def test_derivatives(k, shrunk):
    scores, labels = scores_and_labels(0, 40, k)
    weight = np.random.default_rng(1).random(40)
    rows = _Rows(_Structure(k), shrunk * scores, labels, weight)
    assert (rows.scale > 1.0) == (shrunk < 1.0)
    start = np.random.default_rng(2).normal(scale=0.1, size=len(_Structure(k).kind))
    nothing = np.zeros(len(start))
    assert check_grad(rows.loss, lambda at: rows.derivatives(at, nothing)[0], start) < 1e-4
    precision = np.random.default_rng(3).uniform(0.5, 20.0, size=len(start))
    _, curvature = rows.derivatives(start, precision)
    for i in (0, 1, len(start) - 1):
        step = np.zeros(len(start))
        step[i] = 1e-5
        ends = [rows.derivatives(start + sign * step, precision)[0] for sign in (1.0, -1.0)]
        column = (ends[0] - ends[1]) / 2e-5
        assert_allclose(curvature.solve(column), 1e5 * step, atol=1e-4)


def test_derivatives_with_soft_labels():
    scores, labels = scores_and_labels(0, 40, 3)
    targets = np.random.default_rng(1).dirichlet(np.ones(3), 40).T
    rows = _Rows(_Structure(3), scores, labels, np.ones(40), targets)
    start = np.random.default_rng(2).normal(scale=0.1, size=len(_Structure(3).kind))
    nothing = np.zeros(len(start))
    assert check_grad(rows.loss, lambda at: rows.derivatives(at, nothing)[0], start) < 1e-4


def test_a_large_group_finds_its_slope_and_intercepts():
    parts = [scores_and_labels(i, 4000, 3, 1.0 + 0.2 * i, [0.3 * i, 0.0, 0.0]) for i in range(3)]
    scores = np.concatenate([part[0] for part in parts], axis=1)
    labels = np.concatenate([part[1] for part in parts])
    starts = [0, 4000, 8000]
    found = fit_random_effects(scores, labels, np.ones(len(labels)), starts)
    for i in range(3):
        matrix, intercepts = found.weights[i][:, :-1], found.weights[i][:, -1]
        seen = softmax((matrix @ scores[:, :500]).T + intercepts, axis=1)
        truth = softmax((1.0 + 0.2 * i) * scores[:, :500].T + [0.3 * i, 0.0, 0.0], axis=1)
        assert np.abs(seen - truth).mean() < 0.02
    assert found.log_evidence.shape == (3,)


def test_precisions_tell_how_much_groups_differ():
    rng = np.random.default_rng(0)
    precisions = {}
    for spread in (0.0, 0.6):
        parts = [
            scores_and_labels(i, 100, 3, 1.0, rng.normal(scale=spread, size=3)) for i in range(30)
        ]
        scores = np.concatenate([part[0] for part in parts], axis=1)
        labels = np.concatenate([part[1] for part in parts])
        found = fit_random_effects(scores, labels, np.ones(3000), list(range(0, 3000, 100)))
        precisions[spread] = found.precisions[2]
    assert precisions[0.0] > 10 * precisions[0.6]
    # The side constraint takes a third of the variance of three intercepts.
    assert 1.0 / 0.6**2 < precisions[0.6] < 3.0 / 0.6**2


def test_many_classes_need_no_matrix_of_all_parameters():
    """With 1000 classes and 5 rows, one Hessian would be 32 MB and its Jacobian 40 MB."""
    k = 1000
    scores, labels = scores_and_labels(0, 5, k)
    tracemalloc.start()
    try:
        found = fit_random_effects(scores, labels, np.ones(5), [0, 2])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.isfinite(found.weights).all()
    # The weights are two matrices of 8 MB.
    assert peak < 60e6
