"""Platt scaling: one slope and an intercept, with smoothed targets."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Solution
from dircal._core.optim.two_class import fit_logistic, soft_target_gradient
from dircal._typing import FloatArray, InputScale
from dircal.calibrators._fit import Fit
from dircal.calibrators._logistic_fit import AbstractLogisticCalibrator, AbstractLogisticMethod
from dircal.calibrators._solver_options import Clip
from dircal.maps import AbstractStep, Diagonal, LogOdds

__all__ = ["PlattCalibrator"]


@dataclass(frozen=True, eq=False, kw_only=True)
class PlattMethod(AbstractLogisticMethod):
    """Platt scaling as a method."""

    name: ClassVar[str] = "PlattCalibrator"
    remedy: ClassVar[str] = "Check the units of `X`."

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless the map has one slope."""
        if fit.step(Diagonal).slopes.shape != (1,):
            raise ValueError("Platt scaling needs one slope")

    def solve(self, rows: Rows, slope: float) -> tuple[tuple[AbstractStep, ...], Solution]:
        """Find slope and intercept, with smoothed targets."""
        n_positive = rows.total_weight * float(rows.source.survey.class_weights[1])
        n_negative = max(rows.total_weight - n_positive, 0.0)
        tilt = soft_target_gradient(
            rows,
            _features,
            positive=(n_positive + 1.0) / (n_positive + 2.0),
            negative=1.0 / (n_negative + 2.0),
        )
        start = np.array([slope, 0.0])
        found = fit_logistic(
            rows, _features, start, tilt=tilt, tol=self.tol, max_iter=self.max_iter
        )
        return (LogOdds(), Diagonal(found.params[:1], found.params[1:])), found


class PlattCalibrator(AbstractLogisticCalibrator):
    r"""Platt scaling of two classes: a slope and an intercept for the log-odds.

    Parameters
    ----------
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds: probabilities, or logits (in one column: log-odds, or the decision values
        of a support vector machine).
    classes : sequence, optional
        Label of each column of `X`, in any order; for a single column both labels, the one it
        speaks of last. Needed where the labels in `y` do not tell: columns in another order than
        sorted labels, or a class that `y` lacks.
    clip : "learned" or float, default="learned"
        Floor of probabilities before the logarithm. A number sets it; "learned" chooses it on the
        fitting rows, for probabilities only: logits have no zeros.
    max_iter : int, default=100
        Largest number of Newton steps.
    tol : float, default=1e-12
        The fit has converged when the predicted decrease of the next Newton step is less.

    Attributes
    ----------
    slope_ : float
        The slope A.
    intercept_ : float
        The intercept B.
    clip_ : float
        The floor in use; 0 where there is none.
    classes_ : array of shape (2,)
        Labels, sorted.
    column_classes_ : array of shape (2,)
        Label of each column of `X`; of a single column, the label it does not speak of comes first.
    n_iter_ : int
        Newton steps taken.
    history_ : tuple of Iteration
        Of each Newton step the objective before it, the decrease that was predicted, the part of
        the step that was taken, and the passes over the rows until then.
    map_ : CalibrationMap
        The fitted map as a value: steps from columns to probabilities. It can be called, compared,
        pickled and printed.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    OneVsRestCalibrator : Makes a calibrator of more than two classes of this one.
    BetaCalibrator : A slope for each side of the scale.
    TemperatureScaling : One slope, no intercept, any number of classes.

    Notes
    -----
    The probability of the positive class, the second of the labels, becomes

    .. math:: \frac{1}{1 + e^{-(A s + B)}},

    where :math:`s = \ln p - \ln(1 - p)` are its log-odds. The fit minimises the mean log-loss with
    targets :math:`(N_+ + 1) / (N_+ + 2)` for the :math:`N_+` positive rows and
    :math:`1 / (N_- + 2)` for the :math:`N_-` negative ones, counted by weight. No target is 0 or 1,
    so the optimum is finite, also for classes that a threshold separates or a class that is absent.

    When not to use it: where one side of the scale is wrong and the other is not, which takes two
    slopes, or where the curve has steps.

    References
    ----------
    Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods. Advances in Large Margin Classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import PlattCalibrator
    >>> rng = np.random.default_rng(0)
    >>> decision = rng.normal(scale=3.0, size=20_000)
    >>> y = rng.random(20_000) < 1 / (1 + np.exp(-0.5 * decision - 1))
    >>> calibrator = PlattCalibrator(input_scale="logit").fit(decision, y)
    >>> round(calibrator.slope_, 1), round(calibrator.intercept_, 1)
    (0.5, 1.0)
    """

    method_class: ClassVar = PlattMethod

    def __init__(
        self,
        *,
        input_scale: InputScale = "probability",
        classes: Iterable[Any] | None = None,
        clip: Clip = "learned",
        max_iter: int = 100,
        tol: float = 1e-12,
    ) -> None:
        self.input_scale = input_scale
        self.classes = classes
        self.clip = clip
        self.max_iter = max_iter
        self.tol = tol

    @property
    def slope_(self) -> float:
        """The slope A."""
        return float(self.fit_.step(Diagonal).slopes[0])

    @property
    def intercept_(self) -> float:
        """The intercept B."""
        return float(self.fit_.step(Diagonal).intercepts[0])


def _features(scores: FloatArray) -> FloatArray:
    """Log-odds and 1."""
    features = np.ones_like(scores)
    np.subtract(scores[1], scores[0], out=features[0])
    return features
