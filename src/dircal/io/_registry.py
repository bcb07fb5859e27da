"""Which classes a file may hold, and the type of each of their parts.

Nothing is listed here: estimators are those that the rooms publish, steps those of `maps`, and
records and enumerations those that annotations of these name. A new calibrator, or a new step, can
be saved because it is annotated.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from typing import Any, ClassVar, TypeVar, cast, get_args, get_origin, get_type_hints

from sklearn.base import BaseEstimator

from dircal import calibrators, llm, selection, shift
from dircal.maps import STEPS, CalibrationMap

__all__ = [
    "dataclasses_by_name",
    "enums_by_name",
    "estimators_by_name",
    "field_types",
    "fitted_types",
    "parameter_types",
    "required_fields",
    "required_parameters",
]

Types = Mapping[str, Any]
"""Annotations by the name of what they speak of."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _remembered(function: _Function) -> _Function:
    """`functools.cache`, with the signature kept: type checkers take few classes for hashable."""
    return cast(_Function, cache(function))


@_remembered
def estimators_by_name() -> Mapping[str, type[BaseEstimator]]:
    """Every estimator that the rooms of calibrators publish."""
    named = {
        name: getattr(room, name)
        for room in (calibrators, selection, shift, llm)
        for name in room.__all__
    }
    return {
        name: thing
        for name, thing in named.items()
        if isinstance(thing, type) and issubclass(thing, BaseEstimator)
    }


@_remembered
def parameter_types(cls: type) -> Types:
    """What the constructor of an estimator takes."""
    hints = get_type_hints(cls.__init__)  # type: ignore[misc]
    return {name: hints.get(name, Any) for name in inspect.signature(cls).parameters}


def required_parameters(cls: type) -> list[str]:
    """Those without a default."""
    parameters = inspect.signature(cls).parameters.items()
    return [name for name, each in parameters if each.default is each.empty]


@_remembered
def fitted_types(cls: type) -> Types:
    """Attributes that a fit sets: what is annotated and is neither a parameter nor computed.

    What the class itself has a value for is a property, or stands in until there is something
    better: no part of a file.
    """
    return {
        name: hint
        for name, hint in get_type_hints(cls).items()
        if (name.endswith("_") or name.startswith("_"))
        and get_origin(hint) is not ClassVar
        and not hasattr(cls, name)
        and name not in parameter_types(cls)
    }


@_remembered
def field_types(cls: type) -> Types:
    """Fields of a dataclass that its constructor takes."""
    hints = get_type_hints(cls)
    return {name: hints[name] for name in inspect.signature(cls).parameters}


def required_fields(cls: type) -> list[str]:
    """Those that no older file lacks: what came later is None there."""
    parameters = inspect.signature(cls).parameters.items()
    return [name for name, each in parameters if each.default is not None]


@_remembered
def dataclasses_by_name() -> Mapping[str, type]:
    """Maps, their steps, and the records that fitted estimators hold."""
    return {**STEPS, CalibrationMap.__name__: CalibrationMap} | _named(is_dataclass)


@_remembered
def enums_by_name() -> Mapping[str, type[Enum]]:
    """Enumerations that fitted estimators hold a member of."""
    return _named(lambda cls: issubclass(cls, Enum))


def _named(wanted: Callable[[type], bool]) -> dict[str, type]:
    """Classes that annotations of fitted attributes name, or those of records among them."""
    hints = [hint for cls in estimators_by_name().values() for hint in fitted_types(cls).values()]
    found: dict[str, type] = {}
    seen: set[Any] = set()
    while hints:
        hint = hints.pop()
        hints += get_args(hint)
        if not isinstance(hint, type) or hint in seen:
            continue
        seen.add(hint)
        if is_dataclass(hint):
            hints += field_types(hint).values()
        if wanted(hint):
            found[hint.__name__] = hint
    return found
