"""Reliability curves by isotonic regression, and what they say of the Brier score."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from dircal._core.stats.isotonic import fit_isotonic
from dircal._html import card, table
from dircal._typing import ArrayLike, FloatArray, LabelArray
from dircal.metrics._curves import Over, check_over
from dircal.metrics._predictions import Predictions

__all__ = ["CorpReliability", "corp_reliability"]


@dataclass(frozen=True, eq=False)
class CorpReliability:
    """Result of `corp_reliability`: a curve and four numbers for the confidence or each class.

    Parameters
    ----------
    labels : array (c,) or None
        Class of each curve, sorted; None for the one curve of the confidence.
    predicted : tuple of c arrays
        Distinct probabilities of each curve, increasing.
    calibrated : tuple of c arrays
        How often it happened at these, by isotonic regression.
    count : tuple of c arrays
        Weight of the rows there.
    score : array (c,)
        Brier score of what was predicted.
    miscalibration : array (c,)
        MCB: what replacing the probabilities by the curve takes off the score.
    discrimination : array (c,)
        DSC: what the curve is better than always saying the overall frequency.
    uncertainty : array (c,)
        UNC: score of always saying the overall frequency.
    """

    labels: LabelArray | None
    predicted: tuple[FloatArray, ...] = field(repr=False)
    calibrated: tuple[FloatArray, ...] = field(repr=False)
    count: tuple[FloatArray, ...] = field(repr=False)
    score: FloatArray
    miscalibration: FloatArray
    discrimination: FloatArray
    uncertainty: FloatArray

    def __repr__(self) -> str:
        rows = self._rows(repr)
        shown = [
            f"{name}: score {score:.4g} = MCB {mcb:.4g} - DSC {dsc:.4g} + UNC {unc:.4g}"
            for name, (score, mcb, dsc, unc) in rows[:6]
        ]
        more = [f"... {len(rows) - 6} more"] if len(rows) > 6 else []
        return f"<CorpReliability: {'; '.join(shown + more)}>"

    def _repr_html_(self) -> str:
        rows = (
            [escape(name), *(f"{value:.4g}" for value in values)]
            for name, values in self._rows(str)
        )
        heads = ["curve", "score", "miscalibration", "discrimination", "uncertainty"]
        return card("Reliability by isotonic regression (CORP)", table(heads, rows))

    def _rows(self, write: Callable[[Any], str]) -> list[tuple[str, list[float]]]:
        """The name and the four numbers of each curve."""
        names = ["confidence"] if self.labels is None else [write(x) for x in self.labels.tolist()]
        numbers = (self.score, self.miscalibration, self.discrimination, self.uncertainty)
        return list(zip(names, np.transpose(numbers).tolist(), strict=True))


def corp_reliability(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    over: Over = "confidence",
) -> CorpReliability:
    r"""Reliability curves that need no bins, with the parts of the Brier score.

    Parameters
    ----------
    y_true : array-like (n,) or (n, k)
        True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers that
        count annotators.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
    sample_weight : array-like (n,), optional
        Weight of each row; a weight of two counts like two rows.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order than the sorted one.
    over : {"confidence", "classes"}, default="confidence"
        One curve of the largest probability of each row, or one of each class against the rest.

    Returns
    -------
    CorpReliability
        With ``miscalibration``, ``discrimination`` and ``uncertainty``, and the curves.

    Notes
    -----
    Let :math:`o_i` be one where what was predicted with :math:`p_i` happened, :math:`\hat p_i` the
    value of the isotonic regression of o on p, the best curve that never falls, and :math:`\bar o`
    the overall frequency. With :math:`S(q) = \frac1n \sum_i w_i (q_i - o_i)^2`, weights
    :math:`w_i` and their sum n,

    .. math:: S(p) = \underbrace{S(p) - S(\hat p)}_{\text{MCB}}
              - \underbrace{(S(\bar o) - S(\hat p))}_{\text{DSC}}
              + \underbrace{S(\bar o)}_{\text{UNC}}

    Nothing is to be chosen: consistent, optimally binned, reproducible, by pool-adjacent-violators
    (CORP) [1]_.

    *What it estimates.* MCB is the squared calibration error among the maps that never fall.

    *Bias.* The curve is fitted to the rows that it is judged on, so MCB and DSC both come out too
    large; neither is ever below zero. The bias falls roughly as :math:`n^{-2/3}`.

    **When not to use it.** Where frequency may fall as the probability rises, which the curve
    cannot follow. To test calibration, for a calibrated model has MCB above zero: use
    `calibration_test`. There is no curve for all classes at once; see `loss_decomposition`.

    References
    ----------
    .. [1] Dimitriadis, Gneiting and Jordan (2021). Stable reliability diagrams for probabilistic
       classifiers. PNAS.

    Examples
    --------
    >>> from dircal.metrics import corp_reliability
    >>> corp_reliability([0, 1, 1, 0], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]])
    <CorpReliability: confidence: score 0.125 = MCB 0.125 - DSC 0.1875 + UNC 0.1875>
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    curves = check_over(over, None, predictions.position)
    parts = predictions.gather(curves.points, "An isotonic curve")
    values = np.concatenate([part.values for part in parts], axis=1)
    outcomes = np.concatenate([part.residuals for part in parts], axis=1) + values
    weights = [part.weight for part in parts if part.weight is not None]
    weight = np.concatenate(weights) if weights else np.ones(values.shape[1])
    predicted, calibrated, count, numbers = [], [], [], []
    if not predictions.has_soft_labels:
        outcomes = np.rint(outcomes)
    for p, o in zip(values, outcomes, strict=True):
        fit = fit_isotonic(p, o, weight)
        assert fit.weight is not None
        predicted.append(fit.scores)
        calibrated.append(fit.values)
        count.append(fit.weight)
        share = np.average(o, weights=weight)
        # Of soft labels the mean over the hard ones, whose squares are as large as they are.
        score = np.average((p - o) ** 2 + o * (1.0 - o), weights=weight)
        unc = share * (1.0 - share)
        # Differences of scores, as means of squared distances: none can come out below zero.
        within = np.average(fit.share * (1.0 - fit.share), weights=fit.weight)
        best = np.average((fit.values - fit.share) ** 2, weights=fit.weight) + within
        numbers.append((score, max(score - best, 0.0), max(unc - best, 0.0), unc))
    labels = None if over == "confidence" else predictions.classes
    columns = np.array(numbers).T
    return CorpReliability(labels, tuple(predicted), tuple(calibrated), tuple(count), *columns)
