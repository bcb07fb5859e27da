"""Which measure is meant, and whether drawing rows again can say how sure we are of it."""

import inspect
import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dircal import metrics
from dircal.metrics import (
    RECORDS,
    AbstractQuantity,
    Called,
    Measure,
    Predictions,
    Summed,
    Table,
    is_measure,
    measures_in,
    values_of,
)
from dircal.tables import check_integer, check_number

__all__ = [
    "ChosenMeasure",
    "check_drawing",
    "check_measure",
    "check_measure_with_interval",
    "default_measures",
    "measure_all",
]


@dataclass(frozen=True)
class ChosenMeasure:
    """A measure with its options."""

    record: Measure
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the measure."""
        return self.record.name

    @property
    def label(self) -> str:
        """Name of the measure with its options."""
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.name}({options})" if options else self.name

    def quantity(self, predictions: Predictions) -> AbstractQuantity:
        """What it makes of checked predictions."""
        return self.record.of(predictions, **self.options)

    def value(self, predictions: Predictions) -> float:
        """The measure of checked predictions."""
        [value] = measure_all([self], predictions)
        return value

    def check_value(self, value: Any) -> float:
        """A finite number, which a function of the user's own may not give."""
        if not isinstance(value, numbers.Real):
            raise ValueError(
                f"`metric` is {self.name}, which gives no number but a {type(value).__name__}. "
                "Pass a measure that is one number, for example 'log_loss'."
            )
        if not math.isfinite(value):
            raise ValueError(
                f"`metric` is {self.name}, which gives {value}. Pass a measure that is a finite "
                "number for these rows, drawn again and again."
            )
        return float(value)

    def sums(self, predictions: Predictions) -> Summed | None:
        """The measure as a function of sums over rows; None where it is none."""
        return self.quantity(predictions).sums(predictions)


def measure_all(measures: Sequence[ChosenMeasure], predictions: Predictions) -> list[float]:
    """Several measures of the same rows: one pass for all that are sums."""
    values = values_of([measure.quantity(predictions) for measure in measures], predictions)
    return [measure.check_value(one) for measure, one in zip(measures, values, strict=True)]


def default_measures(table: Table) -> list[ChosenMeasure]:
    """The measures that a table shows where the user names none."""
    return [ChosenMeasure(record) for record in measures_in(table)]


def check_measure(metric: object) -> ChosenMeasure:
    """A measure from its name, from the function, or from a `functools.partial` of it."""
    options: dict[str, Any] = {}
    function: Any = metric
    if isinstance(metric, partial):
        if metric.args:
            raise ValueError(
                f"`metric` is a partial with the positional arguments {metric.args!r}. "
                "Give options by name, for example partial(metrics.class_ece, label=1)."
            )
        function, options = metric.func, dict(metric.keywords)
    if isinstance(function, str):
        function = _function_called(function)
    if np.ndim(function) > 0:
        raise ValueError(
            f"`metric` must be a measure; got an array of shape {np.shape(function)}. The labels "
            "come first, then the probabilities, and the measure last."
        )
    if not inspect.isfunction(function) or not is_measure(function):
        raise ValueError(
            "`metric` must be a measure of dircal.metrics or its name, or a function (y_true, "
            f"y_prob, *, sample_weight=None, classes=None) -> float; got {metric!r}. "
            "Pass for example 'log_loss'."
        )
    record = RECORDS.get(function.__name__)
    if record is None or record.function is not function:
        record = Measure(function, partial(_call, function), function.__name__, "")
    _check_options(record, options)
    return ChosenMeasure(record, options)


def _function_called(name: str) -> Any:
    """A measure, or anything else that `dircal.metrics` publishes; None if there is none."""
    if name in RECORDS:
        return RECORDS[name].function
    return getattr(metrics, name) if name in metrics.__all__ else None


def check_measure_with_interval(metric: object) -> ChosenMeasure:
    """The same, if drawing rows again tells something about it."""
    measure = check_measure(metric)
    if measure.record.interval is None:
        raise ValueError(
            f"`metric` is {measure.name}, which has no interval. {measure.record.why_no_interval}"
        )
    return measure


def check_drawing(level: float, n_resamples: int) -> None:
    """Refuse a level that is none, and too few draws."""
    check_number("level", level, above=0.0, below=1.0)
    check_integer("n_resamples", n_resamples, at_least=100)


def _call(function: Callable[..., float], predictions: Predictions, **options: Any) -> Called:
    """A function of the user's own, which wants arrays as users have them."""
    del predictions
    return Called(partial(_call_with_arrays, function, options))


def _call_with_arrays(
    function: Callable[..., float], options: dict[str, Any], predictions: Predictions
) -> float:
    return function(
        predictions.y_true,
        predictions.probabilities,
        sample_weight=predictions.sample_weight,
        classes=predictions.rows.column_classes,
        **options,
    )


def _check_options(record: Measure, options: dict[str, Any]) -> None:
    known = record.options
    strange = [name for name in options if name not in known]
    if strange:
        raise ValueError(
            f"`metric` has the option {strange[0]!r}, but {record.name} has "
            f"{', '.join(known) or 'none'}. `classes` is an argument of its own, and there are no "
            "weights."
        )
    required = [name for name, one in known.items() if one.default is one.empty]
    lacking = [name for name in required if name not in options]
    if lacking:
        raise ValueError(
            f"`metric` is {record.name}, which needs {lacking[0]}. "
            f"Pass functools.partial(metrics.{record.name}, {lacking[0]}=...)."
        )
