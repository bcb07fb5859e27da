"""Objects from JSON, by what may be read; nothing else exists, and nothing is executed."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dircal.calibrators import Fit, FitColumns
from dircal.explain import FitRecord, LazyRecord
from dircal.io._arrays import MemoryBudget
from dircal.io._check import check_fit, check_parameters
from dircal.io._map_file import MapReader, Node, check_names, parts_of
from dircal.io._objects import kind_of
from dircal.io._registry import (
    SPLITTERS,
    dataclasses_by_name,
    enums_by_name,
    estimators_by_name,
    parameter_types,
    required_parameters,
)
from dircal.io._types import FormatError, Place, check_type
from dircal.io._version_3 import fit_of_attributes, without_dropped_content
from dircal.maps import CalibrationMap

__all__ = ["Reader"]


class Reader(MapReader):
    """Makes calibrators of JSON, of a version of the format."""

    def __init__(self, budget: MemoryBudget, version: int) -> None:
        super().__init__(budget)
        self.version = version
        self.dataclasses = dataclasses_by_name()

    def reader_of(self, kind: str) -> Callable[[Node, Place, int], Any] | None:
        """Return the method that reads nodes of a type; None if there is none."""
        known: dict[str, Callable[[Node, Place, int], Any]] = {
            "scalar": self._scalar,
            "dict": self._dict,
        }
        for names, read in (
            (enums_by_name(), self._enum),
            (SPLITTERS, self._splitter),
            (estimators_by_name(), self._estimator),
        ):
            known |= dict.fromkeys(names, read)
        return known.get(kind) or super().reader_of(kind)

    def _scalar(self, node: Node, place: Place, depth: int) -> Any:
        (inner,) = parts_of(node, ("value",), place)
        array = self.read(inner, place, depth)
        if not isinstance(array, np.ndarray) or array.shape != ():
            raise FormatError(place, "needs a single number or text")
        return array[()]

    def _dict(self, node: Node, place: Place, depth: int) -> dict[Any, Any]:
        if "keys" in node:
            return self._pairs(node, place, depth)
        (items,) = parts_of(node, ("items",), place)
        return self.read_dict(items, place, depth)

    def _pairs(self, node: Node, place: Place, depth: int) -> dict[Any, Any]:
        """Return a dict whose keys are not all strings."""
        parts = parts_of(node, ("keys", "values"), place)
        keys, values = (self.read(part, place, depth) for part in parts)
        if not isinstance(keys, list) or not isinstance(values, list) or len(keys) != len(values):
            raise FormatError(place, "needs a key for each value")
        if not all(np.isscalar(key) or kind_of([key]) is not None for key in keys):
            raise FormatError(place, "needs keys that are numbers, strings or dates")
        pairs = dict(zip(keys, values, strict=True))
        if len(pairs) < len(keys):
            raise FormatError(place, "has a key twice")
        return pairs

    def _enum(self, node: Node, place: Place, depth: int) -> Any:
        del depth
        (name,) = parts_of(node, ("name",), place)
        members = enums_by_name()[node["type"]].__members__
        if not isinstance(name, str) or name not in members:
            raise FormatError(place, f"cannot be {name!r:.60}")
        return members[name]

    def _splitter(self, node: Node, place: Place, depth: int) -> Any:
        (items,) = parts_of(node, ("parameters",), place)
        cls = SPLITTERS[node["type"]]
        parameters = self.read_dict(items, place, depth)
        check_names(parameters, [], inspect.signature(cls).parameters, place)
        if not all(type(x) in (int, float, bool, type(None)) for x in parameters.values()):
            raise FormatError(place, "has a parameter that is no number")
        try:
            return cls(**parameters)
        except (TypeError, ValueError) as error:
            raise FormatError(place, f"has parameters that cannot be: {error}") from None

    def _estimator(
        self, node: Node, place: Place, depth: int, outer: CalibrationMap | None = None
    ) -> Any:
        """Return an estimator; a fit without a map has the map of the fit ``outer``."""
        key = "fit" if self.version > 3 else "fitted"
        given, found = parts_of(node, ("parameters", key), place)
        cls = estimators_by_name()[node["type"]]
        parameters = self.read_dict(given, place, depth)
        # A parameter that came later has its default in older files.
        check_names(parameters, required_parameters(cls), parameter_types(cls), place)
        estimator: Any = cls(**parameters)
        check_parameters(estimator, parameters, place)
        if found is None:
            return estimator
        if self.version > 3:
            fit = self._fit(found, cls, f"{place}.fit", depth, outer)
        else:
            attributes = self.read_dict(without_dropped_content(found), place, depth)
            fit = fit_of_attributes(cls, attributes, place)
        check_fit(estimator, fit, f"{place}.fit" if self.version > 3 else place)
        estimator.fit_ = fit
        return estimator

    def _fit(
        self, node: Node, cls: Any, place: Place, depth: int, outer: CalibrationMap | None
    ) -> Fit:
        if not isinstance(node, dict):
            raise FormatError(place, "needs names and values")
        names = ["columns", "map", "details", "members", "record"]
        check_names(node, names, [], place)
        content = {
            name: self.read(node[name], f"{place}.{name}", depth)
            for name in names
            if name != "members"
        }
        chain: Any = outer if content["map"] is None else content["map"]
        check_type(content["columns"], FitColumns, f"{place}.columns")
        check_type(content["record"], FitRecord | None, f"{place}.record")
        check_type(content["details"], cls.method_class.details or type(None), f"{place}.details")
        members = node["members"]
        if not isinstance(members, list):
            raise FormatError(f"{place}.members", "needs a list")
        record = content["record"]
        return Fit(
            content["columns"],
            chain,
            content["details"],
            tuple(
                self._member(each, f"{place}.members[{i}]", depth, chain)
                for i, each in enumerate(members)
            ),
            None if record is None else LazyRecord(record),
        )

    def _member(self, node: Any, place: Place, depth: int, outer: CalibrationMap) -> Any:
        kind = node.get("type") if isinstance(node, dict) else node
        if not isinstance(kind, str) or kind not in estimators_by_name():
            raise FormatError(place, f"has the type {kind!r:.60}, which this version does not know")
        member = self._estimator(node, place, depth + 1, outer)
        if "fit_" not in vars(member):
            raise FormatError(place, "is not fitted")
        return member
