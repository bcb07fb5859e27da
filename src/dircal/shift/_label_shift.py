"""What was found out about the class frequencies of unlabelled rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._core.shift.frequencies import (
    estimate_frequencies,
    mixture_pvalue,
    no_shift_pvalue,
)
from dircal._numerals import format_pvalue
from dircal._typing import ArrayLike, FloatArray, IntArray, LabelArray
from dircal.shift._limits import MONITOR_LIMITS
from dircal.tables import check_distribution, show

__all__ = ["ConfidenceTable", "LabelShift", "check_frequencies", "find_label_shift"]


@dataclass(frozen=True)
class ConfidenceTable:
    """How sure the calibrated rows of each class were: counts (k, m) between edges (m - 1,)."""

    edges: FloatArray
    counts: FloatArray

    @classmethod
    def of(
        cls, proba: FloatArray, labels: IntArray, weight: FloatArray | None
    ) -> "ConfidenceTable":
        """Of calibrated probabilities (n, k), in bins of equally many rows."""
        limits = MONITOR_LIMITS.get()
        confidence, k = proba.max(axis=1), proba.shape[1]
        edges = np.unique(np.quantile(confidence, np.arange(1, limits.n_bins) / limits.n_bins))
        places = labels.astype(np.intp) * (len(edges) + 1) + np.searchsorted(edges, confidence)
        counts = np.bincount(places, weight, k * (len(edges) + 1)).astype(np.float64)
        return cls(edges, counts.reshape(k, -1))

    def count(self, proba: FloatArray) -> FloatArray:
        """Numbers (m,) of other rows in the same bins."""
        places = np.searchsorted(self.edges, proba.max(axis=1))
        return np.bincount(places, minlength=len(self.edges) + 1).astype(np.float64)


@dataclass(frozen=True)
class LabelShift:
    """New class frequencies, how sure they are, and whether label shift explains the rows.

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
        it, by how sure the calibrator is of them. None where old rows are not known.
    concentration : float
        How closely the prior held the frequencies to the old ones, in rows.
    """

    n_rows: int
    level: float
    low: FloatArray
    high: FloatArray
    pvalue: float | None
    assumption_pvalue: float | None
    concentration: float

    @property
    def assumption_fails(self) -> bool:
        """Whether the rows speak against label shift, at one percent."""
        return self.assumption_pvalue is not None and self.assumption_pvalue < 0.01

    def sentences(self, classes: LabelArray, old: FloatArray, new: FloatArray) -> list[str]:
        """What was found, a sentence a line."""
        limits = MONITOR_LIMITS.get()
        told = []
        order = np.argsort(-np.abs(new - old), kind="stable")[: limits.max_label_sentences]
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
    table: ConfidenceTable | None,
    level: float,
) -> tuple[FloatArray, LabelShift]:
    """Frequencies (k,) of rows with calibrated probabilities (n, k), and what to know of them."""
    found = estimate_frequencies(proba, old)
    low, high = found.interval(level)
    pvalue = no_shift_pvalue(proba, old, np.inf if n_old is None else n_old)
    misfit = None
    if table is not None:
        misfit = mixture_pvalue(table.counts, table.count(proba), found.mean)
    shift = LabelShift(len(proba), level, low, high, pvalue, misfit, found.concentration)
    return found.mean, shift


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
