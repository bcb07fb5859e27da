"""Calibrated labels of a language model, from a few labelled rows and many without labels."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax

from dircal._core.bayes.models import joint_log_evidence
from dircal._typing import ArrayLike, FloatArray, InputScale
from dircal.calibrators import AbstractCalibrator, Fitted, FitWarning
from dircal.maps import (
    AbstractStep,
    CalibrationMap,
    Diagonal,
    Explanation,
    LogProbability,
    LogSoftmax,
    Softmax,
    column_steps,
)
from dircal.selection import AutoCalibrator
from dircal.validation import (
    AbstractLabelledRows,
    LabelledScores,
    check_option,
    check_scores,
)

__all__ = ["LabelCalibrator"]

_BATCH = ("learned", "always", "none")


class LabelCalibrator(AbstractCalibrator):
    r"""The default for label probabilities of a language model, with 25 to 200 labelled rows.

    A prompt makes a model prefer some options whatever the text is. How much shows in rows without
    labels: divide by the mean probability of each option (batch calibration). Then
    `AutoCalibrator` learns from the rows with labels.

    Parameters
    ----------
    batch : {"learned", "always", "none"}, default="learned"
        Whether probabilities are divided by their means first. ``"learned"`` does it where that
        makes the labels more probable, by evidence.
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds.
    classes : sequence, optional
        Label of each column of `X`, in any order. Needed where the labels in `y` do not tell:
        columns in another order than sorted labels, or a class that `y` lacks, as with few rows
        some do.

    Attributes
    ----------
    calibrator_ : AutoCalibrator
        What was learned from the labels; it reads probabilities, divided or not.
    mean_proba_ : array of shape (n_classes,)
        Mean probability of each class in all rows; ones where they are not divided by.
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
    map_ : CalibrationMap
        The fitted map as a value: steps from columns to probabilities.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    AutoCalibrator : The same without rows that have no labels.
    option_probabilities : Probabilities of options from raw output.

    Notes
    -----
    With :math:`m_j` the mean probability of class j over all rows, labelled or not,

    .. math:: r_j = \frac{q_j / m_j}{\sum_i q_i / m_i}

    goes to `AutoCalibrator`. Dividing takes it for granted that the classes are about equally
    frequent; where the labels say otherwise, their evidence is higher for the probabilities as they
    are, and these are taken, or the intercepts of the map make up for it.

    When not to use it: with thousands of labelled rows `AutoCalibrator` needs no help; where the
    rows without labels are of another kind than those to come.

    References
    ----------
    Zhou, H. et al. (2024). Batch calibration: rethinking calibration for in-context learning and
    prompt engineering. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal.llm import LabelCalibrator
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.dirichlet(np.ones(3), size=2000)
    >>> y = (truth.cumsum(axis=1) > rng.random((2000, 1))).argmax(axis=1)
    >>> biased = truth * np.array([8.0, 1.0, 1.0])  # the prompt prefers the first option
    >>> biased /= biased.sum(axis=1, keepdims=True)
    >>> calibrator = LabelCalibrator().fit(biased[:50], y[:50], unlabelled=biased[50:])
    >>> biased.mean(axis=0).round(1)
    array([0.7, 0.2, 0.2])
    >>> calibrator.predict_proba(biased).mean(axis=0).round(1)
    array([0.3, 0.3, 0.4])
    """

    calibrator_: AutoCalibrator
    mean_proba_: FloatArray
    _fitted_scale: InputScale

    def __init__(
        self,
        *,
        batch: Literal["learned", "always", "none"] = "learned",
        input_scale: InputScale = "probability",
        classes: Iterable[Any] | None = None,
    ) -> None:
        self.batch = batch
        self.input_scale = input_scale
        self.classes = classes

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        unlabelled: ArrayLike | None = None,
        counts: bool = False,
    ) -> Self:
        """Learn the map from scores, true labels, and scores without labels.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes)
            Probabilities, or logits with ``input_scale="logit"``, of the options.
        y : array of shape (n_samples,) or (n_samples, n_classes)
            True labels: strings, integers or booleans; or soft ones, see `AutoCalibrator.fit`.
        sample_weight : array of shape (n_samples,), optional
            Weights; an integer weight counts like so many copies of the row.
        unlabelled : array or data frame of shape (n_unlabelled, n_classes), optional
            Scores of further rows of the same kind, such as those to be labelled. They tell what
            the prompt prefers.
        counts : bool, default=False
            Whether soft labels that are no integers are counts of annotators.

        Returns
        -------
        self : object
            The fitted calibrator.
        """
        self._unlabelled_of_fit = unlabelled
        try:
            return super().fit(X, y, sample_weight, counts=counts)
        finally:
            del self._unlabelled_of_fit

    def _fit(self, data: AbstractLabelledRows) -> Fitted:
        assert isinstance(data, LabelledScores)
        k, unlabelled = len(data.classes), self._unlabelled(data)
        if data.sample_weight is not None:
            data = data.take(np.flatnonzero(data.sample_weight))
        if self.input_scale == "logit":
            data = data.undecided()
        proba = _proba(data.inputs[:, np.argsort(data.column_classes)], self.input_scale)
        choices = {"learned": (False, True), "always": (True,), "none": (False,)}[self.batch]
        means = _means(proba, data.sample_weight, unlabelled, self.input_scale)
        fits = []
        for divided in choices:
            by = means if divided else np.ones(k)
            balanced = proba / by
            balanced /= balanced.sum(axis=1, keepdims=True)
            inner = replace(
                data, matrix=balanced, picked=None, column_classes=data.classes, feature_names=None
            )
            calibrator = AutoCalibrator()._fit_checked(inner)
            fits.append((calibrator, by))
        found, by = max(fits, key=lambda fit: _log_evidence(fit[0]))
        return Fitted(
            None, {"calibrator_": found, "mean_proba_": by, "_fitted_scale": self.input_scale}
        )

    def _unlabelled(self, data: LabelledScores) -> FloatArray | None:
        """Rows without labels through the door, with columns in the order of the classes."""
        given: ArrayLike | None = getattr(self, "_unlabelled_of_fit", None)
        if given is None:
            return None
        rows, columns = check_scores(
            given,
            column_classes=data.column_classes,
            n_features=data.n_features,
            feature_names=data.feature_names,
            input_scale=self.input_scale,
        )
        ordered: FloatArray = rows[:, np.argsort(columns)]
        return ordered

    @property
    def map_(self) -> CalibrationMap:  # type: ignore[override]
        """Division by the means, where that was done, and then the map of the calibrator inside."""
        # Of the fit, whatever the parameter says by now.
        scale = self._fitted_scale
        columns = column_steps(self.column_classes_, self.n_features_in_, scale)
        first = _first_steps(scale, self.mean_proba_)
        return CalibrationMap(self.n_features_in_, (*columns, *first, *self.calibrator_.map_.steps))

    def explain(self, X: ArrayLike | None = None) -> Explanation:
        """What the map corrects after the preferences of the prompt were divided out.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes), optional
            Rows on which the effects are measured; by default the fitting rows.

        Returns
        -------
        explanation : Explanation
            Print it to read it; its attributes hold the numbers.
        """
        if X is None:
            return self.calibrator_.explain()
        inputs, columns = self._check_scores(X)
        balanced = _proba(inputs[:, np.argsort(columns)], self._fitted_scale) / self.mean_proba_
        return self.calibrator_.explain(balanced / balanced.sum(axis=1, keepdims=True))

    def _check_options(self) -> None:
        check_option("batch", self.batch, _BATCH)

    def _members(self) -> Sequence[AbstractCalibrator]:
        return (self.calibrator_,)

    def _fit_warnings(self) -> list[FitWarning]:
        return self.calibrator_._fit_warnings()

    def _check_fitted(self) -> None:
        if self.mean_proba_.shape != (len(self.classes_),) or not (self.mean_proba_ > 0.0).all():
            raise ValueError(f"`mean_proba_` must be {len(self.classes_)} positive numbers")


def _log_evidence(auto: AutoCalibrator) -> float:
    """Logarithm of the probability of the labels, averaged over all maps."""
    table = auto.table_
    scores = joint_log_evidence(table["calibrator"], table["log_evidence"])
    return float(np.logaddexp.reduce(scores))


def _first_steps(input_scale: InputScale, by: FloatArray) -> tuple[AbstractStep, ...]:
    """From scores to probabilities divided by means; nothing where there is nothing to do."""
    logarithm = LogSoftmax() if input_scale == "logit" else LogProbability()
    if input_scale == "probability" and (by == 1.0).all():
        return ()
    return (logarithm, Diagonal(np.ones(len(by)), -np.log(by)), Softmax())


def _means(
    proba: FloatArray,
    weight: FloatArray | None,
    unlabelled: FloatArray | None,
    input_scale: InputScale,
) -> FloatArray:
    """Mean probability of each class in all rows; above zero for one that never has any."""
    total = (proba if weight is None else proba * weight[:, None]).sum(axis=0)
    n = float(len(proba) if weight is None else weight.sum())
    if unlabelled is not None:
        total = total + _proba(unlabelled, input_scale).sum(axis=0)
        n += len(unlabelled)
    # One more row, a uniform one.
    means: FloatArray = (total + 1.0 / len(total)) / (n + 1.0)
    return means


def _proba(inputs: Any, input_scale: InputScale) -> FloatArray:
    wide = np.asarray(inputs, dtype=np.float64)
    if input_scale == "logit":
        logits: FloatArray = softmax(wide, axis=1)
        return logits
    result: FloatArray = wide / wide.sum(axis=1, keepdims=True)
    return result
