"""The commands of the README and of the guide, as typed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("page", "title"),
    [("README.md", "## From a file"), ("docs/guide/command_line.md", "# The com")],
)
def test_commands_work_as_typed(tmp_path, page, title):
    section = (ROOT / page).read_text(encoding="utf-8").partition(title)[2]
    found = re.search(r"```sh\n(dircal .*?)```", section, flags=re.S)
    assert found is not None
    # The command of this interpreter, whatever else is installed.
    command = tmp_path / "bin" / "dircal"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dircal "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    folder = tmp_path / "work"
    folder.mkdir()
    done = subprocess.run(
        ["sh", "-e", "-c", found[1]],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed: classwise_ece is 0.01" in done.stdout
    assert {"calibration.csv", "test.csv", "map.json", "calibrated.csv"} <= {
        path.name for path in folder.iterdir()
    }
