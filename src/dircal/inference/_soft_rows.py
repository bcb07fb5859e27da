"""Rows with soft labels where rows are drawn: each counts once, however many annotators it has."""

from dataclasses import replace

import numpy as np

from dircal.metrics import Predictions
from dircal.tables import LabelledScores, refuse_soft_labels

__all__ = ["once_each", "refuse_soft", "rows_once_each"]


def once_each(predictions: Predictions) -> Predictions:
    """The same with every row once, where all have as many annotators; without those of none."""
    data = predictions.given
    if data is None or data.sample_weight is None:
        return predictions
    return Predictions.of_checked(rows_once_each(data, "y_true"))


def rows_once_each(data: LabelledScores, name: str) -> LabelledScores:
    """The same of rows whose labels are called ``name``.

    The annotators of a row share its probabilities: they are not drawn by themselves.
    """
    if data.sample_weight is None:
        return data
    used = np.flatnonzero(data.sample_weight)
    weight = data.sample_weight[used]
    least, most = float(weight.min()), float(weight.max())
    if least < most:
        raise ValueError(
            f"`{name}` has rows with {least:g} to {most:g} annotators. Rows are drawn here, each "
            "with all of its annotators, and count alike. Pass probabilities, "
            f"`{name} / {name}.sum(axis=1, keepdims=True)`, of the rows that have any."
        )
    return replace(data.take(used), sample_weight=None)


def refuse_soft(predictions: Predictions) -> None:
    """Raise where labels are drawn from the predictions, one for each row."""
    if predictions.has_soft_labels:
        refuse_soft_labels()
