"""The verdict: one sentence, what it rests on, what to do and what to beware of.

Words follow from tests and from the size of what is wrong, never from one of them alone: with many
rows every test rejects, and with few rows large errors may be chance.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from dircal.report._numbers import percent, pvalue, short
from dircal.report._summary import DataSummary, Method, ScoreFinding, Verdict

__all__ = ["ALARM", "judge"]

Fault: TypeAlias = Literal["too sure", "too timid", "in detail", "none", "not tested"]
Effect: TypeAlias = Literal["better", "unclear", "worse", "not tested", "no grounds"]

ALARM = 0.05 / 3
"""Below this a p-value counts as evidence: five of a hundred, shared by three tests."""
# A mean confidence that misses by less than one of a hundred is about right.
_NOTICED = 0.01
# With fewer rows, intervals and tests are rough.
_FEW_ROWS = 300
# With fewer still there is no advice: where a few rows decide, 5 % tests of 50 rows found changes
# that were none 16 times of 100, those of 200 rows 9 times (`tests/long/table.md`).
_LEAST_ROWS = 100
# Rows of other classes than the most common one: ten events for each number that is learned is the
# rule of thumb for logistic models (Peduzzi et al. 1996), and a map learns one at the least.
_LEAST_OTHERS = 10
_OPENINGS: dict[Fault, str] = {
    "too sure": "The model is too sure of itself: on",
    "too timid": "The model is less sure than it could be: on",
    "in detail": "The probabilities are off: on",
    "none": "No fault shows in the probabilities: on",
    "not tested": "On",
}
_RIGHT_ON_AVERAGE = (
    "The model is about right on average, but its probabilities are off in detail: on"
)
_TESTED = {"confidence_ece": "confidence", "classwise_ece": "class probabilities"}


def judge(
    methods: Sequence[Method],
    chosen: str,
    score: ScoreFinding | None,
    data: DataSummary,
    level: float,
) -> Verdict:
    """Put the numbers into words; the first method are the probabilities as they are."""
    before, after = methods[0], next(one for one in methods if one.name == chosen)
    refusal = _refusal(after.name, data)
    fault = _fault(before, None if _has_one_label(data) else score)
    effect: Effect = _effect(after) if refusal is None else "no grounds"
    rows = f"{data.n_scored:,} rows"
    if data.weight is not None:
        rows += f" of weight {short(data.weight)}"
    opening = _OPENINGS[fault]
    if fault == "in detail" and abs(before.confidence - before.accuracy) < _NOTICED:
        opening = _RIGHT_ON_AVERAGE
    subject = "it" if opening.startswith("The model") else "the model"
    sentence = (
        f"{opening} {rows} {subject} says {percent(before.confidence)} on average and is right "
        f"{percent(before.accuracy)} of the time; after {after.name} it says "
        f"{percent(after.confidence)} and is right {percent(after.accuracy)}."
    )
    return Verdict(
        fault,
        effect,
        sentence,
        _advice(fault, effect, after) if refusal is None else refusal,
        (*_points(before, after, level),),
        (*_cautions(methods, after, data),),
    )


def _rejected(method: Method) -> list[str]:
    """What the tests find fault with."""
    return [_TESTED[test.measure] for test in method.tests if test.pvalue < ALARM]


def _fault(before: Method, score: ScoreFinding | None) -> Fault:
    if score is None:
        return "not tested"
    rejected = _rejected(before)
    if not rejected and score.pvalue >= ALARM:
        return "none"
    gap = before.confidence - before.accuracy
    if _TESTED["confidence_ece"] in rejected and abs(gap) >= _NOTICED:
        return "too sure" if gap > 0 else "too timid"
    return "in detail"


def _has_one_label(data: DataSummary) -> bool:
    return data.n_largest == data.n_scored


def _refusal(name: str, data: DataSummary) -> str | None:
    """Why these rows are no ground for advice about the map called ``name``, if they are none."""
    others = data.n_scored - data.n_largest
    if _has_one_label(data):
        why = (
            f"all rows belong to {data.largest}, and from one label nothing can be learned or "
            "tested. Pass rows of all classes."
        )
    elif data.n_scored < _LEAST_ROWS:
        why = (
            f"{data.n_scored} rows are too few to tell whether {name} helps. Pass at least "
            f"{_LEAST_ROWS}."
        )
    elif others < _LEAST_OTHERS:
        rows = "row belongs" if others == 1 else "rows belong"
        why = (
            f"only {others} {rows} to another class than {data.largest}, too few to tell whether "
            f"{name} helps. Pass at least {_LEAST_OTHERS}."
        )
    else:
        return None
    return f"No recommendation: {why}"


def _effect(after: Method) -> Effect:
    loss = after.measure("log_loss")
    if loss.difference_low is None or loss.difference_high is None:
        return "not tested"
    if loss.difference_high < 0:
        return "better"
    return "worse" if loss.difference_low > 0 else "unclear"


def _advice(fault: Fault, effect: Effect, after: Method) -> str:
    name = after.name
    left = _rejected(after)
    if effect == "worse":
        return f"Leave the probabilities as they are: {name} makes them worse."
    if effect == "unclear":
        # That nothing shows is no proof: neither that all is well, nor that a fault is mended.
        if fault == "none":
            what = "no fault shows that it would have to mend"
        elif left:
            what = f"the tests still find fault with the {' and the '.join(left)}"
        else:
            what = "it takes more rows to tell whether it mends the fault"
        return f"{name} makes no clear difference to the log-loss; {what}."
    if effect == "not tested":
        better = after.measure("log_loss").difference < 0
        word = "lower" if better else "not lower"
        return f"The log-loss is {word} after {name}; with weights there is no test of that."
    if left:
        return (
            f"Use {name}: it makes the probabilities better, though the tests still find fault "
            f"with the {' and the '.join(left)}."
        )
    return f"Use {name}: it makes the probabilities better, and no fault shows in what it gives."


def _points(before: Method, after: Method, level: float) -> list[str]:
    """What the sentence rests on."""
    start, end = before.measure("log_loss"), after.measure("log_loss")
    loss = f"Log-loss {short(start.value)} before, {short(end.value)} after"
    if end.difference_low is not None and end.difference_high is not None:
        part = ""
        if start.value > 0:
            sign = "+" if end.difference > 0 else ""
            part = f" ({sign}{percent(end.difference / start.value)})"
        loss += (
            f": a change of {short(end.difference, sign=True)}{part}, {100 * level:g} %: "
            f"{short(end.difference_low, sign=True)} to {short(end.difference_high, sign=True)}"
        )
    points = [loss + "."]
    for i, test in enumerate(before.tests):
        then = after.tests[i]
        points.append(
            f"Calibration error of the {_TESTED[test.measure]}: {short(test.statistic)} before "
            f"({pvalue(test.pvalue, test.n_resamples, 'p')}; by chance about "
            f"{short(test.expected)}), {short(then.statistic)} after "
            f"({pvalue(then.pvalue, then.n_resamples, 'p')}; by chance about "
            f"{short(then.expected)})."
        )
    return points


def _cautions(methods: Sequence[Method], after: Method, data: DataSummary) -> list[str]:
    """What might mislead a reader."""
    found = []
    if data.better_order:
        more = "" if len(data.better_order) <= 10 else ", ..."
        found.append(
            "The labels fit another order of the columns far better: "
            f"{', '.join(data.better_order[:10])}{more}. If the columns are in that order, this "
            "page shows the mix-up and not the model."
        )
    fitted = [one.name for one in methods if one.role == "fitted"]
    if fitted:
        found.append(
            f"{' and '.join(fitted)} came fitted. If some of these rows were used for the fit, "
            "the numbers after it flatter it; nothing here can tell."
        )
    if len(methods) > 2:
        found.append(
            f"{after.name} has the lowest log-loss of {len(methods) - 1} calibrators on these "
            "rows; being chosen makes it look a little better than it is."
        )
    if data.weight is not None:
        found.append(
            "With sample weights there are no intervals, no tests and no ranges by chance: a "
            "weight does not say whether its rows were drawn together or apart."
        )
    if data.n_scored < _FEW_ROWS:
        what = "the numbers" if data.weight is not None else "intervals and tests"
        found.append(
            f"{data.n_scored:,} rows are few: {what} are rough, and a fault that does not show "
            "may still be there."
        )
    if _has_one_label(data):
        found.append(
            f"With rows of {data.largest} only, a map that always says {data.largest} looks best: "
            "changes and p-values on this page mean no more than that."
        )
    if data.absent:
        more = "" if len(data.absent) <= 5 else f" and {len(data.absent) - 5} more"
        found.append(
            f"No row belongs to {', '.join(data.absent[:5])}{more}; nothing can be said of "
            f"{'this class' if len(data.absent) == 1 else 'these classes'}."
        )
    found += [f"{one.name}: {said}" for one in methods for said in one.fit_warnings]
    return found
