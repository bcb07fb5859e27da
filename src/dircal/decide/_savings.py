"""What better probabilities save."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._numerals import format_interval
from dircal._typing import ArrayLike
from dircal.decide._cost_table import CostTable
from dircal.decide._paid import mean_of, paid
from dircal.decide._rows import DecidedRows, check_costs, rows_of_costs
from dircal.tables import check_number

__all__ = ["Savings", "savings", "savings_of"]


@dataclass(frozen=True)
class Savings:
    """Result of `savings`.

    Parameters
    ----------
    before, after : float
        What a row has cost with the actions that either probabilities lead to.
    saved : float
        The difference: positive where the second ones are better.
    low, high : float
        Ends of the interval of what is saved a row.
    pvalue : float
        Of the hypothesis that nothing is.
    changed : float
        Share of rows in which the action is another.
    level : float
        How often such intervals hold the truth.
    n_samples : int
        Number of rows.
    """

    before: float
    after: float
    saved: float
    low: float
    high: float
    pvalue: float
    changed: float
    level: float
    n_samples: int

    def __repr__(self) -> str:
        sure = self.pvalue < 1.0 - self.level
        verdict = "" if sure else ", which may be chance"
        return (
            f"<Savings: {self.saved:.4g} a row ({self.before:.4g} before, {self.after:.4g} after), "
            f"{format_interval(self.low, self.high, self.level)}{verdict}; "
            f"{100 * self.changed:.1f} % of {self.n_samples:,} actions change>"
        )


def savings(
    y_true: ArrayLike,
    prob_before: ArrayLike,
    prob_after: ArrayLike,
    costs: CostTable,
    *,
    level: float = 0.95,
    classes: Iterable[Any] | None = None,
) -> Savings:
    r"""What decisions by other probabilities of the same rows would have saved.

    Parameters
    ----------
    y_true : array-like (n,)
        True labels.
    prob_before : array-like (n, k)
        Probabilities as they were.
    prob_after : array-like (n, k)
        Other ones, such as calibrated ones, with the same columns.
    costs : CostTable
        What each action costs in each class.
    level : float, default=0.95
        How often such intervals hold the truth.
    classes : array-like (k,), optional
        Label of each column; by default the sorted labels of the table.

    Returns
    -------
    Savings
        With ``saved``, ``low`` and ``high``; printed, it is a sentence.

    Notes
    -----
    Either probabilities choose the action of least expected cost; :math:`d_i` is what the first
    one's has cost in row i less what the second one's has. The interval of its mean is that of
    `paired_comparison`.

    **When not to use it.** On rows that the calibrated map was fitted on. Nothing is saved where no
    action changes: symmetric costs without a question ask for the most probable class, which
    temperature scaling leaves as it is.

    Examples
    --------
    >>> from dircal import GenerativeParameters
    >>> from dircal.decide import CostTable, savings
    >>> world = GenerativeParameters([[1.2, 0.6], [0.5, 1.5]], [0.3, 0.7])
    >>> q, y = world.sample(2000, random_state=0)
    >>> costs = CostTable.of_errors([0, 1]).with_question(0.2)
    >>> savings(y, q, world.predict_proba(q), costs).saved > 0.0
    True
    """
    check_number("level", level, above=0.0, below=1.0)
    check_costs(costs)
    before, after = (
        rows_of_costs(y_true, prob, costs, classes, name=name)
        for name, prob in (("prob_before", prob_before), ("prob_after", prob_after))
    )
    return savings_of(before, after, costs, level)


def savings_of(before: DecidedRows, after: DecidedRows, costs: CostTable, level: float) -> Savings:
    """The same of rows that have passed the door."""
    first, second = paid(before, costs), paid(after, costs)
    found = mean_of(first.costs - second.costs, level)
    return Savings(
        float(first.costs.mean()),
        float(second.costs.mean()),
        found.value,
        found.low,
        found.high,
        found.pvalue,
        float(np.mean(first.choice.best != second.choice.best)),
        level,
        len(first.costs),
    )
