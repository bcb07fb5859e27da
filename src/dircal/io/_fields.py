"""What a fitted attribute may be: its type, its shape and its limits."""

import math
import numbers
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from dircal.io._damage import Damage, Place

__all__ = [
    "Field",
    "Flags",
    "Floats",
    "Indices",
    "Instance",
    "Labels",
    "Members",
    "Names",
    "Number",
    "Numbers",
    "Sizes",
    "Table",
    "Whole",
]

Sizes: TypeAlias = dict[str, int]
"""Lengths by name, such as ``k`` for the number of classes; the first use of a name sets it."""


class Field(Protocol):
    """Checks one attribute."""

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Raise `Damage` if ``value`` cannot be that attribute."""


@dataclass(frozen=True)
class Floats:
    """An array of float64; ``shape`` holds numbers, and names of sizes."""

    shape: tuple[int | str, ...]
    low: float = -math.inf
    high: float = math.inf
    finite: bool = True

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Type, shape, limits."""
        _check_array(value, "f", self.shape, sizes, place)
        if value.dtype != np.float64:
            raise Damage(place, f"needs float64; got {value.dtype}")
        if self.finite and not np.isfinite(value).all():
            raise Damage(place, "needs finite numbers; got NaN or infinity")
        if not ((value >= self.low) & (value <= self.high)).all():
            raise Damage(place, f"needs numbers from {self.low:g} to {self.high:g}")


@dataclass(frozen=True)
class Indices:
    """An array of whole numbers from zero to below a size."""

    shape: tuple[int | str, ...]
    below: str

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Type, shape, range."""
        _check_array(value, "iu", self.shape, sizes, place)
        if value.size and not 0 <= value.min() <= value.max() < sizes[self.below]:
            raise Damage(place, f"needs numbers from 0 to {sizes[self.below] - 1}")


@dataclass(frozen=True)
class Flags:
    """An array of truth values."""

    shape: tuple[int | str, ...]

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Type and shape."""
        _check_array(value, "b", self.shape, sizes, place)


@dataclass(frozen=True)
class Number:
    """A finite number within limits."""

    low: float = -math.inf
    high: float = math.inf
    optional: bool = False

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Type and range."""
        del sizes
        if value is None and self.optional:
            return
        fine = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
        if not fine or not (math.isfinite(value) and self.low <= value <= self.high):
            raise Damage(
                place, f"needs a number from {self.low:g} to {self.high:g}; got {value!r:.60}"
            )


@dataclass(frozen=True)
class Numbers:
    """A dict of finite numbers under given names."""

    names: tuple[str, ...]

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Names, types and range."""
        if not isinstance(value, dict) or tuple(value) != self.names:
            raise Damage(place, f"needs numbers called {', '.join(self.names)}")
        for name, number in value.items():
            Number().check(number, sizes, f"{place}.{name}")


@dataclass(frozen=True)
class Whole:
    """A whole number of at least ``at_least``."""

    at_least: int = 0

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Type and range."""
        del sizes
        fine = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
        if not fine or value < self.at_least:
            raise Damage(
                place, f"needs a whole number of at least {self.at_least}; got {value!r:.60}"
            )


@dataclass(frozen=True)
class Labels:
    """Distinct labels, one for each class; they set the size ``k``."""

    increasing: bool

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Shape, order, and that no label is missing."""
        _check_array(value, "biufUSMmO", ("k",), sizes, place)
        if sizes["k"] < 2:
            raise Damage(place, "needs at least two classes")
        if value.dtype.kind == "O" and len({type(label) for label in value}) > 1:
            raise Damage(place, "needs labels of one type")
        if not all(label == label for label in value.tolist()):
            raise Damage(place, "needs labels; got NaN or NaT")
        inner = value if self.increasing else np.sort(value)
        if not (inner[1:] > inner[:-1]).all():
            raise Damage(place, "needs distinct labels" + ", sorted" * self.increasing)


@dataclass(frozen=True)
class Names:
    """Names of the columns of a data frame."""

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Shape and type."""
        _check_array(value, "O", ("columns",), sizes, place)
        if not all(isinstance(name, str) for name in value):
            raise Damage(place, "needs strings")


@dataclass(frozen=True)
class Instance:
    """An object of one of some types."""

    types: type | tuple[type, ...]

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Type."""
        del sizes
        if not isinstance(value, self.types):
            raise Damage(place, f"cannot be {_article(value)}")


@dataclass(frozen=True)
class Members:
    """A list of fitted estimators; ``length`` is the name of a size."""

    length: str

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Type and length."""
        if not isinstance(value, list) or not value:
            raise Damage(place, f"needs a list that is not empty; got {_article(value)}")
        _match((self.length,), (len(value),), sizes, place)
        for i, member in enumerate(value):
            if not (isinstance(member, BaseEstimator) and hasattr(member, "classes_")):
                raise Damage(f"{place}[{i}]", "needs a fitted calibrator")


@dataclass(frozen=True)
class Table:
    """A dict of columns of the same length, some of which are required."""

    required: tuple[str, ...]
    rows: str = "rows"

    def check(self, value: Any, sizes: Sizes, place: Place) -> None:
        """Type and lengths."""
        if not isinstance(value, dict):
            raise Damage(place, f"needs a dict; got {_article(value)}")
        for name in self.required:
            if name not in value:
                raise Damage(place, f"lacks {name!r}")
        for name, column in value.items():
            if not isinstance(column, list | np.ndarray) or np.ndim(column) == 0:
                raise Damage(f"{place}.{name}", f"needs a column; got {_article(column)}")
            _match((self.rows,), (len(column),), sizes, f"{place}.{name}")


def _check_array(
    value: Any, kinds: str, shape: tuple[int | str, ...], sizes: Sizes, place: Place
) -> None:
    if type(value) is not np.ndarray:
        raise Damage(place, f"needs an array; got {_article(value)}")
    if value.dtype.kind not in kinds:
        raise Damage(place, f"cannot hold {value.dtype}")
    _match(shape, value.shape, sizes, place)


def _match(
    shape: tuple[int | str, ...], actual: tuple[int, ...], sizes: Sizes, place: Place
) -> None:
    if len(shape) != len(actual):
        raise Damage(place, f"needs {len(shape)} dimension(s); got shape {actual}")
    for wanted, length in zip(shape, actual, strict=True):
        known = sizes.setdefault(wanted, length) if isinstance(wanted, str) else wanted
        if known != length:
            raise Damage(place, f"needs length {known}; got shape {actual}")


def _article(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
