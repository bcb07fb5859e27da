"""What decisions will cost, foretold without labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lstsq
from scipy.special import ndtri

from dircal._core.data.chunks import row_slices
from dircal._core.model.structure import Diagonal, Full
from dircal._numerals import format_interval
from dircal._threads import limited_blas
from dircal._typing import ArrayLike, FloatArray, IntArray
from dircal.decide._actions import choose
from dircal.decide._cost_table import CostTable
from dircal.decide._limits import DECIDE_LIMITS
from dircal.decide._rows import check_costs, rows_to_decide
from dircal.tables import check_integer, check_number

__all__ = ["ExpectedCost", "expected_cost"]

# Scores below the logarithm of this would be levers on which one row decides.
_LEAST_PROBABILITY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ExpectedCost:
    """Result of `expected_cost`.

    Parameters
    ----------
    mean : float
        Expected cost of a row under the best actions.
    low, high : float
        Ends of the interval in which the mean cost of these rows will be.
    level : float
        How often it is.
    n_samples : int
        Number of rows.
    """

    mean: float
    low: float
    high: float
    level: float
    n_samples: int

    def __repr__(self) -> str:
        return (
            f"<ExpectedCost: {self.mean:.4g} a row on {self.n_samples:,} rows; "
            f"{format_interval(self.low, self.high, self.level)}>"
        )


def expected_cost(
    y_prob: ArrayLike,
    costs: CostTable,
    *,
    level: float = 0.95,
    n_fitted: int | None = None,
    classes: Iterable[Any] | None = None,
) -> ExpectedCost:
    r"""What the best actions will cost on these rows, before their labels are known.

    Parameters
    ----------
    y_prob : array or data frame of shape (n, k)
        Calibrated probabilities.
    costs : CostTable
        What each action costs in each class.
    level : float, default=0.95
        How often the mean cost lies in the interval.
    n_fitted : int, optional
        Number of rows that the probabilities were calibrated on. What those rows happened to hold
        makes the probabilities a little wrong, all in the same direction; without the number the
        interval takes them for exact.
    classes : sequence, optional
        Label of each column of ``y_prob``; by default the sorted labels of the table, or the names
        of the columns of a data frame.

    Returns
    -------
    ExpectedCost
        With ``mean``, ``low`` and ``high``; printed, it is a sentence.

    Notes
    -----
    With action :math:`a_i` in row i, the class that comes makes its cost vary by

    .. math:: v_i = \sum_j p_{ij} c_{j a_i}^2 - \Bigl(\sum_j p_{ij} c_{j a_i}\Bigr)^2 ,

    and the mean over n rows is normal around its expectation with the variance
    :math:`\bar v / n`, where :math:`\bar v` is the mean of the :math:`v_i`. With ``n_fitted``, m,
    comes what the map itself may be wrong about. For a Dirichlet map fitted on m rows that is, by
    the delta method,

    .. math:: \frac{1}{m} \, h^T H^{-1} h ,

    with h the gradient of the mean expected cost in the parameters of the map and H the Fisher
    information of a row, both at the probabilities as they are. Beyond 25 classes it is a map of
    slopes and intercepts.

    **When not to use it.** Before calibration: an overconfident classifier promises costs that
    never come. With labels, `realised_cost` tells what was paid. Rows that differ from those of
    the fit cost what they cost.

    Examples
    --------
    >>> from dircal import GenerativeParameters
    >>> from dircal.decide import CostTable, expected_cost
    >>> world = GenerativeParameters([[1.2, 0.6], [0.5, 1.5]], [0.3, 0.7])
    >>> q, _ = world.sample(1000, random_state=0)
    >>> expected_cost(world.predict_proba(q), CostTable.of_errors([0, 1]))
    <ExpectedCost: 0.19... a row on 1,000 rows; 95 %: 0.1... to 0.2...>
    """
    check_number("level", level, above=0.0, below=1.0)
    if n_fitted is not None:
        check_integer("n_fitted", n_fitted, at_least=1)
    proba = rows_to_decide(y_prob, check_costs(costs), classes)
    chosen = choose(proba, costs.matrix)
    n, mean = len(proba), float(chosen.cost.mean())
    variance = float(chosen.variance.mean()) / n
    if n_fitted is not None:
        variance += _unknown_of_map(proba, costs.matrix, chosen.best) / n_fitted
    spread = float(ndtri(0.5 + 0.5 * level) * np.sqrt(variance))
    return ExpectedCost(mean, mean - spread, mean + spread, level, n)


def _unknown_of_map(proba: FloatArray, matrix: FloatArray, best: IntArray) -> float:
    """Variance of the mean expected cost of best actions (n,), for a map fitted on one row."""
    limits = DECIDE_LIMITS.get()
    n, k = proba.shape
    structure = Full(k, k) if k <= limits.max_matrix_classes else Diagonal(k)
    gradient, information = np.zeros(structure.n_params), np.zeros(2 * (structure.n_params,))
    with limited_blas(proba.shape):
        for part in row_slices(proba.shape):
            p = np.ascontiguousarray(proba[part].T)
            scores = np.log(np.maximum(p, _LEAST_PROBABILITY))
            costs = matrix[:, best[part]]
            pull = p * (costs - np.einsum("jm,jm->m", p, costs))
            gradient += structure.adjoint(pull / n, scores)
            information += structure.hessian(p, np.full(p.shape[1], 1.0 / n), scores)
    # The information is singular: a constant on all logits changes nothing, and costs nothing.
    solved = lstsq(information, gradient, cond=limits.min_information_ratio)[0]
    return max(float(gradient @ solved), 0.0)
