"""The test of whether a calibration error could be chance."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from dircal._core.stats.bins import Bins
from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._core.stats.moments import (
    NullMoments,
    moment_rows,
    null_errors,
    null_moments,
    paired_stride,
)
from dircal._core.stats.null_resampling import null_classwise_ece, null_confidence_ece
from dircal._numerals import format_interval
from dircal._progress import Progress
from dircal._typing import ArrayLike, FloatArray
from dircal.inference._drawn_sums import Source, source_of
from dircal.inference._draws import watcher_of
from dircal.inference._null_by_signs import null_by_signs
from dircal.inference._null_cells import null_cells
from dircal.inference._result import AbstractResult
from dircal.inference._show import html_of_calibration_test, show_chance
from dircal.inference._soft_rows import once_each, refuse_soft
from dircal.metrics import (
    AbstractRows,
    Binning,
    BinRule,
    BinTable,
    Block,
    ClassCurves,
    ConfidenceCurve,
    ConfidenceRows,
    Confident,
    Predictions,
    Strategy,
    check_bins,
    fold_together,
)
from dircal.tables import check_integer, check_option, check_random_state

__all__ = ["CalibrationTest", "calibration_test", "calibration_test_from_confidence"]

Statistic: TypeAlias = Literal["confidence_ece", "classwise_ece"]


@dataclass(frozen=True)
class CalibrationTest(AbstractResult):
    """Result of `calibration_test`.

    Parameters
    ----------
    statistic : float
        The observed calibration error.
    pvalue : float
        Share of the drawn errors that are larger; equal ones count half.
    null_sample : array (n_resamples,)
        Errors of labels that were drawn from the predictions.
    measure : str
        Name of the statistic.
    n_samples : int
        Number of rows.
    source : {"draws", "moments", "multipliers"}
        Whether the null sample is of labels that were drawn, or of the normal distribution with
        the same moments, or of labels that were drawn once and got random signs.
    """

    statistic: float
    pvalue: float
    null_sample: FloatArray = field(repr=False)
    measure: str
    n_samples: int
    source: Source = "draws"

    def __repr__(self) -> str:
        expected = float(self.null_sample.mean())
        low, high = np.quantile(self.null_sample, [0.025, 0.975])
        verdict = "not calibrated" if self.pvalue < 0.05 else "no evidence of miscalibration"
        return (
            f"<CalibrationTest: {self.measure} {self.statistic:.4g} on {self.n_samples:,} rows; a "
            f"calibrated model would have about {expected:.4g} ({format_interval(low, high)}); "
            f"p-value {show_chance(self)}, {verdict}>"
        )

    def _repr_html_(self) -> str:
        return html_of_calibration_test(self)


def calibration_test(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    statistic: Statistic = "confidence_ece",
    n_resamples: int = 10_000,
    random_state: int | np.random.Generator | None = 0,
    classes: Iterable[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> CalibrationTest:
    r"""Test whether a calibration error could be chance.

    Parameters
    ----------
    y_true : array-like (n,)
        True labels.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
    statistic : {"confidence_ece", "classwise_ece"}, default="confidence_ece"
        The measure that is tested.
    n_resamples : int, default=10_000
        Number of draws.
    random_state : int, numpy Generator or None, default=0
        Seed of the draws.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order than the sorted one.
    n_bins : int, default=15
        Number of bins.
    strategy : {"width", "mass"}, default="width"
        Bins of equal width, or with equally many rows each as far as ties allow.
    binning : {"right_closed", "paper_table"}, default="right_closed"
        Bins (a, b], the first with 0; or those of the paper's cw-ECE tables, see `classwise_ece`.

    Returns
    -------
    CalibrationTest
        With ``statistic``, ``pvalue`` and ``null_sample``; printed, it is a sentence.

    Notes
    -----
    Consistency resampling [1]_ [2]_. If the model is calibrated, labels drawn from its own
    predictions, :math:`\tilde y_i \sim p_i`, are as good as the true ones. The error of many such
    draws shows what chance alone does, and

    .. math:: \text{p-value} = \frac{1}{B} \sum_{t=1}^{B}
              \left(1[\tilde e_t > e] + \tfrac12 1[\tilde e_t = e]\right)

    with the observed error :math:`e` and those of the B draws. For the confidence only the number
    of right rows in each bin matters; its distribution is computed and drawn from. For the classes
    labels are drawn, of all rows that leave their most probable class. Both are exact.

    From 100,000 rows on, and with up to 3000 bins of all classes, the errors of the classes are
    those of normal numbers with the variances and covariances that the counts of such labels have.
    Means of the null samples differed by at most 1.2 %. The result says "moments". With more bins
    labels are drawn once, for some 100,000 of the rows, and random signs of what these rows add
    stand for other draws, with the variances of all rows; the result says "multipliers".

    There are no sample weights: a weight would say that a row stands for several, but not whether
    these were drawn together or apart.

    **When not to use it.** A large p-value is no proof of calibration: few rows, or a statistic
    that does not see what is wrong, give one as well. And with very many rows every model fails,
    for an error that nobody minds: look at its size.

    References
    ----------
    .. [1] Bröcker and Smith (2007). Increasing the reliability of reliability diagrams.
    .. [2] Vaicenavicius et al. (2019). Evaluating model calibration in classification.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import calibration_test
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.dirichlet([1, 1, 1], size=1000)
    >>> y_true = (rng.random((1000, 1)) > y_prob.cumsum(axis=1)).sum(axis=1)
    >>> calibration_test(y_true, y_prob, statistic="classwise_ece", random_state=0)
    <CalibrationTest: classwise_ece 0.03...; p-value 0..., no evidence of miscalibration>
    """
    check_option("statistic", statistic, ("confidence_ece", "classwise_ece"))
    check_integer("n_resamples", n_resamples, at_least=1)
    rng = check_random_state(random_state)
    predictions = once_each(Predictions.check(y_true, y_prob, None, classes))
    refuse_soft(predictions)
    rule = check_bins(n_bins, strategy, binning)
    if statistic == "confidence_ece":
        return confidence_test_of(predictions, rule, n_resamples, rng)
    return classwise_test_of(predictions, rule, n_resamples, rng)


def calibration_test_from_confidence(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    n_resamples: int = 10_000,
    random_state: int | np.random.Generator | None = 0,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> CalibrationTest:
    """`calibration_test` of the confidence where only the largest probabilities are known.

    Parameters
    ----------
    correct : array-like (n,)
        Whether the most probable class was the true one.
    confidence : array-like (n,)
        Its probability.
    n_resamples : int, default=10_000
        Number of draws.
    random_state : int, numpy Generator or None, default=0
        Seed of the draws.
    n_bins : int, default=15
        Number of bins.
    strategy : {"width", "mass"}, default="width"
        Bins of equal width, or with equally many rows each as far as ties allow.
    binning : {"right_closed", "paper_table"}, default="right_closed"
        Bins (a, b], the first with 0; or those of the paper's cw-ECE tables, see `classwise_ece`.

    Returns
    -------
    CalibrationTest
        With ``statistic``, ``pvalue`` and ``null_sample``; printed, it is a sentence.

    Examples
    --------
    >>> from dircal import calibration_test_from_confidence
    >>> calibration_test_from_confidence([True] * 50 + [False] * 50, [0.9] * 100, random_state=0)
    <CalibrationTest: confidence_ece 0.4 on 100 rows; ...; p-value ≤ 0.0001, not calibrated>
    """
    check_integer("n_resamples", n_resamples, at_least=1)
    rng = check_random_state(random_state)
    rows = ConfidenceRows.check(correct, confidence)
    return confidence_test_of(rows, check_bins(n_bins, strategy, binning), n_resamples, rng)


def confidence_test_of(
    rows: AbstractRows[Confident], rule: BinRule, n_resamples: int, rng: np.random.Generator
) -> CalibrationTest:
    """`calibration_test` of the confidence of checked rows."""
    [chances] = rows.chances(ConfidenceCurve(), rule)
    sample = null_confidence_ece(chances, n_resamples, rng)
    return _result("confidence_ece", rows.table(ConfidenceCurve(), rule), sample)


def both_tests_of(
    several: Sequence[Predictions], rule: BinRule, n_resamples: int, seed: int
) -> list[tuple[CalibrationTest, CalibrationTest]]:
    """`calibration_test` of the confidence and of the classes, each as alone with this seed."""
    draws = (rule, n_resamples)
    confidence = [confidence_test_of(one, *draws, np.random.default_rng(seed)) for one in several]
    n_cells = several[0].table(ClassCurves(), rule).count.size
    if source_of(several[0].n_samples, n_cells) == "draws":
        classwise = classwise_tests_of(several, *draws, np.random.default_rng(seed))
    else:
        classwise = [classwise_test_of(one, *draws, np.random.default_rng(seed)) for one in several]
    return list(zip(confidence, classwise, strict=True))


def classwise_test_of(
    predictions: Predictions, rule: BinRule, n_resamples: int, rng: np.random.Generator
) -> CalibrationTest:
    """`calibration_test` of the classes of checked predictions: by moments where rows are many."""
    table = predictions.table(ClassCurves(), rule)
    source = source_of(predictions.n_samples, table.count.size)
    if source == "moments":
        return _classwise_test_by_moments(predictions, rule, n_resamples, rng)
    if source == "multipliers":
        sample = null_by_signs(predictions, rule, n_resamples, rng)
        return _result("classwise_ece", table, sample, source)
    [test] = classwise_tests_of([predictions], rule, n_resamples, rng)
    return test


def classwise_tests_of(
    several: Sequence[Predictions], rule: BinRule, n_resamples: int, rng: np.random.Generator
) -> list[CalibrationTest]:
    """`calibration_test` of the classes, for several predictions of the same rows.

    Each is what it would be alone with this generator: all share their uniform numbers.
    """
    tables = [one.table(ClassCurves(), rule) for one in several]
    n, k = several[0].n_samples, several[0].n_classes
    bins, seed = [table.bins for table in tables], int(rng.integers(2**63))
    with Progress("Resampling labels", n * n_resamples, "labels") as progress:
        passes = null_cells(several, bins, n_resamples, seed, watcher_of(several, progress))
        samples = [null_classwise_ece(sums, n, k) for sums in passes]
    pairs = zip(tables, np.concatenate(samples, axis=1), strict=True)
    return [_result("classwise_ece", table, sample) for table, sample in pairs]


def _classwise_test_by_moments(
    predictions: Predictions, rule: BinRule, n_resamples: int, rng: np.random.Generator
) -> CalibrationTest:
    table = predictions.table(ClassCurves(), rule)
    n, k = predictions.n_samples, predictions.n_classes
    of_blocks = _MomentsOfBlocks(table.bins, paired_stride(n, k))
    moments = fold_together([predictions], of_blocks, moment_rows(k, table.count.size))
    sample = null_errors(moments, k, n_resamples, rng)
    return _result("classwise_ece", table, sample, "moments")


@dataclass(frozen=True, eq=False)
class _MomentsOfBlocks:
    """Moments of labels that would be drawn for a block."""

    bins: Bins
    every: int

    def __call__(self, blocks: tuple[Block, ...]) -> NullMoments:
        [block] = blocks
        return null_moments(block.proba, self.bins, every=self.every, start=block.start or 0)


def _result(
    measure: str, table: BinTable, sample: FloatArray, source: Source = "draws"
) -> CalibrationTest:
    limits = RESAMPLING_LIMITS.get()
    observed = float(table.calibration_errors.mean())
    larger = np.mean(sample > observed + limits.same_sum)
    smaller = np.mean(sample < observed - limits.same_sum)
    pvalue = float(larger + 0.5 * (1.0 - larger - smaller))
    n_samples = int(table.count[0].sum())
    return CalibrationTest(observed, pvalue, sample, measure, n_samples, source)
