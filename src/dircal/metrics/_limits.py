"""Numbers that steer `dircal.metrics`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["METRIC_LIMITS", "MetricLimits"]


@dataclass(frozen=True)
class MetricLimits:
    """Limits of the smooth calibration error.

    They decide its numerical error and the cost.
    """

    # Points of the grid of residuals: closer together than the smallest bandwidth that matters.
    n_cells: int = 8192
    # Points of the coarser grid of draws within a bandwidth.
    points_per_bandwidth: int = 8


METRIC_LIMITS = in_context(MetricLimits())
