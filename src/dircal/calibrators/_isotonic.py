"""Isotonic calibration: the best map that never falls."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dircal._core.stats.isotonic import fit_isotonic
from dircal._typing import FloatArray, InputScale, IntArray
from dircal.calibrators._binary_base import AbstractScoreCalibrator

__all__ = ["IsotonicCalibrator"]


class IsotonicCalibrator(AbstractScoreCalibrator):
    r"""Isotonic calibration of two classes: the best of all maps that never fall.

    Parameters
    ----------
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds: probabilities, or logits (in one column: log-odds). Of logits the log-odds
        are read as they are, which tells scores apart whose probabilities both round to 1.
    classes : sequence, optional
        Label of each column of `X`, in any order; for a single column both labels, the one it
        speaks of last. Needed where the labels in `y` do not tell: columns in another order than
        sorted labels, or a class that `y` lacks.

    Attributes
    ----------
    knots_ : array of shape (n_knots,)
        Scores where the map is known, increasing: the ends of its steps.
    values_ : array of shape (n_knots,)
        Probability of the positive class there, never falling.
    classes_ : array of shape (2,)
        Labels, sorted.
    column_classes_ : array of shape (2,)
        Label of each column of `X`; of a single column, the label it does not speak of comes first.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    OneVsRestCalibrator : Makes a calibrator of more than two classes of this one.
    HistogramCalibrator : Steps at places that do not depend on the labels.
    BetaCalibrator : Three numbers instead of a curve.

    Notes
    -----
    The map is the m that minimises

    .. math:: \sum_i v_i (y_i - m(s_i))^2 \quad \text{with } m \text{ nowhere falling,}

    where :math:`s_i` is the score of row i (its probability of the positive class, the second of
    the labels, or its log-odds), :math:`y_i` is 1 for that class and 0 for the other, and
    :math:`v_i` is the weight. It has the smallest log-loss of all such maps as well. Scores that
    are exactly equal share one value, and no others do. Between the scores of the fitting rows the
    map is a straight line, beyond them it stays where it ended.

    When not to use it: with fewer than some hundred rows, where steps follow the noise. The lowest
    and the highest step are often exactly 0 and 1, and one row that lands there with the other
    label has an infinite log-loss.

    References
    ----------
    Zadrozny, B. and Elkan, C. (2002). Transforming classifier scores into accurate multiclass
    probability estimates. KDD.

    Examples
    --------
    >>> from dircal import IsotonicCalibrator
    >>> p = [0.1, 0.3, 0.4, 0.6, 0.8, 0.9]
    >>> calibrator = IsotonicCalibrator().fit(p, [0, 1, 0, 0, 1, 1])
    >>> calibrator.predict_proba([0.4, 0.7])[:, 1].round(3)
    array([0.333, 0.667])
    """

    knots_: FloatArray
    values_: FloatArray

    def __init__(
        self, *, input_scale: InputScale = "probability", classes: Iterable[Any] | None = None
    ) -> None:
        self.input_scale = input_scale
        self.classes = classes

    def _check_parameters(self) -> None:
        """There is nothing more to check."""

    def _find_from_scores(
        self, scores: FloatArray, labels: IntArray, weight: FloatArray | None
    ) -> dict[str, Any]:
        fit = fit_isotonic(scores, labels, weight)
        scores, values = fit.scores, fit.values
        # Inside a step the line is flat: its ends are enough.
        changes = values[1:] != values[:-1]
        kept = np.r_[True, changes] | np.r_[changes, True]
        return {"knots_": scores[kept], "values_": values[kept]}

    def _positive_proba(self, scores: FloatArray) -> FloatArray:
        knots, values = self.knots_, self.values_
        if len(knots) == 1:
            return np.full_like(scores, values[0])
        right = np.searchsorted(knots, scores).clip(1, len(knots) - 1)
        left = right - 1
        low, high, start, end = knots[left], knots[right], values[left], values[right]
        # Shares of a gap rather than slopes: between subnormal numbers a slope overflows.
        share = (np.clip(scores, low, high) - low) / (high - low)
        proba: FloatArray = np.minimum(start + share * (end - start), end)
        return proba
