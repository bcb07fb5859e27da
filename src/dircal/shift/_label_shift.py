"""Estimated class frequencies of unlabelled rows, and tests of label shift."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dircal._core.shift.cells import ClassCells, add_offsets, estimate_mixture
from dircal._core.shift.frequencies import estimate_frequencies, no_shift_pvalue
from dircal._numerals import format_pvalue
from dircal._typing import ArrayLike, FloatArray, LabelArray
from dircal.shift._limits import MONITOR_LIMITS
from dircal.tables import check_distribution, show

__all__ = ["Centring", "LabelShift", "check_frequencies", "find_label_shift"]


@dataclass(frozen=True)
class Centring:
    """Offsets of logits (k,) that make mean probabilities of old rows equal class frequencies.

    ``pvalue`` is that of the hypothesis that they are equal, None if old rows are not known.
    """

    offsets: FloatArray
    pvalue: float | None

    @classmethod
    def of(cls, cells: ClassCells | None, n_classes: int) -> Self:
        """Return the offsets of old rows; zeros if these are not known."""
        if cells is None:
            return cls(np.zeros(n_classes), None)
        return cls(cells.centred_offsets(), cells.centred_pvalue())

    @property
    def is_needed(self) -> bool:
        """Whether mean probabilities differ from class frequencies by more than noise."""
        return self.pvalue is not None and self.pvalue < MONITOR_LIMITS.get().assumption_alpha

    @property
    def offsets_in_use(self) -> FloatArray:
        """Offsets of the adapted map: zeros unless they are needed."""
        return self.offsets if self.is_needed else np.zeros(len(self.offsets))


@dataclass(frozen=True)
class LabelShift:
    """Estimated class frequencies of new rows, with intervals and tests of label shift.

    Parameters
    ----------
    n_rows : int
        Unlabelled rows; 0 where frequencies were given.
    level : float
        Of the intervals.
    low, high : arrays of shape (n_classes,)
        Ends of intervals for the new frequencies.
    pvalue : float or None
        Of the hypothesis that frequencies are the old ones.
    assumption_pvalue : float or None
        Of the hypothesis that the new rows are a mixture of the old classes, as label shift has
        it, in cells of predicted class and confidence. None if old rows are not known.
    concentration : float
        How closely the prior held the frequencies to the old ones, in rows.
    centring_pvalue : float or None
        Of the hypothesis that mean probabilities equal class frequencies on the old rows. None if
        old rows are not known.
    min_class_rows : float or None
        Old rows of the rarest class, None if old rows are not known.
    """

    n_rows: int
    level: float
    low: FloatArray
    high: FloatArray
    pvalue: float | None
    assumption_pvalue: float | None
    concentration: float
    centring_pvalue: float | None = None
    min_class_rows: float | None = None

    @property
    def assumption_fails(self) -> bool:
        """Whether the rows are evidence against label shift, at one percent."""
        limit = MONITOR_LIMITS.get().assumption_alpha
        return self.assumption_pvalue is not None and self.assumption_pvalue < limit

    def cautions(self) -> list[str]:
        """Return the text of warnings about the estimate."""
        limits = MONITOR_LIMITS.get()
        if self.n_rows == 0:
            return []
        if self.assumption_pvalue is None or self.min_class_rows is None:
            return [
                "Intervals, p-values and the adapted map take label shift for granted and the "
                "calibrator for exact, because no old rows with labels are known. Pass `X_old` and "
                "`y_old`."
            ]
        found = []
        if self.assumption_fails:
            found.append(
                "The new rows are not a mixture of the old classes "
                f"({format_pvalue(self.assumption_pvalue, name='p')}): more than class frequencies "
                "has changed, and the adapted probabilities should not be trusted. Label some new "
                "rows and use `recalibrate`, or keep the calibrator unchanged."
            )
        if self.min_class_rows < limits.min_class_rows:
            found.append(
                f"The rarest class has {self.min_class_rows:g} old rows: intervals and p-values "
                f"of the new class frequencies are valid from about {limits.min_class_rows:g} old "
                "rows of each class. Pass more old rows as `X_old` and `y_old`."
            )
        return found

    def sentences(self, classes: LabelArray, old: FloatArray, new: FloatArray) -> list[str]:
        """What was found, a sentence a line."""
        limits = MONITOR_LIMITS.get()
        told = []
        # Two classes differ by the same, up to rounding.
        order = np.argsort(-np.abs(new - old).round(9), kind="stable")[: limits.max_label_sentences]
        for j in order.tolist():
            where = ""
            if self.n_rows > 0:
                where = f" ({self.level:.0%} interval {self.low[j]:.3f} to {self.high[j]:.3f})"
            told.append(f"{classes[j]}: frequency {old[j]:.3f} before, {new[j]:.3f} now{where}.")
        if self.pvalue is not None:
            verdict = "differ" if self.pvalue < limits.alpha else "may be the same"
            told.append(
                f"Old and new frequencies {verdict} ({format_pvalue(self.pvalue, name='p')})."
            )
        if self.assumption_pvalue is not None:
            verdict = (
                "No mixture of the old classes looks like the new rows: more than the frequencies "
                "has changed, and they should not be trusted"
                if self.assumption_fails
                else "The new rows look like a mixture of the old classes"
            )
            told.append(f"{verdict} ({format_pvalue(self.assumption_pvalue, name='p')}).")
        return told


def find_label_shift(
    proba: FloatArray,
    old: FloatArray,
    n_old: float | None,
    cells: ClassCells | None,
    centring: Centring,
    level: float,
) -> tuple[FloatArray, LabelShift]:
    """Return frequencies (k,) of rows with calibrated probabilities (n, k), and tests."""
    if cells is None:
        found = estimate_frequencies(proba, old)
        low, high = found.interval(level)
        pvalue = no_shift_pvalue(proba, old, np.inf if n_old is None else n_old)
        shift = LabelShift(len(proba), level, low, high, pvalue, None, found.concentration)
        return found.mean, shift
    found = estimate_frequencies(add_offsets(proba, centring.offsets), old)
    mixture = estimate_mixture(cells, proba, old * np.exp(-centring.offsets), found.mean)
    low, high = mixture.interval(level)
    # The likelihood takes the map for exact; the interval does not.
    mean = np.maximum(found.mean.clip(low, high), found.mean.min())
    shift = LabelShift(
        len(proba),
        level,
        low,
        high,
        mixture.pvalue,
        mixture.misfit_pvalue,
        found.concentration,
        centring.pvalue,
        float(cells.class_weights.min()),
    )
    return mean / mean.sum(), shift


def check_frequencies(
    name: str, given: Mapping[Any, float] | ArrayLike, classes: LabelArray
) -> FloatArray:
    """Positive frequencies (k,) that sum to one, in the order of the classes."""
    if not isinstance(given, Mapping):
        return check_distribution(name, given, "classes_", len(classes))
    labels = classes.tolist()
    unknown = [label for label in given if label not in labels]
    if unknown:
        raise ValueError(
            f"`{name}` names the label {unknown[0]!r}, which is none of {show(classes)}. "
            "Pass the frequency of each class of the calibrator."
        )
    lacking = [label for label in labels if label not in given]
    if lacking:
        raise ValueError(
            f"`{name}` lacks the label {lacking[0]!r}; the classes are {show(classes)}. "
            "Pass the frequency of each of them."
        )
    return check_distribution(name, [given[label] for label in labels], "classes_", len(labels))
