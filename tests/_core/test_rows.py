"""Rows as a source of chunks: simplex, chunks, parts, subsamples and folds."""

import pickle
import threading
from dataclasses import dataclass, replace
from functools import cached_property as of_python
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dircal._core.caching import cached_property
from dircal._core.clip.by_likelihood import learn_clip
from dircal._core.data.array_source import ArraySource
from dircal._core.data.chunks import AbstractChunkSource, Chunk, once, row_slices, survey_of
from dircal._core.data.folds import FoldParts, RowFolds
from dircal._core.data.parts import (
    FAN_IN,
    AbstractParts,
    Part,
    add_up,
    add_up_tree,
    bundle_by_bytes,
)
from dircal._core.data.rows import Rows, fold_together, smallest_subsample
from dircal._core.data.simplex import (
    TINY,
    normalise_beyond_rounding,
    rest_of_logits,
    rest_of_proba,
    sums_of_columns,
)
from dircal._core.data.subsample import spread_rows, subsample_size
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import off_diagonal
from dircal._core.model.structure import Full
from dircal._core.optim.separation import solve
from dircal.maps import CalibrationMap, LogProbability, LogSoftmax, Normalise
from dircal.tables import ArrayRows


def test_sums_do_not_depend_on_other_columns():
    """One column by itself has the same last digit as among others."""
    block = np.random.default_rng(0).random((57, 200))
    together = sums_of_columns(block)
    alone = [sums_of_columns(block[:, [i]])[0] for i in range(200)]
    assert_array_equal(together, alone)
    assert_allclose(together, block.sum(axis=0), rtol=1e-14)


def test_columns_that_sum_to_one_but_for_rounding_stay():
    block = np.array([[0.8, 0.8, 0.4], [0.2, 0.2 + 1e-9, 0.4]])
    kept = normalise_beyond_rounding(block.copy(), 1e-6)
    assert_array_equal(kept[:, :2], block[:, :2])
    assert_allclose(kept[:, 2], 0.5)


def test_the_rest_of_a_sure_class_keeps_its_digits():
    block = np.array([[1.0, 0.5, 0.2], [1e-20, 0.5, 0.2], [3e-20, 0.0, 0.6]])
    rest = rest_of_proba(block)
    assert_allclose(rest[:, 0], [4e-20, 1.0, 1.0], rtol=1e-14)
    assert_allclose(rest[:, 1], [0.5, 0.5, 1.0], rtol=1e-14)
    assert_allclose(rest[:, 2], [0.8, 0.8, 0.4], rtol=1e-14)


def test_the_rest_of_logits_does_not_underflow():
    rest = rest_of_logits(np.array([[0.0], [-2000.0], [-2000.0]]))
    assert_allclose(rest[:, 0], [-2000.0 + np.log(2.0), 0.0, 0.0], rtol=1e-14)


def test_the_rest_of_logits_does_not_depend_on_their_order():
    rng = np.random.default_rng(0)
    block = np.round(2.0 * rng.normal(size=(6, 500))) / 2.0
    order = rng.permutation(6)
    assert (rest_of_logits(block[order]) == rest_of_logits(block)[order]).all()


def test_the_rest_of_logits_leaves_masked_classes_out():
    block = np.array([[0.0, 3.0, 1.0], [-np.inf, -np.inf, 2.0], [1.0, -np.inf, -np.inf]])
    rest = rest_of_logits(block)
    assert_allclose(rest[:, 0], [1.0, np.logaddexp(0.0, 1.0), 0.0], rtol=1e-14)
    assert_allclose(rest[:, 1], [-np.inf, 3.0, 3.0], rtol=1e-14)
    assert_allclose(rest[:, 2], [2.0, 1.0, np.logaddexp(1.0, 2.0)], rtol=1e-14)


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


def test_large_inputs_are_read_again_in_every_pass(use_limits):
    reads = []

    def read(inputs):
        reads.append(len(inputs))
        return READ(inputs)

    inputs, labels = np.full((100, 2), 0.5), np.zeros(100, dtype=int)
    kept = ArraySource(inputs, labels, None, read, chunk_rows=10)
    first, again = chunks_of(kept), chunks_of(kept)
    assert reads == [10] * 10
    assert first[0] is again[0]
    use_limits("DataLimits", cache_bytes=100)
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
def test_rows_in_single_precision_are_the_rows_rounded(in_memory, use_limits):
    if not in_memory:
        use_limits("DataLimits", cache_bytes=0)
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


# Several views of one source in one pass, and sources that can only be read from end to end.


@dataclass(frozen=True, eq=False)
class Parts(AbstractChunkSource):
    """Parts of a table that nobody can jump about in: whatever is asked for takes a pass."""

    inputs: list
    labels: list
    passes: list

    n_classes = 3

    @property
    def n_samples(self):
        return sum(map(len, self.labels))

    @property
    def total_weight(self):
        return float(self.n_samples)

    def fold(self, function):
        self.passes.append("fold")
        total = None
        for inputs, labels in zip(self.inputs, self.labels, strict=True):
            if len(labels):
                weight = np.full(len(labels), 1.0 / self.n_samples)
                sent = pickle.loads(pickle.dumps(function))
                found = sent(Chunk(READ(inputs), labels, weight))
                total = found if total is None else total.__iadd__(found)
        return total

    def subsample(self):
        self.passes.append("subsample")
        size = subsample_size(self.n_samples, self.n_classes)
        if size is None:
            return None
        few = spread_rows(self.n_samples, size)
        starts = np.cumsum([0, *map(len, self.labels)])
        picked = [few[(few >= start) & (few < stop)] - start for start, stop in pairwise(starts)]
        inputs = [part[rows] for part, rows in zip(self.inputs, picked, strict=True)]
        labels = [part[rows] for part, rows in zip(self.labels, picked, strict=True)]
        return ArraySource(np.concatenate(inputs), np.concatenate(labels), None, READ)


def map_of(source):
    rows = Rows(source)
    chosen = learn_clip(rows, max_iter=100)
    structure = Full(3, 3)
    found = solve(
        Objective(Likelihood(rows.with_clip(chosen.clip), structure), off_diagonal(3, 0.1, 0.1)),
        structure.pack(chosen.slope * np.eye(3, 4)),
        every_row_right=False,
        tol=1e-12,
        max_iter=100,
    )
    return chosen.clip, found.params


@pytest.mark.parametrize("n_parts", [1, 7, 64])
def test_a_source_without_random_access_gives_the_same_map(n_parts, make_problem):
    problem = make_problem(0, n=20_000, k=3, scale=5.0)
    clip, expected = map_of(ArraySource(problem.proba, problem.y, None, READ))
    # Parts of any size, an empty one among them.
    cuts = np.sort(np.random.default_rng(n_parts).integers(20_000, size=n_parts - 1))
    cuts = np.concatenate([cuts, cuts[:1]]) if len(cuts) else cuts
    cuts.sort()
    passes = []
    parts = Parts(np.split(problem.proba, cuts), np.split(problem.y, cuts), passes)
    found_clip, found = map_of(parts)
    assert found_clip == clip
    assert_allclose(found, expected, atol=1e-10)
    assert passes.count("subsample") == 1
    assert passes.count("fold") <= 6


def test_several_views_share_a_pass(monkeypatch):
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    source = ArraySource(proba, np.arange(50) % 3, None, READ, chunk_rows=7)
    folds, fold = [], ArraySource.fold
    monkeypatch.setattr(ArraySource, "fold", lambda s, f: folds.append(f) or fold(s, f))
    plain, raised = Rows(source), Rows(source).with_clip(0.1)
    turned = replace(raised, transform=np.negative)
    sums = fold_together([(rows, total) for rows in (plain, raised, turned)])
    scores = np.log(proba)
    assert_allclose(sums[0], scores.sum())
    of_raised = np.maximum(scores, np.log(0.1)).sum()
    assert_allclose(sums[1:], [of_raised, -of_raised])
    assert turned.largest == pytest.approx(np.log(10.0))
    assert source.survey.n_rows == 50
    assert len(folds) == 1


def total(chunk):
    return float(chunk.scores.sum())


def test_the_largest_of_an_increasing_transform_takes_no_pass():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=50)

    @dataclass(frozen=True)
    class Doubled:
        is_increasing = True

        def __call__(self, scores):
            return 2.0 * scores

    rows = replace(
        Rows(ArraySource(proba, np.arange(50) % 3, None, READ)).with_clip(0.1), transform=Doubled()
    )
    assert rows.largest == pytest.approx(2.0 * np.log(10.0))


def test_the_smallest_subsample_has_none():
    proba = np.full((200_000, 2), 0.5)
    rows = Rows(ArraySource(proba, np.zeros(200_000, dtype=int), None, READ))
    assert rows.subsample().n_samples == 50_000
    assert smallest_subsample(rows).n_samples == 12_500
    assert smallest_subsample(smallest_subsample(rows)) is None
    # Too few for a map that has more parameters than they could tell anything about.
    assert rows.subsample(100_000).n_samples == 50_000
    assert rows.subsample(100_001) is None


# Bundles and sums of parts.


MEGABYTE = 2**20
BUNDLE_LIMITS = 8 * MEGABYTE, 256 * MEGABYTE


@given(sizes=st.lists(st.integers(0, 600 * MEGABYTE), min_size=1, max_size=200))
def test_bundles_are_all_parts_in_their_order(sizes):
    bundles = bundle_by_bytes(sizes, *BUNDLE_LIMITS)
    assert [i for bundle in bundles for i in bundle] == list(range(len(sizes)))
    assert all(len(bundle) > 0 for bundle in bundles)


def test_small_parts_share_a_bundle_and_large_ones_do_not():
    assert bundle_by_bytes([MEGABYTE] * 16, *BUNDLE_LIMITS) == [range(8), range(8, 16)]
    assert len(bundle_by_bytes([300 * MEGABYTE] * 500, *BUNDLE_LIMITS)) == 500
    assert len(bundle_by_bytes([MEGABYTE] * 100_000, *BUNDLE_LIMITS)) == pytest.approx(390, abs=2)


def test_sums_go_along_a_tree_of_neighbours():
    n = FAN_IN**2 + 3
    told = add_up_tree([[i] for i in range(n)])
    assert told == list(range(n))
    numbers = np.random.default_rng(0).normal(size=n)
    groups = [sum(numbers[i : i + FAN_IN]) for i in range(0, n, FAN_IN)]
    again = [sum(groups[i : i + FAN_IN]) for i in range(0, len(groups), FAN_IN)]
    assert add_up_tree([np.array(x) for x in numbers]) == sum(again)


@given(n=st.integers(1, FAN_IN**3 + 2))
def test_a_tree_holds_few_sums_and_leaves_results_as_they_are(n):
    held, most = set(), [0]

    class Counted:
        """A number that knows how many of its kind there are."""

        def __init__(self, value):
            self.value = value
            held.add(id(self))
            most[0] = max(most[0], len(held))

        def __iadd__(self, other):
            self.value += other.value
            return self

        def __deepcopy__(self, memo):
            return Counted(self.value)

        def __del__(self):
            held.discard(id(self))

    total = add_up_tree(Counted(i) if i % 3 != 1 else None for i in range(n))
    assert total.value == sum(i for i in range(n) if i % 3 != 1)
    assert most[0] <= 6
    results = [np.ones(1) for _ in range(n)]
    assert add_up_tree(results) == n
    assert all(one == 1.0 for one in results)


def test_nothing_adds_nothing_and_the_first_stays_as_it_is():
    first = np.ones(2)
    first.setflags(write=False)
    assert add_up(iter([None, first, None, np.ones(2)])).tolist() == [2.0, 2.0]
    assert first.tolist() == [1.0, 1.0]
    assert add_up(iter([None, None])) is None


# Rows dealt by their number.


class Cut(AbstractParts):
    """Rows 0, 1, 2, ... in parts of so many, which count how often something is kept of them."""

    def __init__(self, n_rows, size):
        self.parts = []
        for first in range(0, n_rows, size):
            rows = np.arange(first, min(first + size, n_rows))
            classes = np.arange(2)
            data = ArrayRows(
                np.column_stack([rows, rows]), rows % 2, None, classes, classes, None, 2
            )
            self.parts.append(Part(first, data, lambda row, first=first: f"row {first + row}", {}))

    def fold(self, function):
        total = None
        for part in self.parts:
            found = function(part)
            if found is not None:
                total = found if total is None else total + found
        return total


@given(n_folds=st.integers(2, 12), n_rows=st.integers(0, 200))
def test_every_row_has_one_place(n_folds, n_rows):
    folds = RowFolds(n_folds)
    dealt = folds.of_rows(np.arange(n_rows))
    for fold in range(n_folds):
        own = np.flatnonzero(dealt == fold)
        assert [folds.row_at(fold, place) for place in range(len(own))] == own.tolist()
        assert folds.rows_before(fold, n_rows) == len(own)
    sizes = np.bincount(dealt, minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("period", [2, 3, 5, 10, 25])
def test_classes_that_take_turns_are_in_every_fold(period):
    dealt = RowFolds(5).of_rows(np.arange(10_000))
    shares = [
        np.bincount(np.flatnonzero(dealt == fold) % period, minlength=period) for fold in range(5)
    ]
    np.testing.assert_allclose(shares, 2000 / period, rtol=0.05)


@given(n_rows=st.integers(6, 60), size=st.integers(1, 20), fold=st.integers(0, 2))
def test_parts_of_a_fold_are_its_rows_in_their_order(n_rows, size, fold):
    parts, folds = Cut(n_rows, size), RowFolds(3)
    dealt = folds.of_rows(np.arange(n_rows))
    for held_out in (True, False):
        some = FoldParts(parts, folds, fold, is_held_out=held_out, n_before=4)
        rows = some.fold(lambda part: part.rows.inputs[:, 0].tolist())
        assert rows == np.flatnonzero((dealt == fold) == held_out).tolist()
        firsts = some.fold(lambda part: [part.first, part.rows.shape[0]])
        ends = np.cumsum(firsts[1::2])
        assert firsts[::2] == [4, *(4 + ends[:-1])]
        told = some.fold(lambda part: [part.place(0)])
        assert told[0] == f"row {rows[0]}"


def test_what_is_kept_of_a_fold_makes_room_for_the_next():
    parts, folds = Cut(20, 10), RowFolds(2)
    memos = [
        FoldParts(parts, folds, fold, is_held_out=True).fold(lambda part: [part.memo])
        for fold in (0, 0, 1)
    ]
    assert memos[0][0] is memos[1][0]
    assert memos[2][0] is not memos[0][0]
    assert len(parts.parts[0].memo) == 1


class Counted:
    def __init__(self, wait=None):
        self.n_calls = 0
        self._wait = wait

    @cached_property
    def total(self):
        self.n_calls += 1
        if self._wait is not None:
            self._wait()
        return object()


def test_a_value_is_computed_once():
    rows = Counted()
    assert rows.total is rows.total
    assert rows.n_calls == 1
    assert isinstance(Counted.total, of_python)


def test_threads_do_not_wait_for_each_other():
    """A child forked meanwhile would wait for ever: the thread is not there any more."""
    computing, go_on = threading.Event(), threading.Event()

    def wait():
        computing.set()
        go_on.wait(20)

    slow = Counted(wait)
    thread = threading.Thread(target=lambda: slow.total)
    thread.start()
    computing.wait(20)
    other = threading.Thread(target=lambda: Counted().total)
    other.start()
    other.join(5)
    waits = other.is_alive()
    go_on.set()
    thread.join()
    other.join()
    assert not waits


def test_two_threads_get_the_same_value():
    both = threading.Barrier(2, timeout=200)
    rows, found = Counted(both.wait), []
    threads = [threading.Thread(target=lambda: found.append(rows.total)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1]
    assert found[0] is rows.total
