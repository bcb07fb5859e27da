"""A small language for maps: what every calibrator can be written in, and every target can run.

An expression is a matrix with a row for each sample. Its columns are known beforehand, the number
of rows is not. An expression of one column is repeated where more are needed. The same object may
be used in several places: targets compute it once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dircal._typing import FloatArray

__all__ = [
    "Binary",
    "Choose",
    "Columns",
    "Constant",
    "Expression",
    "Input",
    "Join",
    "Linear",
    "LogSoftmax",
    "Lookup",
    "RowMax",
    "RowSum",
    "Softmax",
    "Unary",
    "column",
    "constant",
    "join",
]


class Expression:
    """Columns of numbers; plus, minus, times and divided by work on them."""

    def __add__(self, other: "Expression | float") -> "Binary":
        return Binary("add", self, constant(other))

    def __sub__(self, other: "Expression | float") -> "Binary":
        return Binary("sub", self, constant(other))

    def __rsub__(self, other: float) -> "Binary":
        return Binary("sub", constant(other), self)

    def __mul__(self, other: "Expression | float | FloatArray") -> "Binary":
        return Binary("mul", self, constant(other))

    def __truediv__(self, other: "Expression | float") -> "Binary":
        return Binary("div", self, constant(other))

    def at_least(self, other: "Expression | float") -> "Binary":
        """The larger of two."""
        return Binary("max", self, constant(other))

    def at_most(self, other: "Expression | float") -> "Binary":
        """The smaller of two."""
        return Binary("min", self, constant(other))

    def log(self) -> "Unary":
        """Natural logarithm."""
        return Unary("log", self)

    def exp(self) -> "Unary":
        """Exponential."""
        return Unary("exp", self)

    def abs(self) -> "Unary":
        """Absolute value."""
        return Unary("abs", self)


@dataclass(frozen=True, eq=False)
class Input(Expression):
    """What the user passes, (n, width)."""

    width: int


@dataclass(frozen=True, eq=False)
class Constant(Expression):
    """The same numbers in every row: one, or one for each column."""

    values: FloatArray


@dataclass(frozen=True, eq=False)
class Columns(Expression):
    """Some columns, in the order given."""

    x: Expression
    indices: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Join(Expression):
    """Columns beside each other; each part has one."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Unary(Expression):
    """A function of each number."""

    name: Literal["log", "exp", "abs"]
    x: Expression


@dataclass(frozen=True, eq=False)
class Binary(Expression):
    """A function of two numbers at the same place."""

    name: Literal["add", "sub", "mul", "div", "max", "min"]
    x: Expression
    y: Expression


@dataclass(frozen=True, eq=False)
class Choose(Expression):
    """``yes`` where ``low`` is less than ``high``, and ``no`` elsewhere."""

    low: Expression
    high: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, eq=False)
class Linear(Expression):
    """W x + b in each row."""

    x: Expression
    matrix: FloatArray
    bias: FloatArray


@dataclass(frozen=True, eq=False)
class RowSum(Expression):
    """Sum of each row, in one column.

    ``in_order`` adds from the first column to the last: what comes after depends on the last bit.
    """

    x: Expression
    in_order: bool = False


@dataclass(frozen=True, eq=False)
class RowMax(Expression):
    """Largest number of each row, in one column."""

    x: Expression


@dataclass(frozen=True, eq=False)
class Softmax(Expression):
    """Softmax of each row."""

    x: Expression


@dataclass(frozen=True, eq=False)
class LogSoftmax(Expression):
    """Logarithm of the softmax of each row."""

    x: Expression


@dataclass(frozen=True, eq=False)
class Lookup(Expression):
    """Rows of a ``table`` (m + 1, c), chosen by how many of m sorted ``edges`` lie below a score.

    With ``at_edge="above"`` a number that equals an edge lies above it, with "below" below it.
    """

    x: Expression
    edges: FloatArray
    at_edge: Literal["above", "below"]
    table: FloatArray


def constant(value: "Expression | float | FloatArray") -> Expression:
    """The expression itself, or numbers as one."""
    if isinstance(value, Expression):
        return value
    return Constant(np.atleast_1d(np.asarray(value, dtype=np.float64)))


def column(x: Expression, index: int) -> Columns:
    """One column."""
    return Columns(x, (index,))


def join(parts: Sequence[Expression]) -> Join:
    """Single columns beside each other."""
    return Join(tuple(parts))
