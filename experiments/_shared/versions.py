"""What made a result."""

import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import scipy
import sklearn

import dircal

__all__ = ["SEPARATION_BY_STEPS", "made_by", "tell_versions", "versions"]

SEPARATION_BY_STEPS = frozenset(
    [
        "9c4a3e77f4",
        "e0c7131078",
        "1611258f1b",
        "16337ff239",
        "1d506ccd57",
        "3398372c8e",
        "3460657ba2",
        "4002a52b6c",
        "551127ec07",
        "852d3ffdf6",
        "a573f1ca9d",
        "d3c580db73",
        "d4d24e1014",
        "dcaa293ed7",
    ]
)
"""Commits with results whose fits took three long steps for separation: maps with free entries may
have stopped above a finite optimum. Pages mark their columns until these are computed anew."""


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


def made_by(found: Iterable[str], commits: frozenset[str]) -> list[bool]:
    """Whether each of some versions is one of these commits."""
    return [text.split(", ", 1)[0].partition("+")[2] in commits for text in found]


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
