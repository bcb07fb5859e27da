"""What each action costs in each class."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, FloatArray, LabelArray
from dircal.tables import check_number, check_table, show

__all__ = ["CostTable"]


@dataclass(frozen=True, eq=False)
class CostTable:
    r"""What every action costs when a row turns out to be of a class.

    Make it with `from_matrix`, `from_mapping`, `from_utilities` or `of_errors`.

    Parameters
    ----------
    matrix : array of shape (n_classes, n_actions)
        The cost :math:`c_{ja}` of action a in class j, in any unit; negative ones are gains. Rows
        follow ``classes``.
    classes : array of shape (n_classes,)
        Labels, sorted.
    actions : tuple of str
        Names of the actions.

    Notes
    -----
    With probabilities :math:`p_j` of a row, action a is expected to cost

    .. math:: \bar c_a = \sum_j p_j \, c_{ja},

    and the best action has the least. Only with calibrated probabilities is that what it will cost
    on average.

    Examples
    --------
    >>> from dircal.decide import CostTable
    >>> costs = CostTable.from_mapping(
    ...     {"fraud": {"block": 0, "pass": 100}, "honest": {"block": 15, "pass": 0}}
    ... )
    >>> costs.with_question(2.0)
    <CostTable: 2 classes, 3 actions: block, pass, ask>
    """

    matrix: FloatArray = field(repr=False)
    classes: LabelArray
    actions: tuple[str, ...]

    @classmethod
    def from_matrix(
        cls,
        costs: ArrayLike,
        *,
        classes: Sequence[Any] | npt.NDArray[Any],
        actions: Iterable[str] | None = None,
    ) -> Self:
        """A table of costs with a row for each class and a column for each action.

        Parameters
        ----------
        costs : array-like of shape (n_classes, n_actions)
            What an action costs in a class.
        classes : sequence
            Label of each row.
        actions : sequence of str, optional
            Name of each column. Without them there has to be an action for each class, called
            after its label.

        Returns
        -------
        CostTable
            With its rows sorted by label.
        """
        matrix = _check_actions("costs", costs)
        labels = np.asarray(classes)
        if labels.ndim != 1 or len(np.unique(labels)) != len(labels) or len(labels) < 2:
            raise ValueError(
                f"`classes` must be at least two distinct labels; got {classes!r}. Pass the label "
                "of each row of `costs`."
            )
        names = [str(one) for one in (labels.tolist() if actions is None else actions)]
        if len(set(names)) != len(names):
            raise ValueError(
                f"`actions` must be distinct names; got {names}. Name each column of `costs` once."
            )
        if matrix.shape != (len(labels), len(names)):
            raise ValueError(
                f"`costs` must have a row for each of {len(labels)} classes and a column for each "
                f"of {len(names)} actions; got shape {matrix.shape}. Pass `actions=[...]`, the "
                "names of the columns, where there is not one action for each class."
            )
        order = np.argsort(labels, kind="stable")
        return cls(matrix[order], labels[order], tuple(names))

    @classmethod
    def from_mapping(cls, costs: Mapping[Any, Mapping[str, float]]) -> Self:
        """Costs by class and action, ``{class: {action: cost}}``.

        Parameters
        ----------
        costs : dict of dicts
            Every class has to name the same actions.

        Returns
        -------
        CostTable
            Actions are in the order of the first class.
        """
        if not isinstance(costs, Mapping) or not all(
            isinstance(each, Mapping) for each in costs.values()
        ):
            raise ValueError(
                f"`costs` must be a dict from classes to dicts from actions to costs; got "
                f"{costs!r}. Pass for example {{'fraud': {{'block': 0, 'pass': 100}}, ...}}."
            )
        every = list(costs.items())
        actions = list(every[0][1]) if every else []
        for label, each in every:
            if set(each) != set(actions):
                raise ValueError(
                    f"`costs` must name the same actions for every class; {label!r} has "
                    f"{sorted(each)}, others {sorted(actions)}. Say what each action costs there."
                )
        matrix = [[each[action] for action in actions] for _, each in every]
        return cls.from_matrix(matrix, classes=[label for label, _ in every], actions=actions)

    @classmethod
    def from_utilities(
        cls,
        utilities: ArrayLike,
        *,
        classes: Sequence[Any] | npt.NDArray[Any],
        actions: Iterable[str] | None = None,
    ) -> Self:
        """The same from what actions gain: costs are utilities with the other sign.

        Parameters
        ----------
        utilities : array-like of shape (n_classes, n_actions)
            What an action gains in a class.
        classes : sequence
            Label of each row.
        actions : sequence of str, optional
            Name of each column; see `from_matrix`.

        Returns
        -------
        CostTable
            Negative costs are gains.
        """
        gains = _check_actions("utilities", utilities)
        return cls.from_matrix(-gains, classes=classes, actions=actions)

    @classmethod
    def of_errors(cls, classes: Sequence[Any] | npt.NDArray[Any]) -> Self:
        """To name a class costs nothing where it is true and one elsewhere.

        Parameters
        ----------
        classes : sequence
            The labels.

        Returns
        -------
        CostTable
            Its best action is the most probable class, its cost the error rate.
        """
        return cls.from_matrix(1.0 - np.eye(len(classes)), classes=classes)

    def with_question(self, cost: float, *, name: str = "ask") -> "CostTable":
        """The same table and one action more, which costs the same in every class.

        Parameters
        ----------
        cost : float
            What it costs to ask a person, to run another test, or to wait.
        name : str, default="ask"
            What the action is called.

        Returns
        -------
        CostTable
            The new action is the last.
        """
        check_number("cost", cost)
        matrix = np.column_stack([self.matrix, np.full(len(self.classes), float(cost))])
        return CostTable.from_matrix(matrix, classes=self.classes, actions=[*self.actions, name])

    def __repr__(self) -> str:
        names = ", ".join(self.actions[:6]) + (", ..." if len(self.actions) > 6 else "")
        return f"<CostTable: {len(self.classes)} classes, {len(self.actions)} actions: {names}>"

    def require_classes(self, classes: LabelArray) -> None:
        """Raise a ValueError unless the table is about exactly these sorted labels."""
        same = len(classes) == len(self.classes) and bool(np.all(classes == self.classes))
        if not same:
            raise ValueError(
                f"`costs` must have a row for each class of the probabilities, {show(classes)}; "
                f"it has {show(self.classes)}. Say what each action costs in every class."
            )


def _check_actions(name: str, value: ArrayLike) -> FloatArray:
    fix = "Pass a number for each class and each action."
    return check_table(name, value, row="class", columns="actions", fix=fix)
