"""How sure a prediction has to be, so that those which are kept err rarely enough."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, binom

from dircal._numerals import format_level
from dircal._typing import ArrayLike, FloatArray
from dircal.decide._limits import DECIDE_LIMITS
from dircal.decide._rows import labelled_rows
from dircal.tables import check_number, check_probabilities, check_random_state, same_kind

__all__ = ["RejectionRule", "rejection_rule"]


@dataclass(frozen=True)
class RejectionRule:
    """Result of `rejection_rule`: which predictions to keep, and which to hand to a person.

    Parameters
    ----------
    threshold : float
        Predictions with at least this confidence are kept; infinite where none may be.
    max_risk : float
        The share of errors among those kept that is not exceeded.
    level : float
        How often that holds, over the draw of the labelled rows.
    coverage : float
        Share of the testing rows that are kept.
    risk : float
        Share of errors among these.
    risk_bound : float
        Upper end of the exact interval of that share, at ``level``, one-sided.
    n_tested : int
        Number of rows that the rule was tested on.
    """

    threshold: float
    max_risk: float
    level: float
    coverage: float
    risk: float
    risk_bound: float
    n_tested: int

    def keeps(self, y_prob: ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether each prediction is sure enough to be kept.

        Parameters
        ----------
        y_prob : array-like (n, k)
            Probabilities of the kind that the rule was made with.

        Returns
        -------
        kept : array of bool, shape (n,)
            False where a person should look. Of the library and on the device of ``y_prob``.
        """
        proba = np.asarray(check_probabilities("y_prob", y_prob), np.float64)
        kept: npt.NDArray[np.bool_] = same_kind(_confidence(proba) >= self.threshold, y_prob)
        return kept

    def __repr__(self) -> str:
        if self.coverage == 0.0:
            return (
                f"<RejectionRule: no prediction is kept; {self.n_tested:,} rows cannot show errors "
                f"of at most {format_level(self.max_risk)} with a certainty of "
                f"{format_level(self.level)}>"
            )
        return (
            f"<RejectionRule: keep confidence >= {self.threshold:.4g}, {100 * self.coverage:.1f} % "
            f"of the rows; errors at most {format_level(self.max_risk)} with a certainty of "
            f"{format_level(self.level)} (seen {100 * self.risk:.2f} %)>"
        )


def rejection_rule(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    max_risk: float,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
    classes: Iterable[Any] | None = None,
) -> RejectionRule:
    r"""The least confidence at which predictions err no more often than they may.

    Parameters
    ----------
    y_true : array-like (n,)
        True labels of rows that the map was not fitted on.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
    max_risk : float
        The largest share of errors among the predictions that are kept (selective risk).
    level : float, default=0.95
        How often the promise holds, over the draw of these rows.
    random_state : int, numpy Generator or None, default=0
        Seed of the split.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order than the sorted one.

    Returns
    -------
    RejectionRule
        With ``threshold``, ``coverage`` and ``keeps``; printed, it is a sentence.

    Notes
    -----
    One half of the rows, drawn at random, tells which threshold t is the most promising one, and
    from there thresholds are tested that keep more and more rows. On the other half, of m rows with
    a confidence of at least t, e are wrong. The hypothesis that the rule with t errs too often,
    :math:`R(t) > r` with r the largest risk, is refuted where

    .. math:: P(B \le e) \le \delta, \qquad B \sim \text{Binomial}(m, r),

    with :math:`\delta` one minus the level. The last threshold before the first that is not refuted
    is taken. Since their order is fixed before the second half is looked at, the chance of any
    wrong refutation is at most :math:`\delta` [1]_, [2]_, with any number of rows and whether or
    not the probabilities are calibrated. Calibration makes the coverage larger, not the promise
    truer.

    **When not to use it.** Where errors differ in cost: `best_actions` with a question in the table
    of costs. After a shift the promise is void. With few rows nothing can be promised: zero errors
    in m kept rows refute a risk of r only from :math:`m = \ln \delta / \ln(1 - r)` on, 59 rows for
    5 % at a level of 95 %.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candès, Jordan and Lei (2021). Learn then test: calibrating
       predictive algorithms to achieve risk control. arXiv:2110.01052.
    .. [2] Geifman and El-Yaniv (2017). Selective classification for deep neural networks. NeurIPS.

    Examples
    --------
    >>> from dircal import GenerativeParameters
    >>> from dircal.decide import rejection_rule
    >>> world = GenerativeParameters([[3.0, 0.5], [0.5, 3.0]], [0.5, 0.5])
    >>> q, y = world.sample(2000, random_state=0)
    >>> rule = rejection_rule(y, world.predict_proba(q), max_risk=0.02)
    >>> rule.risk <= 0.02 and rule.coverage > 0.5
    True
    >>> rule.keeps([[0.5, 0.5], [0.999, 0.001]]).tolist()
    [False, True]
    """
    limits = DECIDE_LIMITS.get()
    check_number("max_risk", max_risk, above=0.0, below=1.0)
    check_number("level", level, above=0.0, below=1.0)
    rng = check_random_state(random_state)
    rows = labelled_rows(y_true, y_prob, classes)
    n = len(rows.labels)
    if n < limits.min_rows:
        raise ValueError(
            f"`y_true` must have at least {limits.min_rows} rows, half of them to choose and half "
            f"to test by; got {n}. Label more rows."
        )
    confidence = _confidence(rows.proba)
    wrong = rows.proba.argmax(axis=1) != rows.labels
    order = rng.permutation(n)
    first, second = order[: n // 2], order[n // 2 :]
    doubt = 1.0 - level
    thresholds = np.unique(
        np.quantile(confidence[first], np.linspace(0.0, 1.0, limits.n_thresholds), method="lower")
    )
    promising = _pvalues(thresholds, confidence[first], wrong[first], max_risk)
    # From the most promising one down, to thresholds that keep more and more rows.
    sequence = thresholds[: int(promising.argmin()) + 1][::-1]
    refuted = _pvalues(sequence, confidence[second], wrong[second], max_risk) <= doubt
    n_refuted = len(sequence) if refuted.all() else int(refuted.argmin())
    if n_refuted == 0:
        return RejectionRule(np.inf, max_risk, level, 0.0, 0.0, 1.0, len(second))
    threshold = float(sequence[n_refuted - 1])
    kept = confidence[second] >= threshold
    m, e = int(kept.sum()), int(wrong[second][kept].sum())
    bound = 1.0 if e == m else float(beta.ppf(level, e + 1, m - e))
    return RejectionRule(threshold, max_risk, level, float(kept.mean()), e / m, bound, len(second))


def _confidence(proba: FloatArray) -> FloatArray:
    largest: FloatArray = proba.max(axis=1)
    return largest


def _pvalues(
    thresholds: FloatArray, confidence: FloatArray, wrong: npt.NDArray[np.bool_], risk: float
) -> FloatArray:
    """Of each threshold's erring more often than ``risk`` among the rows that it keeps."""
    order = np.argsort(confidence)
    above = len(order) - np.searchsorted(confidence[order], thresholds, side="left")
    errors = np.append(np.cumsum(wrong[order][::-1])[::-1], 0)[len(order) - above]
    return np.asarray(binom.cdf(errors, above, risk))
