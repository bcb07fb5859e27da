"""The default: the simplest of several calibrators that is not really worse than the best."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from dircal._typing import ArrayLike, InputScale
from dircal.calibrators import (
    AbstractCalibrator,
    BayesianDirichletCalibrator,
    Fitted,
    FitWarning,
    IdentityCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal.maps import CalibrationMap, Explanation
from dircal.selection._base import check_calibrator
from dircal.selection._judge import CrossFit, Judge, above_zero, without_optimum
from dircal.selection._one_map import OneMapMixin
from dircal.selection._splits import check_cv, splits_to_choose_by
from dircal.validation import LabelledScores

__all__ = ["AutoCalibrator"]

# A difference is real when it exceeds so many standard errors. With one or two, far fewer tasks are
# calibrated at all, and the few that come to harm stay the same (`benchmarks/quality.py`).
_STANDARD_ERRORS = 0.5
_NOTHING_TO_CORRECT = (
    "Nothing needed correcting: on rows that were kept back, no other candidate was really better "
    "than the probabilities as they are, so they stay as they are."
)


class AutoCalibrator(OneMapMixin, AbstractCalibrator):
    r"""Chooses among calibrators by what they do to rows that they were not fitted on.

    The simplest one wins that is not really worse than the best. So uncalibrated probabilities
    that are right already stay as they are. A candidate that has no finite optimum on the rows is
    left out, unless none has one: how sure such a map is does not come from the rows.

    Parameters
    ----------
    calibrators : sequence of calibrators, optional
        Candidates, from the simplest to the most complex, all with the ``input_scale`` given
        here. None stands for `IdentityCalibrator`, `TemperatureScaling`, `VectorScaling` and
        `BayesianDirichletCalibrator`.
    cv : int, splitter or iterable of pairs, default=5
        Number of folds, dealt at random with a fixed seed; or a splitter of scikit-learn; or pairs
        of indices (rows to fit, rows to score). Of a row that is scored several times, the mean
        counts, once.
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds.
    classes : sequence, optional
        Label of each column of `X`, in any order. Needed where the labels in `y` do not tell:
        columns in another order than sorted labels, or a class that `y` lacks.

    Attributes
    ----------
    calibrator_ : calibrator
        The chosen one, fitted on all rows.
    choice_ : str
        Its name in the table.
    table_ : dict of lists
        What the choice was made by, one entry for each candidate: "calibrator", its name;
        "log_loss", the mean on rows that were kept back; "difference" from the best, and its
        "standard_error"; "harm", the estimated probability of being worse than uncalibrated;
        "left_out", whether it was no candidate because it has no finite optimum on these rows.
    probability_of_harm_ : float
        That of the chosen one; zero for the identity.
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
    CalibratorCV : Chooses the parameters of one calibrator.

    Notes
    -----
    Every candidate c is fitted without each fold in turn, and :math:`\ell_{ci}` is its log-loss on
    row i, which it has not seen. With the best :math:`c^*` in the mean, candidate c is not really
    worse if

    .. math:: \bar d_c \le \frac12 \sqrt{\frac{\sum_i v_i (d_{ci} - \bar d_c)^2}{n (n - 1)}}, \qquad
        d_{ci} = \ell_{ci} - \ell_{c^* i},

    where :math:`v_i` are the weights, n is their sum and :math:`\bar d_c` the weighted mean: within
    half a standard error of the paired difference. The first such candidate is fitted on all rows;
    more caution costs gain and hardly lowers harm. The probability of harm is that of a normal
    distribution with the mean and the standard error of the difference to uncalibrated
    probabilities, above zero. It counts folds as independent, so it is an estimate, and a little
    too sure.

    When not to use it: it fits every candidate as often as there are folds and once more. Where
    time matters, or where harm is out of the question because the scores are no probabilities at
    all, `BayesianDirichletCalibrator` alone gives the same in most cases.

    Folds are dealt by row number. So a row of weight two is not the same as two rows, which may
    fall into different folds, and rows in another order make other folds: where candidates are
    close, either may change the choice. What the chosen map makes of all rows depends on neither.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import AutoCalibrator
    >>> rng = np.random.default_rng(0)
    >>> q = rng.dirichlet(np.ones(3), size=1000)
    >>> y = (q.cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1)
    >>> AutoCalibrator().fit(q, y).choice_  # calibrated already
    'IdentityCalibrator'
    >>> sharp = q**2 / (q**2).sum(axis=1, keepdims=True)
    >>> auto = AutoCalibrator().fit(sharp, y)
    >>> auto.choice_
    'TemperatureScaling'
    >>> auto.probability_of_harm_ < 0.01
    True
    """

    calibrator_: AbstractCalibrator
    choice_: str
    table_: dict[str, list[Any]]
    probability_of_harm_: float

    def __init__(
        self,
        *,
        calibrators: Sequence[Any] | None = None,
        cv: Any = 5,
        input_scale: InputScale = "probability",
        classes: Iterable[Any] | None = None,
    ) -> None:
        self.calibrators = calibrators
        self.cv = cv
        self.input_scale = input_scale
        self.classes = classes

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

    def _check_options(self) -> None:
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
            check_calibrator(each)._check_parameters()
            if each.input_scale != self.input_scale:
                raise ValueError(
                    f"`calibrators` must all read what `input_scale` says, "
                    f"{self.input_scale!r}; got {each!r} with input_scale={each.input_scale!r}. "
                    "Set the same one everywhere."
                )
            if each._labels_of_columns is not None:
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

    def _fit(self, data: LabelledScores) -> Fitted:
        candidates = self._candidates(len(data.classes))
        splits = splits_to_choose_by(self.cv, data.labels, data.sample_weight)
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
        return Fitted(
            None,
            {
                "calibrator_": candidates[chosen]._fit_checked(data),
                "choice_": names[chosen],
                "table_": table,
                "probability_of_harm_": harm[chosen],
            },
        )

    @property
    def map_(self) -> CalibrationMap:  # type: ignore[override]
        """The map of the calibrator that was chosen."""
        return self.calibrator_.map_

    def _members(self) -> Sequence[AbstractCalibrator]:
        return (self.calibrator_,)

    def _fit_warnings(self) -> list[FitWarning]:
        return self.calibrator_._fit_warnings()

    def _check_fitted(self) -> None:
        for name in ("input_scale", "classes_", "column_classes_", "n_features_in_"):
            if not np.array_equal(getattr(self.calibrator_, name), getattr(self, name)):
                raise ValueError(f"`calibrator_` has another `{name}`")
        if self.choice_ not in self.table_["calibrator"]:
            raise ValueError("`choice_` is no entry of `table_`")


def _names(candidates: list[AbstractCalibrator]) -> list[str]:
    """Names of the classes, with their parameters where a class occurs twice."""
    names = [type(each).__name__ for each in candidates]
    return [
        repr(each) if names.count(name) > 1 else name
        for each, name in zip(candidates, names, strict=True)
    ]
