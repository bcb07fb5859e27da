"""What has changed between two sets of labelled rows, ranked, tested and named."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import ks_2samp

from dircal._typing import ArrayLike, LabelArray
from dircal.calibrators import AbstractCalibrator
from dircal.inference import score_test
from dircal.shift._base import check_fitted_calibrator
from dircal.shift._findings import Finding, LabelledProba, find_changes
from dircal.shift._limits import MONITOR_LIMITS
from dircal.tables import check_fit_arrays, check_integer, check_number, reject_soft_labels

__all__ = ["ShiftReport", "compare_rows", "shift_report"]

Kind = Literal["none", "covariate", "label", "concept"]

_VERDICTS = {
    "none": "Nothing has shifted that these rows could show.",
    "covariate": (
        "Covariate shift: other rows come in, but the calibrated probabilities still hold. Nothing "
        "needs to be done."
    ),
    "label": (
        "Label shift: the classes have other frequencies, and with these the calibrated "
        "probabilities hold. Use PriorShift."
    ),
    "concept": (
        "Concept shift: the calibrated probabilities no longer hold, and other class frequencies "
        "do not explain it. Use recalibrate."
    ),
}


@dataclass(frozen=True)
class ShiftReport:
    """What `shift_report` found; print it to read it.

    Parameters
    ----------
    kind : {"none", "covariate", "label", "concept"}
        What kind of shift it is.
    findings : tuple of Finding
        All that was looked at, the surest first.
    pvalues : dict
        Of the hypotheses behind ``kind``: "confidence", that the calibrator is as sure of new rows
        as of old ones; "frequencies", that classes are as frequent; "calibration", that it is
        calibrated on the new rows; "calibration_after_label_shift", that it is with the new
        frequencies; "calibration_before", that it was on the old rows; "change", that predicted
        less observed is the same in old and new rows, adjusted; "change_after_label_shift", that
        it is with the new frequencies.
    n_old, n_new : int
        Numbers of rows.
    level : float
        Below which adjusted p-values are told.
    """

    kind: Kind
    findings: tuple[Finding, ...]
    pvalues: dict[str, float]
    n_old: int
    n_new: int
    level: float

    @property
    def significant(self) -> tuple[Finding, ...]:
        """Findings whose adjusted p-value is below the level."""
        return tuple(one for one in self.findings if one.adjusted < self.level)

    def sentences(self) -> list[str]:
        """The verdict first, then findings, the surest first."""
        limits = MONITOR_LIMITS.get()
        told = [one.sentence() for one in self.significant]
        more = len(told) - limits.max_findings
        tail = [f"And {more} more."] if more > 0 else []
        return [_VERDICTS[self.kind], *told[: limits.max_findings], *tail]

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain data, and the sentences."""
        return {**asdict(self), "sentences": self.sentences()}

    def __str__(self) -> str:
        heading = f"What has changed from {self.n_old:,} old to {self.n_new:,} new rows:"
        return "\n".join([heading, *(f"- {sentence}" for sentence in self.sentences())])


def shift_report(
    calibrator: Any,
    X_old: ArrayLike,
    y_old: ArrayLike,
    X_new: ArrayLike,
    y_new: ArrayLike,
    *,
    level: float = 0.05,
    n_resamples: int = 999,
    random_state: int | np.random.Generator | None = 0,
) -> ShiftReport:
    """Say what has changed between old and new rows, and of what kind the shift is.

    Parameters
    ----------
    calibrator : calibrator
        A fitted one, from before the shift.
    X_old : array or data frame of shape (n_old, n_classes)
        Scores from before, best of rows that the calibrator was not fitted on.
    y_old : array of shape (n_old,)
        Their labels.
    X_new : array or data frame of shape (n_new, n_classes)
        Scores from after.
    y_new : array of shape (n_new,)
        Their labels.
    level : float, default=0.05
        Probability of telling anything at all where nothing has changed.
    n_resamples : int, default=999
        Draws behind the tests of calibration.
    random_state : int, Generator or None, default=0
        Of these draws.

    Returns
    -------
    report : ShiftReport
        Print it to read it; ``findings`` holds the numbers.

    See Also
    --------
    PriorShift : What to do about label shift.
    recalibrate : What to do about concept shift.

    Notes
    -----
    Class frequencies, sharpness (the score of a temperature), classes that are over- or
    under-estimated, and pairs of the predicted and the true class are compared between old and new
    rows; p-values are adjusted by Holm, so that the probability of any false finding is at most
    the level.

    Tests determine the kind of shift. The calibrator is off on the new rows if `score_test` rejects
    it there and a difference of predicted and observed (sharpness, a class or a pair) is another
    one than on the old rows, by its adjusted p-value. A rejection alone is not a change: a
    calibrator that was fitted on a few hundred rows is a little off on old and new rows alike, and
    is rejected on either by chance. If it is not off, the shift is covariate if confidence or
    frequencies differ, or none. If it is off, the shift is label shift if frequencies differ and
    the calibrator is no longer off by either test after they are corrected, and else concept shift.
    Tests of confidence, frequencies and calibration are made at a quarter of the level.

    When not to use it: for streams, which are watched by `CalibrationMonitor`; a report that is
    made every night finds something sooner or later.

    Examples
    --------
    >>> from dircal import GenerativeParameters, VectorScaling
    >>> from dircal.shift import shift_report
    >>> alpha = [[3.0, 1.0], [1.0, 3.0]]
    >>> before, after = (GenerativeParameters(alpha, pi) for pi in ([0.5, 0.5], [0.8, 0.2]))
    >>> old = VectorScaling().fit(*before.sample(2000, 0))
    >>> report = shift_report(old, *before.sample(1000, 1), *after.sample(1000, 2))
    >>> report.kind
    'label'
    """
    fitted = check_fitted_calibrator(calibrator)
    check_number("level", level, above=0.0, below=1.0)
    check_integer("n_resamples", n_resamples, at_least=100)
    old, new = _rows_of(fitted, X_old, y_old), _rows_of(fitted, X_new, y_new)
    generator = np.random.default_rng(random_state)
    return compare_rows(old, new, fitted.classes_, level, n_resamples, generator)


def compare_rows(
    old: LabelledProba,
    new: LabelledProba,
    classes: LabelArray,
    level: float,
    n_resamples: int,
    generator: np.random.Generator,
) -> ShiftReport:
    """The same of rows that have been calibrated."""
    # A class that is absent keeps a little: its odds cannot be undone.
    ratio = (new.frequencies + 0.5 / len(new.labels)) / (old.frequencies + 0.5 / len(old.labels))
    moved = new.proba * ratio
    moved /= moved.sum(axis=1, keepdims=True)
    k = len(classes)

    def calibration(labels: Any, proba: Any) -> float:
        test = score_test(
            labels, proba, n_resamples=n_resamples, random_state=generator, classes=range(k)
        )
        return float(test.pvalue)

    findings = find_changes(old, new, classes)
    frequencies = [one.pvalue for one in findings if one.aspect == "frequency"]
    pvalues = {
        "confidence": float(ks_2samp(old.proba.max(axis=1), new.proba.max(axis=1)).pvalue),
        # Bonferroni: all frequencies are the same.
        "frequencies": float(min(1.0, k * min(frequencies))),
        "calibration": calibration(new.labels, new.proba),
        "calibration_after_label_shift": calibration(new.labels, moved),
        "calibration_before": calibration(old.labels, old.proba),
    }
    corrected = find_changes(old, LabelledProba(moved, new.labels), classes)
    pvalues["change"] = _most_significant_change(findings)
    pvalues["change_after_label_shift"] = _most_significant_change(corrected)
    kind = _kind(pvalues, level)
    return ShiftReport(kind, tuple(findings), pvalues, len(old.labels), len(new.labels), level)


def _rows_of(fitted: AbstractCalibrator, X: ArrayLike, y: ArrayLike) -> LabelledProba:
    data = check_fit_arrays(
        X,
        y,
        None,
        classes=fitted.column_classes_,
        input_scale=fitted.map_.input_scale,
        arguments=fitted.fit_.columns.arguments,
        order_is_known=True,
    )
    if data.targets is not None or data.sample_weight is not None:
        reject_soft_labels("y")
    return LabelledProba(fitted.fit_.predict(data), data.labels.astype(np.intp))


def _most_significant_change(findings: Sequence[Finding]) -> float:
    """Return the smallest adjusted p-value of the findings about predicted less observed."""
    return min(one.adjusted for one in findings if one.aspect != "frequency")


def _kind(pvalues: dict[str, float], level: float) -> Kind:
    """Return the kind of shift that the tests indicate."""
    # Three kinds of shift, and two tests of one of them, share the level (Bonferroni).
    part = level / 4.0

    def is_off(suffix: str = "") -> bool:
        return pvalues[f"calibration{suffix}"] < part and pvalues[f"change{suffix}"] < level

    if not is_off():
        differ = min(pvalues["confidence"], pvalues["frequencies"]) < part
        return "covariate" if differ else "none"
    explained = pvalues["frequencies"] < part and not is_off("_after_label_shift")
    return "label" if explained else "concept"
