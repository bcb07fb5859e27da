"""Which maps have made a file that has no place inside to say so.

Text and NPY hold nothing but data. Where the file system keeps attributes beside a file (Linux),
`dircal apply` notes there which maps have replaced the scores, with a digest of the content: it
goes where the file is moved, and counts for nothing once somebody else has written to it.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from dircal._json import parse_json

__all__ = ["made_by", "note_maps"]

_ATTRIBUTE = "user.dircal.calibrated"
# Enough to tell files of predictions apart, and read in no time.
_DIGESTED = 2**20


def made_by(path: Path) -> dict[str, str]:
    """Marks of the maps that have made columns of a file, as far as it is known."""
    try:
        note = parse_json(os.getxattr(path, _ATTRIBUTE).decode())
        known = note["maps"].items() if note["content"] == _digest(path) else ()
        return {str(name): str(mark) for name, mark in known}
    except (OSError, AttributeError, ValueError, KeyError, TypeError):
        return {}


def note_maps(path: Path, marks: Mapping[str, str]) -> None:
    """Note which maps have made which columns of a file, where that is possible."""
    try:
        note = {"maps": dict(marks), "content": _digest(path)}
        os.setxattr(path, _ATTRIBUTE, json.dumps(note).encode())
    except (OSError, AttributeError):
        # Another system, or a file system without attributes.
        return


def _digest(path: Path) -> str:
    import hashlib

    with path.open("rb") as file:
        head = file.read(_DIGESTED)
    return hashlib.sha256(f"{path.stat().st_size}\n".encode() + head).hexdigest()[:32]
