"""JSON that people can read: short lists on a line, and strict when it is read."""

import json
import re
from typing import Any

from dircal._json import JSONError, parse_json
from dircal.io._format_error import FormatError

__all__ = ["from_text", "to_text"]

# Lists and dictionaries without others inside, as `json` writes them: an entry on each line.
_INNERMOST = re.compile(r"[\[{]\n[^\[\]{}]*\n *[\]}]")
# Characters of a dictionary that stands on one line.
_LINE = 140


def to_text(node: Any) -> str:
    """Return JSON with a line for each name, and one for each row of a matrix."""
    return _INNERMOST.sub(_on_one_line, json.dumps(node, indent=2, allow_nan=False)) + "\n"


def _on_one_line(found: re.Match[str]) -> str:
    text = found.group()
    # Strings contain no line ends in JSON: what is replaced is the layout.
    line = text[0] + re.sub(r"\n *", " ", text[1:-1]).strip() + text[-1]
    return text if text[0] == "{" and len(line) > _LINE else line


def from_text(content: bytes) -> Any:
    """Return the value of a strict JSON text in UTF-8."""
    try:
        return parse_json(content.decode("utf-8"), constants=False)
    except UnicodeDecodeError:
        raise FormatError("", "it is not text in UTF-8") from None
    except JSONError as error:
        raise FormatError("", f"it {error}") from None
