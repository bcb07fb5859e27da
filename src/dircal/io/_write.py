"""Objects as JSON, by what may be written; nothing else exists."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dircal.calibrators import Fit
from dircal.io._arrays import array_to_json
from dircal.io._check import check_parameters
from dircal.io._objects import kind_of
from dircal.io._registry import (
    SPLITTERS,
    dataclasses_by_name,
    enums_by_name,
    estimators_by_name,
    splitter_parameters,
)
from dircal.io._types import FormatError, Place, field_types
from dircal.tables import as_plain, plain_labels_advice

__all__ = ["to_text", "value_to_json"]

Json = Any

# Lists and dictionaries without others inside, as `json` writes them: an entry on each line.
_INNERMOST = re.compile(r"[\[{]\n[^\[\]{}]*\n *[\]}]")
# Characters of a dictionary that stands on one line.
_LINE = 140


def value_to_json(value: Any, place: Place, left_out: tuple[type, ...] = ()) -> Json:
    """``value`` as JSON, or a `FormatError` that says why not.

    Objects of the classes that are ``left_out`` are null.
    """
    if value is None or type(value) in left_out:
        return None
    if type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"type": "float", "value": str(value)}
    if isinstance(value, np.ndarray):
        return array_to_json(np.asarray(value), place)
    if isinstance(value, np.generic):
        return {"type": "scalar", "value": array_to_json(np.asarray(value), place)}
    if isinstance(value, str | int | float):
        # Of a class derived from these, such as a member of an enumeration of texts.
        return value_to_json(as_plain(value), place)
    if type(value) in (list, range):
        return _list_to_json(value, place, left_out)
    if type(value) is tuple:
        return {"type": "tuple", "items": _list_to_json(value, place, left_out)}
    if type(value) is dict:
        if all(type(key) is str for key in value):
            return {"type": "dict", "items": _dict_to_json(value, place, left_out)}
        keys = _list_to_json(value, f"{place}.keys", left_out)
        return {"type": "dict", "keys": keys, "values": _list_to_json(value.values(), place)}
    if kind_of([value]) is not None:
        single = np.empty((), dtype=object)
        single[()] = value
        return {"type": "scalar", "value": array_to_json(single, place)}
    return _object_to_json(value, place, left_out)


def _object_to_json(value: Any, place: Place, left_out: tuple[type, ...]) -> Json:
    cls = type(value)
    name = cls.__name__
    if dataclasses_by_name().get(name) is cls:
        content = {each: getattr(value, each) for each in field_types(cls)}
        return {"type": name, "fields": _dict_to_json(content, place, left_out)}
    if enums_by_name().get(name) is cls:
        return {"type": name, "name": value.name}
    if SPLITTERS.get(name) is cls:
        return {
            "type": name,
            "parameters": _dict_to_json(splitter_parameters(value), place, left_out),
        }
    if estimators_by_name().get(name) is cls:
        return _estimator_to_json(value, place, left_out)
    advice = plain_labels_advice(cls) if isinstance(value, Enum | date | Decimal) else ""
    raise FormatError(place, f"holds {_describe(value)}, which cannot be written as text", advice)


def _describe(value: object) -> str:
    if callable(value) and not isinstance(value, BaseEstimator):
        return f"the function or class {getattr(value, '__name__', '?')}"
    return f"an object of the class {type(value).__name__}"


def _list_to_json(
    values: Iterable[Any], place: Place, left_out: tuple[type, ...] = ()
) -> list[Json]:
    return [value_to_json(value, f"{place}[{i}]", left_out) for i, value in enumerate(values)]


def _dict_to_json(
    values: Mapping[Any, Any], place: Place, left_out: tuple[type, ...]
) -> dict[str, Json]:
    return {key: value_to_json(value, f"{place}.{key}", left_out) for key, value in values.items()}


def _estimator_to_json(
    estimator: Any, place: Place, left_out: tuple[type, ...], outer: Fit | None = None
) -> Json:
    """Return class, parameters and fit; a fit with the map of the fit ``outer`` omits it."""
    parameters = estimator.get_params(deep=False)
    for name, value in parameters.items():
        # Labels may be in a pandas index or series.
        if hasattr(value, "to_numpy"):
            parameters[name] = value.to_numpy()
    # First of all: an object that cannot be written is a better reason than its type.
    written = _dict_to_json(parameters, place, left_out)
    check_parameters(estimator, parameters, place)
    unexpected = set(vars(estimator)) - set(parameters) - {"fit_"}
    if unexpected:
        raise FormatError(place, f"has the attribute {min(unexpected)!r}, which no file knows")
    fit = vars(estimator).get("fit_")
    if fit is not None and fit.map.input_scale != estimator.input_scale:
        scale = estimator.input_scale
        raise FormatError(f"{place}.fit.map", f"does not read input_scale={scale!r}")
    found = None if fit is None else _fit_to_json(fit, f"{place}.fit", left_out, outer)
    return {"type": type(estimator).__name__, "parameters": written, "fit": found}


def _fit_to_json(fit: Fit, place: Place, left_out: tuple[type, ...], outer: Fit | None) -> Json:
    is_known = outer is not None and fit.map is outer.map
    record = None if fit.record is None else fit.record.complete()
    parts = {"columns": fit.columns, "map": None if is_known else fit.map}
    return {
        **_dict_to_json(parts, place, left_out),
        "details": value_to_json(fit.details, f"{place}.details", left_out),
        "members": [
            _estimator_to_json(each, f"{place}.members[{i}]", left_out, fit)
            for i, each in enumerate(fit.members)
        ],
        "record": value_to_json(record, f"{place}.record", left_out),
    }


def to_text(node: Any) -> str:
    """Return JSON with a line for each name, and one for each row of a matrix."""
    return _INNERMOST.sub(_on_one_line, json.dumps(node, indent=2, allow_nan=False)) + "\n"


def _on_one_line(found: re.Match[str]) -> str:
    text = found.group()
    # Strings contain no line ends in JSON: what is replaced is the layout.
    line = text[0] + re.sub(r"\n *", " ", text[1:-1]).strip() + text[-1]
    return text if text[0] == "{" and len(line) > _LINE else line
