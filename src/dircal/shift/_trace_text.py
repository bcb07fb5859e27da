"""The e-value of a monitor over time, as a line of text."""

import numpy as np

from dircal._typing import FloatArray, IntArray
from dircal.shift._limits import MONITOR_LIMITS

__all__ = ["show_trace"]

_BARS = "▁▂▃▄▅▆▇█"


def show_trace(rows: IntArray, log10_e: FloatArray) -> list[str]:
    """Return lines with a chart on a logarithmic scale, the largest value in each place."""
    if not len(rows):
        return []
    parts = [
        part.max()
        for part in np.array_split(log10_e, min(MONITOR_LIMITS.get().n_points, len(log10_e)))
    ]
    low, high = min(parts), max(*parts, min(parts) + 1.0)
    places = [int((part - low) / (high - low) * (len(_BARS) - 1)) for part in parts]
    scale = (
        f"log10 of the e-value from row {rows[0]:,} to row {rows[-1]:,}: lowest "
        f"{log10_e.min():.1f}, highest {log10_e.max():.1f}, now {log10_e[-1]:.1f}"
    )
    return ["", "".join(_BARS[place] for place in places), scale, ""]
