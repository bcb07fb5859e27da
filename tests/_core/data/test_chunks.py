from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dircal._core.data import array_source
from dircal._core.data.array_source import ArraySource
from dircal._core.data.chunks import Chunk, once, row_slices, survey_of
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import TINY
from dircal._core.data.subsample import spread_rows, subsample_size
from dircal.maps import CalibrationMap, LogProbability, LogSoftmax, Normalise

READ = CalibrationMap(2, (Normalise(), LogProbability())).read
READ_LOGITS = CalibrationMap(2, (LogSoftmax(),)).read
READ_RAW = CalibrationMap(2, ()).read


def test_slices_cover_every_row_once():
    covered = np.concatenate([np.arange(1000)[part] for part in row_slices((1000, 3), 37)])
    assert_array_equal(covered, np.arange(1000))
    assert sum(1 for _ in row_slices((200_000, 10))) > 1


def chunks_of(rows):
    return rows.fold(lambda chunk: [chunk])


def test_rows_of_weight_zero_are_passed_over():
    inputs = np.array([[0.2, 0.8], [np.nan, 1.0], [0.6, 0.4]])
    source = ArraySource(inputs, np.array([1, 0, 0]), np.array([1.0, 0.0, 3.0]), READ)
    (chunk,) = chunks_of(Rows(source))
    assert_array_equal(chunk.labels, [1, 0])
    assert_allclose(chunk.weight, [0.25, 0.75])
    assert np.isfinite(chunk.scores).all()
    assert source.total_weight == 4.0


def test_a_fold_adds_up_what_is_made_of_chunks():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    source = ArraySource(proba, np.zeros(50, dtype=int), None, READ, chunk_rows=7)
    assert source.fold(lambda chunk: 1) == 8
    sums = source.fold(lambda chunk: chunk.scores.sum(axis=1))
    assert_allclose(sums, np.log(proba).sum(axis=0), rtol=1e-12)
    assert_allclose(source.fold(lambda chunk: chunk.scores.sum(axis=1)), sums)


def test_some_of_the_rows_are_picked_without_a_copy():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    labels, picked = np.arange(50) % 3, np.array([7, 3, 41, 3])
    source = ArraySource(proba, labels[picked], None, READ, picked=picked, chunk_rows=3)
    chunks = chunks_of(source)
    assert_allclose(np.hstack([chunk.scores for chunk in chunks]), np.log(proba[picked]).T)
    assert_array_equal(np.hstack([chunk.labels for chunk in chunks]), labels[picked])
    assert source.n_samples == source.total_weight == 4


def test_large_inputs_are_read_again_in_every_pass(monkeypatch):
    reads = []

    def read(inputs):
        reads.append(len(inputs))
        return READ(inputs)

    inputs, labels = np.full((100, 2), 0.5), np.zeros(100, dtype=int)
    kept = ArraySource(inputs, labels, None, read, chunk_rows=10)
    first, again = chunks_of(kept), chunks_of(kept)
    assert reads == [10] * 10
    assert first[0] is again[0]
    monkeypatch.setattr(array_source, "_CACHE_BYTES", 100)
    streamed = ArraySource(inputs, labels, None, read, chunk_rows=10)
    for one, other in zip(first, chunks_of(streamed), strict=True):
        assert_array_equal(one.scores, other.scores)
        assert other.memo is None
    assert reads == [10] * 20
    chunks_of(streamed)
    assert reads == [10] * 30


def test_a_chunk_keeps_one_value_in_a_slot():
    made = []

    def make():
        made.append(len(made))
        return made[-1]

    chunk = Chunk(np.zeros((2, 1)), np.zeros(1, dtype=int), np.ones(1), {})
    assert [once(chunk.memo, "slot", key, make) for key in (1, 1, 2, 2, 1)] == [0, 0, 1, 1, 2]
    streamed = replace(chunk, memo=None)
    assert once(streamed.memo, "slot", 1, make) == 3
    assert once(streamed.memo, "slot", 1, make) == 4


@pytest.mark.parametrize("in_memory", [True, False])
def test_rows_in_single_precision_are_the_rows_rounded(in_memory, monkeypatch):
    if not in_memory:
        monkeypatch.setattr(array_source, "_CACHE_BYTES", 0)
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    source = ArraySource(proba, np.zeros(50, dtype=int), None, READ, chunk_rows=20)
    for clip in (TINY, 0.1):
        rows = Rows(source).with_clip(clip)
        exact, rounded = chunks_of(rows), chunks_of(rows.as_float32())
        for one, other in zip(exact, rounded, strict=True):
            assert other.scores.dtype == np.float32
            assert_allclose(other.scores, one.scores, rtol=1e-7)
            assert one.scores.min() >= np.log(clip)
        largest = max(np.abs(chunk.scores).max() for chunk in exact)
        assert rows.largest == pytest.approx(largest)
    assert source.span == (np.log(proba).min(), np.log(proba).max())


def test_a_transform_comes_after_the_clip():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    source = ArraySource(proba, np.zeros(50, dtype=int), None, READ, chunk_rows=20)
    rows = replace(Rows(source).with_clip(0.1), transform=np.negative)
    scores = np.hstack([chunk.scores for chunk in chunks_of(rows)])
    assert_allclose(scores, -np.log(np.maximum(proba, 0.1)).T)
    assert rows.largest == pytest.approx(np.log(10.0))
    small = np.hstack([chunk.scores for chunk in chunks_of(rows.as_float32())])
    assert_allclose(small, scores, rtol=1e-6)
    # The scores themselves are left alone.
    assert_allclose(np.hstack([chunk.scores for chunk in chunks_of(source)]), np.log(proba).T)


def test_a_subsample_is_spread_and_out_of_step_with_periods():
    n, period = 32_768, 4
    inputs = np.random.default_rng(0).dirichlet(np.ones(3), n)
    labels = np.arange(n) % period  # as many as there are to a row that is kept
    rows = Rows(ArraySource(inputs, labels, np.ones(n), READ))
    few = rows.subsample()
    size = n // 4
    assert few.total_weight == len(few.source.labels) == size
    assert np.bincount(few.source.labels, minlength=period).min() > size / period / 2
    # Stretches of 1000 rows all have their share.
    positions = spread_rows(n, size)
    assert np.histogram(positions, bins=30, range=(0, n))[0].min() > 200
    assert len(np.unique(positions)) == size
    assert (np.diff(positions) > 0).all()


def test_few_rows_are_not_subsampled():
    inputs, labels = np.full((16_000, 2), 0.5), np.zeros(16_000, dtype=int)
    assert Rows(ArraySource(inputs, labels, None, READ)).subsample() is None
    weight = np.ones(20_000)
    weight[spread_rows(20_000, 5000)] = 0.0  # those that would be kept
    unlucky = ArraySource(np.full((20_000, 2), 0.5), np.zeros(20_000, int), weight, READ_RAW)
    assert Rows(unlucky).subsample() is None


def test_the_size_of_a_subsample_depends_on_the_number_of_rows_and_classes_alone():
    assert subsample_size(16_383, 10) is None
    assert subsample_size(16_384, 10) == 4096
    assert subsample_size(200_000, 10) == 50_000
    # So many scores stay in memory, however many rows there are; with very many classes, as few
    # rows as there are at least.
    assert subsample_size(10**9, 10) == 2**22 // 10
    assert subsample_size(10**9, 100) == 2**22 // 100
    assert subsample_size(10**9, 10_000) == 4096
    inputs, labels = np.full((20_000, 2), 0.5), np.zeros(20_000, dtype=int)
    for chunk_rows in (None, 7, 20_000):
        source = ArraySource(inputs, labels, None, READ, chunk_rows=chunk_rows)
        assert_array_equal(source.subsample().picked, spread_rows(20_000, 5000))


def test_a_survey_is_made_once_and_comes_with_the_first_pass(monkeypatch):
    rng = np.random.default_rng(0)
    proba, labels = rng.dirichlet(np.ones(3), size=50), rng.integers(3, size=50)
    weight = rng.integers(3, size=50).astype(float)
    folds = []
    fold = ArraySource.fold
    monkeypatch.setattr(ArraySource, "fold", lambda s, f: folds.append(f) or fold(s, f))
    source = ArraySource(proba, labels, weight, READ, chunk_rows=7)
    rows = Rows(source).with_clip(0.1)
    assert rows.fold(lambda chunk: len(chunk.labels)) == np.count_nonzero(weight)
    survey = source.survey
    assert len(folds) == 1
    used = np.log(proba[weight > 0])
    assert source.span == (used.min(), used.max())
    assert survey.n_rows == len(used)
    shares = [weight[labels == j].sum() / weight.sum() for j in range(3)]
    assert_allclose(survey.class_weights, shares)
    assert len(folds) == 1
    alone = replace(source)
    assert alone.survey.checksum == survey.checksum
    assert len(folds) == 2
    moved = replace(source, labels=np.roll(labels, 1))
    assert moved.survey.checksum != survey.checksum


def soft_chunk(seed=0, k=3, m=40):
    rng = np.random.default_rng(seed)
    targets = rng.dirichlet(np.full(k, 0.5), m).T
    targets[0, ::4] = 0.0
    targets /= targets.sum(axis=0)
    labels = targets.argmax(axis=0)
    return Chunk(rng.normal(size=(k, m)), labels, np.full(m, 1.0 / m), targets=targets)


def test_soft_labels_are_means_over_hard_ones():
    chunk = soft_chunk()
    hard = chunk.as_hard()
    assert (hard.weight > 0).all()
    assert hard.targets is None
    block = np.exp(chunk.scores)
    of_hard = Chunk(block, chunk.labels, chunk.weight, targets=chunk.targets).as_hard()
    assert_allclose(
        chunk.weight @ chunk.at_targets(block), hard.weight @ of_hard.at_targets(of_hard.scores)
    )
    assert_allclose(survey_of(3, chunk).class_weights, survey_of(3, hard).class_weights)
    chunk.less_targets(block)
    assert_allclose(block, np.exp(chunk.scores) - chunk.targets)
    assert_allclose(chunk.label_weight.sum(), 1.0)


def test_hard_pieces_are_no_larger_than_the_chunk():
    chunk = soft_chunk()
    pieces, whole = list(chunk.hard_pieces()), chunk.as_hard()
    assert max(len(piece.labels) for piece in pieces) <= len(chunk.labels) < len(whole.labels)
    assert_array_equal(np.concatenate([piece.labels for piece in pieces]), whole.labels)
    assert_allclose(np.concatenate([piece.weight for piece in pieces]), whole.weight)


def test_a_source_hands_out_soft_labels(make_problem):
    problem = make_problem(1, n=50, k=3)
    targets = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    weight = np.arange(50.0) % 3
    picked = np.arange(50)[::-1]
    source = ArraySource(
        problem.proba, problem.y, weight, READ, picked, chunk_rows=7, targets=targets
    )
    found = np.concatenate([chunk.targets.T for chunk in chunks_of(Rows(source))])
    assert_array_equal(found, targets[weight > 0])
