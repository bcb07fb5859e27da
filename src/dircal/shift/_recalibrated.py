"""The old map, a correction of it, and a new one, by how well each foretold new labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.bayes.models import MODELS, joint_log_evidence
from dircal._typing import ArrayLike
from dircal.calibrators import AbstractCalibrator, Fit, FitColumns, fitted_copy
from dircal.explain import Explanation
from dircal.maps import CalibrationMap
from dircal.selection import AutoCalibrator
from dircal.shift._base import (
    AbstractAdapted,
    AbstractAdaptedMethod,
    sentences_alone,
    weighted_mean,
)
from dircal.tables import LabelledRows

__all__ = ["RecalibratedCalibrator", "recalibrated_map"]

# Before any new label is seen: the old map is right, or a neighbour of it is, or nothing of it.
# With 0.45, 0.45 and 0.1, ten labels without a shift cost 0.18 in one of a hundred samples, and now
# 0.07 (`tests/long/test_recalibrate.py`). From forty labels on the prior makes little difference.
_PRIOR = {"old": 0.8, "corrected": 0.16, "fresh": 0.04}


@dataclass(frozen=True)
class RecalibratedDetails:
    """Weights of the old map, the corrected one and the one of the new rows alone."""

    weights: dict[str, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class RecalibratedMethod(AbstractAdaptedMethod):
    """The recalibration of a fitted map as a method."""

    name: ClassVar[str] = "RecalibratedCalibrator"
    details: ClassVar[type] = RecalibratedDetails

    @property
    def labels_of_columns(self) -> Iterable[Any] | None:
        """Label of each column as the user gave it, or of the fitted map."""
        given = super().labels_of_columns
        fitted: Any = getattr(self.calibrator, "column_classes_", None)
        return fitted if given is None else given

    def learn(self, rows: LabelledRows) -> Fit:
        """Weigh the old map, a correction of it and a new map of these rows."""
        data = rows.in_memory
        old: AbstractCalibrator = self.template
        if not hasattr(old, "classes_"):
            old = fitted_copy(old, data)
        elif not np.array_equal(old.classes_, data.classes):
            raise ValueError(
                f"`classes` must be those that the calibrator was fitted on, {old.classes_!r}; got "
                f"{data.classes!r}. Fit a new calibrator for other classes."
            )
        fresh = fitted_copy(AutoCalibrator(input_scale=self.input_scale), data)
        # Rows in which all classes but one are masked tell nothing.
        used = data.undecided() if self.input_scale == "logit" else data
        calibrated = replace(
            used,
            matrix=old.fit_.predict(used),
            column_classes=data.classes,
            feature_names=None,
            n_features=len(data.classes),
            picked=None,
        )
        correction = fitted_copy(AutoCalibrator(), calibrated)
        correction.fit_.drop_rows()
        evidence = _evidence_of(correction), _evidence_of(fresh)
        log_evidence = np.array(
            [
                evidence[0]["identity"],
                _others(evidence[0]),
                np.logaddexp(
                    _others(evidence[1]), evidence[1]["identity"] + _log_prior("identity")
                ),
            ]
        )
        weights = _posterior(log_evidence)
        members = (old, correction, fresh)
        return Fit(
            FitColumns.of(rows),
            recalibrated_map(members, weights),
            RecalibratedDetails(weights),
            members,
            notices=old.fit_.notices,
        )

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless members and weights belong together."""
        super().check_fit(fit)
        weights = [fit.details.weights[name] for name in _PRIOR]
        if min(weights) < 0.0 or abs(sum(weights) - 1.0) > 1e-9:
            raise ValueError("`weights_` must be probabilities that sum to one")
        if not np.array_equal(fit.members[1].classes_, fit.columns.classes):
            raise ValueError("`correction_` has other classes")


def recalibrated_map(
    members: Sequence[AbstractCalibrator], weights: Mapping[str, float]
) -> CalibrationMap:
    """Return the mean of the maps with positive weight, each times its weight."""
    old, correction, fresh = (member.map_ for member in members)
    maps = {"old": old, "corrected": old.then(*correction.steps), "fresh": fresh}
    return weighted_mean([(maps[name], weight) for name, weight in weights.items() if weight > 0.0])


class RecalibratedCalibrator(AbstractAdapted):
    r"""A fitted calibrator and new labels: how far to move is learned by evidence.

    What `recalibrate` returns. Ten new labels change next to nothing, unless what they say is
    plain; thousands make a new map.

    Parameters
    ----------
    calibrator : calibrator
        The fitted calibrator from before. One that is not fitted is fitted on the rows first, and
        then there is little to correct.
    classes : sequence, optional
        Label of each column of `X`, in any order. None stands for those of the fitted calibrator.

    Attributes
    ----------
    calibrator_ : calibrator
        The calibrator from before.
    correction_ : AutoCalibrator
        Fitted on what the old map makes of the new rows: the old map is the centre of its prior.
    fresh_ : AutoCalibrator
        Fitted on the new rows alone.
    weights_ : dict
        Posterior probabilities of the three: "old", "corrected" and "fresh". Zero for those that
        have no part.
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
    map_ : CalibrationMap
        The mean of the three maps by these weights.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    recalibrate : Makes it in one call.
    PriorShift : Where no new labels are known.

    Notes
    -----
    The probability of the new labels by the old map, :math:`Z_o`; by maps around it, averaged over
    all that they could be, :math:`Z_c`; and by maps around a temperature, which know nothing of
    the old one, :math:`Z_f`, are their evidence. With prior probabilities :math:`\pi` of 80, 16
    and 4 percent the probability of a row is

    .. math:: \sum_m \frac{\pi_m Z_m}{\sum_l \pi_l Z_l} \mu_m(q),

    a mean of probabilities, whose loss is never much larger than that of the best. Maps that are
    twenty times less probable than the best have no part.

    When not to use it: where the old rows are at hand and nothing has shifted; then fit once, on
    all of them.

    Examples
    --------
    >>> from dircal import GenerativeParameters, VectorScaling
    >>> from dircal.shift import RecalibratedCalibrator
    >>> alpha = [[3.0, 1.0], [1.0, 3.0]]
    >>> old = VectorScaling().fit(*GenerativeParameters(alpha, [0.5, 0.5]).sample(2000, 0))
    >>> X, y = GenerativeParameters(alpha, [0.9, 0.1]).sample(1000, 1)
    >>> RecalibratedCalibrator(old).fit(X, y).weights_["old"]
    0.0
    """

    weights_: dict[str, float]

    method_class: ClassVar = RecalibratedMethod

    def __init__(self, calibrator: Any, *, classes: Iterable[Any] | None = None) -> None:
        self.calibrator = calibrator
        self.classes = classes

    @property
    def correction_(self) -> AutoCalibrator:
        """The correction after the old map."""
        correction: AutoCalibrator = self.fit_.members[1]
        return correction

    @property
    def fresh_(self) -> AutoCalibrator:
        """The map of the new rows alone."""
        fresh: AutoCalibrator = self.fit_.members[2]
        return fresh

    def explain(self, X: ArrayLike | None = None) -> Explanation:
        """How much of the old map is left, in sentences.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes), optional
            Rows, which are checked; the same holds for all.

        Returns
        -------
        explanation : Explanation
            Print it to read it. What the correction corrects is told by ``correction_.explain``.
        """
        check_is_fitted(self)
        if X is not None:
            self.fit_.check_scores(X)
        told = [
            f"The old map as it is: {self.weights_['old']:.1%}.",
            f"The old map with a correction ({self.correction_.choice_}): "
            f"{self.weights_['corrected']:.1%}.",
            f"A new map of the new rows alone ({self.fresh_.choice_}): "
            f"{self.weights_['fresh']:.1%}.",
        ]
        return sentences_alone(type(self).__name__, told)


def _evidence_of(auto: AutoCalibrator) -> dict[str, float]:
    """Logarithm of the evidence of each map."""
    table = auto.table_
    return dict(zip(table["calibrator"], table["log_evidence"], strict=True))


def _log_prior(name: str) -> float:
    return float(np.log(MODELS[name] / sum(MODELS.values())))


def _others(evidence: dict[str, float]) -> float:
    """Of all maps but the identity."""
    names = [name for name in evidence if name != "identity"]
    scores = joint_log_evidence(names, [evidence[name] for name in names])
    return float(np.logaddexp.reduce(scores))


def _posterior(log_evidence: Any) -> dict[str, float]:
    """Of the three, without what is out of the question."""
    scores = np.log([*_PRIOR.values()]) + log_evidence
    weights = np.exp(scores - scores.max())
    weights[weights < 1.0 / BAYES_LIMITS.get().occam_window] = 0.0
    return dict(zip(_PRIOR, (weights / weights.sum()).tolist(), strict=True))
