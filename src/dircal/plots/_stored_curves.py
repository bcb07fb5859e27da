"""Reliability curves from bins that were counted elsewhere."""

from typing import Any

import numpy as np

from dircal._typing import ArrayLike
from dircal.plots._base import lines_of_frame
from dircal.plots._reliability_curves import Curve

__all__ = ["check_curve", "curves_from_frame"]

_COLUMNS = (
    "method", "curve", "bin", "lower", "upper", "count", "mean_predicted", "frequency",
)  # fmt: skip


def check_curve(
    name: str,
    edges: ArrayLike,
    count: ArrayLike,
    mean_predicted: ArrayLike,
    frequency: ArrayLike,
) -> Curve:
    """A curve from bins that were counted elsewhere."""
    ends = np.asarray(edges, dtype=np.float64)
    if ends.ndim != 1 or len(ends) < 2 or (np.diff(ends) < 0).any():
        raise ValueError(
            f"`edges` must be the m + 1 ends of m bins, rising; got shape {ends.shape}. "
            "Pass one curve of a table, `table.edges[0]`."
        )
    given = {"count": count, "mean_predicted": mean_predicted, "frequency": frequency}
    columns = {key: np.asarray(value, dtype=np.float64) for key, value in given.items()}
    for key, column in columns.items():
        if column.shape != (len(ends) - 1,):
            raise ValueError(
                f"`{key}` must have shape ({len(ends) - 1},), one number for each bin; "
                f"got shape {column.shape}. Pass one curve of a table, `table.{key}[0]`."
            )
    counts = columns["count"]
    if not ((counts >= 0).all() and counts.any()):
        raise ValueError(
            "`count` must not be negative, and some bin must hold rows; "
            f"got {counts.tolist()}. Pass the weight of the rows in each bin."
        )
    used = counts > 0
    for key in ("mean_predicted", "frequency"):
        bad = used & ~((columns[key] >= 0) & (columns[key] <= 1 + 1e-9))
        if bad.any():
            b = int(bad.argmax())
            raise ValueError(
                f"`{key}` must lie between 0 and 1 where a bin holds rows; bin {b} is "
                f"{columns[key][b]}. Pass means, not sums."
            )
        columns[key] = np.where(used, columns[key], np.nan)
    nothing = np.full(len(counts), np.nan)
    return Curve(
        name, ends, counts, columns["mean_predicted"], columns["frequency"], nothing, nothing
    )


def curves_from_frame(frame: Any) -> dict[str, list[Curve]]:
    """Curves of each method, from bins in a table as `curves_frame` makes it."""
    bins: dict[str, dict[str, list[tuple[Any, ...]]]] = {}
    for method, curve, *numbers in lines_of_frame(frame, _COLUMNS, "another display"):
        bins.setdefault(str(method), {}).setdefault(str(curve), []).append(tuple(numbers))
    curves = {
        method: [_curve_from_bins(name, rows) for name, rows in own.items()]
        for method, own in bins.items()
    }
    shown = [[curve.name for curve in own] for own in curves.values()]
    if not shown or any(names != shown[0] for names in shown):
        raise ValueError(
            "`frame` must hold the same curves, in one order, for every method; got "
            f"{shown[:2] or 'no rows'}. Sort its rows by method and curve."
        )
    return curves


def _curve_from_bins(name: str, rows: list[tuple[Any, ...]]) -> Curve:
    """A curve from its bins that hold rows; nothing is known of the others, nor drawn there."""
    number = np.array([int(row[0]) for row in rows])
    m = number.max() + 1
    columns = np.full((5, m), np.nan)
    columns[:, number] = np.array([row[1:] for row in rows], dtype=np.float64).T
    lower, upper, count, mean_predicted, frequency = columns
    edges = np.full(m + 1, np.nan)
    edges[:-1] = lower
    edges[1:] = np.where(np.isnan(upper), edges[1:], upper)
    edges[0] = np.nan_to_num(edges[0])
    known = np.flatnonzero(np.isfinite(edges))
    edges = np.interp(np.arange(m + 1), known, edges[known])
    return check_curve(name, edges, np.nan_to_num(count), mean_predicted, frequency)
