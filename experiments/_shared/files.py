"""Writing and reading files. A file is whole or not there."""

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "read_json",
    "reason",
    "write_arrays",
    "write_arrays_compressed",
    "write_json",
    "write_whole",
]


def reason(error: Exception) -> str:
    """Why something failed, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def write_whole(path: Path, content: bytes) -> None:
    """Write under another name first, so that a killed process leaves no half of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a small file that people can read."""
    write_whole(path, json.dumps(content, indent=1).encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read what `write_json` wrote."""
    content: dict[str, Any] = json.loads(path.read_bytes())
    return content


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write arrays as they are."""
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    write_whole(path, packed.getvalue())


def write_arrays_compressed(path: Path, **arrays: Any) -> None:
    """Write arrays that are to be kept, in less room."""
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    write_whole(path, packed.getvalue())
