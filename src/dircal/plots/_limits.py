"""Numbers that steer `dircal.plots`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["PLOT_LIMITS", "PlotLimits"]


@dataclass(frozen=True)
class PlotLimits:
    """Limits of plots.

    They decide what is shown of many classes, rows or methods, and no number. Sizes of what is
    drawn are constants of the modules that draw.
    """

    # Grid points keep away from the sides, where a probability would be zero, by this part of a
    # step.
    grid_inset: float = 0.25
    # Panels in a row.
    n_columns: int = 4
    # Points of a curve: more cannot be distinguished in a plot.
    n_points: int = 200
    # Curves of single classes, at most ...
    max_curves: int = 24
    # ... and opponents that each of them is averaged over.
    max_opponents: int = 6
    # Log-odds that an axis reaches at least: probabilities from about 0.1 to 0.9.
    min_log_odds: float = 2.3
    # Largest probability of the rows whose images show which classes a map confuses.
    leading_probability: float = 0.9
    # Below this, in logarithms, all pairs exchange the same.
    tie_tol: float = 1e-6
    # Beyond this number of classes, the table of all pairs is too large for a plot.
    max_compared_classes: int = 2_000
    # Classes up to which every cell of a heat map has room for its number.
    max_legible_classes: int = 16
    # Entries listed next to a heat map that is too large for numbers.
    max_listed: int = 15
    # Panels in a row of hyperparameters.
    n_hyperparameter_columns: int = 3
    # Circles on each side of a box; more would only overlap.
    max_circles: int = 40
    # Rows of the plot of a shift.
    max_findings: int = 16


PLOT_LIMITS = in_context(PlotLimits())
