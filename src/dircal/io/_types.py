"""Whether a value is of an annotated type, strictly: nothing is converted."""

import inspect
import math
import numbers
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from typing import (
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from dircal._core.data.simplex import LARGEST
from dircal.maps import AbstractStep

__all__ = [
    "FormatError",
    "Place",
    "Types",
    "check_fields",
    "check_type",
    "field_types",
    "remembered",
    "required_fields",
]

Place: TypeAlias = str
"""Names from the outside in, joined by dots; empty for the whole."""


class FormatError(ValueError):
    """What a place in a file, or in an object to be written, cannot be."""

    def __init__(self, place: Place, what: str, advice: str = "") -> None:
        super().__init__(f"{place} {what}" if place else what)
        self.advice = advice
        """What to do about it, where that is known."""


_LARGEST = sys.float_info.max

Types = Mapping[str, Any]
"""Annotations by the name of what they speak of."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def remembered(function: _Function) -> _Function:
    """Cache the results of a function, with its signature kept."""
    return cast(_Function, cache(function))


@remembered
def field_types(cls: type) -> Types:
    """Return the annotations of the fields that the constructor of a dataclass takes."""
    hints = get_type_hints(cls)
    return {name: hints[name] for name in inspect.signature(cls).parameters}


def required_fields(cls: type) -> list[str]:
    """Return the fields that no older file lacks: those that came later are None there."""
    parameters = inspect.signature(cls).parameters.items()
    return [name for name, each in parameters if each.default is not None]


def check_type(value: Any, hint: Any, place: Place) -> None:
    """Raise a `FormatError` unless ``value`` is what the annotation says.

    Numbers and arrays of float64 are finite, and whole numbers, which all count something, are not
    negative.
    """
    hint = _unfolded(hint)
    origin = get_origin(hint)
    if hint is Any:
        return
    if origin in (Union, types.UnionType):
        _check_union(value, get_args(hint), place)
    elif origin is Literal:
        if not any(isinstance(value, type(each)) and value == each for each in get_args(hint)):
            _refuse(place, f"one of {', '.join(map(repr, get_args(hint)))}", value)
    elif origin is np.ndarray:
        _check_array(value, get_args(hint)[1], place)
    elif origin is not None:
        _check_container(value, origin, get_args(hint), place)
    else:
        _check_plain(value, hint, place)


def _unfolded(hint: Any) -> Any:
    """What an alias of the ``type`` statement stands for: `NDArray` is one since NumPy 2.5."""
    alias = get_origin(hint) or hint
    if not hasattr(alias, "__value__"):
        return hint
    arguments = get_args(hint)
    return alias.__value__[arguments] if arguments else alias.__value__


def _check_union(value: Any, hints: tuple[Any, ...], place: Place) -> None:
    errors = []
    for hint in hints:
        try:
            check_type(value, hint, place)
        except FormatError as error:
            errors.append((hint, error))
        else:
            return
    reasons = [error for hint, error in errors if hint is not type(None)]
    if len(reasons) == 1:
        raise reasons[0]
    _refuse(place, " or ".join(map(_name, hints)), value)


def _check_plain(value: Any, hint: Any, place: Place) -> None:
    truth = isinstance(value, bool | np.bool_)
    if hint is float:
        if not isinstance(value, numbers.Real) or truth or not _is_finite(value):
            _refuse(place, "a finite number", value)
    elif hint is int:
        if not isinstance(value, numbers.Integral) or truth or value < 0:
            _refuse(place, "a whole number of at least 0", value)
    elif hint is bool:
        if not truth:
            _refuse(place, "true or false", value)
    elif hint is type(None):
        if value is not None:
            _refuse(place, "nothing", value)
    elif not isinstance(hint, type) or not isinstance(value, hint):
        _refuse(place, _name(hint), value)
    elif is_dataclass(value):
        check_fields(type(value), vars(value), place)


def _is_finite(value: numbers.Real) -> bool:
    # A whole number may be too large to be made a float.
    return abs(value) <= _LARGEST if isinstance(value, int) else math.isfinite(value)


def check_fields(cls: type, values: Mapping[str, Any], place: Place) -> None:
    """The same for every field of a dataclass.

    Numbers of a step of a map are at most as large as scores may be, so that its logits, in which
    curves multiply by squares of scores, do not overflow.
    """
    for name, hint in field_types(cls).items():
        value, where = values[name], f"{place}.{name}"
        check_type(value, hint, where)
        if issubclass(cls, AbstractStep) and isinstance(value, float | np.ndarray):
            largest = np.abs(value).max(initial=0.0)
            if largest > LARGEST:
                bound = f"numbers between {-LARGEST:g} and {LARGEST:g}"
                raise FormatError(where, f"needs {bound}; got one of magnitude {largest:.3g}")


def _check_array(value: Any, dtype: Any, place: Place) -> None:
    if type(value) is not np.ndarray:
        _refuse(place, "an array", value)
    (scalar,) = get_args(dtype)
    scalar = get_origin(scalar) or scalar
    if scalar is Any:
        return
    if not issubclass(value.dtype.type, scalar):
        raise FormatError(place, f"needs {scalar.__name__}; got {value.dtype}")
    if scalar is np.float64 and not np.isfinite(value).all():
        raise FormatError(place, "needs finite numbers; got NaN or infinity")


def _check_container(value: Any, origin: Any, hints: tuple[Any, ...], place: Place) -> None:
    if origin in (Iterable, Sequence):
        if not isinstance(value, list | tuple | range | np.ndarray):
            _refuse(place, "a list", value)
        return
    origin = dict if origin is Mapping else origin
    if type(value) is not origin:
        _refuse(place, f"a {_name(origin)}", value)
    if origin is dict:
        for key, item in value.items():
            check_type(item, hints[1], f"{place}.{key}")
        return
    if origin is tuple and hints[-1] is not Ellipsis:
        if len(value) != len(hints):
            raise FormatError(place, f"needs {len(hints)} entries; got {len(value)}")
    else:
        hints = (hints[0],) * len(value)
    for i, (item, hint) in enumerate(zip(value, hints, strict=True)):
        check_type(item, hint, f"{place}[{i}]")


def _name(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    return "None" if hint is type(None) else getattr(hint, "__name__", str(hint))


def _refuse(place: Place, wanted: str, value: Any) -> typing.NoReturn:
    shown = f"{value!r:.60}" if isinstance(value, str | int | float | None) else _article(value)
    raise FormatError(place, f"needs {wanted}; got {shown}")


def _article(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
