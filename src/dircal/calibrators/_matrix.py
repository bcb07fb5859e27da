"""Matrix scaling: a linear map of logits."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dircal._core.model.structure import Structure
from dircal._typing import InputScale
from dircal.calibrators._linear import AbstractLinearMethod
from dircal.calibrators._linear_map import AbstractLinearMapCalibrator
from dircal.calibrators._penalties import AbstractPenalty, PenaltyName, penalty_named
from dircal.calibrators._solver_options import Clip

__all__ = ["MatrixScaling"]


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixMethod(AbstractLinearMethod):
    """Matrix scaling as a method."""

    penalty: PenaltyName
    lam: float | None
    mu: float | None

    name: ClassVar[str] = "MatrixScaling"
    reads_raw_logits: ClassVar[bool] = True
    has_matrix: ClassVar[bool] = True

    def structure(self, n_classes: int) -> Structure:
        """Return which entries of W and b are free."""
        return self.penalty_in_use().full_structure(n_classes)

    def penalty_in_use(self) -> AbstractPenalty:
        """Return the penalty; raise a ValueError if its parameters are invalid."""
        return penalty_named(self.penalty, self.lam, self.mu)


class MatrixScaling(AbstractLinearMapCalibrator):
    r"""Matrix scaling: softmax of a linear map of the logits.

    Parameters
    ----------
    penalty : {"odir", "l2", "l2_reference", "none"}, default="odir"
        As for `DirichletCalibrator`.
    lam : float, optional
        Strength of the penalty. None stands for 1e-3 with "l2" and "l2_reference"; with "odir" it
        is learned from the rows, by evidence.
    mu : float, optional
        Strength of the penalty on the intercepts, with "odir" only. None: learned in the same way.
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds. Set "logit" for matrix scaling as it is known: with probabilities the map
        reads their logarithms, and then it is Dirichlet calibration.
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
        The matrix W: row i is output class i, column j input class j, in the order of `classes_`.
    intercept_ : array of shape (n_classes,)
        The vector b.
    strengths_ : dict
        Strengths of the penalty in use, "lam" and "mu", given or learned; where one is learned also
        "nu", that of the diagonal.
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
    DirichletCalibrator : The same map on log-probabilities.
    VectorScaling : The same with a diagonal matrix.

    Notes
    -----
    The map is :math:`\mathrm{softmax}(W z + b)` of the logits z, with the objective and the
    penalties of `DirichletCalibrator`. Logits hold one number more than probabilities do, the
    logarithm of the sum of their exponentials, and the map can use it: adding a constant to a row
    of logits changes the outcome unless all row sums of W are equal.

    When not to use it: where only probabilities are at hand, use `DirichletCalibrator`.

    References
    ----------
    Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural
    networks. ICML.

    Kull, M. et al. (2019). Beyond temperature scaling: Obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration. NeurIPS 32.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import MatrixScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(scale=3.0, size=(500, 3))
    >>> y = (0.5 * logits + rng.gumbel(size=(500, 3))).argmax(axis=1)
    >>> scaling = MatrixScaling(input_scale="logit").fit(logits, y)
    >>> scaling.coef_.diagonal().round(1)
    array([0.5, 0.5, 0.5])
    """

    strengths_: dict[str, float]

    method_class: ClassVar = MatrixMethod

    def __init__(
        self,
        *,
        penalty: PenaltyName = "odir",
        lam: float | None = None,
        mu: float | None = None,
        input_scale: InputScale = "probability",
        classes: Iterable[Any] | None = None,
        clip: Clip = "learned",
        max_iter: int = 100,
        tol: float = 1e-12,
    ) -> None:
        self.penalty = penalty
        self.lam = lam
        self.mu = mu
        self.input_scale = input_scale
        self.classes = classes
        self.clip = clip
        self.max_iter = max_iter
        self.tol = tol
