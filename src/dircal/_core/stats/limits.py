"""Numbers that steer `dircal._core.stats`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["ORDER_LIMITS", "RESAMPLING_LIMITS", "OrderLimits", "ResamplingLimits"]


@dataclass(frozen=True)
class ResamplingLimits:
    """Limits of resampling, of moments and of the score test.

    Sizes of blocks and groups decide which random numbers a row gets: with other values the same
    seed gives other draws of the same distribution. The numbers of rows and sums decide when
    moments replace draws; the claims about their agreement are in ``tests/long/table.md``.
    """

    # Neighbouring rows are counted in separate tables: they often fall into the same bin, and one
    # sum would have to wait for the other. Cost only.
    lanes: int = 8
    # Part of a bin by which products may err; with half precision and many bins they would err
    # more.
    max_bin_error: float = 0.25
    # Draws that are counted at a time: the counts of a block stay in the cache. Decides the draws
    # of a seed.
    bootstrap_draws: int = 64
    # Blocks of rows that are summed at a time: with more, the sums are read less often, and with
    # many the counts would take more memory than they are worth.
    bootstrap_blocks: int = 4
    # Rows whose count is computed one row after another, before counts are joined in pairs. Cost
    # only.
    chance_leaf: int = 32
    # Probabilities below this are rounding errors of the Fourier transform.
    min_chance: float = 1e-16
    # Probabilities of a bin whose count is computed at a time. Cost only.
    chance_rows: int = 16_384
    # Errors that differ by less are the same number, summed in another order.
    same_sum: float = 1e-12
    # Ends of intervals are found to this part of themselves: far below the error of draws.
    interval_tol: float = 1e-6
    # Squared standard errors that are taken off a squared skewness. A few rows far out on one side,
    # m of them, have a skewness of 2 sqrt(m) standard errors: that of two rows counts for nothing.
    chance_skewness: float = 8.0
    # From here on moments are as good as draws: null means were within 1 % of theirs.
    min_moment_rows: int = 100_000
    # With more sums, 15 for each of 200 classes, their covariance takes longer than draws.
    max_moment_sums: int = 3000
    # Pairs of classes that are enough to estimate the dependence of cells ...
    min_pairs: float = 2e6
    # ... and rows, at least.
    min_paired_rows: int = 2000
    # Part of a variance that is added to it, so that dependent sums have a factor.
    covariance_ridge: float = 1e-10
    # Pairs of terms of a row for each term, up to which pairs are counted. Cost only.
    max_pairs_per_term: int = 16
    # 1 MB of a chunk, which stays in the cache.
    moment_chunk_elements: int = 2**17
    # Normal draws at a time: 12 MB with 1500 cells.
    normal_draws: int = 1000
    # Rows that get signs, at least: with many more sums than rows their errors would vary too much.
    signed_rows: int = 100_000
    # Rows that leave their predicted class less often than this never do.
    min_leaving: float = 1e-300
    # Rows of several draws that are handled at a time: enough to hide the cost of a call.
    null_rows: int = 16_384
    # Draws whose uniform numbers come from one generator for each block of rows. Decides the draws
    # of a seed.
    draws_per_group: int = 1024
    # Cells of all draws of a pass: 128 MB of counts.
    max_pass_cells: int = 2**25
    # Cells of several draws that are counted at a time: 8 MB for each array of counts.
    null_cells: int = 2**20
    # Elements of a chunk for which rows are drawn: the sums over chunks may be large, and should
    # not be read too often.
    drawing_elements: int = 2**22
    # Blocks of such a chunk, at most.
    max_drawing_blocks: int = 16
    # Directions without information are fixed by this part of the information about others.
    score_ridge: float = 1e-9
    # Information below this is rounding. The information of a certain row is a difference of
    # numbers near one, times squares of logarithms.
    min_information: float = 1e-10
    # Beyond this number of classes only slopes and intercepts of the classes are tested.
    max_score_classes: int = 30
    # If more of the rows than this keep their predicted class, those that leave it are summed;
    # otherwise all are.
    min_staying: float = 0.5
    # Uniform numbers that are drawn at a time: the scores of the rows that move then take some 30
    # MB.
    score_draws: int = 2**18
    # Excess kurtosis of a score up to which it counts as normal: that of some 50 events that are
    # rare. Up to 0.01, tests at the level of 5 % rejected 5 to 6 % of calibrated models, at 0.45 12
    # %.
    max_excess_kurtosis: float = 0.02
    # Cells that are kept: 32 MB. With uniform probabilities a cell is then some 1e-5 of p wide.
    max_score_cells: int = 2**20
    # Below this signed root the formula of Lugannani and Rice is a difference of large numbers, and
    # its limit is used.
    min_saddle_root: float = 1e-3
    # Tolerance of the bandwidth (brentq).
    bandwidth_tol: float = 1e-14


RESAMPLING_LIMITS = in_context(ResamplingLimits())


@dataclass(frozen=True)
class OrderLimits:
    """Limits of the check of the order of columns.

    They decide when a warning or an error is given, and no number.
    """

    # One-sided level of McNemar's test: seventeen rows become right and none becomes wrong.
    level: float = 1e-5
    # Level for parts of the evidence, which only have to point the same way: three rows and none.
    part_level: float = 0.2
    # Rows that become right for each that becomes wrong, at least: less is confusion of classes.
    min_ratio: float = 1.5
    # If most labels stay, more is required: some classifiers do confuse two classes. In
    # mfeat-zernike the nines are rotated sixes, and a model that memorises rows is wrong about them
    # twice as often as right. So the ratio has to be more than two beyond doubt.
    min_ratio_of_few: float = 3.0
    # The ratio of such a model ...
    confusion_ratio: float = 2.0
    # ... and the level at which it is rejected.
    confusion_level: float = 1e-3
    # Smallest number of rows that could pass the test, floor(log2(1 / level)) + 1.
    min_rows: int = 17
    # Standard errors by which the mean gain in score has to exceed zero.
    min_standard_errors: float = 4.0
    # Log-probabilities below that of the row's best column by more than this count as this.
    max_depth: float = 10.0
    # Folds of the rows, so that no row is judged by an order that it has chosen.
    n_folds: int = 5
    # Numbers that are read, unless a label has too few rows then.
    max_numbers: int = 2**20
    # Rows of each label below which more are read.
    min_label_rows: int = 20
    # Numbers of the labels in doubt that are kept: 64 MB.
    max_kept: int = 2**23
    # An assignment of more labels costs more than a warning is worth.
    max_labels: int = 3000


ORDER_LIMITS = in_context(OrderLimits())
