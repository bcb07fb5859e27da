"""Bayesian Dirichlet calibration: a full map whose freedom is learned from the rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._core.bayes.average import average_by_evidence
from dircal._core.bayes.evidence import fit_as_expected
from dircal._core.bayes.features import MixedRows
from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.bayes.models import ModelAverage, average_models
from dircal._core.bayes.posterior import ExactPosterior, LowRankPosterior
from dircal._core.bayes.state import GroupFit
from dircal._core.model.statistics import N_STATISTICS
from dircal._typing import ArrayLike, FloatArray, InputScale
from dircal.calibrators._bayesian_fit import TemperedRows
from dircal.calibrators._bayesian_map import BayesianIntervals, check_posterior, expected, step_of
from dircal.calibrators._fit import Fit
from dircal.calibrators._linear_map import (
    AbstractLinearMapCalibrator,
    AbstractLinearMapMethod,
    linear_step,
)
from dircal.calibrators._solver_options import Clip, SolverDetails
from dircal.exceptions import SmallSampleWarning, warn
from dircal.maps import (
    LinearParameters,
    UniformMixture,
    WithCurves,
)
from dircal.tables import LabelledRows, check_number, check_option

__all__ = ["BayesianDirichletCalibrator", "BayesianDirichletMethod"]

_FITS = {"learned": average_by_evidence, "fixed": fit_as_expected}


@dataclass(frozen=True)
class BayesianDetails(SolverDetails):
    """Diagnostics of the solver, and the posterior.

    Attributes of the estimator; ``posterior`` is None if a file was written without it.
    """

    precisions: dict[str, float]
    effective_parameters: dict[str, float]
    log_evidence: float
    row_mean_factor: float
    posterior: ExactPosterior | LowRankPosterior | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class BayesianDirichletMethod(AbstractLinearMapMethod):
    """Bayesian Dirichlet calibration as a method."""

    prior: Literal["learned", "fixed"]
    curves: Literal["learned", "none"]

    name: ClassVar[str] = "BayesianDirichletCalibrator"
    details: ClassVar[type] = BayesianDetails
    reads_raw_logits: ClassVar[bool] = False
    has_matrix: ClassVar[bool] = True
    why_separated: ClassVar[str] = "the prior gives way."
    remedy: ClassVar[str] = "Use more rows."

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        super().check()
        check_option("prior", self.prior, ("learned", "fixed"))
        check_option("curves", self.curves, ("learned", "none"))

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless map and posterior belong together."""
        super().check_fit(fit)
        fit.step(UniformMixture)
        curved, posterior = fit.map.find(WithCurves), fit.details.posterior
        check_posterior(posterior, fit.map.n_classes, linear_step(fit.map), curved)

    def learn(self, rows: LabelledRows) -> Fit:
        """Find the map of these rows."""
        tempered = self._temper(rows)
        mixed = tempered.mixed
        found = _FITS[self.prior](mixed.rows, mixed.prior, tol=self.tol, max_iter=self.max_iter)
        return self._fit_of(rows, tempered, mixed, found)

    def average(self, rows: LabelledRows) -> tuple[ModelAverage, Fit]:
        """Find the average of this map and simpler ones, by their evidence."""
        tempered = self._temper(rows)
        parts = tempered.rows, tempered.mixed, tempered.slope
        average = average_models(*parts, tol=self.tol, max_iter=self.max_iter)
        return average, self._fit_of(rows, tempered, average.mixed, average.fit)

    def _temper(self, rows: LabelledRows) -> TemperedRows:
        scores = self.scores(rows)
        prior = expected(scores.n_classes, self.prior, curved=self.curves == "learned")
        return TemperedRows.of(scores, prior, self.clip, self.input_scale, self.tol, self.max_iter)

    def _fit_of(
        self, rows: LabelledRows, tempered: TemperedRows, mixed: MixedRows, found: GroupFit
    ) -> Fit:
        solution = found.solution
        mixture = UniformMixture(mixed.slope, mixed.uniform_weight, self.prior == "fixed")
        return self.fit_from(
            rows,
            tempered.rows.with_clip(tempered.clip),
            tempered.clip,
            (mixture, step_of(mixed, solution.params)),
            solution=solution,
            temperature=tempered.temperature,
            n_more=max(1, round(float(found.effective_dof.sum()))),
            details=BayesianDetails(
                solution.n_iter,
                tuple(solution.history),
                solution.status,
                mixed.prior.by_name(found.precisions),
                mixed.prior.by_name(found.effective_dof),
                found.log_evidence,
                mixed.row_mean_factor,
                found.posterior,  # type: ignore[arg-type]
            ),
        )


class BayesianDirichletCalibrator(AbstractLinearMapCalibrator):
    r"""Dirichlet calibration without anything to tune: how much to correct is learned, too.

    It starts from temperature scaling and moves away from it as far as the rows give reason to:
    hardly at all with few of them, to the full Dirichlet map with many, and bends that map by
    curves where they speak for it.

    Parameters
    ----------
    prior : {"learned", "fixed"}, default="learned"
        "learned": the precisions of the prior are those with the largest evidence. "fixed": they
        are constants, which is structured matrix scaling (SMS).
    curves : {"learned", "none"}, default="learned"
        "learned": logits have curves, too, as far as the rows speak for them. "none": the map is a
        Dirichlet map after the mixture. With ``prior="fixed"`` there are none.
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds. Logits are turned into log-probabilities by a log-softmax.
    classes : sequence, optional
        Label of each column of `X`, in any order. Needed where the labels in `y` do not tell:
        columns in another order than sorted labels, or a class that `y` lacks.
    clip : "learned" or float, default="learned"
        Floor of probabilities before the logarithm. A number sets it; "learned" chooses it on the
        fitting rows, for probabilities only: logits have no zeros.
    max_iter : int, default=100
        Largest number of Newton steps for one setting of the precisions.
    tol : float, default=1e-12
        The fit has converged when the predicted decrease of the next Newton step is less.

    Attributes
    ----------
    coef_ : array of shape (n_classes, n_classes)
        The matrix W: row i is output class i, column j input class j, in the order of `classes_`.
        It acts on the scores s of the Notes, after the mixture with the uniform. It is diagonal
        with more than 400 classes.
    intercept_ : array of shape (n_classes,)
        The vector b.
    curve_coef_ : array of shape (n_classes, 10)
        The coefficients c of the curves of each class; zeros where there are none.
    mixture_temperature_ : float
        The temperature t of the mixture: the most probable one, or a lower one where rows are
        nearly uniform or point away from the labels, see the Notes.
    uniform_weight_ : float
        The share u of the uniform distribution.
    row_mean_factor_ : float
        The part l of the mean of a row that the prior sees, see the Notes.
    precisions_ : dict
        Precision of the prior of the groups "diagonal", "off_diagonal" and "intercept" and, with
        curves, "curvature", "shared_curve" and, up to 23 classes, "class_curves".
    effective_parameters_ : dict
        How many parameters of each group the rows determine.
    log_evidence_ : float
        Logarithm of the probability of the labels, averaged over the prior (by Laplace's
        approximation) and weighed by the prior of learned precisions. In nats.
    clip_ : float
        The floor in use; 0 where there is none.
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
    n_iter_ : int
        Newton steps taken, for all settings of the precisions together.
    history_ : tuple of Iteration
        Of each Newton step the objective before it, its predicted decrease, the part that was
        taken, and the passes over the rows until then.
    map_ : CalibrationMap
        The fitted map as a value: steps from columns to probabilities.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    DirichletCalibrator : The same map with a penalty of given strength.
    AutoCalibrator : Chooses between this map and simpler ones.

    Notes
    -----
    With q a row of probabilities, the map is

    .. math:: \mu(q) = \mathrm{softmax}(W s + b + f(s)), \qquad
        s = \ln \left((1 - u) \frac{q^{1/t}}{z} + \frac uk\right) + \ln z, \qquad
        z = \sum_j q_j^{1/t},

    with t the most probable temperature, k classes and u = 0.1 / (n + 1), where n is the sum of the
    weights: mixing with the uniform leaves no class without a probability. Without it, s is
    :math:`\ln q / t`. A priori ln t has a logistic distribution with quartiles at a factor of two
    from 1, so that t is finite also where every row is right. The curves are

    .. math:: f_i(s) = c_{i1} \frac{(r_i - \max r)^2}{10} + c_{i2} H r_i
        + \sum_{m=1}^8 c_{i,m+2} \ln(1 + e^{x_i - \kappa_m}),

    with r the s that are normalised to log-probabilities, :math:`x_i` the log-odds of class i
    against the rest, and H the entropy of the row divided by ln k. The first bends by the distance
    to the leading class, the second is a temperature that changes with the doubt of a row, and the
    hinges at :math:`\kappa` from -6 to 4.5 are together any smooth curve of the log-odds. Classes
    share their coefficients, and up to 23 classes each adds its own of four of the hinges.

    The prior is one of V in :math:`W s = V (s - (1 - l) \bar s)`, where both sides may differ by a
    number common to all classes, which the softmax does not see. There :math:`\bar s` is the mean
    of the row, and l makes :math:`l \bar s` no larger, as a root mean square over the rows, than
    the standard deviation within them: with many classes independent entries would mostly move a
    logit by the mean. Beyond 400 classes V is diagonal, and l is 1. The entries of V - I, b and c
    have Gaussian priors around zero, with one precision :math:`\alpha_g` for each group g: the
    diagonal, the off-diagonal entries, the intercepts, the first two shared coefficients, those of
    the hinges, and the own ones of classes. The fit minimises

    .. math:: -\sum_{i=1}^n \ln \mu_{y_i}(q_i) + \tfrac12 \sum_g \alpha_g \sum_{e \in g}
        \rho_e \theta_e^2,

    with :math:`\theta` the distances from the centre. All :math:`\rho` are 1 but for off-diagonal
    entries, whose variances :math:`1 / \rho_{ij}` are proportional to :math:`(\sum_n p_{ni}
    p_{nj})^\omega`, how often two classes compete by the temperature map, with mean one. The power
    :math:`\omega`, one of 0, 1/2 and 1, is the one with the largest evidence.

    ``prior="fixed"`` has :math:`\alpha = (2k, 2k(k-1), 2k)`, u = 1 / (n + 1), the t of largest
    likelihood, no curves, and neither l nor :math:`\ln z` in s, as SMS. ``"learned"`` maximises the
    evidence (the marginal likelihood: empirical Bayes), the probability of the labels averaged over
    the prior, by MacKay's fixed point :math:`\alpha_g = (\gamma_g + 2a) / (\|\theta_g\|^2 + 2a /
    \alpha_g^0)`; :math:`\gamma_g` is the number of parameters that rows determine. The rest is a
    weak prior around :math:`\alpha^0 = (k, k(k-1), k, 1, 8, 8k)`, worth 2a = 4 parameters. Another,
    narrow one around ten times :math:`\alpha^0` is three times as probable at first. Parameters are
    means of both, by evidence; precisions are those of the weightier. Up to 25 classes
    :math:`\gamma` is exact; beyond, blocks of the Hessian of 4 to 16 classes stand for all.

    Scores that hardly differ within a row, or that point away from the labels so that the best
    temperature :math:`t^*` grows without bound, would be wiped out by the mixture. So
    ``"learned"`` never divides :math:`\ln q` by more than leaves a standard deviation of one
    within a row. Where that makes t lower than :math:`t^*`, the centre of V is
    :math:`t / t^* \cdot I` in place of I: the map at the centre is the best temperature again.

    A learned clip is the one with the largest evidence of the linear map and its temperature.
    Exact zeros cost one imagined row in which a wrong class has probability one; without them the
    smallest clip is kept unless another one leads by 3 nats. Beyond 25 classes the clip is that of
    `TemperatureScaling`.

    When not to use it: where the result has to be a Dirichlet map: ``curves="none"`` is nearly one
    (`linear_parameters` leaves the mixture out); where the order of the classes in a prediction
    must not change, use `TemperatureScaling`; and with rows that are not independent n is too
    large, and so is its confidence.

    References
    ----------
    MacKay, D. J. C. (1992). Bayesian interpolation. Neural Computation 4.

    Berta, E., Holzmüller, D., Jordan, M. I. and Bach, F. (2026). Structured matrix scaling for
    multi-class calibration. AISTATS.

    Kull et al. (2019). Beyond temperature scaling. NeurIPS 32.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from dircal import BayesianDirichletCalibrator
    >>> from dircal.metrics import log_loss
    >>> X, y = load_digits(return_X_y=True)
    >>> X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=0.4, random_state=0)
    >>> X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, random_state=0)
    >>> model = GaussianNB().fit(X_train, y_train)
    >>> calibrator = BayesianDirichletCalibrator().fit(model.predict_proba(X_cal), y_cal)
    >>> before = model.predict_proba(X_test)
    >>> log_loss(y_test, calibrator.predict_proba(before)) < 0.5 * log_loss(y_test, before)
    True
    """

    precisions_: dict[str, float]
    effective_parameters_: dict[str, float]
    log_evidence_: float
    row_mean_factor_: float

    method_class: ClassVar = BayesianDirichletMethod

    def __init__(
        self,
        *,
        prior: Literal["learned", "fixed"] = "learned",
        curves: Literal["learned", "none"] = "learned",
        input_scale: InputScale = "probability",
        classes: Iterable[Any] | None = None,
        clip: Clip = "learned",
        max_iter: int = 100,
        tol: float = 1e-12,
    ) -> None:
        self.prior = prior
        self.curves = curves
        self.input_scale = input_scale
        self.classes = classes
        self.clip = clip
        self.max_iter = max_iter
        self.tol = tol

    @property
    def mixture_temperature_(self) -> float:
        """The temperature t of the mixture."""
        return 1.0 / float(self.fit_.step(UniformMixture).slope)

    @property
    def curve_coef_(self) -> FloatArray:
        """Coefficients (k, 10) of the curves of each class."""
        curved = self.map_.find(WithCurves)
        found = np.zeros((1, N_STATISTICS)) if curved is None else curved.coefficients
        return np.broadcast_to(found, (len(self.classes_), found.shape[1]))

    @property
    def uniform_weight_(self) -> float:
        """The weight u of the uniform distribution."""
        return float(self.fit_.step(UniformMixture).uniform_weight)

    def linear_parameters(self) -> LinearParameters:
        """The fitted map without its mixture, as softmax(W ln q + b).

        Returns
        -------
        parameters : LinearParameters
            W is ``coef_`` divided by ``mixture_temperature_`` and b is ``intercept_``. It is close
            to the map where probabilities are well above ``uniform_weight_``.
        """
        check_is_fitted(self)
        if self.map_.find(WithCurves) is not None:
            raise ValueError(
                "`curves` must be 'none' for this: a map with curves is no linear map of ln q; got "
                f"curves={self.curves!r}. Fit BayesianDirichletCalibrator(curves='none'), or take "
                "`coef_`, `intercept_` and `curve_coef_`."
            )
        if self.fit_.step(UniformMixture).normalised:
            raise ValueError(
                "`prior` must be 'learned' for this: with prior='fixed' the map reads tempered "
                "probabilities that are normalised again, which is no linear map of ln q; got "
                "prior='fixed'. Fit with prior='learned', or take `coef_` and `intercept_`."
            )
        return LinearParameters(self.coef_ / self.mixture_temperature_, self.intercept_)

    def predict_interval(self, X: ArrayLike, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Credible intervals of the calibrated probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes)
            As for `predict_proba`.
        level : float, default=0.95
            Probability that the true map lies inside, for one row and one class, between 0 and 1.

        Returns
        -------
        lower, upper : arrays of shape (n_samples, n_classes)
            Ends of the intervals around `predict_proba`; columns follow ``classes_``. The log-odds
            of each class have a normal distribution, from the curvature of the fit; temperature,
            clip and precisions count as known. They are meant for at least 5 rows per parameter,
            5 k (k + 1) in all; with fewer there is a `SmallSampleWarning`.
        """
        check_is_fitted(self)
        check_number("level", level, above=0.0, below=1.0)
        fit = self.fit_
        inputs, columns = fit.check_scores(X)
        _warn_few_rows(fit)
        factor, posterior = fit.details.row_mean_factor, fit.details.posterior
        return BayesianIntervals(fit.map_of(columns), factor, posterior).of(inputs, level)


def _warn_few_rows(fit: Fit) -> None:
    k, per_param = fit.map.n_classes, BAYES_LIMITS.get().min_rows_per_param
    needed = per_param * k * (k + 1)
    n_rows = np.inf if fit.record is None else fit.record.known.n_rows
    if n_rows < needed:
        warn(
            f"This map of {k} classes was fitted on {n_rows:,.0f} rows, and its intervals cover "
            f"less often than their level. Fit on at least {needed:,} rows, {per_param} for each "
            "of its parameters.",
            SmallSampleWarning,
        )
