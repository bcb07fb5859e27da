"""Whether an error is small enough not to matter."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._numerals import format_level, format_pvalue
from dircal._typing import ArrayLike
from dircal.inference._chosen_measure import check_drawing, check_measure_with_interval
from dircal.inference._resampling import draw_with_seed
from dircal.inference._result import AbstractResult
from dircal.inference._show import html_of_result
from dircal.inference._soft_rows import once_each
from dircal.metrics import Predictions
from dircal.tables import check_number, check_random_state

__all__ = ["EquivalenceTest", "equivalence_test"]


@dataclass(frozen=True)
class EquivalenceTest(AbstractResult):
    """Result of `equivalence_test`.

    Parameters
    ----------
    estimate : float
        The measure of the rows.
    upper : float
        The true value is below this, with confidence ``level``.
    margin : float
        The largest value that does not matter.
    pvalue : float
        Of the hypothesis that the true value is not below the margin.
    level : float
        The confidence that is asked for.
    measure : str
        Name of the measure.
    n_samples : int
        Number of rows.
    """

    estimate: float
    upper: float
    margin: float
    pvalue: float
    level: float
    measure: str
    n_samples: int

    @property
    def below(self) -> bool:
        """Whether the value is below the margin, with the confidence that was asked for."""
        return self.upper < self.margin

    def __repr__(self) -> str:
        verdict = "below" if self.below else "not shown to be below"
        return (
            f"<EquivalenceTest: {self.measure} {self.estimate:.4g} on {self.n_samples:,} rows; at "
            f"most {self.upper:.4g} with {format_level(self.level)} confidence; {verdict} the "
            f"margin {self.margin:.4g} (p-value {format_pvalue(self.pvalue)})>"
        )

    def _repr_html_(self) -> str:
        return html_of_result(
            "Equivalence test",
            "passes: below the margin" if self.below else "fails: not shown to be below the margin",
            self.below,
            estimate=f"{self.measure} {self.estimate:.4g} on {self.n_samples:,} rows",
            at_most=f"{self.upper:.4g} with {format_level(self.level)} confidence",
            margin=f"{self.margin:.4g}",
            p_value=format_pvalue(self.pvalue),
        )


def equivalence_test(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    metric: Any,
    *,
    margin: float,
    level: float = 0.95,
    n_resamples: int = 2_000,
    random_state: int | np.random.Generator | None = 0,
    classes: Iterable[Any] | None = None,
) -> EquivalenceTest:
    r"""Test whether a measure is below a margin: calibrated well enough.

    Parameters
    ----------
    y_true : array-like (n,) or (n, k)
        True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers that
        count annotators.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
    metric : str or callable
        A measure of `dircal.metrics` that is better when lower, by name or as a function; with
        options as ``functools.partial(classwise_ece, aggregate="sum")``.
    margin : float
        The largest value that does not matter for what the probabilities are used for. Choose it
        before looking.
    level : float, default=0.95
        Confidence that is asked for.
    n_resamples : int, default=2_000
        Number of draws, at least 100.
    random_state : int, numpy Generator or None, default=0
        Seed of the draws.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order than the sorted one.

    Returns
    -------
    EquivalenceTest
        With ``below``, ``upper`` and ``pvalue``; printed, it is a sentence.

    Notes
    -----
    A test of exact calibration asks whether an error could be chance. With a million rows no error
    is, and the answer is always no. This test turns the question around: the hypothesis is that
    the true value is at least the margin :math:`m`, and it has to be refuted. It is where

    .. math:: \theta_{\text{up}} < m

    with the upper end :math:`\theta_{\text{up}}` of a one-sided interval, found by the draws of
    `confidence_interval`; for binned errors it allows for what chance adds to them, and it is never
    less than the measured value. More rows make it easier to pass, as they should.

    There are no sample weights, for the reason given in `confidence_interval`.

    **When not to use it.** With few rows, where nothing can be shown, or where the rows are all
    right and drawing them again never shows a mistake. With a margin that was chosen after seeing
    the error. For `maximum_calibration_error`, which has no interval.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import equivalence_test
    >>> rng = np.random.default_rng(0)
    >>> y_prob = rng.dirichlet([1, 1, 1], size=20_000)
    >>> y_true = (rng.random((20_000, 1)) > y_prob.cumsum(axis=1)).sum(axis=1)
    >>> equivalence_test(y_true, y_prob, "confidence_ece", margin=0.02, random_state=0)
    <EquivalenceTest: confidence_ece 0.0...; at most 0.0... below the margin 0.02 (p-value 0.00...)>
    """
    check_drawing(level, n_resamples)
    check_number("margin", margin, above=0.0)
    rng = check_random_state(random_state)
    measure = check_measure_with_interval(metric)
    if measure.record.higher_is_better:
        raise ValueError(
            f"`metric` is {measure.name}, which is better when higher. Pass one that is better "
            "when lower, such as 'error_rate', with the margin for the errors."
        )
    predictions = once_each(Predictions.check(y_true, y_prob, None, classes))
    estimate = measure.value(predictions)
    seed = int(rng.integers(2**63))
    [[drawn]] = draw_with_seed([measure], [predictions], [[estimate]], n_resamples, seed, "draws")
    confidence = drawn.own.confidence()
    upper = max(confidence.quantile(level), estimate)
    pvalue = 1.0 - confidence.position(margin) if estimate < margin else 1.0
    n_samples = predictions.n_samples
    return EquivalenceTest(estimate, upper, margin, pvalue, level, measure.name, n_samples)
