"""Strict JSON: each key once, not nested without end, one kind of error, and plain values."""

import json
import math
from collections import Counter
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, NoReturn

__all__ = ["JSONError", "parse_json", "to_plain"]

# Ten times what the files and answers need that dircal reads. Beyond about 900 levels Python cannot
# print or walk through a value that its parser may still have read.
_MAX_DEPTH = 300


class JSONError(ValueError):
    """Describe what is wrong with a text, such as "is not JSON"; the caller names the text."""


def parse_json(text: str, *, constants: bool = True) -> Any:
    """Return the value of a JSON text; without ``constants``, NaN and infinity are errors."""
    repeated: list[tuple[dict[str, Any], str]] = []
    parse_constant = None if constants else _reject_constant
    try:
        value = json.loads(
            text,
            object_pairs_hook=partial(_as_dict, repeated=repeated),
            parse_constant=parse_constant,
        )
    except JSONError:
        raise
    except RecursionError:
        raise JSONError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise JSONError(f"is not JSON, or cut off: {error.msg} in {where}") from None
    except ValueError:
        # Python reads no integer of thousands of digits.
        raise JSONError("holds a number that is too long") from None
    if text.count("[") + text.count("{") > _MAX_DEPTH and _is_deep(value):
        raise JSONError("is nested too deeply")
    if repeated:
        # The last one found lies in no other object with a repeated key, and is still in the value.
        node, key = repeated[-1]
        place = ".".join(_path_to(node, value))
        raise JSONError(f"has the key {key!r:.60} twice" + (f", in {place!r:.60}" if place else ""))
    return value


def _as_dict(
    pairs: list[tuple[str, Any]], *, repeated: list[tuple[dict[str, Any], str]]
) -> dict[str, Any]:
    node = dict(pairs)
    if len(node) < len(pairs):
        [(key, _)] = Counter(name for name, _ in pairs).most_common(1)
        repeated.append((node, key))
    return node


def _reject_constant(text: str) -> NoReturn:
    raise JSONError(f"holds {text}, which is not JSON")


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [child for node in level for _, child in _children(node)]
        if not level:
            return False
    return True


def _path_to(wanted: dict[str, Any], value: Any) -> list[str]:
    """Keys and positions from the outside in; empty for the value itself."""
    level: list[tuple[list[str], Any]] = [([], value)]
    while all(node is not wanted for _, node in level):
        level = [([*path, key], child) for path, node in level for key, child in _children(node)]
    return next(path for path, node in level if node is wanted)


def _children(node: Any) -> list[tuple[str, Any]]:
    """Dicts and lists inside a dict or a list, with their keys."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    return [(str(key), child) for key, child in items if isinstance(child, dict | list)]


def to_plain(value: Any) -> Any:
    """Return a value made of what JSON has: dataclasses as dicts, null for NaN and infinity."""
    # The command line parses options before it loads NumPy.
    import numpy as np

    if isinstance(value, np.ndarray):
        value = list(value) if value.dtype.kind in "mM" else value.tolist()
    elif isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    if is_dataclass(value):
        return {one.name: to_plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {_key(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        return value.decode("latin1")
    # Labels may be dates and the like.
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(to_plain(key))
