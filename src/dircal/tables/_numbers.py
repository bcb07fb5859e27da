"""Numbers and options that users pass."""

import math
import numbers
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.data.simplex import LARGEST as LARGEST

__all__ = [
    "LARGEST",
    "check_integer",
    "check_number",
    "check_option",
    "reject_datetimes",
]

_OF_TIME = (np.datetime64, np.timedelta64)


def check_option(name: str, value: object, allowed: Collection[str]) -> None:
    """Refuse a ``value`` that is not one of the strings ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        choices = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"`{name}` must be one of {choices}; got {value!r}.")


def check_number(
    name: str,
    value: object,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> None:
    """Refuse a ``value`` that is not a finite number within the limits."""
    number = _as_float(value) if _is_a(numbers.Real, value) else math.nan
    if math.isfinite(number) and at_least <= number < below and number > above:
        return
    limits = {"at least": at_least, "above": above, "below": below}
    rule = " and ".join(
        f"{word} {limit:g}" for word, limit in limits.items() if abs(limit) < math.inf
    )
    rule = f"a finite number {rule}".rstrip()
    raise ValueError(f"`{name}` must be {rule}; got {_shown(value)}.")


def check_integer(name: str, value: object, *, at_least: int) -> None:
    """Refuse a ``value`` that is not a whole number of at least ``at_least``."""
    if not _is_a(numbers.Integral, value) or int(value) < at_least:  # type: ignore[call-overload]
        raise ValueError(
            f"`{name}` must be a whole number of at least {at_least}; got {_shown(value)}."
        )


def _as_float(value: Any) -> float:
    """A real number as a float; infinite where it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _shown(value: object) -> str:
    """``value`` for a message; of a whole number too large for a float only its size."""
    if isinstance(value, int) and not math.isfinite(_as_float(value)):
        return f"a whole number of {value.bit_length()} bits, which is too large to compute with"
    return repr(value)


def reject_datetimes(values: npt.NDArray[Any]) -> None:
    """Raise a TypeError on times, which NumPy counts from 1970 where numbers are asked for."""
    kind = values.dtype.kind
    if kind in "mM" or (kind == "O" and any(isinstance(x, _OF_TIME) for x in values.flat)):
        raise TypeError("dates and spans of time are no numbers")


def _is_a(kind: type, value: object) -> bool:
    """Whether ``value`` is a number of this kind; truth values and spans of time are not."""
    return isinstance(value, kind) and not isinstance(value, (bool, np.bool_, *_OF_TIME))
