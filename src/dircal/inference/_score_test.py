"""Whether any Dirichlet map would be better than none, and where it would act."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from dircal._core.data.chunks import Chunk
from dircal._core.data.losses import LOSS_CLIP
from dircal._core.stats.moments import are_normal
from dircal._core.stats.row_blocks import RowBlocks, drawing_rows
from dircal._core.stats.score import (
    NullScores,
    ScoreSums,
    adjust_holm,
    score_structure,
    scores_at_identity,
)
from dircal._core.stats.score_moments import score_moments, sums_of_normal_scores
from dircal._progress import Progress
from dircal._threads import limited_blas
from dircal._typing import ArrayLike, FloatArray
from dircal.inference._drawn_sums import Source
from dircal.inference._draws import watcher_of
from dircal.inference._limits import INFERENCE_LIMITS
from dircal.inference._result import AbstractResult
from dircal.inference._show import html_of_score_test, show_chance
from dircal.inference._soft_rows import once_each, refuse_soft
from dircal.maps import CalibrationMap, LogProbability, Normalise
from dircal.metrics import Block, Predictions, fold_together
from dircal.tables import check_integer, check_number, check_random_state

__all__ = ["ScoreTest", "score_test"]

# From probabilities to what the score reads.
_STEPS = (Normalise(), LogProbability(LOSS_CLIP))

_Sums = TypeVar("_Sums")


@dataclass(frozen=True)
class ScoreTest(AbstractResult):
    """Result of `score_test`.

    Parameters
    ----------
    statistic : float
        The score statistic.
    pvalue : float
        Of the hypothesis that no map of the tested family is better than none.
    null_sample : array (n_resamples,)
        Statistics of labels that were drawn from the predictions.
    freedom : int
        Number of parameters that are tested.
    family : str
        "full", all entries of the matrix and the intercepts, or "diagonal", a slope and an
        intercept for each class.
    classes : dict
        Where the test rejects: labels of classes whose slope or intercept is off, with p-values
        adjusted for the number of classes and pairs.
    pairs : dict
        The same for pairs of labels that are confused, beyond what slopes and intercepts explain.
    alpha : float
        Level of the test.
    n_samples : int
        Number of rows.
    source : {"draws", "moments"}
        Whether the null sample is of labels that were drawn, or of the normal distribution with
        the same moments.
    """

    statistic: float
    pvalue: float
    null_sample: FloatArray = field(repr=False)
    freedom: int
    family: str
    classes: dict[Any, float]
    pairs: dict[tuple[Any, Any], float]
    alpha: float
    n_samples: int
    source: Source = "draws"

    def __repr__(self) -> str:
        found = "no evidence against the identity"
        if self.pvalue < self.alpha:
            named = [repr(label) for label in self.classes]
            named += [f"{a!r} with {b!r}" for a, b in self.pairs]
            more = f" and {len(named) - 6} more" if len(named) > 6 else ""
            where = f": {', '.join(named[:6])}{more}" if named else ", no class or pair stands out"
            found = f"a map would help{where}"
        return (
            f"<ScoreTest: statistic {self.statistic:.4g} on {self.n_samples:,} rows; a calibrated "
            f"model would have about {self.null_sample.mean():.4g} ({self.freedom} parameters, "
            f"{self.family}); p-value {show_chance(self)}, {found}>"
        )

    def _repr_html_(self) -> str:
        return html_of_score_test(self)


def score_test(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_resamples: int = 1_000,
    alpha: float = 0.05,
    random_state: int | np.random.Generator | None = 0,
    classes: Iterable[Any] | None = None,
) -> ScoreTest:
    r"""Test whether the identity is the best Dirichlet map, without fitting one.

    Parameters
    ----------
    y_true : array-like (n,)
        True labels.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
    n_resamples : int, default=1_000
        Number of draws of labels, at least 100.
    alpha : float, default=0.05
        Level of the test, and of naming classes and pairs.
    random_state : int, numpy Generator or None, default=0
        Seed of the draws.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order than the sorted one.

    Returns
    -------
    ScoreTest
        With ``pvalue``, and with ``classes`` and ``pairs`` where it rejects; printed, a sentence.

    Notes
    -----
    A Dirichlet map is :math:`\mathrm{softmax}(W \ln p + b)`, and the identity W = I, b = 0 changes
    nothing. With the gradient g of the mean log-loss there, and its Hessian H, the information of a
    row, the statistic is

    .. math:: T = n \, g^T H^{-1} g, \qquad
              g = \frac1n \sum_i (p_i - e_{y_i}) \otimes \binom{\ln p_i}{1}, \quad
              H = \frac1n \sum_i (\mathrm{diag}(p_i) - p_i p_i^T) \otimes
                  \binom{\ln p_i}{1} \binom{\ln p_i}{1}^T

    with one-hot labels :math:`e_{y_i}`; shifts that change no probability are left out, which
    leaves :math:`k^2 - 1` parameters. A chi-square with as many degrees of freedom is the textbook
    reference, but too liberal where models are confident: then few rows carry all information.
    Instead labels are drawn from the predictions. H does not depend on labels and is factored
    once. The p-value is one more than the number of draws with at least the observed statistic,
    over one more than the number of draws: its size is exact.

    From 100,000 rows on gradients are drawn from the normal distribution with the covariance H / n,
    which is theirs, in place of labels: the test then is that of the chi-square. The result says
    "moments". Labels are still drawn where a gradient is not normal, with an excess kurtosis above
    0.02, as where few rows carry all information about a parameter.

    Up to 30 classes all entries of W and b are tested, beyond that the intercepts and the diagonal
    of W. Where the test rejects it says where: for each class its slope and its intercept are
    tested alone, for each pair of classes the two entries of W that connect them, after taking off
    what slopes and intercepts explain. These p-values are tails of a gamma distribution with the
    mean and variance of the draws, adjusted by the method of Holm for their number. Probabilities
    below 1e-15 count as that.

    *What it sees.* What a Dirichlet map could correct, all classes at once and without bins: wrong
    confidence, wrong shares of classes, confusions.

    There are no sample weights: a weight would say that a row stands for several, but not whether
    these were drawn together or apart.

    **When not to use it.** For faults that no Dirichlet map corrects, such as a curve that bends
    back and forth: use `calibration_test`. And with very many rows it rejects for an error that
    nobody minds: use `equivalence_test`.

    Examples
    --------
    >>> from dircal import GenerativeParameters, score_test
    >>> alpha = [[3.0, 2.0, 2.0], [2.0, 3.0, 2.0], [2.0, 2.0, 3.0]]
    >>> q, y = GenerativeParameters(alpha, [0.5, 0.25, 0.25]).sample(1000, random_state=0)
    >>> score_test(y, q, random_state=0)
    <ScoreTest: statistic ... p-value ≤ 0.001, a map would help: 0, ...>
    """
    check_integer("n_resamples", n_resamples, at_least=100)
    check_number("alpha", alpha, above=0.0, below=1.0)
    rng = check_random_state(random_state)
    predictions = once_each(Predictions.check(y_true, y_prob, None, classes))
    refuse_soft(predictions)
    return score_test_of(predictions, n_resamples, alpha, rng)


def score_test_of(
    predictions: Predictions, n_resamples: int, alpha: float, rng: np.random.Generator
) -> ScoreTest:
    """`score_test` of checked predictions."""
    n, k = predictions.n_samples, predictions.n_classes
    sums, source = _sums_of(predictions, n_resamples, rng)
    found = scores_at_identity(sums, score_structure(k), n)
    # A draw that equals the observed one up to rounding counts as at least as large.
    slack = INFERENCE_LIMITS.get().statistic_tol * (1.0 + found.statistic)
    as_large = np.sum(found.null_sample >= found.statistic - slack)
    pvalue = float(1 + as_large) / (1 + n_resamples)
    groups = [found.classes] if found.pairs is None else [found.classes, found.pairs]
    adjusted = adjust_holm(np.concatenate([group.pvalues for group in groups]))
    members = [row for group in groups for row in group.members.tolist()]
    labels = predictions.classes.tolist()
    named = [
        (tuple(labels[i] for i in row), float(p))
        for p, row in sorted(zip(adjusted, members, strict=True), key=lambda pair: pair[0])
        if pvalue < alpha and p < alpha
    ]
    return ScoreTest(
        found.statistic,
        pvalue,
        found.null_sample,
        found.freedom,
        "full" if found.freedom == len(labels) ** 2 - 1 else "diagonal",
        {group[0]: p for group, p in named if len(group) == 1},
        {(group[0], group[1]): p for group, p in named if len(group) == 2},
        alpha,
        predictions.n_samples,
        source,
    )


def _sums_of(
    predictions: Predictions, n_resamples: int, rng: np.random.Generator
) -> tuple[ScoreSums, Source]:
    """Scores of the rows and of draws: from moments where rows are many and scores normal."""
    n, k = predictions.n_samples, predictions.n_classes
    with limited_blas((n, k)):
        if are_normal(n):
            moments = predictions.fold(_OfBlock(score_moments, n))
            if moments.are_normal(n):
                return sums_of_normal_scores(moments, n, n_resamples, rng), "moments"
        blocks = RowBlocks(n, int(rng.integers(2**63)))
        with Progress("Drawing labels", n * n_resamples, "labels") as progress:
            scores = NullScores(k, blocks, n_resamples, watcher_of([predictions], progress))
            of_block = _Single(_OfBlock(scores, n))
            return fold_together([predictions], of_block, drawing_rows(k)), "draws"


@dataclass(frozen=True, eq=False)
class _OfBlock(Generic[_Sums]):
    """Score sums of a block of probabilities: of clipped logarithms, with equal weights."""

    scores: Callable[[Chunk], _Sums]
    n_samples: int

    def __call__(self, block: Block) -> _Sums:
        read = CalibrationMap(len(block.proba), _STEPS)
        weight = np.full(len(block.labels), 1.0 / self.n_samples)
        logs = read.on_block(block.proba.copy())
        return self.scores(Chunk(logs, block.labels, weight, start=block.start))


@dataclass(frozen=True, eq=False)
class _Single(Generic[_Sums]):
    """A function of a block, where the blocks of several predictions are given."""

    of_block: Callable[[Block], _Sums]

    def __call__(self, blocks: tuple[Block, ...]) -> _Sums:
        [block] = blocks
        return self.of_block(block)
