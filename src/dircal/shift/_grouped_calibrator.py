"""Leagues, sites, prompts, subjects: one map for each, which knows of the others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._typing import ArrayLike, FloatArray, LabelArray
from dircal.calibrators import AbstractCalibrator, Fit, fit_arrays, fitted_copy, with_fit
from dircal.maps import CalibrationMap
from dircal.shift._base import AbstractAdapted, AbstractAdaptedMethod
from dircal.shift._group_maps import fit_group_maps
from dircal.tables import (
    LabelledRows,
    ScoreTable,
    find_key,
    groups_of_fit,
    key_type,
    known_groups,
    same_kind,
    split_groups,
    unique_keys,
)

__all__ = ["GroupedCalibrator"]


@dataclass(frozen=True, eq=False)
class GroupDetails:
    """The groups, sorted, the map of each, and how much they differ."""

    groups: LabelArray = field(default_factory=lambda: np.array([]))
    group_maps: list[CalibrationMap] = field(default_factory=list)
    precisions: dict[str, float] = field(default_factory=dict)
    effective_parameters: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupedMethod(AbstractAdaptedMethod):
    """A common map and one for each group as a method; ``groups`` are those of the rows."""

    groups: Sequence[Any] | None = None

    name: ClassVar[str] = "GroupedCalibrator"
    details: ClassVar[type] = GroupDetails

    def learn(self, rows: LabelledRows) -> Fit:
        """Find the common map of these rows, and one for each group."""
        data = rows.in_memory
        common = fitted_copy(self.template, data)
        if self.groups is None:
            return Fit.of_member(common, details=GroupDetails())
        names, codes = unique_keys(self.groups)
        if data.sample_weight is not None:
            kept = np.flatnonzero(data.sample_weight)
            data = data.take(kept)
            present, codes = np.unique(codes[kept], return_inverse=True)
            names = names[present]
        found = fit_group_maps(common.fit_, data, codes, self.input_scale)
        details = GroupDetails(names, found.maps, found.precisions, found.effective_parameters)
        return Fit.of_member(common, details=details)

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless every group has a map of the same columns."""
        super().check_fit(fit)
        if len(fit.details.groups) != len(fit.details.group_maps):
            raise ValueError("it needs a map for each group")
        wanted = fit.map.n_columns, fit.map.n_classes
        for one in fit.details.group_maps:
            if (one.n_columns, one.n_classes) != wanted:
                raise ValueError("`group_maps_` must read the columns of the common map")


class GroupedCalibrator(AbstractAdapted):
    r"""A map for each group, as random effects around a common one.

    Groups with many rows get a map of their own, groups with few get nearly the common map, and
    how much groups differ is learned from all of them.

    Parameters
    ----------
    calibrator : calibrator
        The common map, for example ``AutoCalibrator()``. It is cloned, never fitted itself.
    classes : sequence, optional
        Label of each column of `X`, in any order. None stands for the ``classes`` of
        ``calibrator``.

    Attributes
    ----------
    calibrator_ : calibrator
        The common map, fitted on all rows; what new groups get.
    groups_ : array of shape (n_groups,)
        The groups, sorted; empty where `fit` was given none.
    group_maps_ : list of CalibrationMap
        The map of each.
    precisions_ : dict
        How much groups differ, if they do, as precisions of "slopes", "matrices" and "intercepts":
        the larger, the less.
    effective_parameters_ : dict
        How many parameters of each kind the rows determine, in all groups together, times the
        posterior probability that groups differ.
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
    map_ : CalibrationMap
        The map of rows whose group is not known: the common one.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    recalibrate : For one group, and a map from elsewhere.

    Notes
    -----
    With s the log-probabilities of the common map, less their mean, group g has the logits

    .. math:: s + \delta_g s + V_g s + b_g,

    in which slopes :math:`\delta`, matrices V (diagonal with more than 8 classes) and intercepts b
    are normal around zero, with precisions that maximise the evidence of all groups. The same is
    done around the temperature map of all rows, and a group with 30 rows or more is also given a
    map of its own. The map of a group is the mean of these by their evidence for it, and of the
    common map, whose weight is the posterior probability that no group differs. So groups which
    have nothing in common lose next to nothing, and groups that do not differ nearly share a map.

    When not to use it: where groups are so many that each has one row, or where the group of new
    rows is not known; one map is then all there is.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import TemperatureScaling
    >>> from dircal.shift import GroupedCalibrator
    >>> rng = np.random.default_rng(0)
    >>> q = rng.dirichlet(np.ones(3), size=600)
    >>> y = (q.cumsum(axis=1) > rng.random((600, 1))).argmax(axis=1)
    >>> site = np.repeat(["north", "south"], 300)
    >>> q[300:] = q[300:] ** 3 / (q[300:] ** 3).sum(axis=1, keepdims=True)  # south is too sure
    >>> grouped = GroupedCalibrator(TemperatureScaling()).fit(q, y, groups=site)
    >>> proba = grouped.predict_proba([[0.8, 0.1, 0.1]] * 2, groups=["north", "south"])
    >>> common = grouped.predict_proba([[0.8, 0.1, 0.1]])
    >>> bool(proba[0, 0] > common[0, 0] > proba[1, 0])
    True
    """

    groups_: LabelArray
    group_maps_: list[CalibrationMap]
    precisions_: dict[str, float]
    effective_parameters_: dict[str, float]

    method_class: ClassVar = GroupedMethod

    def __init__(self, calibrator: Any, *, classes: Iterable[Any] | None = None) -> None:
        self.calibrator = calibrator
        self.classes = classes

    def fit(
        self,
        X: ArrayLike | ScoreTable,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | str | None = None,
        counts: bool = False,
    ) -> Self:
        """Learn the common map, and one for each group.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes), or ScoreTable
            Scores, as for the common map; a data frame may have a column of groups besides. A
            table has its own labels, weights and groups.
        y : array of shape (n_samples,) or (n_samples, n_classes), optional
            True labels, or soft ones: see `AutoCalibrator.fit`.
        sample_weight : array of shape (n_samples,), optional
            Weights.
        groups : array of shape (n_samples,) or str, optional
            The group of each row, or the name of the column of `X` with them: strings, numbers or
            booleans, all of one type. None fits the common map alone.
        counts : bool, default=False
            Whether soft labels that are no integers are counts of annotators.

        Returns
        -------
        self : object
            The fitted calibrator.
        """
        scores, of_rows = groups_of_fit(X, groups)
        fit_arrays(
            self, replace(self.method(), groups=of_rows), scores, y, sample_weight, counts=counts
        )
        return self

    def predict_proba(self, X: ArrayLike, *, groups: ArrayLike | str | None = None) -> FloatArray:
        """Calibrated probabilities, by the map of the group of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes)
            Scores, with the columns of the fit.
        groups : array of shape (n_samples,) or str, optional
            The group of each row, of the type of the fit, or the name of the column with them.
            None stands for the common map, for all rows or, in the array, for a row whose group
            is missing. Rows of unknown groups get it as well, with an `UnknownGroupWarning`.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
            Rows sum to one; columns follow ``classes_``. Of the library and on the device of `X`.
        """
        proba: FloatArray = same_kind(self._predict_by_group(X, groups), X)
        return proba

    def _predict_by_group(self, X: ArrayLike, groups: ArrayLike | str | None) -> FloatArray:
        """Calibrated probabilities as NumPy has them."""
        check_is_fitted(self)
        if groups is None:
            return self._predict_proba(X)
        scores, of_rows = split_groups(
            X, groups, key_type(self.groups_.tolist()), allow_missing=True
        )
        inputs, column_classes = self.fit_.check_scores(scores)
        proba = self.fit_.map_of(column_classes)(inputs)
        order = self.fit_.columns.order_in(column_classes)
        codes = known_groups(of_rows, self.groups_)
        for code in np.unique(codes[codes >= 0]).tolist():
            rows = codes == code
            proba[rows] = self.group_maps_[code].with_columns(order)(inputs[rows])
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
        labels: LabelArray = self.classes_[self._predict_by_group(X, groups).argmax(axis=1)]
        return labels

    def calibrator_of(self, group: Any = None) -> "GroupedCalibrator":
        """The calibrator of one group, to be saved or exported by itself.

        Parameters
        ----------
        group : object, optional
            One of ``groups_``; None stands for groups that are new.

        Returns
        -------
        calibrator : GroupedCalibrator
            Without groups: its map is that of the group.
        """
        check_is_fitted(self)
        found = self.map_
        if group is not None:
            known = self.groups_.tolist()
            found = self.group_maps_[find_key("group", group, known, "the map of new groups")]
        return self.without_groups(self.calibrator_, found)

    def without_groups(
        self, common: AbstractCalibrator, found: CalibrationMap
    ) -> "GroupedCalibrator":
        """Return a fitted copy with one map for all rows.

        Parameters
        ----------
        common : calibrator
            The fitted calibrator inside.
        found : CalibrationMap
            The map.

        Returns
        -------
        calibrator : GroupedCalibrator
            A copy that contains both, and no groups.
        """
        fit = Fit.of_member(common, details=GroupDetails())
        copy: GroupedCalibrator = with_fit(self, replace(fit, map=found))
        return copy
