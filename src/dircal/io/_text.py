"""JSON that people can read: short lists on a line, and strict when it is read."""

import json
from typing import Any

from dircal._json import JSONError, parse_json
from dircal.io._format_error import FormatError

__all__ = ["from_text", "to_text"]

_INDENT = "  "
# Characters of a line, without brackets and what is before it.
_LINE = 140


def to_text(node: Any) -> str:
    """JSON with a line for each name, and one for each row of a matrix."""
    return _lines(node, "") + "\n"


def _lines(node: Any, indent: str) -> str:
    inner = indent + _INDENT
    if isinstance(node, dict) and node and not _is_short(node):
        items = [f"{inner}{json.dumps(key)}: {_lines(x, inner)}" for key, x in node.items()]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if _has_structure(node):
        items = [inner + _lines(x, inner) for x in node]
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    return json.dumps(node, allow_nan=False)


def _is_short(node: dict[str, Any]) -> bool:
    """Whether a dict is a few plain values, also in dicts inside: it stands on one line."""
    return _room_after(node, _LINE) >= 0


def _room_after(node: Any, room: int) -> int:
    """What a node leaves of so many characters; below zero, without looking on, if it is more."""
    if _has_structure(node):
        return -1
    if isinstance(node, dict | list):
        items = node.items() if isinstance(node, dict) else (("", x) for x in node)
        for name, value in items:
            room = _room_after(value, room - len(name) - 4)
            if room < 0:
                break
        return room
    return room - len(node if isinstance(node, str) else str(node))


def _has_structure(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(x, dict | list) for x in value)


def from_text(content: bytes) -> Any:
    """Return the value of a strict JSON text in UTF-8."""
    try:
        return parse_json(content.decode("utf-8"), constants=False)
    except UnicodeDecodeError:
        raise FormatError("", "it is not text in UTF-8") from None
    except JSONError as error:
        raise FormatError("", f"it {error}") from None
