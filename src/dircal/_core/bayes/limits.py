"""Numbers that steer `dircal._core.bayes`, with their sources and sensitivities."""

from dataclasses import dataclass

import numpy as np

from dircal._limits import in_context

__all__ = ["BAYES_LIMITS", "BayesLimits"]


@dataclass(frozen=True)
class BayesLimits:
    """Limits of maps that are learned by evidence.

    Modes, odds and powers are part of the model, and move the numbers of ``benchmarks/quality.md``,
    which names the tasks that they were chosen by. The others decide how many rounds a fit takes,
    and move maps by less than the tolerance of precisions.
    """

    # A prior is averaged with one whose modes are this many times larger.
    narrow_factor: float = 10.0
    # Prior odds of the narrow one.
    narrow_odds: float = 3.0
    # A prior that trails by this many nats is excluded from the mean: its weight would be 6e-6.
    max_log_evidence_gap: float = 12.0
    # With the curvature fixed, rounds cost little.
    max_curvature_rounds: int = 50
    # Largest extrapolation, in steps.
    max_leap: float = 8.0
    # Scores are not made flatter than this standard deviation within a row.
    min_row_spread: float = 1.0
    # Maps that are less probable than the best by this factor are excluded from an average.
    occam_window: float = 20.0
    # Simpler maps of many classes are mostly far behind: their mean loss need not be closer to its
    # best.
    simple_map_tol: float = 1e-8
    # 16 MB of products of a covariance with rows. Cost only.
    max_product_elements: int = 2_000_000
    # Beyond this number of classes, a matrix has more entries than any number of rows determines.
    max_matrix_classes: int = 400
    # Pairs of classes that never compete still get this part of the variance of the most frequent.
    min_co_occurrence: float = 1e-12
    # Quartiles of a logistic distribution are ln 3 scales from its centre: half of the prior is
    # between half and twice the slope.
    slope_scale: float = float(np.log(2.0) / np.log(3.0))
    # No step multiplies or divides the slope by more than eight.
    max_log_slope_step: float = float(np.log(8.0))
    # Precisions have converged if no logarithm changes by more.
    precision_tol: float = 1e-4
    # Rounds of precisions with all rows.
    max_precision_rounds: int = 20
    # The first rounds, with the curvature fixed, need not be exact.
    first_precision_tol: float = 1e-2
    # The same if curvature is estimated from a sample ...
    estimated_precision_tol: float = 3e-2
    # ... which is not worth many rounds.
    max_estimated_rounds: int = 2
    # Classes whose blocks of the Hessian stand for all ...
    max_blocks: int = 16
    # ... which are fewer if blocks are large ...
    min_blocks: int = 4
    # ... with this many entries along all of their sides.
    block_entries: int = 1600
    # Masses that differ by less than this part are ties, which the pull of labels decides.
    tie_tol: float = 1e-6
    # Tolerance of the objective in all rounds but the last ...
    round_tol: float = 1e-7
    # ... and if curvature is estimated.
    estimated_round_tol: float = 1e-5
    # Tolerance of the posterior mode from which the evidence is computed.
    final_tol: float = 1e-12
    # With many rows the Hessian is expensive. Steps with a smaller total decrease move logits by a
    # part of about 1e-4, and the Hessian with them.
    same_hessian_decrease: float = 1e-8
    # Powers of the co-occurrence to choose from.
    co_occurrence_powers: tuple[float, ...] = (0.0, 0.5, 1.0)
    # Rounds after which that choice stays.
    max_power_rounds: int = 2
    # Expected precisions, times the number of entries that move a logit: of the diagonal, the
    # off-diagonal entries, which also see the mean of a row, and the intercepts. They are the
    # smallest with which no network of at most 20 classes loses 2 % to its temperature map with 50
    # to 1000 rows.
    odir_modes: tuple[float, ...] = (30.0, 300.0, 10.0)
    # Worth one parameter a group: the rows decide.
    odir_prior_strength: float = 0.5
    # Rows for each of the k (k + 1) parameters from which intervals are meant: with 5, 90 %
    # to 93 % of them covered over maps from the prior, with one, 82 % to 88 %.
    min_rows_per_param: int = 5
    # A precision that is passed may be infinite as far as rounding can tell.
    max_precision: float = 1e30
    # Tolerance of the objective while precisions are learned.
    strength_tol: float = 1e-8


BAYES_LIMITS = in_context(BayesLimits())
