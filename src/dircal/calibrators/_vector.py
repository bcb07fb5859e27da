"""Vector scaling: a slope and an intercept for each class."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dircal._core.model.structure import Diagonal, Structure
from dircal._typing import InputScale
from dircal.calibrators._linear import AbstractLinearMethod
from dircal.calibrators._linear_map import AbstractLinearMapCalibrator
from dircal.calibrators._penalties import AbstractPenalty, penalty_named
from dircal.calibrators._solver_options import Clip

__all__ = ["VectorScaling"]


@dataclass(frozen=True, eq=False, kw_only=True)
class VectorMethod(AbstractLinearMethod):
    """Vector scaling as a method."""

    penalty: Literal["none", "l2"]
    lam: float | None

    name: ClassVar[str] = "VectorScaling"
    reads_raw_logits: ClassVar[bool] = True

    def structure(self, n_classes: int) -> Structure:
        """Return which entries of W and b are free: a slope and an intercept per class."""
        return Diagonal(n_classes)

    def penalty_in_use(self) -> AbstractPenalty:
        """Return the penalty; raise a ValueError if its parameters are invalid."""
        return penalty_named(self.penalty, self.lam, allowed=("none", "l2"))


class VectorScaling(AbstractLinearMapCalibrator):
    r"""Vector scaling: a slope and an intercept for each class.

    Parameters
    ----------
    penalty : {"none", "l2"}, default="none"
        "l2" pulls slopes and intercepts towards zero, the uniform map.
    lam : float, optional
        Strength of "l2". None stands for 1e-3.
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds; of probabilities the logarithm is read.
    classes : sequence, optional
        Label of each column of `X`, in any order. Needed where the labels in `y` do not tell:
        columns in another order than sorted labels, or a class that `y` lacks.
    clip : "learned" or float, default="learned"
        Floor of probabilities before the logarithm; logits are read as they are, and a number is
        then an error.
    max_iter : int, default=100
        Largest number of Newton steps.
    tol : float, default=1e-12
        The fit has converged when the predicted decrease of the next Newton step is less.

    Attributes
    ----------
    coef_ : array of shape (n_classes, n_classes)
        Diagonal matrix of the slopes, in the order of `classes_`.
    intercept_ : array of shape (n_classes,)
        The intercepts.
    strengths_ : dict
        Strength of the penalty in use, "lam"; empty where there is none.
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
    TemperatureScaling : One slope for all classes, no intercepts.
    DirichletCalibrator : Lets every class speak about every other.

    Notes
    -----
    The map is :math:`\mathrm{softmax}(w \odot s + b)` with one slope :math:`w_j` and one
    intercept :math:`b_j` for each class j, applied to logits or log-probabilities s. The fit
    minimises the mean log-loss plus :math:`\lambda (\sum_j w_j^2 + \sum_j b_j^2)`, with
    :math:`\lambda = 0` for "none". Intercepts are known up to a common shift; they sum to zero.

    When not to use it: where two classes are confused in one direction, only a full matrix helps.
    Without a penalty a class that is absent from the fitting rows drives its intercept to minus
    infinity, and the fit warns.

    References
    ----------
    Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural
    networks. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import VectorScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(scale=3.0, size=(20_000, 3))
    >>> y = (0.5 * logits + [1.0, 0.0, -1.0] + rng.gumbel(size=(20_000, 3))).argmax(axis=1)
    >>> scaling = VectorScaling(input_scale="logit").fit(logits, y)
    >>> scaling.intercept_.round(1)
    array([ 1.,  0., -1.])
    """

    strengths_: dict[str, float]

    method_class: ClassVar = VectorMethod

    def __init__(
        self,
        *,
        penalty: Literal["none", "l2"] = "none",
        lam: float | None = None,
        input_scale: InputScale = "probability",
        classes: Iterable[Any] | None = None,
        clip: Clip = "learned",
        max_iter: int = 100,
        tol: float = 1e-12,
    ) -> None:
        self.penalty = penalty
        self.lam = lam
        self.input_scale = input_scale
        self.classes = classes
        self.clip = clip
        self.max_iter = max_iter
        self.tol = tol
