"""Numbers and options that users pass."""

import math
import numbers
from collections.abc import Collection

import numpy as np

__all__ = ["LARGEST", "check_integer", "check_number", "check_option"]

LARGEST = 1e100
"""Beyond this products of logits, weights and parameters leave the range of float64."""


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
    number = float(value) if _is_a(numbers.Real, value) else math.nan  # type: ignore[arg-type]
    if math.isfinite(number) and at_least <= number < below and number > above:
        return
    limits = {"at least": at_least, "above": above, "below": below}
    rule = " and ".join(
        f"{word} {limit:g}" for word, limit in limits.items() if abs(limit) < math.inf
    )
    raise ValueError(f"`{name}` must be a finite number {rule}; got {value!r}.")


def check_integer(name: str, value: object, *, at_least: int) -> None:
    """Refuse a ``value`` that is not a whole number of at least ``at_least``."""
    if not _is_a(numbers.Integral, value) or int(value) < at_least:  # type: ignore[call-overload]
        raise ValueError(f"`{name}` must be a whole number of at least {at_least}; got {value!r}.")


def _is_a(kind: type, value: object) -> bool:
    """Whether ``value`` is a number of this kind; truth values are not."""
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)
