"""Environments of the scoreboard; none is made here."""

import subprocess
import sys
from pathlib import Path

import _scoreboard_environments
import pytest
from _scoreboard_environments import InstallationError, environment
from rivals import LIBRARIES, OURS, Library

SOME = Library("some", "some", ("some>=1", "thing"))


@pytest.fixture
def commands(monkeypatch):
    """Commands that would be run; `fails` says which ends how."""
    ran, fails = [], {}

    def stand_in(command, **_):
        ran.append(command)
        told = next((text for word, text in fails.items() if word in command), None)
        return subprocess.CompletedProcess(command, 1 if told else 0, "", told or "")

    monkeypatch.setattr(_scoreboard_environments.subprocess, "run", stand_in)
    return ran, fails


def test_ours_run_in_this_environment(commands, tmp_path):
    assert environment(OURS, tmp_path) == Path(sys.executable)
    assert not commands[0]


def test_an_environment_is_made_once(commands, tmp_path):
    ran, _ = commands
    python = environment(SOME, tmp_path)
    assert python.is_relative_to(tmp_path / "some")
    assert [command[1:3] for command in ran] == [("-m", "venv"), ("-m", "pip")]
    assert ran[1][-4:] == ("some>=1", "thing", "scikit-learn", "pandas")
    assert environment(SOME, tmp_path) == python
    assert len(ran) == 2
    other = Library("some", "some", ("some>=2",))
    environment(other, tmp_path)
    assert len(ran) == 4


def test_torch_is_the_one_without_libraries_of_gpus(commands, tmp_path):
    environment(SOME, tmp_path)
    command = commands[0][1]
    constraints = Path(command[command.index("--constraint") + 1])
    assert constraints.read_text() == "torch==2.13.0\n"


def test_what_cannot_be_installed_says_why_and_is_tried_again(commands, tmp_path):
    ran, fails = commands
    fails["pip"] = "Looking ...\nERROR: No matching distribution found for thing\nnote: bye\n"
    for _ in range(2):
        with pytest.raises(InstallationError, match=r"^ERROR: No matching distribution"):
            environment(SOME, tmp_path)
    assert len(ran) == 4


def test_a_python_that_is_not_there_is_named(commands, tmp_path, monkeypatch):
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setattr(_scoreboard_environments.shutil, "which", lambda name: None)
    old = Library("old", "old", ("old",), python="3.2")
    with pytest.raises(InstallationError, match=r"it needs Python 3\.2, which is not installed"):
        environment(old, tmp_path)


def test_every_library_has_its_module():
    rivals = Path(_scoreboard_environments.__file__).parent / "rivals"
    modules = {path.stem for path in rivals.glob("*.py")} - {"__init__"}
    assert {library.module for library in LIBRARIES} == modules
