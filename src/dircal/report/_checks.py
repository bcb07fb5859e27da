"""Questions that are passed or failed, and the classes that pay for what the others gain."""

import math
from collections.abc import Sequence

from dircal._numerals import format_number, format_percent
from dircal.report._limits import REPORT_LIMITS
from dircal.report._summary import Check, ClassSummary, Method

__all__ = ["call", "check", "classes_worse_off", "failed", "tell_harm"]

_TESTED = {"confidence_ece": "confidence", "classwise_ece": "class probabilities"}
_QUESTIONS = {
    "confidence_ece": "Confidence matches accuracy",
    "classwise_ece": "Class probabilities match class frequencies",
}


def call(name: str) -> str:
    """A class as it is called in a sentence, where a number alone would puzzle."""
    return f"class {name}" if name.isdigit() else name


def failed(method: Method) -> list[str]:
    """What the tests find fault with."""
    return [
        _TESTED[test.measure]
        for test in method.tests
        if test.pvalue < REPORT_LIMITS.get().alarm_level
    ]


def classes_worse_off(classes: Sequence[ClassSummary]) -> list[ClassSummary]:
    """Classes that are recognised less often after the map, the largest fall first."""
    found = [one for one in classes if _is_worse_off(one)]
    return sorted(found, key=lambda one: -_fall(one))


def tell_harm(worse_off: Sequence[ClassSummary]) -> str:
    """A sentence on the classes that are worse off; empty where there are none."""
    if not worse_off:
        return ""
    named = [
        f"{call(one.name)} ({format_percent(one.recall_before)} to "
        f"{format_percent(one.recall_after)})"
        for one in worse_off[: REPORT_LIMITS.get().max_named_classes]
    ]
    more = len(worse_off) - len(named)
    listed = ", ".join(named) + (f" and {more} more" if more else "")
    n = len(worse_off)
    return f"Recall drops for {n} class{'es' if n > 1 else ''}: {listed}."


def check(
    before: Method,
    after: Method,
    worse_off: Sequence[ClassSummary],
    improved: bool | None,
    has_grounds: bool,
) -> list[Check]:
    """Every question with its answers; nothing is passed or failed without grounds."""
    limits = REPORT_LIMITS.get()
    found = []
    for old, new in zip(before.tests, after.tests, strict=True):
        said = (
            f"off by {format_percent(old.statistic)} before, {format_percent(new.statistic)} after"
        )
        passed = [test.pvalue >= limits.alarm_level if has_grounds else None for test in (old, new)]
        found.append(Check(_QUESTIONS[old.measure], passed[0], passed[1], said))
    start, end = before.measure("log_loss").value, after.measure("log_loss").value
    found.append(
        Check(
            "Log-loss improves",
            None,
            improved if has_grounds else None,
            f"{format_number(start)} before, {format_number(end)} after; lower is better",
        )
    )
    names = ", ".join(call(one.name) for one in worse_off[: limits.max_named_classes])
    names += (
        f" and {len(worse_off) - limits.max_named_classes} more"
        if len(worse_off) > limits.max_named_classes
        else ""
    )
    told = f"lower recall: {names}" if worse_off else "no noticeable drop in recall"
    found.append(
        Check(
            "No class loses recall",
            None,
            not worse_off if has_grounds else None,
            told if has_grounds else "",
        )
    )
    return found


def _fall(one: ClassSummary) -> float:
    if one.recall_before is None or one.recall_after is None:
        return 0.0
    return one.recall_before - one.recall_after


def _is_worse_off(one: ClassSummary) -> bool:
    limits = REPORT_LIMITS.get()
    fall, net = _fall(one), one.lost - one.won
    if fall >= limits.max_recall_fall and net >= limits.min_lost_rows:
        return True
    return fall >= limits.max_small_recall_fall and net >= limits.min_deviations * math.sqrt(
        one.lost + one.won
    )
