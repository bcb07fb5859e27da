"""Which prompt or model a row is of, and what each of them prefers."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dircal._core.data.simplex import TINY
from dircal._core.shift.frequencies import weighted_chi_square_pvalue
from dircal._typing import ArrayLike, FloatArray, InputScale, IntArray, LabelArray
from dircal.exceptions import DircalWarning, warn
from dircal.llm._batch import as_proba
from dircal.maps import CalibrationMap, column_steps
from dircal.tables import (
    ArrayRows,
    as_array,
    check_scores,
    groups_of_fit,
    key_type,
    split_groups,
    unique_keys,
)

__all__ = ["Means", "Prompts", "check_prompts", "means_of", "other_rows", "warn_of_same_texts"]

# So many labels in the same order are no chance.
_MANY_LABELS = 20
# Rows with and without labels differ if the p-value is below this, over all groups together.
_OTHER_ROWS_LEVEL = 0.01
# Fewer labelled rows of a group are not compared: with rare options the test of ten rows rejects
# too often (`tests/long/test_label_calibrator.py`).
_MIN_COMPARED_ROWS = 20


@dataclass(frozen=True)
class Prompts:
    """Scores without labels, and the group of each row with a label and without; None without."""

    unlabelled: ArrayLike | None = None
    labelled: list[Any] | None = None
    of_unlabelled: list[Any] | None = None

    def of_rows(self, picked: IntArray | None) -> Self:
        """The same of some of the labelled rows; None for all."""
        if self.labelled is None or picked is None:
            return self
        return replace(self, labelled=[self.labelled[i] for i in picked.tolist()])

    def without(self, differ: npt.NDArray[np.bool_]) -> Self:
        """The same without some of the rows that have no label."""
        if self.of_unlabelled is None:
            return self
        kept = np.flatnonzero(~differ).tolist()
        return replace(self, of_unlabelled=[self.of_unlabelled[i] for i in kept])

    def rest_as_proba(self, data: ArrayRows, input_scale: InputScale) -> FloatArray | None:
        """Rows without labels through the door, with columns in the order of the classes."""
        if self.unlabelled is None:
            return None
        rows, labels = check_scores(
            self.unlabelled,
            column_classes=data.column_classes,
            n_features=data.n_features,
            feature_names=data.feature_names,
            input_scale=input_scale,
        )
        columns = CalibrationMap(
            data.n_features, column_steps(labels, data.n_features, input_scale)
        )
        return as_proba(columns.arrange(rows).T, input_scale)


@dataclass(frozen=True)
class Means:
    """Mean probabilities (k,) of every row, and (g, k) of each of some groups, which are sorted."""

    every: FloatArray
    groups: LabelArray
    each: FloatArray

    def of_rows(self, groups: list[Any] | None) -> FloatArray:
        """Those that rows of these groups are divided by, (n, k); (k,) without groups."""
        if groups is None:
            return self.every
        places = {group: i for i, group in enumerate(self.groups.tolist())}
        of_groups: FloatArray = self.each[[places[group] for group in groups]]
        return of_groups


def check_prompts(
    X: ArrayLike,
    groups: ArrayLike | str | None,
    unlabelled: ArrayLike | None,
    unlabelled_groups: ArrayLike | str | None,
) -> tuple[ArrayLike, Prompts]:
    """Scores without columns of groups, and whose they are."""
    scores, labelled = groups_of_fit(X, groups)
    if labelled is None:
        if unlabelled_groups is not None:
            raise ValueError(
                "`unlabelled_groups` is given, but `groups` is None. Pass the group of each row "
                "with a label, too."
            )
        return X, Prompts(unlabelled)
    if unlabelled is None:
        return scores, Prompts(None, labelled)
    if unlabelled_groups is None:
        raise ValueError(
            "`unlabelled_groups` is None, but there are `groups` and `unlabelled`. Pass the group "
            "of each row without a label."
        )
    names = "unlabelled", "unlabelled_groups"
    rest, of_rest = split_groups(unlabelled, unlabelled_groups, key_type(labelled), names=names)
    return scores, Prompts(rest, labelled, of_rest)


def other_rows(proba: FloatArray, rest: FloatArray, prompts: Prompts) -> npt.NDArray[np.bool_]:
    """Return which rows without labels (m,) belong to a group whose labelled rows differ.

    Mean probabilities and mean confidence of both are compared, with the p-values of groups
    adjusted by Bonferroni. A group with too few labels cannot be compared, and does not differ.
    """
    names: list[Any] = prompts.labelled or [None] * len(proba)
    others: list[Any] = prompts.of_unlabelled or [None] * len(rest)
    both = {*names} & {*others}
    differ = np.zeros(len(rest), dtype=bool)
    for group in both:
        labelled = np.array([name == group for name in names])
        unlabelled = np.array([name == group for name in others])
        if labelled.sum() < _MIN_COMPARED_ROWS:
            continue
        pvalue = _same_rows_pvalue(proba[labelled], rest[unlabelled])
        differ |= unlabelled & (pvalue < _OTHER_ROWS_LEVEL / len(both))
    return differ


def _same_rows_pvalue(first: FloatArray, second: FloatArray) -> float:
    """Return the p-value of the hypothesis that two samples of probabilities are of one kind."""
    samples = [np.column_stack([each, each.max(axis=1)]) for each in (first, second)]
    pooled = np.vstack(samples)
    scale = np.sqrt(np.maximum(pooled.var(axis=0), TINY))
    difference = (samples[0].mean(axis=0) - samples[1].mean(axis=0)) / scale
    centred = (pooled - pooled.mean(axis=0)) / scale
    covariance = centred.T @ centred / len(pooled) * (1.0 / len(first) + 1.0 / len(second))
    return weighted_chi_square_pvalue(float(difference @ difference), covariance)


def warn_of_same_texts(y: ArrayLike, prompts: Prompts) -> None:
    """Warn where every group has the same labels in the same order."""
    if prompts.labelled is None:
        return
    labels: dict[Any, list[Any]] = {}
    # One label, or with soft labels a number for each class.
    rows = as_array(y).reshape(len(prompts.labelled), -1).tolist()
    for group, label in zip(prompts.labelled, rows, strict=True):
        labels.setdefault(group, []).append(label)
    first, *others = labels.values()
    if others and len(first) >= _MANY_LABELS and all(other == first for other in others):
        warn(
            f"`y` has the same {len(first)} labels in the same order in every one of {len(labels)} "
            "groups: where these are the same texts, they are not more labels, and the map is far "
            "too sure of them. Show each labelled text to one prompt, or fit a LabelCalibrator for "
            "each prompt.",
            DircalWarning,
        )


def means_of(
    proba: FloatArray, weight: FloatArray | None, rest: FloatArray | None, prompts: Prompts
) -> Means:
    """Mean probability of each class in all rows; above zero for one that never has any.

    ``proba`` (n, k) with a ``weight`` have labels, the ``rest`` has none.
    """
    k = proba.shape[1]
    weights = np.ones(len(proba)) if weight is None else weight
    rows, groups = proba, prompts.labelled
    if rest is not None:
        rows, weights = np.vstack([proba, rest]), np.append(weights, np.ones(len(rest)))
    # One more row, a uniform one.
    every: FloatArray = (weights @ rows + 1.0 / k) / (weights.sum() + 1.0)
    if groups is None:
        return Means(every, np.array([]), np.empty((0, k)))
    names, codes = unique_keys([*groups, *(prompts.of_unlabelled or [])])
    each = np.empty((len(names), k))
    for i in range(len(names)):
        mine = codes == i
        # One more row, that of all groups.
        each[i] = (weights[mine] @ rows[mine] + every) / (weights[mine].sum() + 1.0)
    return Means(every, names, each)
