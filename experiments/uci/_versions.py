"""What made a result."""

import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import scipy
import sklearn

import dircal

__all__ = ["versions"]


@cache
def versions() -> str:
    """Versions of the libraries, and the commit of this one."""
    known = [f"dircal {dircal.__version__}{_commit()}"]
    known += [f"{one.__name__} {one.__version__}" for one in (sklearn, np, scipy)]
    return ", ".join(known)


def _commit() -> str:
    """The commit that is checked out; nothing where git or its folder is not there."""
    command = ["git", "rev-parse", "--short=10", "HEAD"]
    try:
        answer = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"+{answer.stdout.strip()}"
