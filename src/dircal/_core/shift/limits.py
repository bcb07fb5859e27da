"""Numbers that steer `dircal._core.shift`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["SHIFT_LIMITS", "ShiftLimits"]


@dataclass(frozen=True)
class ShiftLimits:
    """Limits of class frequencies, bets and random effects.

    The concentrations, the shares of a bet and the precisions are part of the model: they move
    results a little with few rows, and not with many. The others are tolerances and sizes.
    """

    # A slope stays above this, whatever a few rows indicate: below zero certainty would be
    # reversed.
    min_slope: float = 0.05
    # Squared pivots of a Cholesky factor are at least the smallest eigenvalue; less is rounding.
    pivot_rounding: float = 0.9
    # Half of the stake goes to the identity.
    identity_share: float = 0.5
    # After a block of L rows, a part L / (n + this) of the weights is distributed again, with n
    # rows in all: a change may come at any time, and the total cost of all attempts grows only by
    # the logarithm of n.
    share_rows: float = 1000.0
    # Segments of a stream among which a change is sought: after 6,000 rows, the length of a segment
    # is about 8 % of its age. Decides the resolution of the change, and memory.
    max_segments: int = 64
    # Level of the interval of a change, the convention.
    change_level: float = 0.95
    # Concentrations to choose from, for each class: from a prior that hardly moves ...
    max_concentration: float = 1e4
    # ... to a sparse one ...
    min_concentration: float = 0.03
    # ... in equal ratios.
    n_concentrations: int = 16
    # Expected counts have converged if none changes by more than this part of the rows.
    count_tol: float = 1e-8
    # Rounds of expectation maximisation.
    max_count_rounds: int = 500
    # Below this the variance of a statistic is rounding.
    min_variance: float = 1e-20
    # Classes that the old rows lack count as seen half a time (Jeffreys' prior).
    unseen_count: float = 0.5
    # Edges of cells: log-odds of the class with the largest ratio of probability and frequency.
    # Cost and a little power only: the intervals are valid for any edges.
    cell_log_odds: tuple[float, ...] = (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0)
    # Numbers of rows by class and cell; beyond this, cells have fewer edges. About 40 kB in a file.
    max_cell_entries: int = 2_000
    # With more classes old rows are not counted: the table would be larger than the map.
    max_cell_classes: int = 100
    # Offsets of logits have converged if none changes by more.
    offset_tol: float = 1e-9
    # Groups of cells in the test of the mixture, about; more of them spread its power.
    max_cell_groups: float = 15.0
    # Old rows in such a group, at least, as for other chi-square tests.
    min_group_weight: float = 10.0
    # With more classes, matrices are diagonal.
    max_effect_classes: int = 8
    # The expectation of a precision counts like one parameter.
    prior_parameters: float = 1.0
    # Beyond this, or its inverse, rounding would decide.
    max_effect_precision: float = 1e8
    # Rounds of precisions.
    max_effect_rounds: int = 30
    # Precisions have converged if no logarithm changes by more.
    effect_precision_tol: float = 1e-2
    # Newton steps of a group within a round.
    max_effect_steps: int = 8
    # 8 MB of derivatives at a time. Cost only.
    jacobian_elements: int = 2**20
    # Scores that differ by less than this, squared, are equal.
    min_score_variance: float = 1e-4
    # Halvings of a step.
    max_effect_halvings: int = 20
    # A group is at its optimum if a Newton step predicts a smaller decrease, in nats.
    min_effect_decrease: float = 1e-8


SHIFT_LIMITS = in_context(ShiftLimits())
