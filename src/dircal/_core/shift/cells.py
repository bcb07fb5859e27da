r"""Class frequencies and tests of label shift from counts of old rows, whatever their map is.

Old rows with labels are counted by class and cell, and new rows by cell. A cell is the class with
the largest ratio of calibrated probability and frequency, and an interval of its share in the sum
of these ratios. Under label shift a new row falls into cell l with the probability
:math:`\sum_c \rho_c Q_{lc}`, with :math:`Q_{lc}` the share of the cell among old rows of class c.
That is true of any map, calibrated or not, and the counts of old rows estimate Q. So frequencies
that are estimated through Q need no covariance of the map, and their intervals contain the
uncertainty of everything that was learned from old rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import log_softmax, softmax
from scipy.stats import t as student

from dircal._core.data.chunks import AbstractSums, Chunk
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import TINY
from dircal._core.shift.frequencies import weighted_chi_square_pvalue
from dircal._core.shift.limits import SHIFT_LIMITS
from dircal._typing import FloatArray, IntArray

__all__ = [
    "ClassCells",
    "MixtureEstimate",
    "add_offsets",
    "cells_of",
    "count_cells",
    "count_cells_of_source",
    "estimate_mixture",
    "smoothed_frequencies",
]


@dataclass(frozen=True)
class ClassCells:
    """Old rows by true class and by cell, as sums of weights.

    Parameters
    ----------
    counts : array of shape (n_classes, n_cells)
        Weight of the rows of each class in each cell.
    proba : array of shape (n_classes, n_cells)
        Sums of the calibrated probabilities of all rows in each cell.
    """

    counts: FloatArray
    proba: FloatArray

    @property
    def class_weights(self) -> FloatArray:
        """Sums of weights (k,) of the classes."""
        weights: FloatArray = self.counts.sum(axis=1)
        return weights

    @property
    def frequencies(self) -> FloatArray:
        """Frequencies (k,) of the classes; an absent class counts as half a row."""
        return smoothed_frequencies(self.class_weights)

    def centred_offsets(self) -> FloatArray:
        """Return what to add to logits (k,) so that mean probabilities equal frequencies."""
        limits = SHIFT_LIMITS.get()
        weight, means = self._means()
        log_means, target = np.log(np.maximum(means, TINY)), np.log(self.frequencies)
        offsets = np.zeros(len(target))
        for _ in range(limits.max_count_rounds):
            mean = weight @ softmax(log_means + offsets, axis=1) / weight.sum()
            step = target - np.log(np.maximum(mean, TINY))
            offsets += step
            if np.abs(step).max() <= limits.offset_tol:
                break
        centred: FloatArray = offsets - offsets.mean()
        return centred

    def centred_pvalue(self) -> float:
        """P-value of the hypothesis that mean probabilities equal class frequencies."""
        weight, means = self._means()
        total, frequencies = weight.sum(), self.frequencies
        scale = np.sqrt(frequencies)
        difference = (weight @ means / total - self.class_weights / total) / scale
        spread = np.diag(weight @ means) - (means * weight[:, None]).T @ means
        covariance = spread / np.outer(scale, scale) / total**2
        return weighted_chi_square_pvalue(float(difference @ difference), covariance)

    def _means(self) -> tuple[FloatArray, FloatArray]:
        """Return weights (m,) and mean probabilities (m, k) of the cells that have rows."""
        weight = self.counts.sum(axis=0)
        seen = weight > 0.0
        return weight[seen], (self.proba[:, seen] / weight[seen]).T


@dataclass
class _CellSums(AbstractSums):
    """Sums over rows, both (k, m)."""

    counts: FloatArray
    proba: FloatArray


def count_cells(
    proba: FloatArray, labels: IntArray, weight: FloatArray | None
) -> ClassCells | None:
    """Return the cells of rows with calibrated probabilities (n, k), or None if k is too large."""
    n, k = proba.shape
    if k > SHIFT_LIMITS.get().max_cell_classes:
        return None
    weight = np.ones(n) if weight is None else weight
    frequencies = smoothed_frequencies(np.bincount(labels, weight, k))
    sums = _sums_of_rows(proba, np.eye(k)[labels], weight, frequencies)
    return ClassCells(sums.counts, sums.proba)


def count_cells_of_source(
    rows: Rows, logits_of: Callable[[FloatArray], FloatArray]
) -> ClassCells | None:
    """Return the cells of the rows of a fit, whose scores (k, m) a function maps to logits."""
    if rows.n_classes > SHIFT_LIMITS.get().max_cell_classes:
        return None
    frequencies = smoothed_frequencies(rows.source.survey.class_weights)
    sums = rows.fold(partial(_sums_of_chunk, logits_of, frequencies))
    # Weights of chunks add up to one.
    return ClassCells(sums.counts * rows.total_weight, sums.proba * rows.total_weight)


def _sums_of_chunk(
    logits_of: Callable[[FloatArray], FloatArray], frequencies: FloatArray, chunk: Chunk
) -> _CellSums:
    proba = softmax(logits_of(chunk.scores.copy()), axis=0).T
    targets = np.eye(len(frequencies))[chunk.labels] if chunk.targets is None else chunk.targets.T
    return _sums_of_rows(proba, targets, chunk.weight, frequencies)


def _sums_of_rows(
    proba: FloatArray, targets: FloatArray, weight: FloatArray, frequencies: FloatArray
) -> _CellSums:
    cells, k = cells_of(proba, frequencies), len(frequencies)
    n_cells = k * (len(_edges(k)) + 1)
    return _CellSums(
        *(sums_by_cell(each * weight[:, None], cells, n_cells) for each in (targets, proba))
    )


@dataclass(frozen=True)
class MixtureEstimate:
    """Frequencies (k,) that the cells give, their standard errors, and tests.

    ``freedom`` (k,) are degrees of freedom of the standard errors.
    """

    frequencies: FloatArray
    standard_errors: FloatArray
    freedom: FloatArray
    pvalue: float
    misfit_pvalue: float

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends (k,) of intervals for the frequencies."""
        half = student.ppf(0.5 + 0.5 * level, self.freedom) * self.standard_errors
        low, high = self.frequencies - half, self.frequencies + half
        return low.clip(0.0, 1.0), high.clip(0.0, 1.0)


def smoothed_frequencies(counts: FloatArray | IntArray) -> FloatArray:
    """Return frequencies (k,); an absent class counts as half a row (Jeffreys' prior)."""
    smoothed: FloatArray = np.where(counts > 0.0, counts, SHIFT_LIMITS.get().unseen_count)
    frequencies: FloatArray = smoothed / smoothed.sum()
    return frequencies


def cells_of(proba: FloatArray, frequencies: FloatArray) -> IntArray:
    """Return the cell (n,) of rows with calibrated probabilities (n, k)."""
    ratios = proba / frequencies
    top = ratios.argmax(axis=1)
    largest = ratios[np.arange(len(ratios)), top]
    rest = ratios.sum(axis=1) - largest
    edges = _edges(len(frequencies))
    # Log-odds without a logarithm; the rest may be zero.
    bins = (largest[:, None] > np.exp(edges) * rest[:, None]).sum(axis=1)
    cells: IntArray = top * (len(edges) + 1) + bins
    return cells


def sums_by_cell(values: FloatArray, cells: IntArray, n_cells: int) -> FloatArray:
    """Return the sums (k, n_cells) of values (n, k)."""
    return np.stack([np.bincount(cells, column, n_cells) for column in values.T])


def _edges(n_classes: int) -> FloatArray:
    """Return log-odds between the intervals of a cell; fewer with many classes."""
    limits = SHIFT_LIMITS.get()
    every = np.array(limits.cell_log_odds)
    n_edges = min(len(every), max(limits.max_cell_entries // n_classes**2, 1) - 1)
    chosen: FloatArray = every[np.linspace(0, len(every) - 1, n_edges).round().astype(int)]
    return chosen


def estimate_mixture(
    cells: ClassCells, proba: FloatArray, old: FloatArray, start: FloatArray
) -> MixtureEstimate:
    r"""Estimate new class frequencies and test label shift by cells.

    Parameters
    ----------
    cells : ClassCells
        Old rows.
    proba : array of shape (n, k)
        Calibrated probabilities of new rows, of the map that ``cells`` was made with.
    old : array of shape (k,)
        Frequencies that the probabilities go with.
    start : array of shape (k,)
        Frequencies that the likelihood gives.

    Notes
    -----
    With F (k, m) the mean in each cell of the probabilities after adaptation to ``start``, which
    are the efficient weights of new rows if the map is calibrated, frequencies solve
    :math:`F n = F Q \rho` with n the shares of the cells among new rows. Where the map is
    calibrated they differ from ``start`` by noise; where it is not they are still consistent.

    The noise of F Q is that of each class in the old rows; its covariance is taken from old and new
    rows of the class by their probabilities, because that of the few old rows alone goes with the
    noise of their mean.
    """
    comparison = _compare(cells, proba, old, start)
    frequencies = comparison.solve()
    errors, freedom = comparison.standard_errors(frequencies)
    return MixtureEstimate(
        frequencies,
        errors,
        freedom,
        comparison.no_shift_pvalue(),
        comparison.misfit_pvalue(),
    )


@dataclass(frozen=True)
class _Comparison:
    """Old and new rows in the cells that have any.

    ``new`` (m,) and ``within`` (m, k) are the shares of cells among new rows and among old rows of
    each class; ``model`` (m, k) are the latter by probabilities; ``weights`` (k, m) is F; ``means``
    (k, m) are mean probabilities; ``groups`` (m,) joins cells for the test of the mixture.
    """

    new: FloatArray
    within: FloatArray
    model: FloatArray
    weights: FloatArray
    means: FloatArray
    groups: IntArray
    n_new: int
    n_old: FloatArray

    def solve(self) -> FloatArray:
        """Return the frequencies (k,) that explain the mean weights."""
        frequencies: FloatArray = self._inverse(self.weights) @ (self.weights @ self.new)
        return frequencies

    def _inverse(self, weights: FloatArray) -> FloatArray:
        return np.linalg.pinv(weights @ self.within).astype(np.float64)

    def _class_covariances(self, weights: FloatArray, frequencies: FloatArray) -> FloatArray:
        """Return covariances (k, p, p) of the sums of weights (p, m) that old classes cause."""
        k = len(frequencies)
        found = np.empty((k, len(weights), len(weights)))
        for c in range(k):
            n = max(self.n_old[c] - 1.0, SHIFT_LIMITS.get().unseen_count)
            found[c] = frequencies[c] ** 2 / n * _covariance(weights, self.model[:, c])
        return found

    def standard_errors(self, frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return standard errors (k,) and their degrees of freedom (Satterthwaite, 1946)."""
        inverse, k = self._inverse(self.weights), len(frequencies)
        parts = np.empty((k + 1, k))
        of_classes = self._class_covariances(self.weights, np.maximum(frequencies, 0.0))
        for c in range(k):
            parts[c] = (inverse @ of_classes[c] @ inverse.T).diagonal()
        noise = _covariance(self.weights, self.new) / self.n_new
        parts[k] = (inverse @ noise @ inverse.T).diagonal()
        parts = np.maximum(parts, 0.0)
        variance = parts.sum(axis=0)
        limits = SHIFT_LIMITS.get()
        n = np.maximum(np.append(self.n_old, self.n_new) - 1.0, 1.0)
        square = (parts**2 / n[:, None]).sum(axis=0)
        freedom = variance**2 / np.maximum(square, limits.min_variance**2)
        errors: FloatArray = np.sqrt(variance)
        return errors, freedom.clip(1.0, 1e9)

    def no_shift_pvalue(self) -> float:
        """Return the p-value of the hypothesis that old and new rows have one distribution."""
        total = self.n_old.sum()
        old = self.within @ (self.n_old / total)
        pooled = (self.n_new * self.new + total * old) / (self.n_new + total)
        scale = np.sqrt(np.maximum(self.means @ pooled, TINY))[:, None]
        means = self.means / scale
        difference = means @ (self.new - old)
        covariance = _covariance(means, pooled) * (1.0 / self.n_new + 1.0 / total)
        return weighted_chi_square_pvalue(float(difference @ difference), covariance)

    def misfit_pvalue(self) -> float:
        """Return the p-value of the hypothesis that new rows are a mixture of the old classes."""
        n_groups = int(self.groups.max()) + 1
        member = np.zeros((n_groups, len(self.new)))
        member[self.groups, np.arange(len(self.new))] = 1.0
        frequencies = np.maximum(self.solve(), 0.0)
        # Frequencies were found by the same counts: only what they cannot explain is compared.
        expected = member @ self.within @ frequencies
        scale = np.sqrt(np.maximum(expected, 1.0 / self.n_new))
        inverse = self._inverse(self.weights)
        rest = (member - member @ self.within @ inverse @ self.weights) / scale[:, None]
        residual = rest @ self.new
        mixture = np.maximum(self.model @ (frequencies / frequencies.sum()), 0.0)
        covariance = _covariance(rest, mixture) / self.n_new
        covariance = covariance + self._class_covariances(rest, frequencies).sum(axis=0)
        return weighted_chi_square_pvalue(float(residual @ residual), covariance)


def _covariance(weights: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the covariance (p, p) of weights (p, m) of a cell that is drawn by shares (m,)."""
    mean = weights @ shares
    covariance: FloatArray = (weights * shares) @ weights.T - np.outer(mean, mean)
    return covariance


def _compare(
    cells: ClassCells, proba: FloatArray, old: FloatArray, start: FloatArray
) -> _Comparison:
    """Return the cells of old and new rows."""
    k, n_cells = cells.counts.shape
    places = cells_of(proba, cells.frequencies)
    n_old, n_new = cells.class_weights, len(proba)
    new = np.bincount(places, minlength=n_cells).astype(np.float64)
    old_weight = cells.counts.sum(axis=0)
    seen = (new > 0.0) | (old_weight > 0.0)

    adapted = proba * (start / old)
    adapted /= adapted.sum(axis=1, keepdims=True)
    of_new = sums_by_cell(adapted, places, n_cells)
    means = cells.proba / np.maximum(old_weight, TINY)
    of_old = means * (start / old)[:, None]
    of_old /= np.maximum(of_old.sum(axis=0), TINY)
    weights = np.where(new > 0.0, of_new / np.maximum(new, 1.0), of_old)[:, seen]

    # Rows of each class by their probabilities, old and new ones.
    model = (of_new + cells.proba)[:, seen] + TINY
    model /= model.sum(axis=1, keepdims=True)
    unseen = SHIFT_LIMITS.get().unseen_count
    within = (cells.counts[:, seen] + unseen * model) / (n_old + unseen)[:, None]
    total = sums_by_cell(proba, places, n_cells) + cells.proba
    return _Comparison(
        new[seen] / n_new,
        within.T,
        model.T,
        weights,
        (total / np.maximum(new + old_weight, TINY))[:, seen],
        _groups(old_weight, n_cells // k)[seen],
        n_new,
        n_old,
    )


def _groups(old_weight: FloatArray, n_bins: int) -> IntArray:
    """Return the group of each cell: intervals of a class are joined until they have rows."""
    limits = SHIFT_LIMITS.get()
    enough = max(limits.min_group_weight, old_weight.sum() / limits.max_cell_groups)
    groups, group = np.empty(len(old_weight), dtype=np.intp), -1
    for start in range(0, len(old_weight), n_bins):
        group, weight, left = group + 1, 0.0, old_weight[start : start + n_bins].sum()
        for cell in range(start, start + n_bins):
            # The last group of a class takes what is too little for another one.
            if weight >= enough and left >= enough:
                group, weight = group + 1, 0.0
            groups[cell] = group
            weight += old_weight[cell]
            left -= old_weight[cell]
    return groups


def add_offsets(proba: FloatArray, offsets: FloatArray) -> FloatArray:
    """Return probabilities (n, k) with offsets (k,) added to their logarithms."""
    moved: FloatArray = np.exp(log_softmax(np.log(np.maximum(proba, TINY)) + offsets, axis=1))
    return moved
