"""Shares and ranks in words, with what an interval adds to either side."""

import numpy as np

__all__ = ["points", "share", "with_reach"]


def share(value: float, reach: float) -> str:
    """In percent; without an interval where one cannot be had."""
    told = f"{100 * value:.1f}"
    return f"{told} %" if np.isnan(reach) else f"{told} ± {100 * reach:.1f} %"


def points(value: float, reach: float) -> str:
    """A difference of shares, in points of percent."""
    told = f"{100 * value:+.1f}"
    return told if np.isnan(reach) else f"{told} ± {100 * reach:.1f}"


def with_reach(value: float, reach: float) -> str:
    """A difference of average ranks."""
    return f"{value:.2f}" if np.isnan(reach) else f"{value:.2f} ± {reach:.2f}"
