"""What a step of a map is: a frozen value that turns a block of numbers into another."""

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np

from dircal._core.data.simplex import LARGEST
from dircal._typing import FloatArray, InputScale

__all__ = ["AbstractStep", "check_sizes", "freeze"]


class AbstractStep(ABC):
    """One step of a map, from a block (d, m) to a block (e, m): a column for each sample.

    A step is a frozen dataclass whose fields are numbers, strings, arrays of numbers, or maps. That
    is all that files, exports and comparisons need to know of it. A new step is one class here and
    one function in each room that turns steps into something else.
    """

    long_chunks: ClassVar[bool] = False
    """Whether the step works through Python for each class, so that few long chunks are best."""
    gives_proba: ClassVar[bool] = False
    """Whether a map that ends in this step ends in probabilities."""

    @property
    def input_scale(self) -> InputScale | None:
        """What a map reads that begins with this step; None where it is any scale."""
        return "logit"

    @abstractmethod
    def apply(self, block: FloatArray) -> FloatArray:
        """What comes out of ``block`` (d, m), which may be used up."""

    @abstractmethod
    def n_out(self, n_in: int) -> int:
        """Rows e of what comes out of a block of ``n_in`` rows.

        Raises a ValueError where the fields of the step do not belong together, or to ``n_in``: it
        is how a chain of steps that was read from a file is checked.
        """

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            _same(mine, theirs) for mine, theirs in zip(_parts(self), _parts(other), strict=True)
        )

    def __hash__(self) -> int:
        parts = (part.tobytes() if isinstance(part, np.ndarray) else part for part in _parts(self))
        return hash((type(self).__name__, *parts))

    def __repr__(self) -> str:
        told = (
            f"{each.name}={_short(getattr(self, each.name))}"
            for each in fields(self)  # type: ignore[arg-type]
            if not _same(getattr(self, each.name), each.default)
        )
        return f"{type(self).__name__}({', '.join(told)})"

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        # Made anew, so that its arrays are again such as nobody can write to.
        return type(self), _parts(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def freeze(step: AbstractStep, **arrays: Any) -> None:
    """Set array fields of a step to copies in double precision that nobody can write to."""
    for name, value in arrays.items():
        # Minus zero becomes zero, so that what is equal has the same hash.
        array = np.array(value, dtype=np.float64, order="C") + 0.0
        array.setflags(write=False)
        object.__setattr__(step, name, array)


def check_sizes(**numbers: Any) -> None:
    """Refuse numbers of a step that lead out of the range of float64: probabilities become NaN."""
    for name, values in numbers.items():
        bad = ~(np.abs(values) <= LARGEST)
        if np.any(bad):
            raise ValueError(
                f"`{name}` must hold finite numbers of at most {LARGEST:g} to be computed with; "
                f"it holds {np.asarray(values)[bad].flat[0]:g}"
            )


def _parts(step: Any) -> tuple[Any, ...]:
    return tuple(getattr(step, each.name) for each in fields(step))


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        return np.array_equal(mine, theirs)
    return bool(mine == theirs)


def _is_int(value: object) -> bool:
    return isinstance(value, int)


def _short(value: Any) -> str:
    """A few numbers as they are, many by their shape."""
    if isinstance(value, np.ndarray):
        if value.size > 4:
            return f"<{' x '.join(map(str, value.shape))}>"
        return np.array2string(value, precision=4, separator=", ")
    if isinstance(value, tuple) and (len(value) > 6 or not all(map(_is_int, value))):
        return f"<{len(value)}>"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
