"""Weights of rows."""

import numbers
from collections.abc import Callable

import numpy as np

from dircal._typing import ArrayLike, FloatArray
from dircal.tables._columns import FITTING
from dircal.tables._conversion import as_array, refuse_masked
from dircal.tables._numbers import LARGEST, refuse_dates

__all__ = ["as_weight", "check_total_weight", "check_weight"]


def check_weight(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray | None:
    """One weight for each row; None where there are none."""
    if sample_weight is None:
        return None
    weight = as_weight(sample_weight, n_samples, FITTING.row)
    with np.errstate(over="ignore"):
        check_total_weight(float(weight.sum()))
    return weight


def as_weight(sample_weight: ArrayLike, n_samples: int, row: Callable[[int], str]) -> FloatArray:
    """One weight for each row, all of which may be zero."""
    if isinstance(sample_weight, numbers.Number):
        raise ValueError(
            f"`sample_weight` must be one weight for each row; got the number {sample_weight!r}. "
            "Pass an array, or None for equal weights."
        )
    refuse_masked("sample_weight", sample_weight)
    try:
        given = as_array(sample_weight, "sample_weight")
        if given.dtype.kind == "c":
            raise TypeError("they are complex")
        refuse_dates(given)
        weight = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`sample_weight` must hold numbers; got values of another kind ({error}). "
            "Pass one number for each row."
        ) from error
    if weight.shape != (n_samples,):
        raise ValueError(
            f"`sample_weight` must have shape ({n_samples},), one weight for each row; "
            f"got shape {weight.shape}. Sample weights must be 1D array or scalar per row."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(
            f"`sample_weight` must be finite and not negative; {row(i)} has weight {weight[i]}. "
            "Use zero to leave a row out."
        )
    return weight


def check_total_weight(total: float) -> None:
    """Refuse weights whose sum cannot be divided by."""
    if total == 0.0:
        raise ValueError("`sample_weight` is zero for every row. Give some row a weight.")
    if not 1.0 / LARGEST < total < LARGEST:
        raise ValueError(
            f"`sample_weight` sums to {total:.3g}, which cannot be computed with. "
            "Divide the weights by their mean."
        )
