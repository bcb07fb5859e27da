"""Several views of one source in one pass, and sources that can only be read from end to end."""

import pickle
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.clip.by_likelihood import learn_clip
from dircal._core.data.array_source import ArraySource
from dircal._core.data.chunks import AbstractChunkSource, Chunk
from dircal._core.data.rows import Rows, fold_together, smallest_subsample
from dircal._core.data.subsample import spread_rows, subsample_size
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import off_diagonal
from dircal._core.model.structure import Full
from dircal._core.optim.separation import solve
from dircal.maps import CalibrationMap, LogProbability, Normalise

READ = CalibrationMap(3, (Normalise(), LogProbability())).read


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
