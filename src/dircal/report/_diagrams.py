"""Reliability diagrams as plain data, from the curves that the pictures draw."""

from collections.abc import Iterable

from dircal.metrics import EqualWidth, Predictions
from dircal.plots import Curve, confidence_curve, curves_of_classes, plain
from dircal.report._summary import Bin, Diagram

__all__ = ["BINS", "class_diagrams", "confidence_diagram"]

BINS = EqualWidth(15)
"""Those of the measures, so that the error of a diagram is the one in the table."""


def confidence_diagram(predictions: Predictions, level: float) -> Diagram:
    """Whether the model is right as often as it is sure."""
    return _diagram(confidence_curve(predictions, BINS, level, "confidence"))


def class_diagrams(predictions: Predictions, names: Iterable[str], level: float) -> list[Diagram]:
    """Whether each class happens as often as it is said to."""
    chosen = list(range(predictions.n_classes))
    return [_diagram(one) for one in curves_of_classes(predictions, BINS, chosen, names, level)]


def _diagram(curve: Curve) -> Diagram:
    columns = (
        curve.edges[:-1],
        curve.edges[1:],
        curve.count,
        curve.mean_predicted,
        curve.frequency,
        curve.low,
        curve.high,
    )
    bins = zip(*(column.tolist() for column in columns), strict=True)
    used = (Bin(*(plain(value) for value in row)) for row in bins if row[2] > 0)
    return Diagram(curve.error, tuple(used))
