"""Objects from JSON, by what may be read; nothing else exists, and nothing is executed."""

import inspect
from collections.abc import Callable, Collection
from typing import Any, get_args

import numpy as np

from dircal.io._arrays import MemoryBudget, array_from_json
from dircal.io._check import check_estimator, check_map, key_of
from dircal.io._format_error import FormatError, Place
from dircal.io._objects import kind_of
from dircal.io._registry import (
    dataclasses_by_name,
    enums_by_name,
    estimators_by_name,
    field_types,
    fitted_types,
    parameter_types,
    required_fields,
    required_parameters,
)
from dircal.io._splitters import SPLITTERS
from dircal.io._types import check_fields
from dircal.maps import CalibrationMap

__all__ = ["Reader"]

# A map of six estimators in one another is a third as deep.
_DEEPEST = 100
Node = dict[str, Any]
# An attribute that came while the version was the same.
_LATER = "strengths_"


class Reader:
    """Makes objects of JSON, within a budget of memory."""

    def __init__(self, budget: MemoryBudget) -> None:
        self.budget = budget
        self._by_type: dict[str, Callable[[Node, Place, int], Any]] = {
            "float": self._float,
            "scalar": self._scalar,
            "array": lambda node, place, _: array_from_json(node, place, self.budget),
            "masked_array": self._masked_array,
            "tuple": self._tuple,
            "dict": self._dict,
            **dict.fromkeys(dataclasses_by_name(), self._dataclass),
            **dict.fromkeys(enums_by_name(), self._enum),
            **dict.fromkeys(SPLITTERS, self._splitter),
            **dict.fromkeys(estimators_by_name(), self._estimator),
        }

    def read(self, node: Any, place: Place, depth: int = 0) -> Any:
        """The value that ``node`` stands for."""
        if depth > _DEEPEST:
            raise FormatError(place, "is nested too deeply")
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.read(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(node)]
        kind = node.get("type")
        if not isinstance(kind, str) or kind not in self._by_type:
            raise FormatError(place, f"has the type {kind!r:.60}, which this version does not know")
        return self._by_type[kind](node, place, depth + 1)

    def _float(self, node: Node, place: Place, depth: int) -> float:
        del depth
        (text,) = _parts(node, ("value",), place)
        if text not in ("inf", "-inf", "nan"):
            raise FormatError(place, f"cannot be the number {text!r:.60}")
        return float(text)

    def _scalar(self, node: Node, place: Place, depth: int) -> Any:
        (inner,) = _parts(node, ("value",), place)
        array = self.read(inner, place, depth)
        if not isinstance(array, np.ndarray) or array.shape != ():
            raise FormatError(place, "needs a single number or text")
        return array[()]

    def _masked_array(self, node: Node, place: Place, depth: int) -> Any:
        data, mask = (self.read(x, place, depth) for x in _parts(node, ("data", "mask"), place))
        fine = isinstance(data, list) and isinstance(mask, np.ndarray) and mask.dtype == bool
        if not fine or mask.shape != (len(data),):
            raise FormatError(place, "needs a list, and a truth value for each of its entries")
        values = np.empty(len(data), dtype=object)
        for i, value in enumerate(data):
            values[i] = value
        return np.ma.MaskedArray(values, mask=mask)

    def _tuple(self, node: Node, place: Place, depth: int) -> tuple[Any, ...]:
        (items,) = _parts(node, ("items",), place)
        if not isinstance(items, list):
            raise FormatError(place, "needs a list of items")
        return tuple(self.read(items, place, depth))

    def _dict(self, node: Node, place: Place, depth: int) -> dict[Any, Any]:
        if "keys" in node:
            return self._pairs(node, place, depth)
        (items,) = _parts(node, ("items",), place)
        return self._read_dict(items, place, depth)

    def _pairs(self, node: Node, place: Place, depth: int) -> dict[Any, Any]:
        """Return a dict whose keys are not all strings."""
        parts = _parts(node, ("keys", "values"), place)
        keys, values = (self.read(part, place, depth) for part in parts)
        if not isinstance(keys, list) or not isinstance(values, list) or len(keys) != len(values):
            raise FormatError(place, "needs a key for each value")
        if not all(np.isscalar(key) or kind_of([key]) is not None for key in keys):
            raise FormatError(place, "needs keys that are numbers, strings or dates")
        pairs = dict(zip(keys, values, strict=True))
        if len(pairs) < len(keys):
            raise FormatError(place, "has a key twice")
        return pairs

    def _read_dict(self, items: Any, place: Place, depth: int) -> dict[str, Any]:
        if not isinstance(items, dict):
            raise FormatError(place, "needs names and values")
        return {key: self.read(item, f"{place}.{key}", depth) for key, item in items.items()}

    def _dataclass(self, node: Node, place: Place, depth: int) -> Any:
        (items,) = _parts(node, ("fields",), place)
        cls = dataclasses_by_name()[node["type"]]
        content = self._read_dict(items, place, depth)
        _check_names(content, required_fields(cls), field_types(cls), place)
        check_fields(cls, dict.fromkeys(field_types(cls)) | content, place)
        # What a person has written as 1 is a number like any other; one of thirty digits is not.
        floats = {name: float(content[name]) for name in _whole_floats(cls, content)}
        made = cls(**content | floats)
        if isinstance(made, CalibrationMap):
            check_map(made, place)
        return made

    def _enum(self, node: Node, place: Place, depth: int) -> Any:
        del depth
        (name,) = _parts(node, ("name",), place)
        members = enums_by_name()[node["type"]].__members__
        if not isinstance(name, str) or name not in members:
            raise FormatError(place, f"cannot be {name!r:.60}")
        return members[name]

    def _splitter(self, node: Node, place: Place, depth: int) -> Any:
        (items,) = _parts(node, ("parameters",), place)
        cls = SPLITTERS[node["type"]]
        parameters = self._read_dict(items, place, depth)
        _check_names(parameters, [], inspect.signature(cls).parameters, place)
        if not all(type(x) in (int, float, bool, type(None)) for x in parameters.values()):
            raise FormatError(place, "has a parameter that is no number")
        try:
            return cls(**parameters)
        except (TypeError, ValueError) as error:
            raise FormatError(place, f"has parameters that cannot be: {error}") from None

    def _estimator(self, node: Node, place: Place, depth: int) -> Any:
        given, state = _parts(node, ("parameters", "fitted"), place)
        cls = estimators_by_name()[node["type"]]
        parameters = self._read_dict(given, place, depth)
        # A parameter that came later has its default in older files.
        _check_names(parameters, required_parameters(cls), parameter_types(cls), place)
        estimator = cls(**parameters)
        fitted = None
        if state is not None:
            attributes = {key_of(name): name for name in fitted_types(cls)}
            content = self._read_dict(state, place, depth)
            _check_names(content, [], attributes, place)
            fitted = {attributes[key]: value for key, value in content.items()}
            if _LATER in attributes.values():
                # Files from before it was kept do not say.
                fitted.setdefault(_LATER, {})
            for name, value in fitted.items():
                setattr(estimator, name, value)
        check_estimator(estimator, parameters, fitted, place)
        return estimator


def _whole_floats(cls: type, content: dict[str, Any]) -> list[str]:
    """Names of fields that are floats and were given as whole numbers."""
    hints = field_types(cls).items()
    named = [name for name, hint in hints if float in (hint, *get_args(hint))]
    return [name for name in named if type(content.get(name)) is int]


def _parts(node: Node, names: tuple[str, ...], place: Place) -> list[Any]:
    """What stands under these names, if there are no others beside the type."""
    _check_names(node, ["type", *names], [], place)
    return [node[name] for name in names]


def _check_names(
    present: Collection[str], required: list[str], allowed: Collection[str], place: Place
) -> None:
    missing = [name for name in required if name not in present]
    if missing:
        raise FormatError(place, f"lacks {missing[0]!r}")
    strangers = set(present) - set(required) - set(allowed)
    if strangers:
        raise FormatError(place, f"has {min(strangers)!r:.60}, which this version does not know")
