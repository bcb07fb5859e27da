"""What has changed since older rows: of which kind it is, how sure that is, and what to do."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dircal._numerals import format_number, format_percent
from dircal._typing import FloatArray
from dircal.calibrators import AbstractCalibrator
from dircal.exceptions import DircalWarning
from dircal.inference import ArraySplit
from dircal.metrics import RECORDS, Predictions
from dircal.report._candidates import Candidate
from dircal.report._limits import REPORT_LIMITS
from dircal.selection import (
    Split,
    deal_within_classes,
    make_splits,
    scored_rows,
    used_rows,
)
from dircal.shift import (
    Finding,
    LabelledProba,
    PriorShift,
    RecalibratedCalibrator,
    ShiftReport,
    compare_rows,
)
from dircal.tables import ArrayRows

__all__ = ["Compared", "FindingSummary", "OldAndNew", "ShiftSummary", "summarise_shift"]

# Findings in sentences, and of each of the two lists.
_TOLD, _SHOWN = 5, 8

_OPENINGS = {
    "none": "Nothing has changed that these rows could show",
    "covariate": (
        "Other rows come in than before, but the probabilities of the old map still hold "
        "(covariate shift)"
    ),
    "label": (
        "Classes are more or less frequent than before, and that explains what the old map now "
        "gets wrong (label shift)"
    ),
    "concept": (
        "The same scores no longer mean the same: the probabilities of the old map do not hold on "
        "the new rows, and other class frequencies do not explain it (concept shift)"
    ),
}


@dataclass(frozen=True)
class FindingSummary:
    """Something that was looked at, in words, before and now; ``adjusted`` is its p-value by Holm.

    Shares of a class where ``is_frequency``, or else what is said less what happens.
    """

    what: str
    is_frequency: bool
    old: float
    new: float
    adjusted: float


@dataclass(frozen=True)
class Compared:
    """Rows after a map: what it says on average, how often it is right, and the log-loss."""

    rows: str
    map: str
    confidence: float
    accuracy: float
    log_loss: float


@dataclass(frozen=True)
class ShiftSummary:
    """What `dircal.shift.shift_report` finds, and what each remedy would bring.

    ``findings`` are the surest of ``n_looked_at``, of which ``n_changed`` are more than chance.
    """

    kind: Literal["none", "covariate", "label", "concept"]
    sentence: str
    advice: str
    code: str
    sentences: tuple[str, ...]
    findings: tuple[FindingSummary, ...]
    n_looked_at: int
    n_changed: int
    pvalues: dict[str, float]
    compared: tuple[Compared, ...]
    cautions: tuple[str, ...]
    level: float
    n_old: int
    n_new: int

    @property
    def frequencies(self) -> list[FindingSummary]:
        """Those about how often classes occur."""
        return [one for one in self.findings if one.is_frequency]

    @property
    def others(self) -> list[FindingSummary]:
        """Those about what is said and what happens."""
        return [one for one in self.findings if not one.is_frequency]


@dataclass(frozen=True, eq=False)
class OldAndNew:
    """Old rows, all new ones, and pairs of these to fit and to score.

    ``scored`` are the new rows that are scored, and ``fitted`` the same after the calibrator of the
    page.
    """

    old: ArrayRows
    new: ArrayRows
    splits: Sequence[Split]
    scored: ArrayRows
    fitted: Predictions


def summarise_shift(
    rows: OldAndNew,
    candidate: Candidate,
    names: tuple[str, ...],
    n_resamples: int,
    rng: np.random.Generator,
) -> ShiftSummary:
    """Compare old and new rows after the map from before, and try what might help."""
    limits = REPORT_LIMITS.get()
    old_map, old = _before(candidate, rows.old)
    fitted = rows.fitted
    now = old_map.fit_.predict(rows.scored)
    found = compare_rows(
        LabelledProba(old.probabilities, old.labels.astype(np.intp)),
        LabelledProba(now, fitted.labels.astype(np.intp)),
        fitted.classes,
        limits.shift_level,
        n_resamples,
        rng,
    )
    held = "as it came" if candidate.is_fitted else "out of fold"
    compared = [
        _compared("old", f"the old map, {held}", old),
        _compared("new", "the old map", fitted.with_probabilities(now)),
        *_remedies(found.kind, old_map, rows),
    ]
    if not candidate.is_fitted:
        compared.append(_compared("new", "fitted to the new rows, out of fold", fitted))
    named = [_named(one, fitted, names) for one in found.findings]
    return ShiftSummary(
        found.kind,
        f"{_OPENINGS[found.kind]}: {found.n_old:,} old rows, {found.n_new:,} new ones.",
        *_advice(found.kind, compared),
        tuple(one.sentence() for one in named if one.adjusted < limits.shift_level)[:_TOLD],
        tuple(_shown(named)),
        len(named),
        len(found.significant),
        found.pvalues,
        tuple(compared),
        tuple(_cautions(found, candidate)),
        limits.shift_level,
        found.n_old,
        found.n_new,
    )


def _before(candidate: Candidate, old: ArrayRows) -> tuple[AbstractCalibrator, Predictions]:
    """The map from before, and what it made of old rows that it had not seen.

    One that came fitted is that map, whatever rows it has seen.
    """
    if candidate.is_fitted:
        given = candidate.calibrator
        proba = given.fit_.predict(old)
        return given, Predictions.of_checked(old).with_probabilities(proba)
    used = used_rows(None, len(old.labels))
    splits = make_splits(REPORT_LIMITS.get().n_folds, old.labels, used, deal_within_classes)
    split = ArraySplit(old, splits, scored_rows(splits), used)
    tried = split.cross_fit(candidate.calibrator, lambda _: None, "calibrators")
    return split.fit_on_all(candidate.calibrator, tried), tried.predictions


def _remedies(kind: str, old_map: AbstractCalibrator, rows: OldAndNew) -> Iterator[Compared]:
    """Log-losses of what one could do; learning anew takes long and is tried where it may help."""
    old = rows.old
    with warnings.catch_warnings():
        # The page names the kind of shift, and `compared` has the log-loss.
        warnings.simplefilter("ignore", DircalWarning)
        adapted = PriorShift(old_map).adapt(
            rows.scored.inputs, X_old=old.inputs, y_old=old.classes[old.labels]
        )
    proba = adapted.fit_.predict(rows.scored)
    name = "the old map, adapted to new frequencies without labels"
    yield _compared("new", name, rows.fitted.with_probabilities(proba))
    if kind != "concept" or not rows.splits:
        return
    method = RecalibratedCalibrator(old_map).method()
    parts: list[FloatArray] = [
        method.fit(rows.new.take(fitting)).predict(rows.new.take(scoring))
        for fitting, scoring in rows.splits
    ]
    name = "the old map, recalibrated with new labels, out of fold"
    yield _compared("new", name, rows.fitted.with_probabilities(np.concatenate(parts)))


def _compared(rows: str, name: str, predictions: Predictions) -> Compared:
    proba = predictions.probabilities
    right = proba.argmax(axis=1) == predictions.labels
    loss = RECORDS["log_loss"].of(predictions).value(predictions)
    return Compared(rows, name, float(proba.max(axis=1).mean()), float(right.mean()), float(loss))


def _advice(kind: str, compared: Sequence[Compared]) -> tuple[str, str]:
    """What to do, and the line that does it."""
    if kind in ("none", "covariate"):
        return "Nothing needs to be done: keep the old map.", ""
    remedy = "adapted" if kind == "label" else "recalibrated"
    code = (
        "adapted = dircal.shift.PriorShift(calibrator).adapt(X_new)"
        if kind == "label"
        else "recalibrated = dircal.shift.recalibrate(calibrator, X_new, y_new)"
    )
    todo = (
        "Adapt the old map to the new frequencies, which needs no labels"
        if kind == "label"
        else "Recalibrate the old map with the labels of the new rows"
    )
    tried = [one.log_loss for one in compared if remedy in one.map]
    if not tried:
        return f"{todo}.", code
    start = next(one.log_loss for one in compared if one.rows == "new")
    change = tried[0] / start - 1.0 if start > 0.0 else 0.0
    losses = f"from {format_number(start)} to {format_number(tried[0])}"
    told = f"the log-loss of the new rows goes {losses}"
    if change > -REPORT_LIMITS.get().min_loss_change:
        return f"{todo}, if anything: {told}, which is next to nothing.", code
    return f"{todo}: {told} ({format_percent(change)}).", code


def _named(finding: Finding, rows: Predictions, names: tuple[str, ...]) -> Finding:
    name_of = dict(zip(rows.classes.tolist(), names, strict=True))
    return replace(finding, labels=tuple(name_of[label] for label in finding.labels))


def _shown(findings: Sequence[Finding]) -> Iterator[FindingSummary]:
    """The surest of both lists."""
    for is_frequency in (True, False):
        some = [one for one in findings if (one.aspect == "frequency") == is_frequency]
        for one in some[:_SHOWN]:
            # Of pairs it is the other way round.
            sign = -1.0 if one.aspect == "confusion" else 1.0
            ends = sign * one.old, sign * one.new
            yield FindingSummary(_what(one), is_frequency, *ends, one.adjusted)


def _what(finding: Finding) -> str:
    if finding.aspect == "sharpness":
        return "How sure, less how often right"
    if finding.aspect == "confusion":
        return f"{finding.labels[1]} among rows taken for {finding.labels[0]}"
    return str(finding.labels[0])


def _cautions(found: ShiftReport, candidate: Candidate) -> Iterator[str]:
    limits = REPORT_LIMITS.get()
    if candidate.is_fitted:
        yield (
            f"{candidate.name} came fitted and is taken for the map from before. If it was fitted "
            "on the old rows, it looks better on them than it was."
        )
    if found.kind != "none" and found.pvalues["calibration_before"] < limits.shift_level / 3.0:
        yield (
            f"{candidate.name} was not calibrated on the old rows either: some of what is wrong "
            "now was wrong before. A map with more freedom tells kinds of shift apart better."
        )
    fewest = min(found.n_old, found.n_new)
    if fewest < limits.min_shift_rows:
        yield f"{fewest:,} rows are few: what has changed a little does not show."
