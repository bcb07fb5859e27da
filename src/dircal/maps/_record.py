"""What a fitted map does to rows: those of its fit, or others."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dircal._core.data.chunks import Chunk
from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Solution
from dircal._typing import FloatArray, LabelArray
from dircal.maps._effects import Effects, measure_effects
from dircal.maps._explanation import Explanation, TemperatureComparison, make_explanation

__all__ = ["FitRecord", "explain_rows", "make_record"]


@dataclass(frozen=True)
class FitRecord:
    """What a fit remembers of its rows, so that the map can be explained later.

    ``observed`` (k,) are the shares of the classes; a map that is one temperature has no effects
    beyond it.
    """

    n_rows: float
    observed: FloatArray
    effects: Effects | None
    comparison: TemperatureComparison

    def explanation(self, name: str, labels: LabelArray) -> Explanation:
        """What the map of the calibrator called ``name`` does to the fitting rows."""
        return make_explanation(
            name,
            "the fitting rows",
            self.n_rows,
            self.effects,
            labels,
            self.observed,
            self.comparison,
        )


def make_record(
    rows: Rows,
    temperature: Solution,
    loss: float,
    n_more: int,
    logits_of: Callable[[FloatArray], FloatArray],
) -> FitRecord:
    """What the map with ``logits_of`` does to the rows of its fit, beside the best temperature.

    ``n_more`` parameters beyond a temperature; without any there are no effects beyond it.
    """
    slope = float(temperature.params[0])
    observed = rows.source.fold(partial(_class_weights, rows.n_classes))
    # Weights that were added up may miss one by rounding.
    observed /= observed.sum()
    effects: Effects | None = None
    uncalibrated, tempered = None, temperature.loss
    if n_more > 0:
        # Effects are told in a few digits.
        small = rows.as_float32() if rows.allow_float32 else rows
        effects = measure_effects(small, slope, logits_of)
        uncalibrated, tempered, loss = effects.losses
    ratio = 2.0 * rows.total_weight * (tempered - loss)
    comparison = TemperatureComparison(1.0 / slope, uncalibrated, tempered, loss, ratio, n_more)
    return FitRecord(rows.total_weight, observed, effects, comparison)


def explain_rows(
    name: str,
    rows: Rows,
    labels: LabelArray,
    comparison: TemperatureComparison,
    logits_of: Callable[[FloatArray], FloatArray],
) -> Explanation:
    """What a map does to other rows than those of its fit, whose labels are not known."""
    effects = measure_effects(rows, 1.0 / comparison.temperature, logits_of)
    return make_explanation(
        name, "the given rows", rows.n_samples, effects, labels, None, comparison
    )


def _class_weights(n_classes: int, chunk: Chunk) -> FloatArray:
    """Summed weights (k,) of the classes."""
    return np.bincount(chunk.labels, chunk.weight, n_classes).astype(np.float64)
