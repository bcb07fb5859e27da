"""The default: maps weighed by evidence, or calibrators of the user chosen by folds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from dircal._typing import ArrayLike, InputScale
from dircal.calibrators import (
    AbstractCalibrator,
    AbstractScoreMethod,
    BayesianDirichletCalibrator,
    Fit,
    IdentityCalibrator,
    TemperatureScaling,
    VectorScaling,
    fitted_copy,
)
from dircal.explain import Explanation, FittingRows, LazyRecord, start_identity_record
from dircal.maps import CalibrationMap, LogProbability, LogSoftmax, Normalise
from dircal.selection._base import check_calibrator, check_same_columns
from dircal.selection._by_evidence import weigh_maps
from dircal.selection._judge import CrossFit, Judge, above_zero, without_optimum
from dircal.selection._one_map import OneMapMixin
from dircal.selection._splits import check_cv, splits_to_choose_by
from dircal.tables import ArrayRows, LabelledRows

__all__ = ["AutoCalibrator"]

# A difference is real when it exceeds so many standard errors. With one or two, far fewer tasks are
# calibrated at all, and the few that come to harm stay the same (`benchmarks/quality.py`).
_STANDARD_ERRORS = 0.5
# Folds where calibrators are given that have no evidence to go by.
_FOLDS = 5
_NOTHING_TO_CORRECT = (
    "Nothing needed correcting: the rows give no reason to change the probabilities, so they stay "
    "as they are."
)


@dataclass(frozen=True)
class AutoDetails:
    """The choice, and what it was based on."""

    choice: str
    table: dict[str, list[Any]]
    probability_of_harm: float


@dataclass(frozen=True, eq=False, kw_only=True)
class AutoMethod(AbstractScoreMethod):
    """The choice of a map as a method."""

    calibrators: Sequence[Any] | None
    cv: Any

    name: ClassVar[str] = "AutoCalibrator"
    details: ClassVar[type] = AutoDetails
    # Of the five maps together: between 23 and 36 with 3 to 500 classes.
    usual_steps: ClassVar[int] = 33

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        super().check()
        if self.cv is not None:
            check_cv(self.cv)
        if self.calibrators is None:
            return
        if isinstance(self.calibrators, str) or not isinstance(self.calibrators, Sequence):
            raise ValueError(
                f"`calibrators` must be a list of calibrators; got {self.calibrators!r}. "
                "Pass for example [IdentityCalibrator(), TemperatureScaling()]."
            )
        if len(self.calibrators) == 0:
            raise ValueError(
                "`calibrators` must hold at least one calibrator; got an empty list. "
                "Leave it at None for the default ones."
            )
        for each in self.calibrators:
            method = check_calibrator(each).method()
            if each.input_scale != self.input_scale:
                raise ValueError(
                    f"`calibrators` must all read what `input_scale` says, "
                    f"{self.input_scale!r}; got {each!r} with input_scale={each.input_scale!r}. "
                    "Set the same one everywhere."
                )
            if method.labels_of_columns is not None:
                raise ValueError(
                    f"`calibrators` must leave `classes` to AutoCalibrator; got {each!r}. "
                    "Set `classes` there instead."
                )

    def _candidates(self, n_classes: int) -> list[AbstractCalibrator]:
        if self.calibrators is None:
            scale = self.input_scale
            return [
                IdentityCalibrator(input_scale=scale),
                TemperatureScaling(input_scale=scale),
                VectorScaling(input_scale=scale),
                BayesianDirichletCalibrator(input_scale=scale),
            ]
        for each in self.calibrators:
            if n_classes > 2 and not get_tags(each).classifier_tags.multi_class:
                raise ValueError(
                    f"`calibrators` must be able to read {n_classes} columns; got {each!r}, which "
                    "is for two classes. Put OneVsRestCalibrator around it."
                )
        return [clone(each) for each in self.calibrators]

    @property
    def fits_parts(self) -> bool:
        """Whether a fit needs only sums over rows: unless folds decide."""
        return self.cv is None and self.calibrators is None

    def learn(self, rows: LabelledRows) -> Fit:
        """Weigh the maps of these rows by evidence, or choose one by folds."""
        if not self.fits_parts:
            return self._learn_by_folds(rows.in_memory)
        weighed = weigh_maps(rows, self.input_scale)
        details = AutoDetails(weighed.choice, weighed.table, weighed.probability_of_harm)
        record = None
        if isinstance(weighed.calibrator, IdentityCalibrator):
            # Other maps count their rows themselves.
            place = weighed.table["calibrator"].index("identity")
            record = self._identity_record(rows, weighed.table["log_loss"][place])
        return Fit.of_member(weighed.calibrator, details=details, record=record)

    def _identity_record(self, rows: LabelledRows, loss: float) -> LazyRecord:
        """Return the record of the identity on these rows."""
        is_logit = self.input_scale == "logit"
        steps = (LogSoftmax(),) if is_logit else (Normalise(), LogProbability())
        scores = self.read(rows, steps)
        unchanged = CalibrationMap(scores.n_classes, (LogSoftmax(),)).on_block
        return LazyRecord(start_identity_record(scores, loss), FittingRows.of(scores), unchanged)

    def _learn_by_folds(self, data: ArrayRows) -> Fit:
        candidates = self._candidates(len(data.classes))
        splits = splits_to_choose_by(
            _FOLDS if self.cv is None else self.cv, data.labels, data.sample_weight
        )
        held_out = np.concatenate([rows for _, rows in splits])
        judge = Judge(data, held_out)
        folds = [CrossFit.of(each, data, splits) for each in candidates]
        losses = [judge.by_row(each.losses) for each in folds]
        identity = IdentityCalibrator(input_scale=self.input_scale)
        uncalibrated = judge.by_row(CrossFit.of(identity, data, splits).losses)
        endless = without_optimum(candidates, folds, data)
        means = np.array([judge.mean(each) for each in losses])
        best = int(np.argmin(np.where(endless, np.inf, means)))
        from_best = [judge.compare(each, losses[best]) for each in losses]
        harm = [above_zero(judge.compare(each, uncalibrated)) for each in losses]
        close = [
            (d.mean <= _STANDARD_ERRORS * d.standard_error and not endless[i]) or i == best
            for i, d in enumerate(from_best)
        ]
        chosen = close.index(True)
        names = _names(candidates)
        table = {
            "calibrator": names,
            "log_loss": means.tolist(),
            "difference": [d.mean for d in from_best],
            "standard_error": [d.standard_error for d in from_best],
            "harm": harm,
            "left_out": endless,
        }
        details = AutoDetails(names[chosen], table, harm[chosen])
        return Fit.of_member(fitted_copy(candidates[chosen], data), details=details)

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless the member and the table belong together."""
        check_same_columns(fit.members, fit, "`calibrator_` has")
        [member] = fit.members
        if member.input_scale != self.input_scale:
            raise ValueError("`calibrator_` has another `input_scale`")
        if fit.details.choice not in fit.details.table["calibrator"]:
            raise ValueError("`choice_` is no entry of `table_`")


class AutoCalibrator(OneMapMixin, AbstractCalibrator):
    r"""The average of five maps, each weighted by how well it foretold the labels.

    The identity, one temperature, a slope and an intercept for each class, a full matrix, and a
    matrix with curves: each is fitted once, and weighed by its evidence (marginal likelihood). No
    rows are kept back, so none are lost. What is right already stays as it is.

    Parameters
    ----------
    calibrators : sequence of calibrators, optional
        Candidates of your own, from the simplest to the most complex, all with the ``input_scale``
        given here. They have no evidence in common, so folds decide, and one of them is chosen.
    cv : int, splitter or iterable of pairs, optional
        How to choose by rows that were kept back instead: number of folds, dealt at random with a
        fixed seed; or a splitter of scikit-learn; or pairs of indices (rows to fit, rows to score).
        Of a row that is scored several times, the mean counts, once. None stands for evidence, or
        with ``calibrators`` for five folds. Without ``calibrators``, folds choose among
        `IdentityCalibrator`, `TemperatureScaling`, `VectorScaling` and
        `BayesianDirichletCalibrator`.
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds.
    classes : sequence, optional
        Label of each column of `X`, in any order. Needed where the labels in `y` do not tell:
        columns in another order than sorted labels, or a class that `y` lacks.

    Attributes
    ----------
    calibrator_ : calibrator
        What predicts: `IdentityCalibrator` where that is more probable than all other maps
        together, `TemperatureScaling` (of largest likelihood, with its own clip) where no other map
        has a part, else a `BayesianDirichletCalibrator` that holds the average. By folds, the
        chosen calibrator, fitted on all rows.
    choice_ : str
        "identity" where it stands alone, else the name of the most probable of the other maps, or
        of the chosen calibrator.
    table_ : dict of lists
        What it was made by, one entry for each map: "calibrator", its name; "log_loss", the mean to
        be expected on new rows; "difference" from the best, and its "standard_error"; "harm", the
        probability of being worse than uncalibrated; "left_out", whether it has no part. By
        evidence also "probability", that of the map given the rows, and "log_evidence", the
        logarithm of the probability of the labels given the map. By folds a calibrator is left out
        because it has no finite optimum on these rows.
    probability_of_harm_ : float
        That new rows are worse off than uncalibrated ones; zero for the identity.
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
    map_ : CalibrationMap
        The fitted map as a value: steps from columns to probabilities. It can be called, compared,
        pickled and printed.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    BayesianDirichletCalibrator : The most general of the maps alone.
    CalibratorCV : Chooses the parameters of one calibrator.

    Notes
    -----
    All maps are of the kind of `BayesianDirichletCalibrator`, with its clip, temperature and
    priors, less what they lack. With :math:`\pi_m` the prior probability of map m and :math:`Z_m`
    its evidence, it has the probability :math:`p_m = \pi_m Z_m / \sum_l \pi_l Z_l`, and the
    parameters of the average are

    .. math:: \bar\theta = \sum_m p_m \hat\theta_m.

    A priori the five have 15, 3, 3, 3 and 90 parts of 114. A map that is twenty times less probable
    than the best has no part (Occam's window), and the identity stands alone where it is more
    probable than the others together. All but the identity share one temperature, and pay for not
    knowing it. The identity is judged by the probabilities as they are: where some are exactly
    zero, one row is imagined in which that was wrong.

    With :math:`p_0` the probability of the identity, :math:`\bar d` the mean change of the loss by
    the average on the n rows of the fit, counted by weight, s its standard error and :math:`\gamma`
    the number of parameters that the rows determine, the probability of harm is

    .. math:: p_0 + (1 - p_0) \,
        \Phi\left(\frac{\bar d + \gamma / (2 n)}{\sqrt{s^2 + (\gamma / n)^2}}\right).

    Where the identity is right, every change does harm. Half of Akaike's correction,
    :math:`\gamma / n`, is added to the change on the calibration rows.

    When not to use it: where the result must be a plain temperature or a plain Dirichlet map, name
    that calibrator; with rows that are not independent n is too large, and so is the trust in
    complex maps.

    With ``cv``, every candidate c is fitted without each fold in turn, and :math:`\ell_{ci}` is
    its log-loss on row i, which it has not seen. With the best :math:`c^*` in the mean, the first
    candidate is taken that is not really worse,

    .. math:: \bar d_c \le \frac12 \sqrt{\frac{\sum_i v_i (d_{ci} - \bar d_c)^2}{n (n - 1)}},
        \qquad d_{ci} = \ell_{ci} - \ell_{c^* i},

    where :math:`v_i` are the weights: within half a standard error of the paired difference. Harm
    is then that of a normal distribution of the difference from uncalibrated probabilities, a
    little too sure. Folds are dealt by row number. So a row of weight two is not the same as two
    rows, which may fall into different folds, and rows in another order make other folds: where
    candidates are close, either may change the choice.

    References
    ----------
    Hoeting, J. A., Madigan, D., Raftery, A. E. and Volinsky, C. T. (1999). Bayesian model
    averaging: a tutorial. Statistical Science 14.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import AutoCalibrator
    >>> rng = np.random.default_rng(0)
    >>> q = rng.dirichlet(np.ones(3), size=1000)
    >>> y = (q.cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1)
    >>> AutoCalibrator().fit(q, y).choice_  # calibrated already
    'identity'
    >>> sharp = q**2 / (q**2).sum(axis=1, keepdims=True)
    >>> auto = AutoCalibrator().fit(sharp, y)
    >>> auto.choice_
    'temperature'
    >>> auto.probability_of_harm_ < 0.01
    True
    """

    choice_: str
    table_: dict[str, list[Any]]
    probability_of_harm_: float

    method_class: ClassVar = AutoMethod

    def __init__(
        self,
        *,
        calibrators: Sequence[Any] | None = None,
        cv: Any = None,
        input_scale: InputScale = "probability",
        classes: Iterable[Any] | None = None,
    ) -> None:
        self.calibrators = calibrators
        self.cv = cv
        self.input_scale = input_scale
        self.classes = classes

    @property
    def calibrator_(self) -> AbstractCalibrator:
        """The calibrator that predicts."""
        return self.fit_.members[0]

    def _only_map(self) -> Any:
        check_is_fitted(self)
        if hasattr(self.calibrator_, "linear_parameters"):
            return self.calibrator_
        raise ValueError(
            f"`calibrators` must lead to a linear map for this; the choice was {self.choice_}, "
            "which has no matrix to tell of. Ask `calibrator_` for what it has."
        )

    def explain(self, X: ArrayLike | None = None) -> Explanation:
        """What the chosen map corrects; where the choice was to do nothing, that nothing needs it.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes), optional
            Rows on which the effects are measured; by default the fitting rows.

        Returns
        -------
        explanation : Explanation
            Print it to read it; its attributes hold the numbers.
        """
        check_is_fitted(self)
        if not isinstance(self.calibrator_, IdentityCalibrator):
            return super().explain(X)
        unchanged = self.calibrator_.explain(X)
        if len(self.table_["calibrator"]) == 1:
            return unchanged
        return replace(unchanged, why_nothing=_NOTHING_TO_CORRECT)


def _names(candidates: list[AbstractCalibrator]) -> list[str]:
    """Names of the classes, with their parameters where a class occurs twice."""
    names = [type(each).__name__ for each in candidates]
    return [
        repr(each) if names.count(name) > 1 else name
        for each, name in zip(candidates, names, strict=True)
    ]
