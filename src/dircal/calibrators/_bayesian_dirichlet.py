"""Bayesian Dirichlet calibration: a full map whose freedom is learned from the rows."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit, logit, ndtri
from sklearn.utils.validation import check_is_fitted

from dircal._core.bayes.evidence import fit_groups
from dircal._core.bayes.mixture import Softening, levelled, uniform_share
from dircal._core.bayes.posterior import Posterior
from dircal._core.clip.by_evidence import SoftPrior, floor_by_evidence
from dircal._core.clip.by_likelihood import LearnedFloor
from dircal._core.data.chunks import Reader, Rows, log_of_floor, row_slices
from dircal._core.data.simplex import rest_of_proba, softmax
from dircal._core.model.penalty import GROUPS
from dircal._core.model.structure import Full, Structure
from dircal._core.optim.temperature import definite_temperature
from dircal._typing import ArrayLike, FloatArray, InputScale, IntArray
from dircal.calibrators._base import column_order, limited_blas
from dircal.calibrators._parametric_base import AbstractParametricCalibrator
from dircal.calibrators._solver_base import Clip, choose_floor
from dircal.maps import LinearParameters
from dircal.validation import LabelledScores, check_number, check_option

__all__ = ["BayesianDirichletCalibrator"]


class BayesianDirichletCalibrator(AbstractParametricCalibrator):
    r"""Dirichlet calibration without anything to tune: how much to correct is learned, too.

    It starts from temperature scaling and moves away from it as far as the rows give reason to:
    hardly at all with few of them, to the full Dirichlet map with many.

    Parameters
    ----------
    prior : {"learned", "fixed"}, default="learned"
        "learned": the precisions of the prior are those with the largest evidence. "fixed": they
        are constants, which is structured matrix scaling (SMS).
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
        The fit has converged when the next step promises to lower the objective by less.

    Attributes
    ----------
    coef_ : array of shape (n_classes, n_classes)
        The matrix W: row i is output class i, column j input class j, in the order of `classes_`.
        It acts on the softened scores s of the Notes.
    intercept_ : array of shape (n_classes,)
        The vector b.
    temperature_ : float
        The temperature t of the softening: the best one, or a lower one where rows are nearly
        uniform or point away from the labels, see the Notes.
    smoothing_ : float
        The share u of the uniform distribution, 1 / (n + 1).
    level_ : float
        The part l of the mean of a row that the prior sees, see the Notes.
    precisions_ : dict
        Precision of the prior of the groups "diagonal", "off_diagonal" and "intercept".
    effective_parameters_ : dict
        How many parameters of each group the rows determine.
    log_evidence_ : float
        Logarithm of the probability of the labels, averaged over the prior (by Laplace's
        approximation), with temperature, floor and precisions as they are. In nats.
    clip_ : float
        The floor in use; 0 where there is none.
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
    n_iter_ : int
        Newton steps taken, for all settings of the precisions together.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    DirichletCalibrator : The same map with a penalty of given strength.
    AutoCalibrator : Chooses between this map and simpler ones.

    Notes
    -----
    With q a row of probabilities, the map is

    .. math:: \mu(q) = \mathrm{softmax}(W s + b), \qquad
        s = \ln \left((1 - u) \frac{q^{1/t}}{z} + \frac uk\right) + \ln z, \qquad
        z = \sum_j q_j^{1/t},

    with t the best temperature, k classes and u = 1 / (n + 1), where n is the sum of the weights:
    softening leaves no class without a probability. Without it, s is :math:`\ln q / t`.

    The prior is one of V in :math:`W s = V (s - (1 - l) \bar s)`, an equation up to what all
    logits have in common. There :math:`\bar s` is the mean of the row, and l makes :math:`l \bar s`
    no larger, as a root mean square over the rows, than the standard deviation within them. With
    many classes the mean is much the larger, and independent entries would mostly move a logit by
    that. The entries of V - I and b have Gaussian priors around zero, with one precision
    :math:`\alpha_g` for each group g: the diagonal, the off-diagonal entries and the intercepts.
    The fit minimises

    .. math:: -\sum_{i=1}^n \ln \mu_{y_i}(q_i) + \tfrac12 \alpha_{\mathrm{d}} \sum_j (v_{jj} - 1)^2
        + \tfrac12 \alpha_{\mathrm{o}} \sum_{i \ne j} v_{ij}^2
        + \tfrac12 \alpha_{\mathrm{b}} \sum_j b_j^2 .

    ``prior="fixed"`` has :math:`\alpha = (2k, 2k(k-1), 2k)`, and neither l nor :math:`\ln z` in s,
    as SMS. ``"learned"`` maximises the evidence, the probability of the labels averaged over the
    prior, by MacKay's fixed point
    :math:`\alpha_g = (\gamma_g + 2a) / (\|\theta_g\|^2 + 2a / \alpha_g^0)`; :math:`\gamma_g` is the
    number of parameters that the rows determine and :math:`\theta_g` their distance from the
    centre. The rest is a weak prior of the precisions around :math:`\alpha^0 = (k, k(k-1), k)`,
    worth 2a = 4 parameters: there the three groups move a logit equally far. Up to 25 classes
    :math:`\gamma` is exact; beyond, blocks of the Hessian that belong to 16 of the classes stand
    for all.

    Scores that hardly differ within a row, or that point away from the labels so that the best
    temperature :math:`t^*` grows without bound, would be wiped out by the softening. So
    ``"learned"`` never divides :math:`\ln q` by more than leaves a standard deviation of one
    within a row. Where that makes t lower than :math:`t^*`, the centre of V is
    :math:`t / t^* \cdot I` in place of I: the map at the centre is the best temperature again.

    A floor that is learned is the smallest for which the evidence is not clearly, by 3 nats, below
    the best; beyond 25 classes it is that of `TemperatureScaling`.

    When not to use it: where the result has to be a map of a given family, for the softened map is
    only nearly a Dirichlet map (`linear_parameters` leaves the softening out); where the order of
    the classes in a prediction must not change, use `TemperatureScaling`; and with rows that are
    not independent n is too large, and so is its confidence.

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
    >>> lower, upper = calibrator.predict_interval(before)
    >>> bool((lower <= calibrator.predict_proba(before)).all())
    True
    """

    _reads_raw_logits: ClassVar[bool] = False
    _why_infinite: ClassVar[str] = "the prior gives way."
    _remedy: ClassVar[str] = "Use more rows."

    temperature_: float
    smoothing_: float
    level_: float
    _normalised: bool
    _posterior: Posterior

    def __init__(
        self,
        *,
        prior: Literal["learned", "fixed"] = "learned",
        input_scale: InputScale = "probability",
        classes: Iterable[Any] | None = None,
        clip: Clip = "learned",
        max_iter: int = 100,
        tol: float = 1e-12,
    ) -> None:
        self.prior = prior
        self.input_scale = input_scale
        self.classes = classes
        self.clip = clip
        self.max_iter = max_iter
        self.tol = tol

    def linear_parameters(self) -> LinearParameters:
        """The fitted map without its softening, as softmax(W ln q + b).

        Returns
        -------
        parameters : LinearParameters
            W is ``coef_`` divided by ``temperature_`` and b is ``intercept_``. It is close to the
            map where probabilities are well above ``smoothing_``.
        """
        check_is_fitted(self)
        if self._normalised:
            raise ValueError(
                "`prior` must be 'learned' for this: with prior='fixed' the map reads tempered "
                "probabilities that are normalised again, which is no linear map of ln q; got "
                "prior='fixed'. Fit with prior='learned', or take `coef_` and `intercept_`."
            )
        return LinearParameters(self.coef_ / self.temperature_, self.intercept_)

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
            floor and precisions count as known.
        """
        check_is_fitted(self)
        check_number("level", level, above=0.0, below=1.0)
        inputs, column_classes = self._check_scores(X)
        read, apply = self._reader(column_order(column_classes)), self._map()
        width = float(ndtri(0.5 + 0.5 * level))
        # Files that were written before there was a level have none.
        kept = getattr(self, "level_", 1.0)
        ends = np.empty((2, *inputs.shape))
        with limited_blas(inputs.shape):
            for part in row_slices(inputs.shape):
                scores = read(inputs[part])
                proba = apply(scores)
                scores = levelled(scores, kept)
                spread = width * self._posterior.spread_of_log_odds(proba, scores)
                # Where a probability is one in floating point, the rest still has a logarithm.
                with np.errstate(divide="ignore"):
                    odds = np.where(
                        proba > 0.5, np.log(proba) - np.log(rest_of_proba(proba)), logit(proba)
                    )
                # The way through the odds and back may miss the last digit.
                ends[0, part] = np.minimum(expit(odds - spread), proba).T
                ends[1, part] = np.maximum(expit(odds + spread), proba).T
        return ends[0], ends[1]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("prior", self.prior, ("learned", "fixed"))

    def _find(self, data: LabelledScores) -> dict[str, Any]:
        rows = self._rows(data)
        k = rows.n_classes
        learn = self.prior == "learned"
        # With these, the three groups move a logit equally far; SMS has twice as much of each.
        mode = np.array([k, k * (k - 1.0), k]) * (1.0 if learn else 2.0)
        prior = SoftPrior(mode, normalised=not learn)
        start = self._choose_floor(rows, prior)
        floored = rows.with_floor(start.floor)
        temperature = definite_temperature(
            floored, tol=self.tol, max_iter=self.max_iter, start=start.slope
        )
        soft = prior.around(rows, start.floor, float(temperature.params[0]))
        fit = fit_groups(soft.rows, soft.prior, learn=learn, tol=self.tol, max_iter=self.max_iter)
        structure, uniform = Full(k, k), uniform_share(rows.total_weight)
        weights = _for_whole_scores(structure.unpack(fit.solution.params), soft.level)
        fitted = {
            "coef_": weights[:, :-1].copy(),
            "intercept_": weights[:, -1].copy(),
            "temperature_": 1.0 / soft.slope,
            "smoothing_": uniform,
            "level_": soft.level,
            "precisions_": dict(zip(GROUPS, fit.precisions.tolist(), strict=True)),
            "effective_parameters_": dict(zip(GROUPS, fit.effective.tolist(), strict=True)),
            "log_evidence_": fit.log_evidence,
            "clip_": start.floor,
            "n_iter_": fit.solution.n_iter,
            "_status": fit.solution.status,
            "_normalised": prior.normalised,
            "_posterior": fit.posterior,
        }
        record = self._remember(
            floored,
            structure,
            structure.pack(weights),
            fit.solution.loss,
            temperature,
            Softening(None, -np.inf, soft.slope, uniform, prior.normalised),
        )
        return fitted | {"_record": record}

    def _choose_floor(self, rows: Rows, prior: SoftPrior) -> LearnedFloor:
        if self.clip == "learned" and self.input_scale == "probability":
            return floor_by_evidence(rows, prior, max_iter=self.max_iter)
        return choose_floor(rows, self.clip, self.input_scale, self.max_iter)

    def _structure_and_params(self) -> tuple[Structure, FloatArray]:
        structure = Full(len(self.classes_), len(self.classes_))
        return structure, structure.pack(np.column_stack([self.coef_, self.intercept_]))

    def _softening(self) -> Softening:
        slope = 1.0 / self.temperature_
        return Softening(None, -np.inf, slope, self.smoothing_, self._normalised)

    def _reader(self, columns: IntArray | None) -> Reader:
        log_floor = log_of_floor(self.clip_)
        soften = replace(self._softening(), transform=self._transform(), log_floor=log_floor)
        return Reader(soften, columns)

    def _map(self) -> Callable[[FloatArray], FloatArray]:
        W, b = self.coef_, self.intercept_[:, None]
        return lambda scores: softmax(W @ scores + b)


def _for_whole_scores(weights: FloatArray, level: float) -> FloatArray:
    """[W | b] for scores s that does what ``weights`` do to those with a part of their level.

    That part multiplies the row means of W. What they have in common changes no probability, and
    stays as it is.
    """
    means = weights[:, :-1].mean(axis=1, keepdims=True)
    whole = weights.copy()
    whole[:, :-1] -= (1.0 - level) * (means - means.mean())
    return whole
