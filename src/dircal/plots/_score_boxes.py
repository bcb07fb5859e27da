"""What the boxes of a picture hold: quantiles of the probabilities of one class."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dircal._typing import FloatArray
from dircal.metrics import Block, Predictions

__all__ = [
    "QUANTILE_COLUMNS",
    "Box",
    "box_from_row",
    "box_of",
    "classes_of_boxes",
    "mean_probabilities",
]

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
QUANTILE_COLUMNS = ("q05", "q25", "q50", "q75", "q95")
"""Their names in a table."""
# Circles on each side of a box; more would only lie on top of each other.
_CIRCLES = 40


@dataclass(frozen=True, eq=False)
class Box:
    """The probabilities of one class in the rows of one true class, by one method.

    ``quantiles`` (5,) are at 5, 25, 50, 75 and 95 %; ``circles`` are some of the values outside.
    """

    method: str
    true: str
    predicted: str
    n: float
    quantiles: FloatArray
    mean: float
    sd: float
    circles: FloatArray
    numbers: tuple[int, int]


def mean_probabilities(predictions: Predictions) -> FloatArray:
    """Mean probabilities (k, k) by true class and class; NaN for classes without rows."""
    k = predictions.n_classes
    sums, counts = np.split(predictions.fold(partial(_sums_by_class, k)), [k], axis=1)
    means: FloatArray = np.divide(sums, counts, out=np.full((k, k), np.nan), where=counts > 0)
    return means


def _sums_by_class(k: int, block: Block) -> FloatArray:
    """Sums of the probabilities (k, k) of the rows of each class, and their number (k, 1)."""
    sums = [block.proba[:, block.labels == j].sum(axis=1) for j in range(k)]
    return np.column_stack([np.array(sums), np.bincount(block.labels, minlength=k)])


def classes_of_boxes(means: FloatArray, true: int, max_boxes: int) -> list[int]:
    """All classes, or the true one and those with the largest means."""
    if len(means) <= max_boxes:
        return list(range(len(means)))
    order = [j for j in np.argsort(-means, kind="stable").tolist() if j != true]
    return [true, *order[: max_boxes - 1]]


def box_of(
    method: str, predictions: Predictions, numbers: tuple[int, int], names: tuple[str, ...]
) -> Box:
    """The box of the class at the second of two positions, in rows of the class at the first."""
    true, predicted = numbers
    # Quantiles are no sums: they need the values.
    parts = predictions.gather(partial(_values_in_class, true, predicted), "A box of quantiles")
    values = np.concatenate(parts)
    quantiles = np.quantile(values, _QUANTILES)
    below = np.sort(values[values < quantiles[0]])
    above = np.sort(values[values > quantiles[-1]])
    circles = np.concatenate([_thin(below), _thin(above)])
    mean, sd = float(values.mean()), float(values.std())
    return Box(
        method, names[true], names[predicted], len(values), quantiles, mean, sd, circles, numbers
    )


def _values_in_class(true: int, predicted: int, block: Block) -> FloatArray:
    values: FloatArray = block.proba[predicted, block.labels == true]
    return values


def box_from_row(row: dict[str, Any], classes: list[str]) -> Box:
    """A box from a row of a table; of the circles only the outermost are known."""
    quantiles = np.array([float(row[name]) for name in QUANTILE_COLUMNS])
    extremes = np.array([float(row["smallest"]), float(row["largest"])])
    outside = (extremes < quantiles[0]) | (extremes > quantiles[-1])
    true, predicted = str(row["true"]), str(row["predicted"])
    return Box(
        str(row["method"]),
        true,
        predicted,
        float(row["n"]),
        quantiles,
        float(row["mean"]),
        float(row["sd"]),
        extremes[outside],
        (classes.index(true), classes.index(predicted)),
    )


def _thin(values: FloatArray) -> FloatArray:
    """Some of the sorted values, evenly, with the first and the last."""
    if len(values) <= _CIRCLES:
        return values
    return values[np.linspace(0, len(values) - 1, _CIRCLES).round().astype(np.intp)]
