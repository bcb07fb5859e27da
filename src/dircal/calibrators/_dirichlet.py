"""Dirichlet calibration: a linear map of log-probabilities."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dircal._core.model.structure import Structure
from dircal._typing import InputScale
from dircal.calibrators._linear import AbstractLinearMethod
from dircal.calibrators._linear_map import AbstractLinearMapCalibrator
from dircal.calibrators._penalties import AbstractPenalty, PenaltyName, penalty_named
from dircal.calibrators._solver_options import Clip

__all__ = ["DirichletCalibrator"]


@dataclass(frozen=True, eq=False, kw_only=True)
class DirichletMethod(AbstractLinearMethod):
    """Dirichlet calibration as a method."""

    penalty: PenaltyName
    lam: float | None
    mu: float | None

    name: ClassVar[str] = "DirichletCalibrator"
    reads_raw_logits: ClassVar[bool] = False
    has_matrix: ClassVar[bool] = True

    def structure(self, n_classes: int) -> Structure:
        """Return which entries of W and b are free."""
        return self.penalty_in_use().full_structure(n_classes)

    def penalty_in_use(self) -> AbstractPenalty:
        """Return the penalty; raise a ValueError if its parameters are invalid."""
        return penalty_named(self.penalty, self.lam, self.mu)


class DirichletCalibrator(AbstractLinearMapCalibrator):
    r"""Dirichlet calibration: softmax of a linear map of the log-probabilities.

    It repairs what one temperature cannot: classes that are over- or under-estimated, and pairs
    of classes that are confused in one direction.

    Parameters
    ----------
    penalty : {"odir", "l2", "l2_reference", "none"}, default="odir"
        What keeps the matrix from following noise; see Notes. "l2_reference" holds the last row
        at zero as the paper's UCI experiment did, and so depends on the order of the classes.
    lam : float, optional
        Strength of the penalty. None stands for 1e-3 with "l2" and "l2_reference"; with "odir" it
        is learned from the rows, by evidence.
    mu : float, optional
        Strength of the penalty on the intercepts, with "odir" only. None: learned in the same way.
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds. Logits are turned into log-probabilities by a log-softmax.
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
    MatrixScaling : The same map on logits as they are.
    TemperatureScaling : One parameter instead of k (k + 1).

    Notes
    -----
    The map is

    .. math:: \mu(q) = \mathrm{softmax}(W \ln q + b),

    where q is a row of probabilities. With n rows of true class :math:`y_i`, counted by their
    weights, the fit minimises

    .. math:: -\frac1n \sum_{i=1}^n \ln \mu_{y_i}(q_i) + R(W, b),

    ================== ===================================================================
    penalty            R(W, b)
    ================== ===================================================================
    ``"odir"``         :math:`\frac{\lambda}{k(k-1)} \sum_{i \ne j} w_{ij}^2
                       + \frac{\mu}{k} \sum_j b_j^2` (the paper's formula)
    ``"l2"``           :math:`\lambda \left(\sum_{ij} w_{ij}^2 + \sum_j b_j^2\right)`
    ``"l2_reference"`` the same, with the last row of W and b held at zero
    ``"none"``         0
    ================== ===================================================================

    The objective is convex and solved to its minimum by Newton's method, starting from a
    temperature map.

    The paper tunes :math:`\lambda` and :math:`\mu` on a grid, with folds. Here strengths that are
    None are those with the largest evidence: the probability of the labels averaged over the
    Gaussian prior that the penalty stands for (empirical Bayes; MacKay's fixed point, as in
    `BayesianDirichletCalibrator`, with a weak prior around strengths that move a logit little).
    ODIR leaves the diagonal free, which is ruin with few rows. So where a
    strength is learned, the diagonal is held as well, by a third that is learned with it,

    .. math:: \frac{\nu}{k} \sum_i (w_{ii} - a)^2,

    with a the slope of the most probable temperature map. Where rows say nothing the map is that
    temperature map, whatever k is. With both strengths given it is the paper's formula and nothing
    else: then, where some direction separates the classes without error, there is no finite
    minimum, and the fit says so.

    When not to use it: `BayesianDirichletCalibrator` and `AutoCalibrator` are better nearly
    everywhere; this map is for those who need a plain Dirichlet map, to read it or to compare.

    References
    ----------
    Kull, M., Perello-Nieto, M., Kängsepp, M., Silva Filho, T., Song, H. and Flach, P. (2019).
    Beyond temperature scaling: Obtaining well-calibrated multiclass probabilities with Dirichlet
    calibration. NeurIPS 32.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.metrics import log_loss
    >>> from dircal import DirichletCalibrator
    >>> X, y = load_digits(return_X_y=True)
    >>> X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=0.4, random_state=0)
    >>> X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, random_state=0)
    >>> model = GaussianNB().fit(X_train, y_train)
    >>> calibrator = DirichletCalibrator().fit(model.predict_proba(X_cal), y_cal)
    >>> before = model.predict_proba(X_test)
    >>> after = calibrator.predict_proba(before)
    >>> bool(log_loss(y_test, after) < log_loss(y_test, before))
    True
    """

    strengths_: dict[str, float]

    method_class: ClassVar = DirichletMethod

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
