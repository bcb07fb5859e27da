"""Measures of several predictions of the same rows, and how sure we may be of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dircal._typing import ArrayLike, FloatArray
from dircal.inference._comparison_base import UNCALIBRATED, ComparisonRow
from dircal.inference._draws_base import Draws
from dircal.inference._measure_base import Measure
from dircal.inference._resampling_base import difference_of, draw_together, range_of

__all__ = ["label_of", "tabulate_measures"]


def tabulate_measures(
    measures: Sequence[Measure],
    y_true: ArrayLike,
    probabilities: dict[str, FloatArray],
    classes: ArrayLike,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> Iterator[ComparisonRow]:
    """A row for each of the predictions and measures; the first predictions are the yardstick."""
    sure = [measure for measure in measures if measure.has_interval]
    drawn = draw_together(sure, y_true, [*probabilities.values()], classes, n_resamples, rng)
    before: dict[str, tuple[float, Draws | None]] = {}
    for (name, proba), draws in zip(probabilities.items(), drawn, strict=True):
        remaining = iter(draws)
        for measure in measures:
            value = measure(y_true, proba, classes=classes)
            mine = next(remaining) if measure.has_interval else None
            start, others = before.setdefault(label_of(measure), (value, mine))
            row = ComparisonRow(name, label_of(measure), value, value - start)
            if mine is not None:
                found = range_of(mine, value, level)
                row = replace(row, low=found.low, high=found.high)
            if mine is not None and others is not None and name != UNCALIBRATED:
                change = difference_of(mine, others, level)
                row = replace(
                    row,
                    difference_low=change.low,
                    difference_high=change.high,
                    pvalue=change.pvalue,
                )
            yield row


def label_of(measure: Measure) -> str:
    """Name of a measure with its options."""
    options = ", ".join(f"{name}={value}" for name, value in measure.options.items())
    return f"{measure.name}({options})" if options else measure.name
