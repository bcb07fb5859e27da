"""Histogram binning: one probability for each bin of scores."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dircal._core.stats.score_sums import sum_by_bin, sum_by_score
from dircal._typing import FloatArray, InputScale
from dircal.calibrators._binary import (
    AbstractBinaryCalibrator,
    AbstractCurveMethod,
    has_many_rows,
    score_steps,
)
from dircal.calibrators._fit import Fit
from dircal.maps import Complement, Lookup
from dircal.tables import LabelledRows, check_integer, check_option

__all__ = ["HistogramCalibrator"]

# Of the experiment on UCI data.
_PAPER_BINS = (5, 10, 15, 20, 25, 30)


@dataclass(frozen=True)
class HistogramDetails:
    """Weight of the calibration set in each bin."""

    bin_counts: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class HistogramMethod(AbstractCurveMethod):
    """Histogram binning as a method."""

    n_bins: int
    strategy: Literal["width", "frequency"]
    edges: Literal["data", "unit"]

    name: ClassVar[str] = "HistogramCalibrator"
    details: ClassVar[type] = HistogramDetails

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        super().check()
        check_integer("n_bins", self.n_bins, at_least=1)
        check_option("strategy", self.strategy, ("width", "frequency"))
        check_option("edges", self.edges, ("data", "unit"))
        if self.edges == "unit" and self.strategy == "frequency":
            raise ValueError(
                "`edges` is 'unit', which says where bins of equal width lie; got it with "
                "strategy='frequency'. Leave `edges` at 'data', or set strategy='width'."
            )
        if self.edges == "unit" and self.input_scale == "logit":
            raise ValueError(
                "`edges` is 'unit', which is for probabilities; got it with input_scale='logit'. "
                "Leave `edges` at 'data'."
            )

    def learn(self, rows: LabelledRows) -> Fit:
        """Find the map of these rows."""
        gathered = not has_many_rows(rows)
        inner, counts, hits = self._bins_of_rows(rows) if gathered else self._bins_of_sums(rows)
        table = Lookup(inner, (hits + 1.0) / (counts + 2.0))
        steps = (*score_steps(self.input_scale), table, Complement())
        return Fit.from_steps(rows, self.input_scale, steps, details=HistogramDetails(counts))

    def _bins_of_rows(self, data: LabelledRows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Inner edges of the bins, the weight in each, and that of the positive class."""
        rows = self.gather(data)
        scores, weight = rows.scores, rows.weight
        if self.strategy == "frequency":
            edges = _frequency_edges(scores, weight, self.n_bins)
        else:
            edges = self._width_edges(scores.min(), scores.max())
        inner = edges[1:-1]
        # Of equal edges the last counts, as in the map.
        bins = np.searchsorted(inner, scores, side="right")
        n_bins = len(inner) + 1
        counts = np.bincount(bins, weight, minlength=n_bins).astype(np.float64)
        ones = rows.labels > 0
        hits = np.bincount(bins[ones], None if weight is None else weight[ones], minlength=n_bins)
        return inner, counts, hits.astype(np.float64)

    def _bins_of_sums(self, data: LabelledRows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The same without holding the rows."""
        source = self.source(data)
        if self.strategy == "frequency":
            cells = sum_by_score(source, self.input_scale)
            edges = _frequency_edges(cells.low, cells.weight, self.n_bins)
        else:
            edges = self._width_edges(*source.span)
        counts, hits = sum_by_bin(source, edges[1:-1])
        return edges[1:-1], counts, hits

    def _width_edges(self, low: float, high: float) -> FloatArray:
        low, high = (0.0, 1.0) if self.edges == "unit" else (low, high)
        return np.linspace(low, high, self.n_bins + 1)

    def paper_grid(self, name: str, n_classes: int) -> list[dict[str, Any]] | None:
        """Return the numbers of bins of the experiment on UCI data."""
        del n_classes
        return [{"n_bins": n_bins} for n_bins in _PAPER_BINS] if name == "paper_uci" else None

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless every bin has a count."""
        if fit.details.bin_counts.shape != fit.step(Lookup).values.shape:
            raise ValueError("`bin_counts_` must have a count for each bin")


class HistogramCalibrator(AbstractBinaryCalibrator):
    r"""Histogram binning of two classes: one probability for each bin of scores.

    Parameters
    ----------
    n_bins : int, default=10
        Number of bins; with ``strategy="frequency"`` at most so many.
    strategy : {"width", "frequency"}, default="width"
        Bins of equal width, or of equal numbers of fitting rows.
    edges : {"data", "unit"}, default="data"
        Where bins of equal width lie: between the smallest and the largest fitting score, or
        between 0 and 1. "unit" is for probabilities, and for ``strategy="width"`` only.
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds: probabilities, or logits (in one column: log-odds). Of logits the log-odds
        are put into bins.
    classes : sequence, optional
        Label of each column of `X`, in any order; for a single column both labels, the one it
        speaks of last. Needed where the labels in `y` do not tell: columns in another order than
        sorted labels, or a class that `y` lacks.

    Attributes
    ----------
    bin_edges_ : array of shape (n_edges,)
        Edges, from minus to plus infinity; a bin holds its left edge. Of equal edges the last
        counts, and the bins before it are never hit.
    bin_counts_ : array of shape (n_edges - 1,)
        Weight of the fitting rows in each bin.
    bin_proba_ : array of shape (n_edges - 1,)
        Probability of the positive class in each bin.
    classes_ : array of shape (2,)
        Labels, sorted.
    column_classes_ : array of shape (2,)
        Label of each column of `X`; of a single column, the label it does not speak of comes first.
    map_ : CalibrationMap
        The fitted map as a value: steps from columns to probabilities. It can be called, compared,
        pickled and printed.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    OneVsRestCalibrator : Makes a calibrator of more than two classes of this one.
    IsotonicCalibrator : Chooses its steps by the labels, and never falls.

    Notes
    -----
    A row whose score lies in bin b gets

    .. math:: \frac{N_b^+ + 1}{N_b + 2}

    for the positive class, the second of the labels, where :math:`N_b` is the weight of the fitting
    rows in the bin and :math:`N_b^+` that of the positive ones among them: the rule of succession.
    An empty bin gets one half. The score is the probability of the positive class, or its log-odds.

    Bins of equal width divide the range of the fitting scores, or the unit interval, into
    ``n_bins`` parts; the outer edges are then opened to infinity. For bins of equal frequency the
    n scores are sorted, and every :math:`\lceil n / m \rceil`-th of them is a left edge, m being
    ``n_bins``. Weights count like so many copies of a row; where they are not whole numbers, a left
    edge comes after every n/m of the weight.

    Beyond ten million rows, and of tables that are read in parts (`scan`), the fit keeps sums
    instead of rows. Bins of equal width are the same. So are those of equal frequency with up to
    :math:`2^{20}` distinct scores; with more, edges are rounded down to the lowest of the scores
    that agree in their leading binary digits, which moves no more than a millionth of the weight or
    so into the next bin.

    When not to use it: all scores of a bin get the same probability, so rows within it can no
    longer be ranked, and the map jumps at the edges.

    References
    ----------
    Zadrozny, B. and Elkan, C. (2001). Obtaining calibrated probability estimates from decision
    trees and naive Bayesian classifiers. ICML.

    Examples
    --------
    >>> from dircal import HistogramCalibrator
    >>> p = [0.0, 0.1, 0.2, 0.7, 0.8, 1.0]
    >>> calibrator = HistogramCalibrator(n_bins=2).fit(p, [0, 0, 1, 1, 0, 1])
    >>> calibrator.bin_proba_
    array([0.4, 0.6])
    >>> calibrator.predict_proba([0.3])
    array([[0.6, 0.4]])
    """

    bin_counts_: FloatArray

    method_class: ClassVar = HistogramMethod

    def __init__(
        self,
        *,
        n_bins: int = 10,
        strategy: Literal["width", "frequency"] = "width",
        edges: Literal["data", "unit"] = "data",
        input_scale: InputScale = "probability",
        classes: Iterable[Any] | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.edges = edges
        self.input_scale = input_scale
        self.classes = classes

    @property
    def bin_edges_(self) -> FloatArray:
        """Edges of the bins, from minus to plus infinity."""
        return np.concatenate([[-np.inf], self.fit_.step(Lookup).edges, [np.inf]])

    @property
    def bin_proba_(self) -> FloatArray:
        """Probability of the positive class in each bin."""
        return self.fit_.step(Lookup).values


def _frequency_edges(scores: FloatArray, weight: FloatArray | None, n_bins: int) -> FloatArray:
    """Left edges so many rows apart, and one more to close the last bin."""
    if weight is None:
        step = -(-len(scores) // n_bins)
        return np.append(np.sort(scores)[::step], np.inf)
    order = np.argsort(scores)
    reached = np.cumsum(weight[order])
    total = reached[-1]
    whole = (weight == np.floor(weight)).all()
    apart = np.ceil(total / n_bins) if whole else total / n_bins
    # The row at a place is the first that the running sum of the weights has gone beyond.
    places = np.searchsorted(reached, np.arange(0.0, total, apart)[:n_bins], side="right")
    return np.append(scores[order][places.clip(max=len(scores) - 1)], np.inf)
