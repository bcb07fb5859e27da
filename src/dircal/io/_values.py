"""Objects as JSON and back, by a list of what may be written; nothing else exists."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.base import BaseEstimator

from dircal._core.optim.newton import Status
from dircal.calibrators._base import AbstractCalibrator
from dircal.io._arrays import Room, array_from_json, array_to_json
from dircal.io._damage import Damage, Place
from dircal.io._fields import Field, Sizes
from dircal.io._schemas import RECORDS, SCHEMAS, Schema, check_columns, class_of

__all__ = ["Reader", "value_to_json"]

# Estimators in estimators in estimators: more than this no one builds.
_DEEPEST = 24
_RECORDS = {cls.__name__: cls for cls in RECORDS}
_SPLITTERS = {
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
Json = Any


def value_to_json(value: Any, place: Place) -> Json:
    """``value`` as JSON, or `Damage` that says why not."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"type": "float", "value": str(value)}
    if isinstance(value, np.ma.MaskedArray):
        return {
            "type": "masked_array",
            "data": value_to_json(value.filled(None).tolist(), place),
            "mask": array_to_json(np.ma.getmaskarray(value), place),
        }
    if isinstance(value, np.ndarray):
        return array_to_json(np.asarray(value), place)
    if isinstance(value, np.generic):
        return {"type": "scalar", "value": array_to_json(np.asarray(value), place)}
    if type(value) in (list, range):
        return _list_to_json(value, place)
    if type(value) is tuple:
        return {"type": "tuple", "items": _list_to_json(value, place)}
    if type(value) is dict:
        return {"type": "dict", "items": _dict_to_json(value, place)}
    if isinstance(value, Status):
        return {"type": "status", "name": value.name}
    if type(value) in RECORDS:
        return _record_to_json(value, place)
    if type(value) in _SPLITTERS.values():
        parameters = {name: getattr(value, name) for name in _names_of_parameters(type(value))}
        return {"type": type(value).__name__, "parameters": _dict_to_json(parameters, place)}
    if isinstance(value, BaseEstimator) and class_of(type(value).__name__) is type(value):
        return _estimator_to_json(value, place)
    raise Damage(place, f"holds {_describe(value)}, which cannot be written as text")


def _describe(value: object) -> str:
    if callable(value) and not isinstance(value, BaseEstimator):
        return f"the function or class {getattr(value, '__name__', '?')}"
    return f"an object of the class {type(value).__name__}"


def _list_to_json(values: Iterable[Any], place: Place) -> list[Json]:
    return [value_to_json(value, f"{place}[{i}]") for i, value in enumerate(values)]


def _dict_to_json(values: Mapping[Any, Any], place: Place) -> dict[str, Json]:
    for key in values:
        if type(key) is not str:
            raise Damage(place, f"has the key {key!r:.60}; only strings can be written")
    return {key: value_to_json(value, f"{place}.{key}") for key, value in values.items()}


def _record_to_json(record: Any, place: Place) -> Json:
    content = {each.name: getattr(record, each.name) for each in fields(record)}
    return {"type": type(record).__name__, "fields": _dict_to_json(content, place)}


def _estimator_to_json(estimator: BaseEstimator, place: Place) -> Json:
    name = type(estimator).__name__
    schema, state = SCHEMAS[name], vars(estimator)
    parameters = {key: state[key] for key in _names_of_parameters(type(estimator))}
    if "classes" in parameters:
        parameters["classes"] = _plain_classes(parameters["classes"])
    fitted: dict[str, Any] | None = None
    if "classes_" in state:
        known = {**schema.fitted, **schema.optional}
        strangers = set(state) - set(parameters) - set(known)
        if strangers:
            raise Damage(place, f"has the attribute {min(strangers)!r}, which no file knows")
        fitted = {key: state[key] for key in known if key in state}
        _check_fitted(estimator, schema, fitted, place)
    return {
        "type": name,
        "parameters": _dict_to_json(parameters, place),
        "fitted": None
        if fitted is None
        else {_key(name): value_to_json(fitted[name], f"{place}.{name}") for name in fitted},
    }


def _key(attribute: str) -> str:
    """Name in the file: attributes that are not public there have no underscore."""
    return attribute.lstrip("_")


def _plain_classes(classes: Any) -> Any:
    """Labels as a list or an array; a pandas index is neither."""
    if classes is None or type(classes) in (list, tuple, np.ndarray):
        return classes
    return np.asarray(classes) if isinstance(classes, Iterable) else classes


def _names_of_parameters(cls: type) -> list[str]:
    return list(inspect.signature(cls).parameters)


def _check_fitted(
    estimator: BaseEstimator, schema: Schema, fitted: Mapping[str, Any], place: Place
) -> None:
    """All attributes are there, each is what it should be, and they belong together."""
    sizes: Sizes = {}
    for name, kind in {**schema.fitted, **schema.optional}.items():
        if name in fitted:
            kind.check(fitted[name], sizes, f"{place}.{name}")
        elif name in schema.fitted:
            raise Damage(place, f"lacks {name!r}")
        if type(fitted.get(name)) in RECORDS:
            _check_record(fitted[name], dict(sizes), f"{place}.{_key(name)}")
    if isinstance(estimator, AbstractCalibrator):
        check_columns(estimator, place)
    if schema.agree is not None:
        schema.agree(estimator, place)


def _check_record(record: Any, sizes: Sizes, place: Place) -> None:
    """The same for a dataclass, and for those inside."""
    for name, kind in RECORDS[type(record)].items():
        value = getattr(record, name)
        kind.check(value, sizes, f"{place}.{name}")
        if type(value) in RECORDS:
            _check_record(value, sizes, f"{place}.{name}")
        if type(value) is tuple:
            fine = len(value) == 3 and all(type(x) is float and math.isfinite(x) for x in value)
            if not fine:
                raise Damage(f"{place}.{name}", "needs three numbers")


class Reader:
    """Makes objects of JSON."""

    def __init__(self) -> None:
        self.room = Room()
        self._by_type: dict[str, Callable[[dict[str, Any], Place, int], Any]] = {
            "float": self._float,
            "scalar": self._scalar,
            "array": lambda node, place, _: array_from_json(node, place, self.room),
            "masked_array": self._masked_array,
            "tuple": self._tuple,
            "dict": self._dict,
            "status": self._status,
            **dict.fromkeys(_RECORDS, self._record),
            **dict.fromkeys(_SPLITTERS, self._splitter),
            **dict.fromkeys(SCHEMAS, self._estimator),
        }

    def read(self, node: Json, place: Place, depth: int = 0) -> Any:
        """The value that ``node`` stands for."""
        if depth > _DEEPEST:
            raise Damage(place, "is nested too deeply")
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.read(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(node)]
        kind = node.get("type")
        if not isinstance(kind, str) or kind not in self._by_type:
            raise Damage(place, f"has the type {kind!r:.60}, which this version does not know")
        return self._by_type[kind](node, place, depth + 1)

    def _float(self, node: dict[str, Any], place: Place, depth: int) -> float:
        del depth
        (text,) = _parts(node, ("value",), place)
        if text not in ("inf", "-inf", "nan"):
            raise Damage(place, f"cannot be the number {text!r:.60}")
        return float(text)

    def _scalar(self, node: dict[str, Any], place: Place, depth: int) -> Any:
        (inner,) = _parts(node, ("value",), place)
        array = self.read(inner, place, depth)
        if not isinstance(array, np.ndarray) or array.shape != () or array.dtype.kind == "O":
            raise Damage(place, "needs a single number or text")
        return array[()]

    def _masked_array(self, node: dict[str, Any], place: Place, depth: int) -> Any:
        data, mask = (self.read(x, place, depth) for x in _parts(node, ("data", "mask"), place))
        fine = isinstance(data, list) and isinstance(mask, np.ndarray) and mask.dtype == bool
        if not fine or mask.shape != (len(data),):
            raise Damage(place, "needs a list, and a truth value for each of its entries")
        values = np.empty(len(data), dtype=object)
        for i, value in enumerate(data):
            values[i] = value
        return np.ma.MaskedArray(values, mask=mask)

    def _tuple(self, node: dict[str, Any], place: Place, depth: int) -> tuple[Any, ...]:
        (items,) = _parts(node, ("items",), place)
        if not isinstance(items, list):
            raise Damage(place, "needs a list of items")
        return tuple(self.read(items, place, depth))

    def _dict(self, node: dict[str, Any], place: Place, depth: int) -> dict[str, Any]:
        (items,) = _parts(node, ("items",), place)
        return self._read_dict(items, place, depth)

    def _read_dict(self, items: Any, place: Place, depth: int) -> dict[str, Any]:
        if not isinstance(items, dict):
            raise Damage(place, "needs names and values")
        return {key: self.read(item, f"{place}.{key}", depth) for key, item in items.items()}

    def _status(self, node: dict[str, Any], place: Place, depth: int) -> Status:
        del depth
        (name,) = _parts(node, ("name",), place)
        if not isinstance(name, str) or name not in Status.__members__:
            raise Damage(place, f"cannot be {name!r:.60}")
        return Status[name]

    def _record(self, node: dict[str, Any], place: Place, depth: int) -> Any:
        (items,) = _parts(node, ("fields",), place)
        cls = _RECORDS[node["type"]]
        content = self._read_dict(items, place, depth)
        _check_names(set(content), [each.name for each in fields(cls)], [], place)
        return cls(**content)

    def _splitter(self, node: dict[str, Any], place: Place, depth: int) -> Any:
        (items,) = _parts(node, ("parameters",), place)
        cls = _SPLITTERS[node["type"]]
        parameters = self._read_dict(items, place, depth)
        _check_names(set(parameters), [], _names_of_parameters(cls), place)
        if not all(type(x) in (int, float, bool, type(None)) for x in parameters.values()):
            raise Damage(place, "has a parameter that is no number")
        return _made(cls, parameters, place)

    def _estimator(self, node: dict[str, Any], place: Place, depth: int) -> Any:
        given, state = _parts(node, ("parameters", "fitted"), place)
        cls, schema = class_of(node["type"]), SCHEMAS[node["type"]]
        if cls is None:
            raise Damage(place, f"has the type {node['type']!r}, which this version does not know")
        parameters = self._read_dict(given, place, depth)
        required = [
            name
            for name, parameter in inspect.signature(cls).parameters.items()
            if parameter.default is parameter.empty
        ]
        # A parameter that came later has its default in older files.
        _check_names(set(parameters), required, _names_of_parameters(cls), place)
        for name, value in parameters.items():
            _check_parameter(name, value, schema.parameters.get(name), f"{place}.{name}")
        estimator = _made(cls, parameters, place)
        if isinstance(estimator, AbstractCalibrator):
            _made(estimator._check_all_parameters, {}, place)
        if state is None:
            return estimator
        attributes = {_key(name): name for name in (*schema.fitted, *schema.optional)}
        content = self._read_dict(state, place, depth)
        _check_names(set(content), [], list(attributes), place)
        fitted = {attributes[key]: value for key, value in content.items()}
        for name, value in fitted.items():
            setattr(estimator, name, value)
        _check_fitted(estimator, schema, fitted, place)
        return estimator


def _made(call: Callable[..., Any], arguments: Mapping[str, Any], place: Place) -> Any:
    """What ``call`` returns, or `Damage` with what it says."""
    try:
        return call(**arguments)
    except (TypeError, ValueError) as error:
        raise Damage(place, f"has parameters that cannot be: {error}") from None


def _parts(node: dict[str, Any], names: tuple[str, ...], place: Place) -> list[Any]:
    """What stands under these names, if there are no others beside the type."""
    _check_names(set(node), ["type", *names], [], place)
    return [node[name] for name in names]


def _check_names(present: set[str], required: list[str], allowed: list[str], place: Place) -> None:
    missing = [name for name in required if name not in present]
    if missing:
        raise Damage(place, f"lacks {missing[0]!r}")
    strangers = present - set(required) - set(allowed)
    if strangers:
        raise Damage(place, f"has {min(strangers)!r:.60}, which this version does not know")


def _check_parameter(name: str, value: Any, kind: Field | None, place: Place) -> None:
    if kind is not None:
        kind.check(value, {}, place)
    elif name == "classes" and value is not None:
        labels = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=object)
        if labels.ndim != 1 or not isinstance(value, list | tuple | np.ndarray):
            raise Damage(place, "needs a list of labels")
    elif not isinstance(value, bool | int | float | str | np.generic | None):
        raise Damage(place, f"cannot be {_describe(value)}")
