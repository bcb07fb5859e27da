"""Whether labels fit far better to another order of the columns of the scores.

A permutation of columns is a map pi from labels to columns. It is chosen by what the columns say of
the rows of each label, and judged on rows that it was not chosen on, by how many of them it turns
from wrong to right and from right to wrong (McNemar's test). So neither the many permutations there
are, nor rows that are too sure, nor a classifier that prefers some column raises a false alarm.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import betainc

from dircal._core.data.chunks import row_slices
from dircal._core.stats.limits import ORDER_LIMITS
from dircal._typing import AnyFloatArray, FloatArray, IntArray

__all__ = ["BetterOrder", "better_order"]


@dataclass(frozen=True)
class BetterOrder:
    """Another order of columns that the labels fit far better.

    ``columns`` (k,) has the column of each label, where labels are numbered by the columns that
    they were taken for. ``accuracy`` is that of the order as given, ``better_accuracy`` that of
    orders found on other rows than it is measured on.
    """

    columns: IntArray
    accuracy: float
    better_accuracy: float


def better_order(
    read: Callable[[slice], npt.NDArray[np.generic]],
    own: IntArray,
    n_columns: int,
    *,
    is_probability: bool,
) -> BetterOrder | None:
    """The order of columns that labels fit far better than the given one; None without doubt.

    ``read`` gives a slice of the rows (n, k); ``own`` (n,) is the column of the label of each row,
    negative for rows that are left out.
    """
    limits = ORDER_LIMITS.get()
    if len(own) < limits.min_rows:
        return None
    enough = max(limits.max_numbers // n_columns, limits.min_label_rows * n_columns)
    step = -(-len(own) // enough)
    predicted = np.concatenate([*_best_columns(read, (len(own), n_columns), step)])
    thinned = own[::step]
    seen = np.flatnonzero(thinned >= 0)
    labels, predicted = thinned[seen], predicted[seen]
    doubtful = _labels_in_doubt(labels, predicted, n_columns)
    if not 2 <= len(doubtful) <= limits.max_labels:
        return None
    place = np.full(n_columns, -1)
    place[doubtful] = np.arange(len(doubtful))
    chosen = np.flatnonzero(place[labels] >= 0)
    chosen = chosen[:: -(-len(chosen) * len(doubtful) // limits.max_kept)]
    rows = step * seen[chosen]
    trial = _Trial(
        _scores(read, rows, doubtful, is_probability),
        place[labels[chosen]],
        place[predicted[chosen]],
    )
    moved = trial.supported(trial.assign(np.ones(len(chosen), dtype=bool))[0])
    n_moved = int((moved != np.arange(len(doubtful))).sum())
    if n_moved == 0:
        return None
    few = 2 * n_moved < len(np.unique(labels))
    turned = trial.turned_out_of_fold(few=few)
    if turned is None:
        return None
    columns = np.arange(n_columns)
    columns[doubtful] = doubtful[moved]
    right = float((labels == predicted).mean())
    gain = turned * len(labels[place[labels] >= 0]) / len(chosen) / len(labels)
    return BetterOrder(columns, right, right + gain)


def _best_columns(
    read: Callable[[slice], npt.NDArray[np.generic]], shape: tuple[int, int], step: int
) -> Iterator[IntArray]:
    """Column of the largest score, of every so many rows."""
    for part in row_slices(shape):
        first = -(-part.start // step) * step
        if first < part.stop:
            yield read(slice(first, part.stop, step)).argmax(axis=1)


def _labels_in_doubt(labels: IntArray, predicted: IntArray, n_columns: int) -> IntArray:
    """Labels whose rows do not clearly prefer their own column; none where nothing can be gained.

    Labels stay in doubt as long as half as many of their rows prefer some other column as prefer
    their own: those where the other column happened to win would be no fair choice for a test.
    """
    limits = ORDER_LIMITS.get()
    wrong = labels != predicted
    if wrong.sum() < limits.min_rows:
        return np.empty(0, dtype=np.intp)
    own = np.bincount(labels[~wrong], minlength=n_columns)
    # The rows that are predicted wrongly are few, as a rule, and so are their pairs of columns.
    pairs = labels[wrong], predicted[wrong]
    counts = sparse.csr_array((np.ones(len(pairs[0])), pairs), shape=(n_columns, n_columns))
    others = counts.max(axis=1).toarray().ravel()
    if np.maximum(others - own, 0.0).sum() < limits.min_rows:
        return np.empty(0, dtype=np.intp)
    doubtful: IntArray = np.flatnonzero((others > 0) & (2.0 * others >= own))
    return doubtful


def _scores(
    read: Callable[[slice], npt.NDArray[np.generic]],
    rows: IntArray,
    columns: IntArray,
    is_probability: bool,
) -> AnyFloatArray:
    """Log-probabilities (m, c) of some rows and columns, less that of the row's best column."""
    scores = np.empty((len(rows), len(columns)), dtype=np.float32)
    for part in row_slices((len(rows), len(columns))):
        picked = rows[part]
        start = int(picked[0])
        block = read(slice(start, int(picked[-1]) + 1))[picked - start].astype(np.float64)
        if is_probability:
            with np.errstate(divide="ignore"):
                np.log(block, out=block)
        best = block.max(axis=1, keepdims=True)
        # No probability at all: no column is better than another.
        best[~np.isfinite(best)] = 0.0
        scores[part] = np.maximum(block[:, columns] - best, -ORDER_LIMITS.get().max_depth)
    return scores


@dataclass(frozen=True)
class _Trial:
    """Rows of labels in doubt: scores (m, c), labels (m,), and the best columns (m,) or -1."""

    scores: AnyFloatArray
    labels: IntArray
    predicted: IntArray

    @property
    def n_labels(self) -> int:
        """Number of labels in doubt, and of their columns."""
        return int(self.scores.shape[1])

    def assign(self, rows: npt.NDArray[np.bool_]) -> tuple[IntArray, FloatArray]:
        """Column of each label by the likelihood of some rows, and the preference for each column.

        The mean score of a column over labels, each counted once, is taken off it: what all labels
        have in common is a preference of the classifier and tells nothing about the order.
        """
        c = self.n_labels
        members = np.flatnonzero(rows)
        one_hot = sparse.csr_array(
            (np.ones(len(members)), (self.labels[members], np.arange(len(members)))),
            shape=(c, len(members)),
        )
        sums = one_hot @ self.scores[members].astype(np.float64)
        counts = np.bincount(self.labels[members], minlength=c)
        there = counts > 0
        preference: FloatArray = (sums[there] / counts[there, None]).mean(axis=0)
        gains = sums - counts[:, None] * preference
        # Of equals, and for labels without a row, the order stays as it is.
        gains[np.diag_indices(c)] += 1e-9 * max(1.0, float(np.abs(gains).max()))
        return linear_sum_assignment(gains, maximize=True)[1], preference

    def turned_out_of_fold(self, *, few: bool) -> int | None:
        """Rows turned right less rows turned wrong, by orders of other rows; None if not clear."""
        limits = ORDER_LIMITS.get()
        right, wrong = np.zeros((2, self.n_labels), dtype=np.intp)
        gains = []
        fold = _rank_within_labels(self.labels, self.n_labels) % limits.n_folds
        for i in range(min(limits.n_folds, int(fold.max()) + 1)):
            held_out = fold == i
            if held_out.all():
                return None
            moved, preference = self.assign(~held_out)
            rows = np.flatnonzero(held_out & (moved[self.labels] != self.labels))
            old, new = self.labels[rows], moved[self.labels[rows]]
            right += self._count(rows[self.predicted[rows] == new])
            wrong += self._count(rows[self.predicted[rows] == old])
            better = self.scores[rows, new] - preference[new]
            gains.append(better - self.scores[rows, old] + preference[old])
        # A label alone cannot change its column: others have to speak for it, too.
        others = np.arange(self.n_labels) != (right - wrong).argmax()
        gain = np.concatenate(gains)
        ratio = limits.min_ratio_of_few if few else limits.min_ratio
        confused = few and not _by_chance(right.sum(), wrong.sum(), limits.confusion_ratio) < (
            limits.confusion_level
        )
        clear = (
            not confused
            and _speaks(right.sum(), wrong.sum(), limits.level, ratio)
            and _speaks(right[others].sum(), wrong[others].sum(), limits.part_level, ratio)
            and gain.mean() > limits.min_standard_errors * gain.std() / np.sqrt(len(gain))
        )
        return int(right.sum() - wrong.sum()) if clear else None

    def _count(self, rows: IntArray) -> IntArray:
        """Number of these rows of each label."""
        return np.bincount(self.labels[rows], minlength=self.n_labels)

    def supported(self, moved: IntArray) -> IntArray:
        """The permutation without cycles that their own rows do not speak for."""
        limits = ORDER_LIMITS.get()
        kept = np.arange(self.n_labels)
        # A permutation's cycles are the connected components of its graph.
        graph = sparse.csr_array((np.ones(len(moved)), (kept, moved)), shape=(len(moved),) * 2)
        _, cycle = sparse.csgraph.connected_components(graph, directed=False)
        new = moved[self.labels]
        moves = new != self.labels
        right = self._count(np.flatnonzero(moves & (self.predicted == new)))
        wrong = self._count(np.flatnonzero(moves & (self.predicted == self.labels)))
        speaks = _speaks(
            np.bincount(cycle, right),
            np.bincount(cycle, wrong),
            limits.part_level,
            limits.min_ratio,
        )
        return np.where(speaks[cycle], moved, kept)


def _rank_within_labels(labels: IntArray, n_labels: int) -> IntArray:
    """How many rows of its label come before each row."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(n_labels))
    ranks = np.empty(len(labels), dtype=np.intp)
    ranks[order] = np.arange(len(labels)) - starts[labels[order]]
    return ranks


def _speaks(
    right: npt.ArrayLike, wrong: npt.ArrayLike, level: float, ratio: float
) -> npt.NDArray[np.bool_]:
    """Whether rows turned right are ``ratio`` times those turned wrong, and not by chance."""
    enough = np.asarray(right) >= ratio * np.asarray(wrong)
    return enough & (_by_chance(right, wrong, 1.0) < level)


def _by_chance(right: npt.ArrayLike, wrong: npt.ArrayLike, ratio: float) -> FloatArray:
    """How often so many rows or more are turned right, if these are ``ratio`` times as likely."""
    right, wrong = np.asarray(right), np.asarray(wrong)
    # The upper tail of the binomial distribution.
    tail = betainc(np.maximum(right, 1), wrong + 1, ratio / (1.0 + ratio))
    return np.where(right > 0, tail, 1.0)
