"""Isotonic calibration: the best map that never falls."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dircal._core.stats.isotonic import fit_isotonic
from dircal._core.stats.score_sums import isotonic_curve, sum_by_score
from dircal._typing import FloatArray, InputScale
from dircal.calibrators._binary import (
    AbstractBinaryCalibrator,
    AbstractCurveMethod,
    has_many_rows,
    score_steps,
)
from dircal.calibrators._fit import Fit
from dircal.maps import Complement, Interpolation
from dircal.tables import LabelledRows

__all__ = ["IsotonicCalibrator"]


@dataclass(frozen=True, eq=False, kw_only=True)
class IsotonicMethod(AbstractCurveMethod):
    """Isotonic calibration as a method."""

    name: ClassVar[str] = "IsotonicCalibrator"

    def learn(self, rows: LabelledRows) -> Fit:
        """Find the map of these rows."""
        if has_many_rows(rows):
            scores, values = isotonic_curve(sum_by_score(self.source(rows), self.input_scale))
        else:
            alone = self.gather(rows)
            fit = fit_isotonic(alone.scores, alone.labels, alone.weight)
            scores, values = fit.scores, fit.values
        # Inside a step the line is flat: its ends are enough.
        changes = values[1:] != values[:-1]
        kept = np.r_[True, changes] | np.r_[changes, True]
        curve = Interpolation(scores[kept], values[kept])
        steps = (*score_steps(self.input_scale), curve, Complement())
        return Fit.from_steps(rows, self.input_scale, steps)

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless the map is a curve."""
        fit.step(Interpolation)


class IsotonicCalibrator(AbstractBinaryCalibrator):
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
    map_ : CalibrationMap
        The fitted map as a value: steps from columns to probabilities. It can be called, compared,
        pickled and printed.
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
    are exactly equal share one value, and no others do but those told below. Between the scores of
    the fitting rows the map is a straight line, beyond them it stays where it ended.

    Beyond ten million rows, and of tables that are read in parts (`scan`), the fit keeps sums
    instead of rows, which takes 250 MB however many there are. It is the same where they have up to
    :math:`2^{20}` distinct scores. With more, scores that agree in their leading binary digits (of
    1 - p above one half) share a value, with as many digits as make at most :math:`2^{20}` groups.
    The Brier score on the rows of the fit is then within 0.5 % of the least there is; we saw
    differences of some millionths.

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

    method_class: ClassVar = IsotonicMethod

    def __init__(
        self, *, input_scale: InputScale = "probability", classes: Iterable[Any] | None = None
    ) -> None:
        self.input_scale = input_scale
        self.classes = classes

    @property
    def knots_(self) -> FloatArray:
        """Scores at which the curve changes its slope."""
        return self.fit_.step(Interpolation).knots

    @property
    def values_(self) -> FloatArray:
        """Probabilities there."""
        return self.fit_.step(Interpolation).values
