"""What might mislead a reader, and rows that are no ground for advice."""

from collections.abc import Sequence

from dircal.report._limits import REPORT_LIMITS
from dircal.report._summary import DataSummary, Method

__all__ = ["cautions", "has_one_label", "refusal"]


def has_one_label(data: DataSummary) -> bool:
    """Whether all scored rows belong to one class."""
    return data.n_largest == data.n_scored


def refusal(name: str, data: DataSummary) -> str | None:
    """Why these rows are no ground for advice about the map called ``name``, if they are none."""
    limits = REPORT_LIMITS.get()
    others = data.n_scored - data.n_largest
    if has_one_label(data):
        why = (
            f"all rows belong to {data.largest}, and from one label nothing can be learned or "
            "tested. Pass rows of all classes."
        )
    elif data.n_scored < limits.min_advice_rows:
        why = (
            f"{data.n_scored} rows are too few to tell whether {name} helps. Pass at least "
            f"{limits.min_advice_rows}."
        )
    elif data.n_scored < limits.min_class_rows * data.n_classes:
        why = (
            f"{data.n_scored:,} rows are too few for {data.n_classes:,} classes. Pass at least "
            f"{limits.min_class_rows * data.n_classes:,}, {limits.min_class_rows} for each class."
        )
    elif others < limits.min_other_rows:
        rows = "row belongs" if others == 1 else "rows belong"
        why = (
            f"only {others} {rows} to another class than {data.largest}, too few to tell whether "
            f"{name} helps. Pass at least {limits.min_other_rows}."
        )
    elif data.n_copies > limits.max_copies * data.n_scored:
        why = (
            f"{data.n_copies:,} of the {data.n_scored:,} rows are copies of others, scores and "
            "label, and copies make chance look like evidence. Pass each row once."
        )
    else:
        return None
    return f"No recommendation: {why}"


def cautions(methods: Sequence[Method], after: Method, data: DataSummary) -> list[str]:
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
    if data.has_soft_labels:
        found.append(
            "Labels are soft: a row has several, each with its probability. That a decision is "
            "right is counted by how probable its class is as the label, and there are no tests "
            "and no ranges by chance, which need one label for each row."
        )
    if data.n_scored < REPORT_LIMITS.get().min_precise_rows:
        what = "the numbers" if data.weight is not None else "intervals and tests"
        found.append(
            f"{data.n_scored:,} rows are few: {what} are rough, and a check that is passed proves "
            "little."
        )
    if has_one_label(data):
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
