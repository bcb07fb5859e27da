"""The verdict: one sentence, what it rests on, what to do and what to beware of.

Words follow from tests and from the size of what is wrong, never from one of them alone: with many
rows every test rejects, and with few rows large errors may be chance.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from dircal._numerals import format_level, format_number, format_percent, format_pvalue
from dircal.report._cautions import cautions, has_one_label, refusal
from dircal.report._checks import call, check, classes_worse_off, failed, tell_harm
from dircal.report._limits import REPORT_LIMITS
from dircal.report._summary import ClassSummary, DataSummary, Method, ScoreFinding, Verdict

__all__ = ["judge"]

Fault: TypeAlias = Literal["overconfident", "underconfident", "miscalibrated", "none", "not tested"]
Effect: TypeAlias = Literal["better", "unclear", "worse", "not tested", "insufficient data"]

_OPENINGS: dict[Fault, str] = {
    "overconfident": "The model is overconfident",
    "underconfident": "The model is underconfident",
    "miscalibrated": "Class probabilities are off",
    "none": "No evidence of miscalibration",
    "not tested": "",
}
_RIGHT_ON_AVERAGE = "Confidence is right on average, but class probabilities are off"
_TESTED = {"confidence_ece": "confidence", "classwise_ece": "class probabilities"}
_IMPROVED: dict[Effect, bool] = {"better": True, "worse": False}


def judge(
    methods: Sequence[Method],
    chosen: str,
    score: ScoreFinding | None,
    classes: Sequence[ClassSummary],
    data: DataSummary,
    level: float,
) -> Verdict:
    """Put the numbers into words; the first method are the probabilities as they are."""
    before, after = methods[0], next(one for one in methods if one.name == chosen)
    refused = refusal(after.name, data)
    fault = _fault(before, None if has_one_label(data) else score)
    effect: Effect = _effect(after) if refused is None else "insufficient data"
    worse_off = classes_worse_off(classes) if refused is None else []
    checks = check(before, after, worse_off, _IMPROVED.get(effect), refused is None)
    return Verdict(
        fault,
        effect,
        _sentence(fault, before, after, data),
        _advice(fault, effect, after, worse_off) if refused is None else refused,
        tell_harm(worse_off),
        tuple(one.name for one in worse_off),
        tuple(checks),
        (*_points(before, after, level),),
        (*cautions(methods, after, data),),
    )


def _sentence(fault: Fault, before: Method, after: Method, data: DataSummary) -> str:
    rows = f"{data.n_scored:,} rows"
    if data.weight is not None:
        rows += f" of weight {format_number(data.weight)}"
    opening = _OPENINGS[fault]
    if (
        fault == "miscalibrated"
        and abs(before.confidence - before.accuracy) < REPORT_LIMITS.get().min_confidence_gap
    ):
        opening = _RIGHT_ON_AVERAGE
    start = f"{opening}: on" if opening else "On"
    return (
        f"{start} {rows} mean confidence is {format_percent(before.confidence)} and accuracy "
        f"is {format_percent(before.accuracy)}. After {after.name}, they are "
        f"{format_percent(after.confidence)} and {format_percent(after.accuracy)}."
    )


def _fault(before: Method, score: ScoreFinding | None) -> Fault:
    limits = REPORT_LIMITS.get()
    if score is None:
        return "not tested"
    rejected = failed(before)
    if not rejected and score.pvalue >= limits.alarm_level:
        return "none"
    gap = before.confidence - before.accuracy
    if _TESTED["confidence_ece"] in rejected and abs(gap) >= limits.min_confidence_gap:
        return "overconfident" if gap > 0 else "underconfident"
    return "miscalibrated"


def _effect(after: Method) -> Effect:
    loss = after.measure("log_loss")
    if loss.difference_low is None or loss.difference_high is None:
        return "not tested"
    if loss.difference_high < 0:
        return "better"
    return "worse" if loss.difference_low > 0 else "unclear"


def _advice(fault: Fault, effect: Effect, after: Method, worse_off: Sequence[ClassSummary]) -> str:
    name = after.name
    left = failed(after)
    still = f"the {' and the '.join(left)} still {'fails' if left == ['confidence'] else 'fail'}"
    if effect == "worse":
        return f"Keep the original probabilities: {name} makes them worse."
    if effect == "unclear":
        # That nothing shows is no proof: neither that all is well, nor that a fault is mended.
        if fault == "none":
            return f"No action needed: {name} makes no significant difference, and both tests pass."
        if left:
            return f"{name} makes no significant difference, and {still} the test."
        return f"{name} makes no significant difference. Collect more data."
    if effect == "not tested":
        better = after.measure("log_loss").difference < 0
        word = "lower" if better else "not lower"
        return f"The log-loss is {word} after {name}; with weights there is no test of that."
    if worse_off:
        whom = call(worse_off[0].name) if len(worse_off) == 1 else "the classes below"
        return (
            f"{name} lowers log-loss overall. Before you use it, decide whether lower recall in "
            f"{whom} is acceptable."
        )
    if left:
        return f"Use {name}: it lowers log-loss significantly, although {still} the test."
    if not after.tests:
        return f"Use {name}: it lowers log-loss significantly."
    return f"Use {name}: it lowers log-loss significantly and passes both tests."


def _points(before: Method, after: Method, level: float) -> list[str]:
    """What the sentence rests on."""
    start, end = before.measure("log_loss"), after.measure("log_loss")
    loss = f"Log-loss {format_number(start.value)} before, {format_number(end.value)} after"
    if end.difference_low is not None and end.difference_high is not None:
        part = ""
        if start.value > 0:
            sign = "+" if end.difference > 0 else ""
            part = f" ({sign}{format_percent(end.difference / start.value)})"
        differences = (end.difference, end.difference_low, end.difference_high)
        change, low, high = (format_number(value, sign=True) for value in differences)
        loss += f": a change of {change}{part}, {format_level(level)}: {low} to {high}"
    points = [loss + "."]
    for i, test in enumerate(before.tests):
        then = after.tests[i]
        points.append(
            f"Calibration error of the {_TESTED[test.measure]}: {format_number(test.statistic)} "
            f"before ({format_pvalue(test.pvalue, test.n_resamples, 'p')}; by chance about "
            f"{format_number(test.expected)}), {format_number(then.statistic)} after "
            f"({format_pvalue(then.pvalue, then.n_resamples, 'p')}; by chance about "
            f"{format_number(then.expected)})."
        )
    return points
