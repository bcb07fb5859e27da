"""Tables of bins from predictions: what every binned measure and picture starts from."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import row_slices
from dircal._core.data.losses import confidence_and_hits
from dircal._core.stats.bins import Bins, BinTable, equal_mass, equal_width, paper_table, tabulate
from dircal._typing import ArrayLike, FloatArray, IntArray
from dircal.metrics._base import Predictions, read_predictions
from dircal.validation import check_confidence, check_integer, check_option

__all__ = [
    "Binning",
    "Curves",
    "Over",
    "Strategy",
    "class_bins",
    "class_curves",
    "confidence_bins",
    "confidence_bins_from_confidence",
    "confidence_curves",
    "curve_of_class",
    "curves_of_confidence",
    "curves_over",
    "make_bins",
    "pooled_curves",
    "tabulate_all",
]

Strategy: TypeAlias = Literal["width", "mass"]
Binning: TypeAlias = Literal["right_closed", "paper_table"]
Over: TypeAlias = Literal["confidence", "classes"]


@dataclass(frozen=True)
class Curves:
    """Some rows of some curves: what was predicted (c, m), where it happened, weights (m,)."""

    values: FloatArray
    happened: tuple[IntArray, IntArray]
    weight: FloatArray | None

    @property
    def residuals(self) -> FloatArray:
        """One where it happened, less what was predicted (c, m)."""
        residuals: FloatArray = -self.values
        residuals[self.happened] += 1.0
        return residuals


def confidence_bins(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> BinTable:
    """Rows by their largest probability: how sure the classifier was, and how often right.

    Parameters
    ----------
    y_true : array-like (n,)
        True labels.
    y_prob : array-like (n, k)
        Probability of each class.
    sample_weight : array-like (n,), optional
        Weight of each row.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order.
    n_bins : int, default=15
        Number of bins.
    strategy : {"width", "mass"}, default="width"
        Bins of equal width, or with equally many rows.
    binning : {"right_closed", "paper_table"}, default="right_closed"
        The end that belongs to a bin; "paper_table" is explained in `classwise_ece`.

    Returns
    -------
    BinTable
        With one curve. Tables of parts of the rows add up: ``sum(tables)``.

    Examples
    --------
    >>> from dircal.metrics import confidence_bins
    >>> table = confidence_bins([0, 1, 1], [[0.9, 0.1], [0.4, 0.6], [0.6, 0.4]], n_bins=2)
    >>> table.count
    array([[0., 3.]])
    >>> table.observed
    array([[0., 2.]])
    """
    predictions = read_predictions(y_true, y_prob, sample_weight, classes)
    return tabulate_all(
        lambda: confidence_curves(predictions),
        predictions.data.inputs.dtype,
        n_bins,
        strategy,
        binning,
    )


def confidence_bins_from_confidence(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> BinTable:
    """`confidence_bins` where only the largest probability of each row is known.

    Parameters
    ----------
    correct : array-like (n,)
        Whether the most probable class was the true one.
    confidence : array-like (n,)
        Its probability.
    sample_weight : array-like (n,), optional
        Weight of each row.
    n_bins : int, default=15
        Number of bins.
    strategy : {"width", "mass"}, default="width"
        Bins of equal width, or with equally many rows.
    binning : {"right_closed", "paper_table"}, default="right_closed"
        The end that belongs to a bin; "paper_table" is explained in `classwise_ece`.

    Returns
    -------
    BinTable
        With one curve.

    Examples
    --------
    >>> from dircal.metrics import confidence_bins_from_confidence
    >>> confidence_bins_from_confidence([True, False, True], [0.9, 0.6, 0.6], n_bins=2).frequency
    array([[       nan, 0.66666667]])
    """
    values, right, weight = check_confidence(correct, confidence, sample_weight)
    return tabulate_all(
        lambda: curves_of_confidence(values, right, weight),
        values.dtype,
        n_bins,
        strategy,
        binning,
    )


def class_bins(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> BinTable:
    """Rows by the probability of each class: what was predicted, and how often it happened.

    Parameters
    ----------
    y_true : array-like (n,)
        True labels.
    y_prob : array-like (n, k)
        Probability of each class.
    sample_weight : array-like (n,), optional
        Weight of each row.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order.
    n_bins : int, default=15
        Number of bins.
    strategy : {"width", "mass"}, default="width"
        Bins of equal width, or with equally many rows.
    binning : {"right_closed", "paper_table"}, default="right_closed"
        The end that belongs to a bin; "paper_table" is explained in `classwise_ece`.

    Returns
    -------
    BinTable
        With a curve for each class, in the sorted order of the labels. Tables of parts of the
        rows add up: ``sum(tables)``.

    Examples
    --------
    A file too large for memory is read in parts; bins of equal width are the same in each:

    >>> from dircal.metrics import class_bins
    >>> parts = [([0, 1], [[0.9, 0.1], [0.4, 0.6]]), ([1, 1], [[0.6, 0.4], [0.2, 0.8]])]
    >>> table = sum(class_bins(y, p, classes=[0, 1]) for y, p in parts)
    >>> table.calibration_errors.round(3).tolist()
    [0.325, 0.325]
    """
    predictions = read_predictions(y_true, y_prob, sample_weight, classes)
    return tabulate_all(
        lambda: class_curves(predictions),
        predictions.data.inputs.dtype,
        n_bins,
        strategy,
        binning,
    )


def confidence_curves(predictions: Predictions) -> Iterator[Curves]:
    """One curve: the largest probability, which happened where its class was the label."""
    for block in predictions:
        confidence, hit = confidence_and_hits(block.proba, block.labels)
        yield _single(confidence, np.flatnonzero(hit), block.weight)


def curves_of_confidence(
    values: npt.NDArray[Any], right: npt.NDArray[np.bool_], weight: FloatArray | None
) -> Iterator[Curves]:
    """One curve, from the largest probabilities."""
    for part in row_slices((len(values), 1)):
        confidence, hit = np.minimum(values[part].astype(np.float64), 1.0), right[part]
        kept = None if weight is None else weight[part]
        if kept is not None and not kept.all():
            confidence, hit, kept = confidence[kept > 0], hit[kept > 0], kept[kept > 0]
        yield _single(confidence, np.flatnonzero(hit), kept)


def class_curves(predictions: Predictions) -> Iterator[Curves]:
    """A curve for each class: its probability, which happened where it was the label."""
    for block in predictions:
        rows = np.arange(len(block.labels))
        yield Curves(block.proba, (block.labels, rows), block.weight)


def curve_of_class(predictions: Predictions, j: int) -> Iterator[Curves]:
    """The curve of class j alone."""
    for block in predictions:
        yield _single(block.proba[j], np.flatnonzero(block.labels == j), block.weight)


def curves_over(
    predictions: Predictions, over: Over, label: object
) -> Callable[[], Iterator[Curves]]:
    """The curve of the confidence, those of all classes, or that of one class."""
    check_option("over", over, ("confidence", "classes"))
    if label is None:
        curves = confidence_curves if over == "confidence" else class_curves
        return lambda: curves(predictions)
    if over == "confidence":
        raise ValueError(
            f"`label` is {label!r}, but `over` is 'confidence', which looks at whatever class is "
            "most probable. Pass `over='classes'` to look at one class."
        )
    position = predictions.position(label)
    return lambda: curve_of_class(predictions, position)


def pooled_curves(predictions: Predictions) -> Iterator[Curves]:
    """One curve of the probabilities of all classes."""
    for block in predictions:
        k, m = block.proba.shape
        happened = block.labels.astype(np.intp) * m + np.arange(m)
        weight = None if block.weight is None else np.tile(block.weight, k)
        yield _single(block.proba.ravel(), happened, weight)


def _single(values: FloatArray, happened: IntArray, weight: FloatArray | None) -> Curves:
    return Curves(values[None], (np.zeros_like(happened), happened), weight)


def tabulate_all(
    curves: Callable[[], Iterator[Curves]],
    dtype: np.dtype[Any],
    n_bins: int,
    strategy: Strategy,
    binning: Binning,
) -> BinTable:
    """The table of all rows, in one pass, or in two where the rows decide the bins."""
    bins = make_bins(curves, dtype, n_bins, strategy, binning)
    tables = (tabulate(bins, part.values, part.happened, part.weight) for part in curves())
    return reduce(add, tables)


def make_bins(
    curves: Callable[[], Iterator[Curves]],
    dtype: np.dtype[Any],
    n_bins: int,
    strategy: Strategy,
    binning: Binning,
) -> Bins:
    """The bins that the options of a measure ask for."""
    check_integer("n_bins", n_bins, at_least=1)
    check_option("strategy", strategy, ("width", "mass"))
    check_option("binning", binning, ("right_closed", "paper_table"))
    if strategy == "width":
        return equal_width(n_bins, dtype) if binning == "right_closed" else paper_table(n_bins)
    if binning == "paper_table":
        raise ValueError(
            "`binning` is 'paper_table', which are bins of equal width, but `strategy` is 'mass'. "
            "Pass `binning='right_closed'` for bins of equal mass."
        )
    parts = list(curves())
    weights = [part.weight for part in parts if part.weight is not None]
    values = np.concatenate([part.values for part in parts], axis=1)
    return equal_mass(values, np.concatenate(weights) if weights else None, n_bins)
