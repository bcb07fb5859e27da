"""What made a result."""

import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import scipy
import sklearn

import dircal

__all__ = ["tell_versions", "versions"]


@cache
def versions() -> str:
    """Versions of the libraries, and the commit of this one."""
    known = [f"dircal {dircal.__version__}{_commit()}"]
    known += [f"{one.__name__} {one.__version__}" for one in (sklearn, np, scipy)]
    return ", ".join(known)


def tell_versions(found: Iterable[str]) -> str:
    """The versions that made some rows, with the commits of each together."""
    commits: dict[tuple[str, str], list[str]] = {}
    for text in sorted(set(found)):
        own, rest = text.split(", ", 1)
        version, _, commit = own.partition("+")
        commits.setdefault((version, rest), []).append(commit or "unknown")
    return "; ".join(
        f"{version} ({rest}), {'commit' if len(names) == 1 else 'commits'} {', '.join(names)}"
        for (version, rest), names in commits.items()
    )


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
