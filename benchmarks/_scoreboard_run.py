"""Runs all contracts of a library in its environment, and then a reproduction of every failure."""

import json
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from _scoreboard_snippets import reproduction
from _scoreboard_worker import LIMIT
from rivals import Library

__all__ = ["BESIDE", "FAILURES", "last_error", "run", "tidy"]

HERE = Path(__file__).parent
WORKER = HERE / "_scoreboard_worker.py"
FAILURES = ("wrong", "error", "hang", "crash")
BESIDE = ("python", "numpy", "scipy", "scikit-learn", "pandas", "torch", "jax")
"""Versions that matter beside that of the library itself."""
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_FIXED = {"PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore", "JAX_PLATFORMS": "cpu"}
_NO_ANSWER = f"no answer after {LIMIT} seconds of computing"
# Longer outputs say no more.
_SHOWN = 600


def run(library: Library, python: Path, worker: Path = WORKER) -> dict[str, Any]:
    """Verdicts of all cells of a library.

    Parameters
    ----------
    library : Library
        What is tested.
    python : Path
        The interpreter of its environment.
    worker : Path
        The program that runs the cells.

    Returns
    -------
    dict
        ``name``, ``versions``, ``failure`` (why nothing could be run, or nothing) and ``cells``.
    """
    environ = _environ(library)
    cells: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder) / "outcomes.jsonl"
        while True:
            done = [f"{cell['calibrator']}/{cell['contract']}" for cell in cells]
            given = (library.module, str(library.n_classes), str(outcomes))
            command = [str(python), str(worker), *given, *done]
            ended = subprocess.run(
                command, capture_output=True, text=True, check=False, env=environ
            )
            lines = outcomes.read_text(encoding="utf-8") if outcomes.exists() else ""
            outcomes.unlink(missing_ok=True)
            told = [json.loads(line) for line in lines.splitlines()]
            if not told or "cannot be imported" in told[0]:
                failure = told[0]["cannot be imported"] if told else last_error(ended.stderr)
                return _record(library, told[0].get("versions", {}) if told else {}, failure, [])
            cells += [line["ends"] for line in told if "ends" in line]
            if "starts" not in told[-1]:
                break
            cells.append(told[-1]["starts"] | _died(ended.returncode, ended.stderr))
    for cell in cells:
        cell["message"] = tidy(cell["message"])
    _reproduce(library, python, [cell for cell in cells if cell["verdict"] in FAILURES])
    return _record(library, told[0]["versions"], None, cells)


def _record(
    library: Library, versions: dict[str, str], failure: str | None, cells: list[dict[str, str]]
) -> dict[str, Any]:
    reason = None if failure is None else tidy("; ".join(filter(None, (failure, library.hint))))
    shown = {name: versions[name] for name in (library.name, *BESIDE) if name in versions}
    return {"name": library.name, "versions": shown, "failure": reason, "cells": cells}


def _died(code: int, stderr: str) -> dict[str, str]:
    if code in (-signal.SIGPROF, -signal.SIGALRM) or "Timeout (" in stderr:
        return {"verdict": "hang", "message": _NO_ANSWER}
    return {"verdict": "crash", "message": f"the process ends with code {code}"}


def _reproduce(library: Library, python: Path, failures: list[dict[str, str]]) -> None:
    """Add to each failure the program that shows it, and what it wrote when it was run."""
    module = HERE / "rivals" / f"{library.module}.py"
    with tempfile.TemporaryDirectory() as folder:
        programs = [Path(folder) / f"{i:04}.py" for i in range(len(failures))]
        for program, cell in zip(programs, failures, strict=True):
            names = cell["calibrator"], cell["contract"]
            cell["program"] = reproduction(module, *names, library.n_classes)
            program.write_text(cell["program"], encoding="utf-8")
        command = [str(python), str(WORKER), "--reproduce", library.module, folder]
        subprocess.run(command, capture_output=True, check=True, env=_environ(library))
        for program, cell in zip(programs, failures, strict=True):
            code = int(program.with_suffix(".code").read_text(encoding="utf-8"))
            wrote = program.with_suffix(".err").read_text(encoding="utf-8")
            if code == 0:
                cell["verdict"] = "not reproduced"
            elif code < 0:
                cell["output"] = _died(code, wrote)["message"]
            else:
                cell["output"] = tidy(last_error(wrote))


def _environ(library: Library) -> dict[str, str]:
    inherited = dict(os.environ)
    if library.requires:
        # Only ours may come from a checkout.
        inherited.pop("PYTHONPATH", None)
    return inherited | _ONE_THREAD | _FIXED


def last_error(stderr: str) -> str:
    """The last exception of what a process wrote, without the frames above it."""
    lines = stderr.rpartition("Traceback (most recent call last):\n")[2].splitlines()
    start = next((i for i, line in enumerate(lines) if line and line[0] not in " \t"), 0)
    return "\n".join(lines[start:]).strip()


def tidy(text: str) -> str:
    """Without what differs from run to run and from machine to machine, and not too long."""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    text = re.sub(r"/(?:[\w.+-]+/)+", "", text)
    text = text.replace("__main__.", "")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN].rstrip()} ..."
