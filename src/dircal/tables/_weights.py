"""Weights of rows."""

import numbers

import numpy as np

from dircal._typing import ArrayLike, FloatArray
from dircal.tables._columns import FITTING, Arguments
from dircal.tables._conversion import as_array, refuse_masked
from dircal.tables._numbers import LARGEST, refuse_dates

__all__ = ["as_weight", "check_total_weight", "check_weight"]


def check_weight(
    sample_weight: ArrayLike | None, n_samples: int, arguments: Arguments = FITTING
) -> FloatArray | None:
    """Return one weight for each row, or None if there are none."""
    if sample_weight is None:
        return None
    weight = as_weight(sample_weight, n_samples, arguments)
    with np.errstate(over="ignore"):
        check_total_weight(float(weight.sum()), arguments)
    return weight


def as_weight(sample_weight: ArrayLike, n_samples: int, arguments: Arguments) -> FloatArray:
    """Return one weight for each row, all of which may be zero."""
    name = arguments.weights
    if isinstance(sample_weight, numbers.Number):
        raise ValueError(
            f"`{name}` must be one weight for each row; got the number {sample_weight!r}. "
            "Pass an array, or None for equal weights."
        )
    refuse_masked(name, sample_weight)
    try:
        given = as_array(sample_weight, name)
        if given.dtype.kind == "c":
            raise TypeError("they are complex")
        refuse_dates(given)
        weight = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`{name}` must hold numbers; got values of another kind ({error}). "
            "Pass one number for each row."
        ) from error
    if weight.shape != (n_samples,):
        raise ValueError(
            f"`{name}` must have shape ({n_samples},), one weight for each row; "
            f"got shape {weight.shape}. Sample weights must be 1D array or scalar per row."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(
            f"`{name}` must be finite and not negative; {arguments.row(i)} has weight {weight[i]}. "
            "Use zero to leave a row out."
        )
    return weight


def check_total_weight(total: float, arguments: Arguments = FITTING) -> None:
    """Raise unless the sum of the weights can be divided by."""
    name = arguments.weights
    if total == 0.0:
        raise ValueError(f"`{name}` is zero for every row. Give some row a weight.")
    if not 1.0 / LARGEST < total < LARGEST:
        raise ValueError(
            f"`{name}` sums to {total:.3g}, which cannot be computed with. "
            "Divide the weights by their mean."
        )
