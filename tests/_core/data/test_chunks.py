import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dircal._core.data import chunks as rows_module
from dircal._core.data.chunks import Reader, Rows, Source, row_slices
from dircal._core.data.simplex import TINY, log_probability, log_softmax


def test_slices_cover_every_row_once():
    covered = np.concatenate([np.arange(1000)[part] for part in row_slices((1000, 3), 37)])
    assert_array_equal(covered, np.arange(1000))
    assert sum(1 for _ in row_slices((200_000, 10))) > 1


def test_reader_orders_columns_and_leaves_its_input_alone():
    inputs = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0]])
    before = inputs.copy()
    scores = Reader(log_probability, np.array([2, 0, 1]))(inputs)
    assert_allclose(scores[:, 0], np.log([0.3, 0.2, 0.5]))
    assert_allclose(scores[:, 1], [np.log(TINY), np.log(TINY), 0.0])
    assert_array_equal(inputs, before)


def test_reader_makes_rows_sum_to_one_before_the_logarithm():
    scores = Reader(log_probability)(np.array([[0.2, 0.796]]))
    assert np.exp(scores).sum() == pytest.approx(1.0, rel=1e-14)


def test_log_softmax_has_no_zeros_in_it():
    scores = Reader(log_softmax)(np.array([[0.0, -2000.0, 1000.0]]))
    assert_allclose(scores[:, 0], [-1000.0, -3000.0, 0.0])


def test_floor_raises_scores_only():
    scores = Reader(log_probability, log_floor=np.log(0.1))(np.array([[0.02, 0.98]]))
    assert_allclose(scores[:, 0], np.log([0.1, 0.98]))


def test_rows_of_weight_zero_are_passed_over():
    inputs = np.array([[0.2, 0.8], [np.nan, 1.0], [0.6, 0.4]])
    source = Source(inputs, np.array([1, 0, 0]), np.array([1.0, 0.0, 3.0]), Reader(log_probability))
    (chunk,) = Rows(source)
    assert_array_equal(chunk.labels, [1, 0])
    assert_allclose(chunk.weight, [0.25, 0.75])
    assert np.isfinite(chunk.scores).all()
    assert source.total_weight == 4.0


def test_large_inputs_are_read_again_in_every_pass(monkeypatch):
    inputs = np.full((100, 2), 0.5)
    labels = np.zeros(100, dtype=int)
    kept = Source(inputs, labels, None, Reader(log_probability), 10)
    monkeypatch.setattr(rows_module, "_CACHE_BYTES", 100)
    streamed = Source(inputs, labels, None, Reader(log_probability), 10)
    assert not streamed.in_memory
    assert len(list(streamed)) == len(list(streamed)) == 10
    for one, other in zip(Rows(kept), Rows(streamed), strict=True):
        assert_array_equal(one.scores, other.scores)
    assert kept.in_memory is False  # the limit is looked up when it matters


@pytest.mark.parametrize("in_memory", [True, False])
def test_rows_in_single_precision_are_the_rows_rounded(in_memory, monkeypatch):
    if not in_memory:
        monkeypatch.setattr(rows_module, "_CACHE_BYTES", 0)
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    source = Source(proba, np.zeros(50, dtype=int), None, Reader(log_probability), 20)
    for floor in (TINY, 0.1):
        rows = Rows(source).with_floor(floor)
        for exact, rounded in zip(rows, rows.in_single(), strict=True):
            assert rounded.scores.dtype == np.float32
            assert_allclose(rounded.scores, exact.scores, rtol=1e-7)
            assert exact.scores.min() >= np.log(floor)
        largest = max(np.abs(chunk.scores).max() for chunk in rows)
        assert rows.largest == pytest.approx(largest)
    assert source.span == (np.log(proba).min(), np.log(proba).max())


def test_thinned_rows_are_spread_and_out_of_step_with_periods():
    n = 8 * 4096
    inputs = np.random.default_rng(0).dirichlet(np.ones(3), n)
    labels = np.arange(n) % 8  # as many as there are to a row that is kept
    rows = Rows(Source(inputs, labels, np.ones(n), Reader(log_probability)))
    few = rows.thinned()
    assert few.total_weight == len(few.source.labels) == 4096
    assert np.bincount(few.source.labels, minlength=8).min() > 4096 / 8 / 2
    # Stretches of 1000 rows all have their share.
    positions = rows_module._spread(n, 4096)
    assert np.histogram(positions, bins=30, range=(0, n))[0].min() > 100
    assert len(np.unique(positions)) == 4096


def test_few_rows_are_not_thinned():
    inputs, labels = np.full((16_000, 2), 0.5), np.zeros(16_000, dtype=int)
    assert Rows(Source(inputs, labels, None, Reader(log_probability))).thinned() is None
    weight = np.ones(20_000)
    weight[rows_module._spread(20_000, 4096)] = 0.0  # those that would be kept
    unlucky = Source(np.full((20_000, 2), 0.5), np.zeros(20_000, int), weight, Reader(None))
    assert Rows(unlucky).thinned() is None
