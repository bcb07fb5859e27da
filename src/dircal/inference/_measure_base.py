"""Which measure is meant, and whether drawing rows again can say how sure we are of it."""

import inspect
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dircal import metrics
from dircal._typing import ArrayLike
from dircal.validation import check_integer, check_number

__all__ = ["Measure", "check_drawing", "check_measure", "check_measure_with_interval"]

# What every measure takes; the rest are its own options.
_COMMON = ("y_true", "y_prob", "sample_weight", "classes")


@dataclass(frozen=True)
class Measure:
    """A measure with its options."""

    name: str
    function: Callable[..., float]
    options: dict[str, Any]

    def __call__(self, y_true: ArrayLike, y_prob: ArrayLike, **more: Any) -> float:
        value = self.function(y_true, y_prob, **self.options, **more)
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

    @property
    def settings(self) -> dict[str, Any]:
        """All options, those not given with their defaults."""
        parameters = inspect.signature(self.function).parameters
        return {name: parameter.default for name, parameter in parameters.items()} | self.options

    @property
    def has_interval(self) -> bool:
        """Whether drawing rows again tells how sure we may be; not of the largest of many gaps."""
        return self.function is not metrics.maximum_calibration_error

    @property
    def higher_is_better(self) -> bool:
        """Whether large values are good."""
        return self.function is metrics.accuracy


def check_measure(metric: object) -> Measure:
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
        function = getattr(metrics, function) if function in metrics.__all__ else None
    if not inspect.isfunction(function) or not {*_COMMON} <= {*_parameters(function)}:
        raise ValueError(
            "`metric` must be a measure of dircal.metrics or its name, or a function (y_true, "
            f"y_prob, *, sample_weight=None, classes=None) -> float; got {metric!r}. "
            "Pass for example 'log_loss'."
        )
    _check_options(function, options)
    return Measure(function.__name__, function, options)


def check_measure_with_interval(metric: object) -> Measure:
    """The same, if drawing rows again tells something about it."""
    measure = check_measure(metric)
    if not measure.has_interval:
        raise ValueError(
            f"`metric` is {measure.name}, the largest of many gaps, which has no interval. "
            "It is mostly that of the bin with the fewest rows, and drawing rows again makes it "
            "larger still, whatever the truth. Use 'confidence_ece' or 'classwise_ece'."
        )
    return measure


def check_drawing(level: float, n_resamples: int) -> None:
    """Refuse a level that is none, and too few draws."""
    check_number("level", level, above=0.0, below=1.0)
    check_integer("n_resamples", n_resamples, at_least=100)


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def _check_options(function: Callable[..., Any], options: dict[str, Any]) -> None:
    known = [name for name in _parameters(function) if name not in _COMMON]
    strange = [name for name in options if name not in known]
    if strange:
        raise ValueError(
            f"`metric` has the option {strange[0]!r}, but {function.__name__} has "
            f"{', '.join(known) or 'none'}. `classes` is an argument of its own, and there are no "
            "weights."
        )
    required = inspect.signature(function).parameters
    lacking = [n for n in known if n not in options and required[n].default is inspect._empty]
    if lacking:
        raise ValueError(
            f"`metric` is {function.__name__}, which needs {lacking[0]}. "
            f"Pass functools.partial(metrics.{function.__name__}, {lacking[0]}=...)."
        )
