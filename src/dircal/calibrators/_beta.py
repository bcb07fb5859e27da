"""Beta calibration: a slope for each side of the scale, and an intercept."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Solution, with_history
from dircal._core.optim.two_class import fit_logistic
from dircal._typing import FloatArray, InputScale
from dircal.calibrators._fit import Fit
from dircal.calibrators._logistic_fit import AbstractLogisticCalibrator, AbstractLogisticMethod
from dircal.calibrators._solver_options import Clip
from dircal.maps import AbstractStep, Affine
from dircal.tables import check_option

__all__ = ["BetaCalibrator"]


@dataclass(frozen=True, eq=False, kw_only=True)
class BetaMethod(AbstractLogisticMethod):
    """Beta calibration as a method."""

    slopes: Literal["free", "nonnegative"]

    name: ClassVar[str] = "BetaCalibrator"
    remedy: ClassVar[str] = "Use more rows, or PlattCalibrator, whose targets are smoothed."

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        super().check()
        check_option("slopes", self.slopes, ("free", "nonnegative"))

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless the map has one row of two slopes."""
        if fit.step(Affine).matrix.shape != (1, 2):
            raise ValueError("beta calibration needs one row of two slopes")

    def default_grid(self, n_classes: int) -> list[dict[str, Any]] | None:
        """Return both kinds of slopes."""
        del n_classes
        return [{"slopes": "free"}, {"slopes": "nonnegative"}]

    def solve(self, rows: Rows, slope: float) -> tuple[tuple[AbstractStep, ...], Solution]:
        """Find slopes and intercept."""
        found = self._solve_with_bounds(rows, slope)
        a, b, c = found.params.tolist()
        return (Affine(np.array([[-b, a]]), np.array([c])),), found

    def _solve_with_bounds(self, rows: Rows, slope: float) -> Solution:
        free = self._solve_face(rows, slope, _FREE)
        if self.slopes == "free" or _is_feasible(free):
            return free
        # The objective is convex: if its minimum is not allowed, the best that is lies where a
        # slope is zero.
        faces = [self._solve_face(rows, slope, face) for face in _FACES]
        best = min(filter(_is_feasible, faces), key=lambda face: face.loss)
        others = [step for each in (free, *faces) if each is not best for step in each.history]
        return with_history(best, others)

    def _solve_face(self, rows: Rows, slope: float, used: tuple[int, ...]) -> Solution:
        """The best of the maps whose other parameters are zero."""
        start = np.array([slope, slope, 0.0])[list(used)]
        features = partial(_features, used=used)
        found = fit_logistic(rows, features, start, tol=self.tol, max_iter=self.max_iter)
        params = np.zeros(3)
        params[list(used)] = found.params
        return replace(found, params=params)


class BetaCalibrator(AbstractLogisticCalibrator):
    r"""Beta calibration of two classes: a slope for each side of the scale, and an intercept.

    Parameters
    ----------
    slopes : {"free", "nonnegative"}, default="free"
        Whether the two slopes may be negative. "free" is the Dirichlet map of two classes with no
        more than a trace of a penalty; "nonnegative" is beta calibration as it was first published,
        which never turns the order of two rows around.
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds: probabilities, or logits (in one column: log-odds).
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
    slope_positive_ : float
        The slope a of :math:`\ln p`.
    slope_negative_ : float
        The slope b of :math:`-\ln(1 - p)`.
    intercept_ : float
        The intercept c.
    clip_ : float
        The floor in use; 0 where there is none.
    classes_ : array of shape (2,)
        Labels, sorted.
    column_classes_ : array of shape (2,)
        Label of each column of `X`; of a single column, the label it does not speak of comes first.
    n_iter_ : int
        Newton steps taken, in all fits together.
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
    DirichletCalibrator : The same map for any number of classes at once, with a penalty.
    PlattCalibrator : One slope for both sides.

    Notes
    -----
    The log-odds of the positive class, the second of the labels, become

    .. math:: a \ln p - b \ln(1 - p) + c,

    where p is its probability. Slopes a = b = 1 with c = 0 change nothing; equal slopes below 1
    make predictions less sure. A small a says that probabilities near 0 are too small, a small b
    that probabilities near 1 are too large. The fit minimises the mean log-loss with a trace of a
    penalty, 1e-9 for each squared parameter times the variance of what it multiplies: too little to
    be seen where classes overlap, and enough for one answer where they do not. With "nonnegative"
    it is over :math:`a, b \ge 0`: where the free optimum breaks that, the best of the maps with
    a = 0, with b = 0, or with both.

    When not to use it: with few rows, where nothing keeps the slopes moderate, or where the curve
    has steps, as that of a forest may have. Classes that a threshold separates have no finite
    optimum, and the fit warns.

    References
    ----------
    Kull, M., Silva Filho, T. and Flach, P. (2017). Beta calibration: a well-founded and easily
    implemented improvement on logistic calibration for binary classifiers. AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import BetaCalibrator
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 0.5, size=20_000)
    >>> y = rng.random(20_000) < p**2 / (p**2 + 1 - p)  # true slopes 2 and 1
    >>> calibrator = BetaCalibrator().fit(p, y)
    >>> round(calibrator.slope_positive_), round(calibrator.slope_negative_)
    (2, 1)
    """

    method_class: ClassVar = BetaMethod

    def __init__(
        self,
        *,
        slopes: Literal["free", "nonnegative"] = "free",
        input_scale: InputScale = "probability",
        classes: Iterable[Any] | None = None,
        clip: Clip = "learned",
        max_iter: int = 100,
        tol: float = 1e-12,
    ) -> None:
        self.slopes = slopes
        self.input_scale = input_scale
        self.classes = classes
        self.clip = clip
        self.max_iter = max_iter
        self.tol = tol

    @property
    def slope_positive_(self) -> float:
        """The slope a of ln p."""
        return float(self.fit_.step(Affine).matrix[0, 1])

    @property
    def slope_negative_(self) -> float:
        """The slope b of -ln(1 - p)."""
        return -float(self.fit_.step(Affine).matrix[0, 0])

    @property
    def intercept_(self) -> float:
        """The intercept c."""
        return float(self.fit_.step(Affine).intercepts[0])


# Positions of the parameters a, b, c that are not held at zero. The last face, with both slopes at
# zero, is always allowed.
_FREE = (0, 1, 2)
_FACES = ((1, 2), (0, 2), (2,))


def _features(scores: FloatArray, used: tuple[int, ...]) -> FloatArray:
    """Those of ln p, -ln(1 - p) and 1 that are used."""
    features = np.ones((len(used), scores.shape[1]))
    for row, which in zip(features, used, strict=True):
        if which == 0:
            row[:] = scores[1]
        elif which == 1:
            np.negative(scores[0], out=row)
    return features


def _is_feasible(solution: Solution) -> bool:
    return bool((solution.params[:2] >= 0.0).all())
