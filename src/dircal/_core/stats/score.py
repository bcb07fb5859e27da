r"""The score test: whether the loss falls as a linear map leaves the identity.

At the identity the mean loss of the objective has a gradient g and a Hessian H, the information of
a row. If the labels follow the probabilities, g is zero on average and n H^{-1} is the inverse of
its variance outside of the null space of H: :math:`n\, g^T H^{-1} g` is of the size of the number
of identifiable parameters. The Hessian does not depend on the labels, so it is factored once.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse, special

from dircal._core.data.chunks import AbstractSums, Chunk
from dircal._core.data.simplex import softmax
from dircal._core.model.structure import Diagonal, Full, Structure
from dircal._core.stats.bins import equal_width
from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._core.stats.null_resampling import LabelDraws
from dircal._core.stats.row_blocks import RowBlock, RowBlocks, ignore, uniform_of
from dircal._typing import FloatArray, IntArray

__all__ = [
    "GroupScores",
    "NullScores",
    "ScoreStatistics",
    "ScoreSums",
    "adjust_holm",
    "score_structure",
    "scores_at_identity",
]


@dataclass(frozen=True, eq=False)
class GroupScores:
    """P-values (m,) of groups of parameters, and the classes (m, 1) or pairs (m, 2) they are of."""

    members: IntArray
    pvalues: FloatArray


@dataclass(frozen=True, eq=False)
class ScoreStatistics:
    """The score statistic, that of each draw of labels (B,), and those of classes and of pairs.

    ``freedom`` is the number of parameters that change something.
    """

    statistic: float
    null_sample: FloatArray
    freedom: int
    classes: GroupScores
    pairs: GroupScores | None


@dataclass
class ScoreSums(AbstractSums):
    """Hessian (p, p) at the identity, and gradients (1 + B, p): of the rows, then of each draw."""

    hessian: FloatArray
    gradients: FloatArray


def score_structure(n_classes: int) -> Structure:
    """The parameters that are tested."""
    k = n_classes
    return Full(k, k) if k <= RESAMPLING_LIMITS.get().max_score_classes else Diagonal(k)


@dataclass(frozen=True, eq=False)
class NullScores:
    """Gradients and Hessian at the identity, also for labels drawn from the probabilities.

    ``advance`` is told how many labels are drawn.
    """

    n_classes: int
    blocks: RowBlocks
    n_resamples: int
    advance: Callable[[int], None] = ignore

    @property
    def structure(self) -> Structure:
        """The parameters that are tested."""
        return score_structure(self.n_classes)

    def __call__(self, chunk: Chunk) -> ScoreSums:
        """Of rows (log-probabilities and labels); the weights of all chunks sum to one."""
        structure = self.structure
        size = structure.n_params
        sums = ScoreSums(np.zeros((size, size)), np.zeros((1 + self.n_resamples, size)))
        for block in self.blocks.cut(chunk.start, len(chunk.labels)):
            self._add(structure, _part(chunk, block.place), block, sums)
        return sums

    def _add(self, structure: Structure, rows: Chunk, block: RowBlock, sums: ScoreSums) -> None:
        proba = softmax(rows.scores.copy())
        sums.hessian += structure.hessian(proba, rows.weight, rows.scores)
        sums.gradients[1:] += structure.adjoint(proba * rows.weight, rows.scores)
        sums.gradients[1:] -= self._drawn_sums(rows, proba, structure, block)
        residual = proba
        residual[rows.labels, np.arange(len(rows.labels))] -= 1.0
        sums.gradients[0] += structure.adjoint(residual * rows.weight, rows.scores)

    def _drawn_sums(
        self, rows: Chunk, proba: FloatArray, structure: Structure, block: RowBlock
    ) -> FloatArray:
        """What the labels of each draw take off the gradient (B, p) at the identity.

        That is what the most probable classes take off, and the changes of the rows that leave
        these: few rows do.
        """
        limits = RESAMPLING_LIMITS.get()
        k, m = proba.shape
        # With one bin for each class, the cell that a row goes to is its class.
        draws = LabelDraws.prepare(proba, equal_width(1, np.dtype(np.float64)))
        kept = structure.adjoint(_one_hot(draws.top_cells, rows.weight, k), rows.scores)
        sums = np.tile(kept, (self.n_resamples, 1))
        sum_moves = _full_sums if isinstance(structure, Full) else _diagonal_sums
        few_leave = proba.max(axis=0).mean() > limits.min_staying
        step = max(1, (limits.score_draws if few_leave else 4 * limits.score_draws) // block.size)
        rng = self.blocks.generator(block.number)
        for first in range(0, self.n_resamples, step):
            part = sums[first : first + step]
            draw, row, arrived = draws.departures(uniform_of(rng, len(part), block))
            self.advance(len(part) * m)
            if few_leave:
                moves = _Moves.of(draw, row, arrived, draws.top_cells)
                part += sum_moves(moves, rows, len(part))
                continue
            labels = np.tile(draws.top_cells, (len(part), 1))
            labels[draw, row] = arrived
            _sum_labels(labels, rows, structure, out=part)
        return sums


def scores_at_identity(sums: ScoreSums, structure: Structure, n_rows: int) -> ScoreStatistics:
    """Score statistics of rows, and of labels drawn from them, from the sums over all rows."""
    hessian, gradients = sums.hessian, sums.gradients * np.sqrt(n_rows)
    factor = _Factor.of(_fix_side_constraints(hessian, structure.null_directions))
    statistics = (factor.whiten(gradients) ** 2).sum(axis=1)
    # Where each entry of [W | b] is among the parameters.
    place = structure.unpack(np.arange(float(structure.n_params))).astype(np.intp)
    k = len(place)
    slopes, intercepts = np.diagonal(place), place[:, -1]
    members = np.column_stack([slopes, intercepts])
    blocks = hessian[members[:, :, None], members[:, None, :]]
    classes = GroupScores(np.arange(k)[:, None], _group_pvalues(blocks, gradients[:, members]))
    pairs = None
    if isinstance(structure, Full) and k > 2:
        pairs = _scores_of_pairs(place, hessian, gradients)
    freedom = structure.n_params - len(structure.null_directions)
    return ScoreStatistics(float(statistics[0]), statistics[1:], freedom, classes, pairs)


def adjust_holm(pvalues: FloatArray) -> FloatArray:
    """P-values (m,) adjusted by Holm's step-down method for their number.

    Rejecting those below a level keeps the family-wise error rate, the chance of rejecting any
    true hypothesis, at or below that level (Holm 1979).
    """
    order = pvalues.argsort(kind="stable")
    steps = pvalues[order] * np.arange(len(pvalues), 0, -1)
    adjusted = np.empty_like(pvalues)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _one_hot(labels: IntArray, weight: FloatArray, n_classes: int) -> FloatArray:
    """Weights (k, m) of the rows at their labels."""
    hot = np.zeros((n_classes, len(labels)))
    hot[labels, np.arange(len(labels))] = weight
    return hot


def _part(chunk: Chunk, place: slice) -> Chunk:
    """Some of the rows of a chunk."""
    return Chunk(chunk.scores[:, place], chunk.labels[place], chunk.weight[place])


def _sum_labels(labels: IntArray, rows: Chunk, structure: Structure, out: FloatArray) -> None:
    """Sums (B, p) of all rows by their drawn labels (B, m)."""
    hot, every = np.zeros(rows.scores.shape), np.arange(labels.shape[1])
    for own, drawn in zip(out, labels, strict=True):
        hot[drawn, every] = rows.weight
        own[:] = structure.adjoint(hot, rows.scores)
        hot[drawn, every] = 0.0


@dataclass(frozen=True, eq=False)
class _Moves:
    """Rows that come to a class (sign 1) or leave it (sign -1) in some draw."""

    draw: IntArray
    row: IntArray
    label: IntArray
    sign: FloatArray

    @classmethod
    def of(cls, draw: IntArray, row: IntArray, arrived: IntArray, before: IntArray) -> "_Moves":
        """Rows that come to the classes ``arrived`` and leave those that they had ``before``."""
        labels = np.concatenate([arrived, before.take(row)])
        signs = np.repeat([1.0, -1.0], len(row))
        return cls(np.tile(draw, 2), np.tile(row, 2), labels, signs)


def _full_sums(moves: _Moves, chunk: Chunk, n_draws: int) -> FloatArray:
    """Sums (B, k (k + 1)) of [s, 1] over the rows that move, by draw and class."""
    k, n_moves = len(chunk.scores), len(moves.row)
    extended = np.vstack([chunk.scores, np.ones(len(chunk.labels))]).T
    of_moves = extended.take(moves.row, axis=0)
    weights = moves.sign * chunk.weight.take(moves.row)
    groups = moves.draw * k + moves.label
    # One entry in each row: products with its transpose add up rows by group.
    grouping = sparse.csr_array(
        (weights, groups, np.arange(n_moves + 1)), shape=(n_moves, n_draws * k)
    )
    sums: FloatArray = grouping.T @ of_moves
    return sums.reshape(n_draws, -1)


def _diagonal_sums(moves: _Moves, chunk: Chunk, n_draws: int) -> FloatArray:
    """Sums (B, 2k) of the own score, then of ones, over the rows that move."""
    k = len(chunk.scores)
    groups = moves.draw * k + moves.label
    weights = moves.sign * chunk.weight.take(moves.row)
    own = weights * chunk.scores[moves.label, moves.row]
    sums = [np.bincount(groups, each, minlength=n_draws * k) for each in (own, weights)]
    return np.hstack([each.reshape(n_draws, k) for each in sums])


@dataclass(frozen=True, eq=False)
class _Factor:
    """A factored matrix: ``scale`` (p,) times a lower triangle with unit rows."""

    scale: FloatArray
    lower: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> "_Factor":
        """Parameters are scaled first, so that the ridge means the same for each."""
        limits = RESAMPLING_LIMITS.get()
        diagonal = np.maximum(np.diagonal(matrix), 0.0) + limits.min_information
        scale = np.sqrt(diagonal)
        correlation = matrix / scale / scale[:, None]
        np.fill_diagonal(correlation, 1.0)
        correlation[np.diag_indices_from(correlation)] += limits.score_ridge
        return cls(scale, linalg.cholesky(correlation, lower=True, check_finite=False))

    def whiten(self, vectors: FloatArray) -> FloatArray:
        """Vectors (B, p) with the matrix as variance, as vectors with the identity."""
        scaled = (vectors / self.scale).T
        white: FloatArray = linalg.solve_triangular(
            self.lower, scaled, lower=True, check_finite=False
        )
        return white.T


def _fix_side_constraints(matrix: FloatArray, null_directions: IntArray) -> FloatArray:
    """An information matrix made invertible along its null directions.

    Adding one number to all entries of a null direction changes no probability, so it has no
    information and the gradient has no part along it. Whatever is added there leaves the score
    statistic alone; without it the matrix has no inverse.
    """
    fixed = matrix.copy()
    for direction in null_directions:
        fixed[np.ix_(direction, direction)] += np.diagonal(matrix)[direction].mean()
    return fixed


def _scores_of_pairs(place: IntArray, hessian: FloatArray, gradients: FloatArray) -> GroupScores:
    """Scores of the two entries of W that connect two classes.

    What slopes and intercepts of the classes explain is taken off first: a temperature moves every
    entry, and is no confusion.
    """
    k = len(place)
    of_classes = np.concatenate([np.diagonal(place), place[:, -1]])
    first, second = np.triu_indices(k, 1)
    members = np.column_stack([place[first, second], place[second, first]])
    inner = _fix_side_constraints(
        hessian[np.ix_(of_classes, of_classes)], np.arange(k, 2 * k)[None]
    )
    factor = _Factor.of(inner)
    # (2k, k (k - 1)) -> (pairs, 2, 2k)
    shared = factor.whiten(hessian[np.ix_(members.ravel(), of_classes)])
    shared = shared.reshape(*members.shape, -1)
    blocks = hessian[members[:, :, None], members[:, None, :]] - shared @ shared.transpose(0, 2, 1)
    explained = factor.whiten(gradients[:, of_classes]) @ shared.reshape(-1, 2 * k).T
    beyond = gradients[:, members] - explained.reshape(-1, *members.shape)
    return GroupScores(np.column_stack([first, second]), _group_pvalues(blocks, beyond))


def _group_pvalues(blocks: FloatArray, gradients: FloatArray) -> FloatArray:
    """P-values (m,) of groups of parameters, from the gradients (1 + B, m, d) of rows and draws.

    Statistics of the draws give the mean and the variance of a gamma distribution, whose tail is
    the p-value: with a thousand draws there would be none below one in a thousand, too few for
    allowing for the number of groups.
    """
    limits = RESAMPLING_LIMITS.get()
    scale = np.sqrt(np.maximum(np.diagonal(blocks, axis1=1, axis2=2), 0.0) + limits.min_information)
    values, vectors = np.linalg.eigh(blocks / scale[:, :, None] / scale[:, None, :])
    parts = np.einsum("bmd,mde->bme", gradients / scale, vectors)
    kept = values > limits.score_ridge
    statistics = (parts**2 / np.where(kept, values, np.inf)).sum(axis=2)
    observed, drawn = statistics[0], statistics[1:]
    mean, variance = drawn.mean(axis=0), drawn.var(axis=0)
    used = variance > 0.0
    shape = np.where(used, mean**2 / np.where(used, variance, 1.0), 1.0)
    spread = np.where(used, variance / np.where(used, mean, 1.0), 1.0)
    pvalues: FloatArray = np.where(used, special.gammaincc(shape, observed / spread), 1.0)
    return pvalues
