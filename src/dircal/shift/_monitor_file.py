"""The state of a monitor as JSON that gives the same numbers back, to the last bit."""

import base64
import json
from dataclasses import fields
from typing import Any

import numpy as np

from dircal._core.shift.eprocess import Streams
from dircal._typing import LabelArray
from dircal.tables import as_plain

__all__ = [
    "FORMAT",
    "VERSION",
    "labels_from_json",
    "labels_to_json",
    "parse",
    "streams_from_json",
    "streams_to_json",
]

FORMAT = "dircal-monitor"
VERSION = 2
_TYPES = {"float": np.dtype("<f8"), "int": np.dtype("<i8")}


def parse(content: bytes, name: str) -> dict[str, Any]:
    """The document in a file, or a ValueError that says what is wrong with it."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError(
            f"`path` {name!r} is no state of a monitor: it is not JSON. Pass a file that `save` of "
            "a CalibrationMonitor has written."
        ) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(
            f"`path` {name!r} is no state of a monitor. Pass a file that `save` of a "
            "CalibrationMonitor has written."
        )
    if document.get("version") != VERSION:
        raise ValueError(
            f"`path` {name!r} has version {document.get('version')!r} of the state, and this "
            f"dircal knows version {VERSION}. Start a new state, or use the dircal that wrote it."
        )
    return document


def _array_to_json(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    kind = "int" if array.dtype.kind in "iu" else "float"
    content = base64.b64encode(np.ascontiguousarray(array, _TYPES[kind]).tobytes()).decode()
    return {"type": kind, "shape": list(array.shape), "base64": content}


def _array_from_json(node: Any) -> np.ndarray[Any, Any]:
    kind = _TYPES[node["type"]]
    array = np.frombuffer(base64.b64decode(node["base64"], validate=True), kind)
    native = np.float64 if kind.kind == "f" else np.int64
    return array.reshape(node["shape"]).astype(native)


def streams_to_json(streams: Streams) -> dict[str, Any]:
    """All arrays by name."""
    return {
        each.name: [_array_to_json(part) for part in value]
        if isinstance(value := getattr(streams, each.name), list)
        else _array_to_json(value)
        for each in fields(streams)
    }


def streams_from_json(node: dict[str, Any], like: Streams) -> Streams:
    """The arrays again; a ValueError where they are of other shapes than those of ``like``."""
    found: dict[str, Any] = {}
    for each in fields(like):
        wanted, given = getattr(like, each.name), node[each.name]
        if isinstance(wanted, list):
            parts = [_array_from_json(part) for part in given]
            for part, other in zip(parts, wanted, strict=True):
                _check(each.name, part, other)
            found[each.name] = parts
        else:
            array = _array_from_json(given)
            _check(each.name, array, wanted)
            found[each.name] = array
    if len({len(array) for array in found.values() if not isinstance(array, list)}) > 1:
        raise ValueError("its arrays are of streams of different number")
    return Streams(**found)


def _check(name: str, array: np.ndarray[Any, Any], like: np.ndarray[Any, Any]) -> None:
    if array.shape[1:] != like.shape[1:] or array.dtype != like.dtype:
        raise ValueError(f"{name!r} has shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name!r} holds numbers that are not finite")


def labels_to_json(labels: LabelArray) -> dict[str, Any]:
    """Labels of classes or groups with their type."""
    return {"dtype": labels.dtype.str, "values": [as_plain(label) for label in labels]}


def labels_from_json(node: Any) -> LabelArray:
    """The labels again."""
    return np.array(node["values"], dtype=np.dtype(node["dtype"]))
