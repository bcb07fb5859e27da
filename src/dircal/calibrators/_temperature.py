"""Temperature scaling: one slope for all classes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dircal._core.model.structure import Scalar, Structure
from dircal._typing import InputScale
from dircal.calibrators._linear import AbstractLinearMethod
from dircal.calibrators._linear_map import AbstractLinearMapCalibrator
from dircal.calibrators._penalties import AbstractPenalty, penalty_named
from dircal.calibrators._solver_options import Clip
from dircal.maps import Scale

__all__ = ["TemperatureScaling"]


@dataclass(frozen=True, eq=False, kw_only=True)
class TemperatureMethod(AbstractLinearMethod):
    """Temperature scaling as a method."""

    name: ClassVar[str] = "TemperatureScaling"
    reads_raw_logits: ClassVar[bool] = False
    why_separated: ClassVar[str] = (
        "either every one of them is classified correctly, or the scores point away from the "
        "labels."
    )
    remedy: ClassVar[str] = "Use more rows, and check the order of the columns of `X`."

    def structure(self, n_classes: int) -> Structure:
        """Return which entries of W and b are free: one slope."""
        return Scalar(n_classes)

    def penalty_in_use(self) -> AbstractPenalty:
        """Return no penalty."""
        return penalty_named("none", None)

    def default_grid(self, n_classes: int) -> None:
        """Return None: there is nothing to choose."""


class TemperatureScaling(AbstractLinearMapCalibrator):
    r"""Temperature scaling: one number that makes all predictions more or less confident.

    Parameters
    ----------
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds; of probabilities the logarithm is read.
    classes : sequence, optional
        Label of each column of `X`, in any order. Needed where the labels in `y` do not tell:
        columns in another order than sorted labels, or a class that `y` lacks.
    clip : "learned" or float, default="learned"
        Floor of probabilities before the logarithm. A number sets it; "learned" chooses it on the
        fitting rows, for probabilities only: logits have no zeros.
    max_iter : int, default=100
        Largest number of Newton steps.
    tol : float, default=1e-12
        The fit has converged when the predicted decrease of the next Newton step is less.

    Attributes
    ----------
    temperature_ : float
        The temperature t > 0; above 1 the predictions were overconfident.
    coef_ : array of shape (n_classes, n_classes)
        The identity divided by the temperature.
    intercept_ : array of shape (n_classes,)
        Zeros.
    clip_ : float
        The floor in use; 0 where there is none.
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
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
    DirichletCalibrator : Can also repair single classes and pairs of classes.

    Notes
    -----
    The map is :math:`\mathrm{softmax}(s / t)`, where s are logits or log-probabilities: both give
    the same. It is the Dirichlet map with :math:`W = I / t` and :math:`b = 0`. The mean log-loss
    is minimised over :math:`\ln t`, so t stays positive. Where the scores point away from the
    labels t grows without bound; where no row is misclassified it falls towards zero. Both end in
    a warning.

    When not to use it: it never changes which class is the most probable, so it cannot repair a
    bias for or against a class.

    References
    ----------
    Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural
    networks. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import TemperatureScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(scale=3.0, size=(2000, 3))
    >>> y = (0.5 * logits + rng.gumbel(size=(2000, 3))).argmax(axis=1)
    >>> scaling = TemperatureScaling(input_scale="logit").fit(logits, y)
    >>> round(scaling.temperature_)
    2
    """

    method_class: ClassVar = TemperatureMethod

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
    def temperature_(self) -> float:
        """The fitted temperature."""
        return 1.0 / float(self.fit_.step(Scale).slope)
