"""Sums of rows of probabilities, which may miss one by a little."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dircal.exceptions import RowSumWarning, warn

__all__ = ["ROW_SUM_QUIET", "ROW_SUM_TOLERANCE", "RowSum"]

ROW_SUM_TOLERANCE = 1e-2
"""Rows of probabilities may miss the sum of one by this much: real files do."""
_SLACK = 1e-9
"""0.33 + 0.33 + 0.33 misses by a rounding error more than one hundredth."""
ROW_SUM_QUIET = 1e-4
"""Beyond this a renormalised sum is worth a warning."""
# Numbers of seven bits after the first, where float16 has ten.
_BFLOAT16_EPS = 2.0**-7


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
        if miss > ROW_SUM_TOLERANCE + _SLACK:
            return cls(miss, error=f"`{name}` must have rows that sum to one; {sums}. {fix}")
        # Rows of half precision miss by more.
        if miss <= max(ROW_SUM_QUIET, _rounding_of(values)):
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


def _rounding_of(row: npt.NDArray[Any]) -> float:
    """How far the rounding of numbers between zero and one may move their sum."""
    if row.dtype.kind != "f":
        return 0.0
    if row.dtype == np.float32 and not (row.astype("<f4").view("<u4") & 0xFFFF).any():
        # The upper halves alone are bfloat16, which NumPy does not have.
        return _BFLOAT16_EPS
    return float(np.finfo(row.dtype).eps)
