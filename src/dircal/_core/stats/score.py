r"""The score test: whether the loss falls as a linear map leaves the identity.

At the identity the mean loss of the objective has a gradient g and a Hessian H, the information of
a row. If the labels follow the probabilities, g is zero on average and n H^{-1}, up to the shifts
that change nothing, is the inverse of its variance: :math:`n\, g^T H^{-1} g` is of the size of the
number of free parameters. The Hessian does not depend on the labels, so it is factored once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg, special

from dircal._core.data.chunks import Chunk, Rows
from dircal._core.data.simplex import softmax
from dircal._core.model.objective import Likelihood
from dircal._core.model.structure import Diagonal, Full, Structure
from dircal._core.stats.bins import equal_width
from dircal._core.stats.null_resampling import LabelDraws
from dircal._typing import FloatArray, IntArray

__all__ = ["GroupScores", "Scores", "adjust_holm", "scores_at_identity"]

# Directions that rows say nothing about are held by this much of what they say about others.
_RIDGE = 1e-9
# Information below this is rounding: that of a sure row is a difference of numbers near one, times
# squares of logarithms.
_ROUNDING = 1e-10
# Beyond this many classes only slopes and intercepts of the classes are tested.
_MOST_CLASSES_IN_FULL = 30
# Uniform numbers that are drawn at once.
_DRAWN_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class GroupScores:
    """P-values (m,) of groups of parameters, and the classes (m, 1) or pairs (m, 2) they are of."""

    members: IntArray
    pvalues: FloatArray


@dataclass(frozen=True, eq=False)
class Scores:
    """The score statistic, that of each draw of labels (B,), and those of classes and of pairs.

    ``freedom`` is the number of parameters that change something.
    """

    statistic: float
    null_sample: FloatArray
    freedom: int
    classes: GroupScores
    pairs: GroupScores | None


def scores_at_identity(
    rows: Rows, n_resamples: int, rng: np.random.Generator, advance: Callable[[int], None]
) -> Scores:
    """Score statistics of the rows, and of labels drawn from their probabilities.

    All labels are drawn for the first chunk of rows, then for the next; ``advance`` is told how
    many draws of a chunk are done.
    """
    k, n = rows.n_classes, rows.total_weight
    structure: Structure = Full(k, k) if k <= _MOST_CLASSES_IN_FULL else Diagonal(k)
    identity = structure.pack(np.eye(k, k + 1))
    observed = Likelihood(rows, structure).evaluate_with_hessian(identity)
    assert observed.hessian is not None
    drawn = rows.fold(partial(_gradients_of_draws, structure, n_resamples, rng, advance))
    gradients = np.sqrt(n) * np.vstack([observed.gradient, drawn])
    factor = _Factor.of(_fix_shifts(observed.hessian, structure.null_directions))
    statistics = (factor.whiten(gradients) ** 2).sum(axis=1)
    # Where each entry of [W | b] is among the parameters.
    place = structure.unpack(np.arange(float(structure.n_params))).astype(np.intp)
    slopes, intercepts = np.diagonal(place), place[:, -1]
    members = np.column_stack([slopes, intercepts])
    blocks = observed.hessian[members[:, :, None], members[:, None, :]]
    classes = GroupScores(np.arange(k)[:, None], _group_pvalues(blocks, gradients[:, members]))
    pairs = None
    if isinstance(structure, Full) and k > 2:
        pairs = _scores_of_pairs(place, observed.hessian, gradients)
    freedom = structure.n_params - len(structure.null_directions)
    return Scores(float(statistics[0]), statistics[1:], freedom, classes, pairs)


def adjust_holm(pvalues: FloatArray) -> FloatArray:
    """P-values (m,) such that the chance of any below a level is that level, where none is real."""
    order = pvalues.argsort(kind="stable")
    steps = pvalues[order] * np.arange(len(pvalues), 0, -1)
    adjusted = np.empty_like(pvalues)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _gradients_of_draws(
    structure: Structure,
    n_resamples: int,
    rng: np.random.Generator,
    advance: Callable[[int], None],
    chunk: Chunk,
) -> FloatArray:
    """Gradients (B, p) of a chunk at the identity, with labels drawn from the probabilities."""
    proba = softmax(chunk.scores.copy())
    # With one bin for each class, the cell that a row goes to is its class.
    draws = LabelDraws.prepare(proba, equal_width(1, np.dtype(np.float64)))
    every = np.arange(len(chunk.labels))
    gradients = np.tile(structure.adjoint(proba * chunk.weight, chunk.scores), (n_resamples, 1))
    hot = np.zeros_like(proba)
    step = max(1, _DRAWN_AT_ONCE // len(every))
    for first in range(0, n_resamples, step):
        part = gradients[first : first + step]
        draw, row, cells = draws.departures(rng.random((len(part), len(every))))
        labels = np.tile(draws.top_cells, (len(part), 1))
        labels[draw, row] = cells
        for gradient, drawn in zip(part, labels, strict=True):
            hot[drawn, every] = chunk.weight
            gradient -= structure.adjoint(hot, chunk.scores)
            hot[drawn, every] = 0.0
        advance(len(part))
    return gradients


@dataclass(frozen=True, eq=False)
class _Factor:
    """A factored matrix: ``scale`` (p,) times a lower triangle with unit rows."""

    scale: FloatArray
    lower: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> "_Factor":
        """Parameters are scaled first, so that the ridge means the same for each."""
        diagonal = np.maximum(np.diagonal(matrix), 0.0) + _ROUNDING
        scale = np.sqrt(diagonal)
        correlation = matrix / scale / scale[:, None]
        np.fill_diagonal(correlation, 1.0)
        correlation[np.diag_indices_from(correlation)] += _RIDGE
        return cls(scale, linalg.cholesky(correlation, lower=True, check_finite=False))

    def whiten(self, vectors: FloatArray) -> FloatArray:
        """Vectors (B, p) with the matrix as variance, as vectors with the identity."""
        scaled = (vectors / self.scale).T
        white: FloatArray = linalg.solve_triangular(
            self.lower, scaled, lower=True, check_finite=False
        )
        return white.T


def _fix_shifts(matrix: FloatArray, flat: IntArray) -> FloatArray:
    """The matrix with something to say about shifts that change nothing.

    Gradients have no part along these, so it does not matter what; without, there is no inverse.
    """
    fixed = matrix.copy()
    for shift in flat:
        fixed[np.ix_(shift, shift)] += np.diagonal(matrix)[shift].mean()
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
    inner = _fix_shifts(hessian[np.ix_(of_classes, of_classes)], np.arange(k, 2 * k)[None])
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
    scale = np.sqrt(np.maximum(np.diagonal(blocks, axis1=1, axis2=2), 0.0) + _ROUNDING)
    values, vectors = np.linalg.eigh(blocks / scale[:, :, None] / scale[:, None, :])
    parts = np.einsum("bmd,mde->bme", gradients / scale, vectors)
    kept = values > _RIDGE
    statistics = (parts**2 / np.where(kept, values, np.inf)).sum(axis=2)
    observed, drawn = statistics[0], statistics[1:]
    mean, variance = drawn.mean(axis=0), drawn.var(axis=0)
    used = variance > 0.0
    shape = np.where(used, mean**2 / np.where(used, variance, 1.0), 1.0)
    spread = np.where(used, variance / np.where(used, mean, 1.0), 1.0)
    pvalues: FloatArray = np.where(used, special.gammaincc(shape, observed / spread), 1.0)
    return pvalues
