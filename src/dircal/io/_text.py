"""JSON that people can read: short lists on a line, and strict when it is read."""

import json
from typing import Any, NoReturn

from dircal.io._damage import Damage

__all__ = ["from_text", "to_text"]

_INDENT = "  "


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
    """Whether a dict is a few plain values: it stands on one line."""
    length = 0
    for name, value in node.items():
        if isinstance(value, dict) or _has_structure(value):
            return False
        entries = value if isinstance(value, list) else [value]
        length += len(name) + sum(len(str(entry)) + 4 for entry in entries)
    return length <= 80


def _has_structure(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(x, dict | list) for x in value)


def from_text(content: bytes) -> Any:
    """What the text says, if it says everything once and only numbers that are numbers."""
    try:
        return json.loads(
            content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except UnicodeDecodeError:
        raise Damage("", "it is not text in UTF-8") from None
    except RecursionError:
        raise Damage("", "it is nested too deeply") from None
    except json.JSONDecodeError as error:
        what = f"{error.msg} in line {error.lineno}, column {error.colno}"
        raise Damage("", f"it is not JSON, or cut off: {what}") from None
    except ValueError:
        # A whole number of thousands of digits.
        raise Damage("", "it holds a number that is too long") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    node = dict(pairs)
    if len(node) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Damage("", f"it says {twice!r:.60} twice")
    return node


def _refuse_constant(text: str) -> NoReturn:
    raise Damage("", f"it holds {text}, which is no JSON")
