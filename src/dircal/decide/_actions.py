"""The best action for each row."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import row_slices
from dircal._typing import ArrayLike, FloatArray, IntArray
from dircal.decide._cost_table import CostTable
from dircal.decide._rows import check_costs, rows_to_decide
from dircal.tables import as_array, same_kind

__all__ = ["Decisions", "best_actions", "choose"]


@dataclass(frozen=True, eq=False)
class Decisions:
    """Result of `best_actions`.

    Parameters
    ----------
    actions : array of str, shape (n,)
        Name of the best action of each row.
    expected_cost : array of shape (n,)
        What it is expected to cost. Numbers are of the library and on the device of the
        probabilities, texts always of NumPy.
    runner_up : array of str, shape (n,)
        Name of the second best.
    margin : array of shape (n,)
        What the second best is expected to cost more: how clear the case is.
    """

    actions: npt.NDArray[np.str_]
    expected_cost: FloatArray
    runner_up: npt.NDArray[np.str_] = field(repr=False)
    margin: FloatArray = field(repr=False)

    def __repr__(self) -> str:
        names, counts = np.unique(self.actions, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:6]
        n = len(self.actions)
        shares = ", ".join(f"{names[i]} {100.0 * counts[i] / n:.1f} %" for i in order)
        mean = float(as_array(self.expected_cost).mean())
        return f"<Decisions: {n:,} rows; {shares}; expected cost {mean:.4g} a row>"


@dataclass(frozen=True)
class Choice:
    """Indices (n,) of the best and the second best action, and their expected costs (n,)."""

    best: IntArray
    second: IntArray
    cost: FloatArray
    second_cost: FloatArray
    variance: FloatArray
    """Of the cost of the best action, over the class that a row may turn out to have."""


def best_actions(
    y_prob: ArrayLike, costs: CostTable, *, classes: Iterable[Any] | None = None
) -> Decisions:
    r"""The action with the least expected cost, for each row.

    Parameters
    ----------
    y_prob : array or data frame of shape (n, k)
        Calibrated probabilities.
    costs : CostTable
        What each action costs in each class.
    classes : sequence, optional
        Label of each column of ``y_prob``; by default the sorted labels of the table, or the names
        of the columns of a data frame.

    Returns
    -------
    Decisions
        Actions, what they are expected to cost, and how clear each case is.

    Notes
    -----
    With :math:`p_{ij}` the probability of class j in row i and :math:`c_{ja}` the cost of action a
    there, the action is :math:`\arg\min_a \sum_j p_{ij} c_{ja}`. Of actions that cost the same, the
    first of the table is taken.

    **When not to use it.** With probabilities that are not calibrated: the action may be far from
    the best, and the expected cost is not what it will cost. Where a limit on errors counts, and no
    costs can be told, use `rejection_rule`.

    Examples
    --------
    >>> from dircal.decide import CostTable, best_actions
    >>> costs = CostTable.from_mapping(
    ...     {"fraud": {"block": 0, "pass": 100}, "honest": {"block": 15, "pass": 0}}
    ... ).with_question(2.0)
    >>> best_actions([[0.9, 0.1], [0.001, 0.999], [0.1, 0.9]], costs).actions.tolist()
    ['block', 'pass', 'ask']
    """
    proba = rows_to_decide(y_prob, check_costs(costs), classes)
    chosen = choose(proba, costs.matrix)
    names = np.array(costs.actions)
    return Decisions(
        names[chosen.best],
        same_kind(chosen.cost, y_prob),
        names[chosen.second],
        same_kind(chosen.second_cost - chosen.cost, y_prob),
    )


def choose(proba: FloatArray, matrix: FloatArray) -> Choice:
    """The best actions for probabilities (n, k), by costs (k, a)."""
    n = len(proba)
    best, second = np.empty((2, n), dtype=np.int64)
    cost, second_cost, variance = np.empty((3, n))
    # Around their mean, so that large costs that all classes share do not drown the differences.
    squares = (matrix - matrix.mean(axis=0)) ** 2
    for part in row_slices((n, max(matrix.shape))):
        expected = proba[part] @ matrix
        rows = np.arange(len(expected))
        first = expected.argmin(axis=1)
        best[part], cost[part] = first, expected[rows, first]
        around = cost[part] - matrix.mean(axis=0)[first]
        second_moment = np.einsum("ij,ji->i", proba[part], squares[:, first])
        variance[part] = np.maximum(second_moment - around**2, 0.0)
        expected[rows, first] = np.inf
        second[part] = expected.argmin(axis=1)
        second_cost[part] = expected[rows, second[part]]
    return Choice(best, second, cost, second_cost, variance)
