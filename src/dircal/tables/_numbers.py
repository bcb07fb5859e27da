"""Numbers and options that users pass."""

import math
import numbers
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dircal.exceptions import RowSumWarning, warn

__all__ = [
    "LARGEST",
    "ROW_SUM_QUIET",
    "ROW_SUM_TOLERANCE",
    "SUM_SLACK",
    "RowSum",
    "check_integer",
    "check_number",
    "check_option",
    "reject_datetimes",
    "rounding_of",
]

LARGEST = 1e100
"""Beyond this products of logits, weights and parameters leave the range of float64."""
ROW_SUM_TOLERANCE = 1e-2
"""Rows of probabilities may miss the sum of one by this much: real files do."""
SUM_SLACK = 1e-9
"""0.33 + 0.33 + 0.33 misses by a rounding error more than one hundredth."""
ROW_SUM_QUIET = 1e-4
"""Beyond this a renormalised sum is worth a warning."""
# Numbers of seven bits after the first, where float16 has ten.
_BFLOAT16_EPS = 2.0**-7
_OF_TIME = (np.datetime64, np.timedelta64)


@dataclass(frozen=True)
class RowSum:
    """Distance of the sum of a row from one; a warning or an error if it is large."""

    miss: float
    warning: str = ""
    error: str = ""

    @classmethod
    def of(cls, name: str, row: str, total: float, values: npt.NDArray[Any], fix: str = "") -> Self:
        """Compare the sum of a row with one; the argument and the row are called by their names."""
        miss = abs(total - 1.0)
        sums = f"{row} sums to {total:.6g}"
        if miss > ROW_SUM_TOLERANCE + SUM_SLACK:
            return cls(miss, error=f"`{name}` must have rows that sum to one; {sums}. {fix}")
        # Rows of half precision miss by more.
        if miss <= max(ROW_SUM_QUIET, rounding_of(values)):
            return cls(miss)
        message = f"`{name}` has rows that do not sum to one ({sums}); they were renormalised."
        return cls(miss, message)

    @staticmethod
    def settle(worst: "Iterable[RowSum]") -> float:
        """Raise the first error, warn about the row farthest from one, and return how far it is."""
        found = [*worst]
        error = next((each.error for each in found if each.error), "")
        if error:
            raise ValueError(error)
        farthest = max(found, key=lambda each: each.miss)
        if farthest.warning:
            warn(farthest.warning, RowSumWarning)
        return farthest.miss


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


def rounding_of(row: npt.NDArray[Any]) -> float:
    """How far the rounding of numbers between zero and one may move their sum."""
    if row.dtype.kind != "f":
        return 0.0
    if row.dtype == np.float32 and not (row.astype("<f4").view("<u4") & 0xFFFF).any():
        # The upper halves alone are bfloat16, which NumPy does not have.
        return _BFLOAT16_EPS
    return float(np.finfo(row.dtype).eps)


def _is_a(kind: type, value: object) -> bool:
    """Whether ``value`` is a number of this kind; truth values and spans of time are not."""
    return isinstance(value, kind) and not isinstance(value, (bool, np.bool_, *_OF_TIME))
