"""Classes that a file may contain.

Nothing is listed here: estimators are those that subpackages publish, steps those of `maps`, and
records and enumerations those in the annotations of the details of fits. A new calibrator, or a new
step, can be saved because it is annotated.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, get_args, get_type_hints

from sklearn import model_selection
from sklearn.base import BaseEstimator

from dircal import calibrators, llm, selection, shift
from dircal.calibrators import FitColumns
from dircal.explain import FitRecord
from dircal.io._types import Types, field_types, remembered
from dircal.maps import STEPS, CalibrationMap

__all__ = [
    "SPLITTERS",
    "dataclasses_by_name",
    "enums_by_name",
    "estimators_by_name",
    "parameter_types",
    "required_parameters",
    "splitter_parameters",
]


@remembered
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
        if isinstance(thing, type) and hasattr(thing, "method_class")
    }


@remembered
def parameter_types(cls: type) -> Types:
    """What the constructor of an estimator takes."""
    hints = get_type_hints(cls.__init__)  # type: ignore[misc]
    return {name: hints.get(name, Any) for name in inspect.signature(cls).parameters}


def required_parameters(cls: type) -> list[str]:
    """Those without a default."""
    parameters = inspect.signature(cls).parameters.items()
    return [name for name, each in parameters if each.default is each.empty]


@remembered
def dataclasses_by_name() -> Mapping[str, type]:
    """Maps, their steps, and the records that fitted estimators hold."""
    return {**STEPS, CalibrationMap.__name__: CalibrationMap} | _named(is_dataclass)


@remembered
def enums_by_name() -> Mapping[str, type[Enum]]:
    """Enumerations that fitted estimators hold a member of."""
    return _named(lambda cls: issubclass(cls, Enum))


def _named(wanted: Callable[[type], bool]) -> dict[str, type]:
    """Return the classes of details and records, and those in the annotations of their fields."""
    classes: list[Any] = [*estimators_by_name().values()]
    hints: list[Any] = [FitColumns, FitRecord, *(cls.method_class.details for cls in classes)]
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


SPLITTERS: Mapping[str, type] = {
    cls.__name__: cls
    for cls in (
        model_selection.GroupKFold,
        model_selection.KFold,
        model_selection.LeaveOneOut,
        model_selection.ShuffleSplit,
        model_selection.StratifiedGroupKFold,
        model_selection.StratifiedKFold,
        model_selection.StratifiedShuffleSplit,
    )
}
"""Those that are made of numbers alone, by name."""


def splitter_parameters(splitter: Any) -> dict[str, Any]:
    """What a splitter was made with; it keeps each under its name."""
    names = inspect.signature(type(splitter)).parameters
    return {name: getattr(splitter, name) for name in names}
