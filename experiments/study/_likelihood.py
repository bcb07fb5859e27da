"""Likelihood-ratio tests of nested maps, on the rows that they are fitted on."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning

from ._maps import Scores, make_map

__all__ = ["DRAWS", "RatioTest", "ratio_tests"]

FloatArray = npt.NDArray[np.float64]

DRAWS = 50
"""Labels that are drawn from the smaller map, for the mean of the statistic under it."""
_ROWS_FOR_A_PARAMETER = 20
"""With fewer the statistic is far from a chi-square, and separation is common."""
_SEED = 0
_FREE: dict[str, dict[str, Any]] = {
    "temperature": {},
    "vector": {},
    "full": {"penalty": "none"},
}
"""Maps of largest likelihood, each within the next."""


@dataclass(frozen=True)
class RatioTest:
    """Twice the gain in log-likelihood of the larger map, and how probable as much is by chance.

    The statistic is divided by its mean over draws from the smaller map, times the degrees of
    freedom (a Bartlett correction by simulation), and then compared with a chi-square.
    """

    smaller: str
    larger: str
    ratio: float
    freedom: int
    expected: float
    """Mean over the draws; by theory the degrees of freedom."""
    pvalue: float


def ratio_tests(scores: Scores, draws: int = DRAWS) -> list[RatioTest]:
    """Temperature within vector and vector within full, where rows suffice for the larger one."""
    return list(_tests(scores, draws))


def _tests(scores: Scores, draws: int) -> Iterator[RatioTest]:
    k, n = scores.n_classes, len(scores.fit_y)
    n_params = {"temperature": 1, "vector": 2 * k - 1, "full": k * k - 1}
    for smaller, larger in pairwise(_FREE):
        freedom = n_params[larger] - n_params[smaller]
        if n < _ROWS_FOR_A_PARAMETER * n_params[larger] or not freedom:
            return
        try:
            ratio, proba = _ratio(smaller, larger, scores.fit, scores.fit_y)
        except ConvergenceWarning:
            # No finite optimum: the classes can be told apart, and theory says nothing.
            return
        expected = _mean_by_chance(smaller, larger, scores.fit, proba, draws)
        pvalue = float(chi2.sf(ratio * freedom / expected, freedom))
        yield RatioTest(smaller, larger, ratio, freedom, expected, pvalue)


def _mean_by_chance(
    smaller: str, larger: str, fit: FloatArray, proba: FloatArray, draws: int
) -> float:
    rng = np.random.default_rng(_SEED)
    edges = proba.cumsum(axis=1)[:, :-1]
    ratios = []
    for _ in range(draws):
        y = (rng.random((len(edges), 1)) > edges).sum(axis=1)
        try:
            ratios.append(_ratio(smaller, larger, fit, y)[0])
        except ConvergenceWarning:
            continue
    return float(np.mean(ratios)) if ratios else float("nan")


def _ratio(
    smaller: str, larger: str, fit: FloatArray, y: npt.NDArray[Any]
) -> tuple[float, FloatArray]:
    """The statistic, and the probabilities of the smaller map."""
    rows, logs, first = np.arange(len(y)), [], None
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for name in (smaller, larger):
            fitted = make_map(name, fit.shape[1], **_FREE[name]).fit(fit, y)
            proba = fitted.predict_proba(fit)
            first = proba if first is None else first
            logs.append(np.log(np.maximum(proba[rows, y], np.finfo(float).tiny)).sum())
    assert first is not None
    return 2.0 * float(logs[1] - logs[0]), first
