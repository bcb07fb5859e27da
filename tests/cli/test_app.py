import subprocess
import sys

import pytest
from click.testing import CliRunner

from dircal import __version__
from dircal.cli._app import SUMMARIES, app


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_has_help_with_an_example(name):
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert f"Example: dircal {name}" in result.output
    # What `dircal --help` says without loading the command is what the command says.
    assert SUMMARIES[name] in " ".join(result.output.split())
    for option in ("--json", "--debug"):
        assert (option in result.output) == (name != "reproduce")


def test_help_loads_next_to_nothing():
    code = (
        "import sys; from dircal.cli._app import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "print('loaded', *[m for m in sys.argv[1:] if m in sys.modules])"
    )
    heavy = ("numpy", "sklearn", "scipy", "rich", "pandas", "matplotlib", "pyarrow", "torch")
    command = [sys.executable, "-c", code, *heavy]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in SUMMARIES)
    assert "Exit codes:" in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded"


def test_python_m_dircal_is_dircal():
    command = [sys.executable, "-m", "dircal", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert __version__ in done.stdout


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert __version__ in result.output


def test_unknown_commands_are_refused():
    result = CliRunner().invoke(app, ["calibrate"])
    assert result.exit_code == 2
    assert "No such command 'calibrate'" in result.output


def test_without_the_extra_it_says_what_to_install():
    code = "import sys; sys.modules['click'] = None\nfrom dircal.cli import main\nmain()\n"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "pip install 'dircal[cli]'" in result.stderr
    assert "Traceback" not in result.stderr
