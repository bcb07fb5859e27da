"""Calibrated labels of a language model, from a few labelled rows and many without labels."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.calibrators import (
    AbstractCalibrator,
    AbstractScoreMethod,
    Fit,
    FitColumns,
    Notice,
    fit_arrays,
    fitted_copy,
    with_fit,
)
from dircal.exceptions import DircalWarning
from dircal.explain import Explanation
from dircal.llm._batch import as_proba, balanced, first_steps, log_evidence
from dircal.llm._prompts import (
    Prompts,
    check_prompts,
    means_of,
    other_rows,
    warn_of_same_texts,
)
from dircal.maps import CalibrationMap, column_steps
from dircal.selection import AutoCalibrator
from dircal.shift import GroupedCalibrator
from dircal.tables import (
    LabelledRows,
    check_option,
    find_key,
    key_type,
    known_groups,
    same_kind,
    split_groups,
)

__all__ = ["LabelCalibrator", "label_map"]

_BATCH = ("learned", "always", "none")


@dataclass(frozen=True, eq=False)
class LabelDetails:
    """Mean probabilities of all rows, and those of each prompt."""

    mean_proba: FloatArray
    groups: LabelArray
    group_means: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelMethod(AbstractScoreMethod):
    """Division by the means of prompts, and a calibrator after it, as a method."""

    batch: Literal["learned", "always", "none"]
    prompts: Prompts = field(default_factory=Prompts)

    name: ClassVar[str] = "LabelCalibrator"
    details: ClassVar[type] = LabelDetails

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        super().check()
        check_option("batch", self.batch, _BATCH)

    def learn(self, rows: LabelledRows) -> Fit:
        """Find the map of these rows, after division by the means or without."""
        data, prompts = rows.in_memory, self.prompts
        k, rest = len(data.classes), prompts.rest_as_proba(data, self.input_scale)
        if data.sample_weight is not None:
            data = data.take(np.flatnonzero(data.sample_weight))
        if self.input_scale == "logit":
            data = data.undecided()
        proba = as_proba(data.inputs[:, np.argsort(data.column_classes)], self.input_scale)
        choices = {"learned": (False, True), "always": (True,), "none": (False,)}[self.batch]
        prompts = prompts.of_rows(data.picked)
        notices: tuple[Notice, ...] = ()
        if rest is not None and self.batch != "none":
            differ = other_rows(proba, rest, prompts)
            if differ.any():
                notices = (self._other_rows_notice(int(differ.sum())),)
                if self.batch == "learned":
                    rest, prompts = rest[~differ], prompts.without(differ)
        means = means_of(proba, data.sample_weight, rest, prompts)
        fits = []
        for divided in choices:
            by = means if divided else replace(means, every=np.ones(k), each=means.each * 0.0 + 1.0)
            inner = replace(
                data,
                matrix=balanced(proba, by.of_rows(prompts.labelled)),
                picked=None,
                column_classes=data.classes,
                feature_names=None,
                n_features=len(data.classes),
            )
            fits.append((fitted_copy(AutoCalibrator(), inner), by, inner))
        found, by, inner = max(fits, key=lambda fit: log_evidence(fit[0]))
        calibrator: AbstractCalibrator = found
        if prompts.labelled is not None:
            grouped = GroupedCalibrator(AutoCalibrator())
            method = replace(grouped.method(), groups=prompts.labelled)
            calibrator = with_fit(grouped, method.fit(inner))
        columns = FitColumns.of(rows)
        return Fit(
            columns,
            label_map(columns, self.input_scale, by.every, calibrator.map_),
            LabelDetails(by.every, by.groups, by.each),
            (calibrator,),
            notices=(*calibrator.fit_.notices, *notices),
        )

    def _other_rows_notice(self, n_rows: int) -> Notice:
        """Return a warning about rows without labels that differ from those with labels."""
        used = "not used" if self.batch == "learned" else "used all the same"
        text = (
            f"{n_rows:,} rows of `unlabelled` differ from the labelled rows in mean probabilities "
            f"or confidence (p < 0.01): they are {used}. Pass rows of the same prompts and texts."
        )
        return text, DircalWarning

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless means are positive."""
        k, found = len(fit.columns.classes), fit.details
        if found.mean_proba.shape != (k,) or not (found.mean_proba > 0.0).all():
            raise ValueError(f"`mean_proba_` must be {k} positive numbers")
        shape = len(found.groups), k
        if found.group_means.shape != shape or not (found.group_means > 0.0).all():
            raise ValueError(f"`group_means_` must be positive numbers of the shape {shape}")


def label_map(
    columns: FitColumns, scale: InputScale, means: FloatArray, inner: CalibrationMap
) -> CalibrationMap:
    """Return a division by means, if there are any, followed by an inner map."""
    first = column_steps(columns.column_classes, columns.n_features, scale)
    steps = (*first, *first_steps(scale, means), *inner.steps)
    return CalibrationMap(columns.n_features, steps)


class LabelCalibrator(AbstractCalibrator):
    r"""The default for label probabilities of a language model, with 25 to 200 labelled rows.

    A prompt makes a model prefer some options whatever the text is. How much shows in rows without
    labels: divide by the mean probability of each option (batch calibration). Then
    `AutoCalibrator` learns from the rows with labels. Several prompts or models at once are
    ``groups``: each is divided by its own means, and has a map that knows of the others.

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
    calibrator_ : AutoCalibrator or GroupedCalibrator
        What was learned from the labels; it reads probabilities, divided or not.
    mean_proba_ : array of shape (n_classes,)
        Mean probability of each class in all rows; ones where they are not divided by.
    groups_ : array of shape (n_groups,)
        The prompts or models, sorted; empty where `fit` was given none.
    group_means_ : array of shape (n_groups, n_classes)
        The same means for each of them.
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
    GroupedCalibrator : How the maps of prompts know of each other.
    option_probabilities : Probabilities of options from raw output.

    Notes
    -----
    With :math:`m_j` the mean probability of class j over all rows, labelled or not,

    .. math:: r_j = \frac{q_j / m_j}{\sum_i q_i / m_i}

    goes to `AutoCalibrator`. Dividing takes it for granted that the classes are about equally
    frequent; where the labels say otherwise, their evidence is higher for the probabilities as they
    are, and these are taken, or the intercepts of the map make up for it.

    With ``groups`` the means are those of each group, with one more row that is the mean of all,
    and `GroupedCalibrator` around an `AutoCalibrator` reads what comes of it. A prompt without a
    label, of which there are rows without, is divided by its own means and gets the common map; one
    that was never seen is divided by the means of all.

    Rows with and without labels are compared by their mean probabilities and mean confidence, group
    by group, if a group has at least 20 labels. If these differ at one percent, `fit` warns, and
    with ``batch="learned"`` does not use the rows without labels.

    When not to use it: with thousands of labelled rows `AutoCalibrator` needs no help; if the
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

    mean_proba_: FloatArray
    groups_: LabelArray
    group_means_: FloatArray

    method_class: ClassVar = LabelMethod

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
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        unlabelled: ArrayLike | None = None,
        groups: ArrayLike | str | None = None,
        unlabelled_groups: ArrayLike | str | None = None,
        counts: bool = False,
    ) -> Self:
        """Learn the map from scores, true labels, and scores without labels.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes)
            Probabilities, or logits with ``input_scale="logit"``, of the options; a data frame may
            have a column of groups besides.
        y : array of shape (n_samples,) or (n_samples, n_classes), optional
            True labels: strings, integers or booleans; or soft ones, see `AutoCalibrator.fit`.
        sample_weight : array of shape (n_samples,), optional
            Weights; an integer weight counts like so many copies of the row.
        unlabelled : array or data frame of shape (n_unlabelled, n_classes), optional
            Scores of further rows, as those to be labelled: they tell what the prompt prefers.
        groups : array of shape (n_samples,) or str, optional
            The prompt or model of each row, or the name of the column of `X` with them: strings,
            numbers or booleans, all of one type. None takes all rows for those of one prompt.
        unlabelled_groups : array of shape (n_unlabelled,) or str, optional
            The same for the rows of ``unlabelled``, needed where there are both.
        counts : bool, default=False
            Whether soft labels that are no integers are counts of annotators.

        Returns
        -------
        self : object
            The fitted calibrator.
        """
        scores, prompts = check_prompts(X, groups, unlabelled, unlabelled_groups)
        method = replace(self.method(), prompts=prompts)
        fit_arrays(self, method, scores, y, sample_weight, counts=counts)
        warn_of_same_texts(y, prompts)
        return self

    @property
    def calibrator_(self) -> AbstractCalibrator:
        """The calibrator of probabilities, divided or not."""
        return self.fit_.members[0]

    def predict_proba(self, X: ArrayLike, *, groups: ArrayLike | str | None = None) -> FloatArray:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes)
            Scores, with the columns of the fit.
        groups : array of shape (n_samples,) or str, optional
            The prompt or model of each row, of the type of the fit, or the name of the column with
            them. None stands for the common map, which rows of unknown groups get as well, with an
            `UnknownGroupWarning`.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
            Rows sum to one; columns follow ``classes_``. Of the library and on the device of `X`.
        """
        proba: FloatArray = same_kind(self._predict_by_group(X, groups), X)
        return proba

    def predict(self, X: ArrayLike, *, groups: ArrayLike | str | None = None) -> LabelArray:
        """Most probable label of each row after calibration.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes)
            As for `predict_proba`.
        groups : array of shape (n_samples,) or str, optional
            As for `predict_proba`.

        Returns
        -------
        labels : array of shape (n_samples,)
            Entries of ``classes_``; the first of equals.
        """
        proba = self._predict_by_group(X, groups)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    def _predict_by_group(self, X: ArrayLike, groups: ArrayLike | str | None) -> FloatArray:
        """Calibrated probabilities as NumPy has them."""
        check_is_fitted(self)
        if groups is None:
            return self._predict_proba(X)
        names = self.groups_.tolist()
        scores, of_rows = split_groups(X, groups, key_type(names))
        codes = known_groups(of_rows, self.groups_)
        inputs, column_classes = self.fit_.check_scores(scores)
        proba = np.empty((len(inputs), len(self.classes_)))
        for code in np.unique(codes).tolist():
            own = self.calibrator_of(names[code] if code >= 0 else None)
            proba[codes == code] = own.fit_.map_of(column_classes)(inputs[codes == code])
        return proba

    def calibrator_of(self, group: Any = None) -> "LabelCalibrator":
        """The calibrator of one prompt or model, to be saved or exported by itself.

        Parameters
        ----------
        group : object, optional
            One of ``groups_``; None stands for those that are new.

        Returns
        -------
        calibrator : LabelCalibrator
            Without groups: its map is that of the group.
        """
        check_is_fitted(self)
        names, mean_proba = self.groups_.tolist(), self.mean_proba_
        if group is not None:
            place = find_key("group", group, names, "the map of new groups")
            group, mean_proba = names[place], self.group_means_[place]
        inner = self.calibrator_
        if isinstance(inner, GroupedCalibrator):
            inner = inner.calibrator_of(group if group in inner.groups_.tolist() else None)
        else:
            mean_proba = self.mean_proba_
        details = LabelDetails(mean_proba, np.array([]), np.empty((0, len(self.classes_))))
        alone = label_map(self.fit_.columns, self.map_.input_scale, mean_proba, inner.map_)
        fit = replace(self.fit_, map=alone, details=details, members=(inner,))
        copy: LabelCalibrator = with_fit(self, fit)
        return copy

    @property
    def _auto(self) -> AutoCalibrator:
        """The common map."""
        inside = self.calibrator_
        found = inside.calibrator_ if isinstance(inside, GroupedCalibrator) else inside
        assert isinstance(found, AutoCalibrator)
        return found

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
            return self._auto.explain()
        scores = self.fit_.scores_by_class(*self.fit_.check_scores(X))
        proba = as_proba(scores, self.map_.input_scale)
        return self._auto.explain(balanced(proba, self.mean_proba_))
