"""A small language for maps: what every step can be written in, and every target can run.

An expression is a matrix with a row for each sample. Its columns are known beforehand, the number
of rows is not. An expression of one column is repeated where more are needed. The same object may
be used in several places: targets compute it once.

Targets that are graphs or text (ONNX, Python) know these few forms and no step: `_lower` writes a
step in them once, and all such targets have it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from dircal._core.caching import cached_property
from dircal._typing import FloatArray

__all__ = [
    "AbstractTarget",
    "Binary",
    "Choose",
    "Columns",
    "Constant",
    "Expression",
    "Input",
    "Join",
    "Linear",
    "Lookup",
    "Parameter",
    "RowMax",
    "RowSum",
    "Softmax",
    "Unary",
    "column",
    "constant",
    "in_precision",
    "join",
    "parameter",
    "walk",
]

_Value = TypeVar("_Value")


class Expression:
    """Columns of numbers; plus, minus, times and divided by work on them."""

    @cached_property
    def operands(self) -> tuple["Expression", ...]:
        """The expressions that this one is made of."""
        values = [getattr(self, each.name) for each in fields(self)]  # type: ignore[arg-type]
        parts = [part for value in values for part in (value if type(value) is tuple else [value])]
        return tuple(part for part in parts if isinstance(part, Expression))

    @cached_property
    def width(self) -> int:
        """Number of columns."""
        return self._width()

    def _width(self) -> int:
        return max(operand.width for operand in self.operands)

    @cached_property
    def exact(self) -> bool:
        """Whether all programs compute it to the same last digit.

        IEEE 754 demands it of plus, minus, times, divided by and comparisons. Exponentials,
        logarithms, and sums in whatever order, are free to differ.
        """
        return self._keeps_digits() and all(operand.exact for operand in self.operands)

    def _keeps_digits(self) -> bool:
        return True

    def __add__(self, other: "Expression | float | FloatArray") -> "Binary":
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
    """What the user passes, (n, n_columns)."""

    n_columns: int

    def _width(self) -> int:
        return self.n_columns


@dataclass(frozen=True, eq=False)
class Constant(Expression):
    """The same numbers in every row: one, one for each column, or the matrix of a `Linear`."""

    values: FloatArray

    def _width(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Parameter(Constant):
    """A ``field`` of a ``step`` that can be trained, or one ``column`` of a matrix.

    Targets without training read the ``values``, which may differ from the field by terms that a
    softmax ignores.
    """

    step: Any
    field: str
    column: int | None


@dataclass(frozen=True, eq=False)
class Columns(Expression):
    """Some columns, in the order given."""

    x: Expression
    indices: tuple[int, ...]

    def _width(self) -> int:
        return len(self.indices)


@dataclass(frozen=True, eq=False)
class Join(Expression):
    """Columns beside each other; each part has one."""

    parts: tuple[Expression, ...]

    def _width(self) -> int:
        return len(self.parts)


@dataclass(frozen=True, eq=False)
class Unary(Expression):
    """A function of each number."""

    name: Literal["log", "exp", "abs"]
    x: Expression

    def _keeps_digits(self) -> bool:
        return self.name == "abs"


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
    matrix: Constant
    bias: Constant

    def _width(self) -> int:
        return self.bias.width

    def _keeps_digits(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class RowSum(Expression):
    """Sum of each row, in one column.

    ``in_order`` adds from the first column to the last: what comes after depends on the last bit.
    """

    x: Expression
    in_order: bool = False

    def _width(self) -> int:
        return 1

    def _keeps_digits(self) -> bool:
        return self.in_order


@dataclass(frozen=True, eq=False)
class RowMax(Expression):
    """Largest number of each row, in one column."""

    x: Expression

    def _width(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class Softmax(Expression):
    """Softmax of each row."""

    x: Expression

    def _keeps_digits(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class Lookup(Expression):
    """Rows of a ``table`` (m + 1, c), chosen by how many of m sorted ``edges`` lie below a score.

    With ``at_edge="above"`` a number that equals an edge lies above it, with "below" below it.
    """

    x: Expression
    edges: FloatArray
    at_edge: Literal["above", "below"]
    table: FloatArray

    def _width(self) -> int:
        return len(self.table.T)


def walk(root: Expression) -> Iterator[Expression]:
    """Each expression that the root is made of, once, and the root itself."""
    waiting, known = [root], {id(root)}
    while waiting:
        e = waiting.pop()
        yield e
        for operand in e.operands:
            if id(operand) not in known:
                known.add(id(operand))
                waiting.append(operand)


class AbstractTarget(ABC, Generic[_Value]):
    """What a program makes of expressions; what stands in several places is made once."""

    def __init__(self) -> None:
        self._known: dict[int, _Value] = {}

    def of(self, e: Expression) -> _Value:
        """The value of an expression, whatever that is in the program."""
        if id(e) not in self._known:
            self._known[id(e)] = self._make(e)
        return self._known[id(e)]

    @abstractmethod
    def _make(self, e: Expression) -> _Value: ...


def constant(value: "Expression | float | FloatArray") -> Expression:
    """The expression itself, or numbers as one."""
    if isinstance(value, Expression):
        return value
    return Constant(np.atleast_1d(np.asarray(value, dtype=np.float64)))


def parameter(step: Any, field: str, column: int | None = None) -> Parameter:
    """A field of a step, or one column of it, as numbers that can be trained."""
    values = np.atleast_1d(getattr(step, field))
    return Parameter(values if column is None else values[:, column], step, field, column)


def column(x: Expression, index: int) -> Columns:
    """One column."""
    return Columns(x, (index,))


def join(parts: Sequence[Expression]) -> Join:
    """Single columns beside each other."""
    return Join(tuple(parts))


def in_precision(values: FloatArray, limits: Any) -> FloatArray:
    """Move constants of an expression into the ``limits`` of a type, a `finfo` of NumPy or torch.

    A positive one stays at least the smallest normal number: it may be there so that a logarithm
    exists, as the clip of probabilities is. A finite one stays finite: only infinity lies beyond.
    """
    finite = values.clip(float(limits.min), float(limits.max))
    found = np.where(np.isinf(values), values, finite)
    return np.where(values > 0.0, np.maximum(found, float(limits.tiny)), found)
