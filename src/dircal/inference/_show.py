"""Results of tests and comparisons in words and for a notebook."""

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from dircal._html import card, facts, histogram, mark, table
from dircal._numerals import format_interval, format_level, format_measure, format_pvalue
from dircal._typing import FloatArray
from dircal.inference._drawn_sums import Source
from dircal.inference._limits import INFERENCE_LIMITS
from dircal.metrics import RECORDS

__all__ = [
    "html_of_calibration_test",
    "html_of_comparison",
    "html_of_result",
    "html_of_score_test",
    "show_chance",
    "show_source",
    "tell_sources",
]


def show_source(source: str, before: str = " ") -> str:
    """Where draws come from, after what stands ``before``; nothing where they are just draws."""
    return "" if source == "draws" else f"{before}from {source}"


def show_chance(test: Any) -> str:
    """The p-value of a test, and where its draws come from."""
    return format_pvalue(test.pvalue, len(test.null_sample)) + show_source(test.source)


def html_of_calibration_test(test: Any) -> str:
    """The verdict, the numbers, and the error among those of a calibrated model."""
    low, high = np.quantile(test.null_sample, [0.025, 0.975])
    failed = test.pvalue < INFERENCE_LIMITS.get().alarm_level
    words = "fails: not calibrated" if failed else "passes: no evidence of miscalibration"
    numbers = [
        ("result", mark(words, not failed)),
        (test.measure, f"{test.statistic:.4g} on {test.n_samples:,} rows"),
        ("by chance", f"{test.null_sample.mean():.4g} ({format_interval(low, high)})"),
        ("p-value", show_chance(test)),
    ]
    return card("Calibration test", facts(numbers), picture=_among(test.null_sample, test))


def html_of_score_test(test: Any) -> str:
    """Whether a map would help, and where."""
    rejects = test.pvalue < test.alpha
    words = "a map would help" if rejects else "no evidence that a map would help"
    where = [escape(str(label)) for label in test.classes]
    pairs = [f"{escape(str(a))} with {escape(str(b))}" for a, b in test.pairs]
    numbers = [
        ("result", mark(words, not rejects)),
        ("statistic", f"{test.statistic:.4g} on {test.n_samples:,} rows"),
        ("by chance", f"{test.null_sample.mean():.4g} ({test.freedom} parameters, {test.family})"),
        ("p-value", show_chance(test)),
    ]
    for name, found in (("classes that are off", where), ("pairs confused", pairs)):
        if found:
            more = f" and {len(found) - 6} more" if len(found) > 6 else ""
            numbers.append((name, ", ".join(found[:6]) + more))
    return card("Score test", facts(numbers), picture=_among(test.null_sample, test))


def html_of_result(title: str, result: str, is_good: bool | None, **numbers: str) -> str:
    """A result without a picture; numbers by their names, with spaces for underscores."""
    named = [(name.replace("_", " "), escape(value)) for name, value in numbers.items()]
    return card(title, facts([("result", mark(result, is_good)), *named]))


def html_of_comparison(comparison: Any) -> str:
    """Return a row for each calibrator and a column for each measure; the best value has a star."""
    measures, names = comparison.measures, comparison.calibrators
    best = {one: comparison.best(one) for one in measures}
    titles = [RECORDS[one].title if one in RECORDS else one for one in measures]
    rows = (
        [
            escape(name),
            *(_cell(comparison.row(name, one), is_best=best[one] == name) for one in measures),
        ]
        for name in names
    )
    told = (
        f"Of {comparison.n_scored:,} held-out rows. A star marks the best value. Coloured: better "
        f"or worse than uncalibrated beyond chance ({format_level(comparison.level)}). "
        f"{comparison.sources()}"
    ).rstrip()
    note = f'<div style="opacity:0.7">{escape(told)}</div>'
    shown = f"<div>{escape(comparison.sentence())}</div>"
    return card("Comparison of calibrators", shown, table(["calibrator", *titles], rows), note)


def _cell(row: Any, *, is_best: bool) -> str:
    text = format_measure(row.value)
    text += "*" * is_best
    low, high = row.difference_low, row.difference_high
    if low is None or high is None or low <= 0 <= high:
        return text
    higher_is_better = row.measure in RECORDS and RECORDS[row.measure].higher_is_better
    return mark(text, (row.difference > 0) == higher_is_better)


def _among(sample: FloatArray, test: Any) -> str:
    """Where the statistic lies among those that were drawn."""
    low, high = float(min(sample.min(), test.statistic)), float(max(sample.max(), test.statistic))
    span = (high - low) or 1.0
    low, high = low - 0.04 * span, high + 0.04 * span
    counts, _ = np.histogram(sample, INFERENCE_LIMITS.get().n_bars, (low, high))
    place = (test.statistic - low) / (high - low)
    return histogram(counts.tolist(), place, "The statistic among those of a calibrated model")


# In the order in which they are told.
_TOLD: dict[Source, str] = {
    "moments": "from moments of sums over rows",
    "multipliers": "from rows with random signs",
    "draws": "from draws",
}


def tell_sources(n_rows: int, found: Iterable[tuple[str, Source]], what: str = "these") -> str:
    """A sentence about numbers, each with its source; empty where all are drawn."""
    by_source: dict[Source, dict[str, None]] = {source: {} for source in _TOLD}
    for name, source in found:
        by_source[source][name] = None
    if not by_source["moments"] and not by_source["multipliers"]:
        return ""
    told = [f"{_TOLD[one]}: {', '.join(names)}" for one, names in by_source.items() if names]
    return f"With {n_rows:,} rows {what} come {'; '.join(told)}."
