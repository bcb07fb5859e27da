"""What differs between old and new rows: effects with p-values, adjusted for their number."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from dircal._core.data.simplex import TINY
from dircal._core.stats.score import adjust_holm
from dircal._numerals import format_pvalue
from dircal._typing import FloatArray, IntArray, LabelArray
from dircal.shift._limits import MONITOR_LIMITS

__all__ = ["Finding", "LabelledProba", "find_changes"]

Aspect = Literal["frequency", "sharpness", "estimate", "confusion"]


@dataclass(frozen=True)
class Finding:
    """One thing that may have changed.

    Parameters
    ----------
    aspect : {"frequency", "sharpness", "estimate", "confusion"}
        How often a class occurs; how sure predictions are; whether a class is over- or
        under-estimated; or whether rows taken for one class are another.
    labels : tuple
        The class, or the class that was predicted and the one that happened; empty for sharpness.
    old, new : float
        The share of the class; confidence less accuracy; the share that is said less that which
        happened; or the share of rows so confused, less that which is said.
    pvalue : float
        Of the hypothesis that it is the same in old and new rows.
    adjusted : float
        The p-value adjusted for the number of findings by Holm's method.
    """

    aspect: Aspect
    labels: tuple[Any, ...]
    old: float
    new: float
    pvalue: float
    adjusted: float

    def sentence(self) -> str:
        """In words."""
        chance = format_pvalue(self.adjusted, MONITOR_LIMITS.get().min_p_value_inverse, "p")
        if self.aspect == "frequency":
            what = "more" if self.new > self.old else "less"
            return (
                f"{self.labels[0]} is {what} frequent: {self.old:.1%} before, {self.new:.1%} now "
                f"({chance})."
            )
        if self.aspect == "sharpness":
            what = "too sure" if self.new > self.old else "too timid"
            return (
                f"Predictions have become {what}: confidence less accuracy {self.old:+.1%} before, "
                f"{self.new:+.1%} now ({chance})."
            )
        if self.aspect == "estimate":
            what = "over-estimated" if self.new > 0 else "under-estimated"
            return (
                f"{self.labels[0]} is {what}: said less seen {self.old:+.1%} before, "
                f"{self.new:+.1%} now ({chance})."
            )
        what = "more" if self.new > self.old else "less"
        return (
            f"Rows taken for {self.labels[0]} are {what} often {self.labels[1]} than said: "
            f"{self.old:+.1%} of all rows before, {self.new:+.1%} now ({chance})."
        )


@dataclass(frozen=True)
class LabelledProba:
    """Calibrated probabilities (n, k) and labels (n,)."""

    proba: FloatArray
    labels: IntArray

    @property
    def frequencies(self) -> FloatArray:
        """Shares (k,) of the classes."""
        found: FloatArray = np.bincount(self.labels, minlength=self.proba.shape[1]) / len(
            self.labels
        )
        return found

    @property
    def onehot(self) -> FloatArray:
        """One at the label, (n, k)."""
        return np.eye(self.proba.shape[1])[self.labels]


def find_changes(old: LabelledProba, new: LabelledProba, classes: LabelArray) -> list[Finding]:
    """All that was looked at, the surest first."""
    names = classes.tolist()
    found = [*_frequencies(old, new, names), _sharpness(old, new)]
    found += [*_estimates(old, new, names), *_confusions(old, new, names)]
    pvalues = np.array([one.pvalue for one in found])
    adjusted = adjust_holm(pvalues).tolist()
    return [replace(found[i], adjusted=adjusted[i]) for i in pvalues.argsort(kind="stable")]


def _pvalue(old: FloatArray, new: FloatArray) -> float:
    """That the means of two samples are the same, by a normal distribution."""
    variance = _variance_of_mean(old) + _variance_of_mean(new)
    difference = float(new.mean() - old.mean())
    if variance <= 0.0:
        return 1.0 if difference == 0.0 else 0.0
    return float(2.0 * ndtr(-abs(difference) / np.sqrt(variance)))


def _variance_of_mean(values: FloatArray) -> float:
    return float(values.var(ddof=1) / len(values)) if len(values) > 1 else float("inf")


def _frequencies(old: LabelledProba, new: LabelledProba, names: list[Any]) -> Iterator[Finding]:
    # A class that is absent has still been seen a little: no variance of zero.
    n_old, n_new = len(old.labels), len(new.labels)
    for j, name in enumerate(names):
        before, now = old.frequencies[j], new.frequencies[j]
        pooled = (before * n_old + now * n_new + 1.0) / (n_old + n_new + 2.0)
        error = np.sqrt(pooled * (1.0 - pooled) * (1.0 / n_old + 1.0 / n_new))
        pvalue = float(2.0 * ndtr(-abs(now - before) / error))
        yield Finding("frequency", (name,), float(before), float(now), pvalue, pvalue)


def _sharpness(old: LabelledProba, new: LabelledProba) -> Finding:
    """By the score of a temperature: the log-probability of the label less what is expected."""

    def scores(rows: LabelledProba) -> FloatArray:
        log_proba = np.log(np.maximum(rows.proba, TINY))
        expected = np.einsum("nk,nk->n", rows.proba, log_proba)
        found: FloatArray = log_proba[np.arange(len(rows.labels)), rows.labels] - expected
        return found

    def excess(rows: LabelledProba) -> float:
        right = rows.proba.argmax(axis=1) == rows.labels
        return float(rows.proba.max(axis=1).mean() - right.mean())

    pvalue = _pvalue(scores(old), scores(new))
    return Finding("sharpness", (), excess(old), excess(new), pvalue, pvalue)


def _estimates(old: LabelledProba, new: LabelledProba, names: list[Any]) -> Iterator[Finding]:
    before, now = old.proba - old.onehot, new.proba - new.onehot
    for j, name in enumerate(names):
        pvalue = _pvalue(before[:, j], now[:, j])
        means = float(before[:, j].mean()), float(now[:, j].mean())
        yield Finding("estimate", (name,), *means, pvalue, pvalue)


def _confusions(old: LabelledProba, new: LabelledProba, names: list[Any]) -> Iterator[Finding]:
    leads = [rows.proba.argmax(axis=1) for rows in (old, new)]
    for i, leader in enumerate(names):
        taken = [lead == i for lead in leads]
        for j, other in enumerate(names):
            if i == j:
                continue
            said = float(new.proba[taken[1], j].sum())
            seen = float((new.labels[taken[1]] == j).sum())
            if max(said, seen) < MONITOR_LIMITS.get().min_pair_rows:
                continue
            parts = [
                inside * ((rows.labels == j) - rows.proba[:, j])
                for inside, rows in zip(taken, (old, new), strict=True)
            ]
            pvalue = _pvalue(*parts)
            means = float(parts[0].mean()), float(parts[1].mean())
            yield Finding("confusion", (leader, other), *means, pvalue, pvalue)
