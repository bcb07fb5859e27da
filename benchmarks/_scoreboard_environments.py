"""Environments of the scoreboard: one for each library, made once and kept in a cache."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from rivals import Library

__all__ = ["CACHE", "InstallationError", "environment"]

CACHE = Path(__file__).parents[1] / ".venv-scoreboard"
# The contracts need these, whatever the library brings along.
BESIDE = ("scikit-learn", "pandas")
# A plain torch brings gigabytes of libraries for GPUs; this one need not.
CONSTRAINTS = "torch==2.13.0\n"
INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")


class InstallationError(Exception):
    """A library cannot be had here; the text says why."""


def environment(library: Library, cache: Path = CACHE) -> Path:
    """The interpreter of a library's environment, which is made if it is not there.

    Parameters
    ----------
    library : Library
        What to install.
    cache : Path
        The folder of all environments.

    Returns
    -------
    Path
        The interpreter; that of this process for a library that needs nothing.
    """
    if not library.requires:
        return Path(sys.executable)
    folder, wanted = cache / library.name, "\n".join((*library.requires, *BESIDE))
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    installed = folder / "installed.txt"
    if installed.exists() and installed.read_text(encoding="utf-8") == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    constraints = folder / "constraints.txt"
    constraints.write_text(CONSTRAINTS, encoding="utf-8")
    _run(_interpreter(library.python), "-m", "venv", str(folder))
    _run(str(python), *INSTALL, "--constraint", str(constraints), *library.requires, *BESIDE)
    installed.write_text(wanted, encoding="utf-8")
    return python


def _interpreter(version: str | None) -> str:
    """A Python of this version; that of this process will do for any."""
    if version is None or version == ".".join(map(str, sys.version_info[:2])):
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [shutil.which(f"python{version}"), *pyenv.glob(f"versions/{version}.*/bin/python")]
    for python in found:
        # What pyenv puts on the path may only say that another version is active.
        if python is not None and _run_quietly(str(python), "--version").returncode == 0:
            return str(python)
    raise InstallationError(f"it needs Python {version}, which is not installed here")


def _run(*command: str) -> None:
    done = _run_quietly(*command)
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        raise InstallationError((told or done.stderr.splitlines() or ["no reason given"])[-1])


def _run_quietly(*command: str) -> subprocess.CompletedProcess[str]:
    # Another interpreter than that of this process shall not see its packages.
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=inherited)
