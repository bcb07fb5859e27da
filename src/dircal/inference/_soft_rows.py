"""Rows with soft labels where rows are drawn: each counts once, however many annotators it has."""

from dircal.metrics import Predictions
from dircal.tables import ArrayRows, LabelledRows, reject_soft_labels

__all__ = ["once_each", "refuse_soft", "rows_once_each"]


def once_each(predictions: Predictions) -> Predictions:
    """The same with every row once, where all have as many annotators; without those of none."""
    data = predictions.given
    if data is None or data.sample_weight is None:
        return predictions
    rows = rows_once_each(data, "y_true")
    assert isinstance(rows, ArrayRows)
    return Predictions.of_checked(rows)


def rows_once_each(data: LabelledRows, name: str) -> LabelledRows:
    """Return every row once, or raise unless all have equally many annotators.

    The labels are called ``name`` in the message. The annotators of a row share its probabilities:
    they are not drawn separately.
    """
    found = data.weight_range()
    if found is None:
        return data
    least, most = found
    if least < most:
        raise ValueError(
            f"`{name}` has rows with {least:g} to {most:g} annotators. Rows are drawn here, each "
            "with all of its annotators, and count alike. Pass probabilities, "
            f"`{name} / {name}.sum(axis=1, keepdims=True)`, of the rows that have any."
        )
    return data.unweighted()


def refuse_soft(predictions: Predictions) -> None:
    """Raise where labels are drawn from the predictions, one for each row."""
    if predictions.has_soft_labels:
        reject_soft_labels()
