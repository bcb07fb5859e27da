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
    near = CliRunner().invoke(app, ["evalute"])
    assert "No such command 'evalute'. Did you mean 'evaluate'?" in near.output


def test_without_the_extra_it_says_what_to_install():
    code = "import sys; sys.modules['click'] = None\nfrom dircal.cli import main\nmain()\n"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "pip install 'dircal[cli]'" in result.stderr
    assert "Traceback" not in result.stderr


# Help and mistakes load next to nothing: whoever mistypes is told at once.
HEAVY = ("numpy", "sklearn", "scipy", "rich", "pandas", "matplotlib", "pyarrow", "torch")
CODE = """
import sys
from dircal.cli._app import app
try:
    app(sys.argv[2:])
except SystemExit:
    pass
print("loaded", *[module for module in sys.argv[1].split(",") if module in sys.modules])
"""


def loaded_by(*arguments):
    """Which of the heavy modules a command line loads, and all that it says."""
    command = [sys.executable, "-c", CODE, ",".join(HEAVY), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    head, *modules = done.stdout.splitlines()[-1].split()
    assert head == "loaded"
    return modules, done.stdout + done.stderr


def test_help_loads_next_to_nothing():
    modules, told = loaded_by("--help")
    assert all(name in told for name in SUMMARIES)
    assert "Exit codes:" in told
    assert modules == []


@pytest.mark.parametrize("command", SUMMARIES)
def test_so_does_the_help_of_every_command(command):
    modules, told = loaded_by(command, "--help")
    assert f"Example: dircal {command}" in told
    assert modules == []


P = ["p.csv", "--label", "y"]
FIT = ["fit", *P, "-o", "map.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fti"], "Did you mean 'fit'?"),
        (["fit", "p.csv", "--labl", "y"], "--label"),
        (["fit", "p.csv", "-o", "map.json"], "Missing option '--label'"),
        (["fit", "q.csv", "--label", "y", "-o", "map.json"], "Did you mean 'p.csv'?"),
        (["fit", "p.xls", "--label", "y", "-o", "map.json"], "Files of predictions end in"),
        ([*FIT, "--calibrator", "temprature"], "Did you mean 'temperature'?"),
        ([*FIT, "--option", "lam"], "'lam' must be NAME=VALUE"),
        ([*FIT, "--option", "lam=1", "--option", "lam=2"], "'lam' is given twice"),
        ([*FIT, "--scheduler", "tcp://x:1"], "--scheduler needs --engine dask"),
        ([*FIT, "--scheduler", "tcp://x:1", "--engine", "threads"], "--scheduler needs --engine"),
        (["evaluate", *P, "--scheduler", "tcp://x:1"], "--scheduler needs --engine dask"),
        (["compare", *P, "--scheduler", "tcp://x:1"], "--scheduler needs --engine dask"),
        (["report", *P, "-o", "o.html", "--scheduler", "x"], "--scheduler needs --engine dask"),
        ([*FIT, "--encoding", "utf-88"], "must be an encoding"),
        ([*FIT, "--encoding", "rot13"], "must be an encoding"),
        ([*FIT, "--encoding", "hex"], "must be an encoding"),
        ([*FIT, "--encoding", "undefined"], "must be an encoding"),
        ([*FIT, "--encoding", "\udc80"], "must be an encoding"),
        ([*FIT, "--delimiter", ";;"], "must be one character"),
        (["fit", "p.csv", "--label", "y", "-o", "p.csv"], "is the input"),
        (["fit", "p.csv", "--label", "y", "-o", "no/map.json"], "a folder that does not exist"),
        (["compare", "p.csv", "--label", "y", "--calibrators", "vectr"], "Did you mean 'vector'?"),
        (["report", "p.csv", "--label", "y", "-o", "x.docx"], "'x.html'"),
        (["apply", "mpa.json", "p.csv", "-o", "o.csv"], "No such file or directory: 'mpa.json'"),
        (
            ["evaluate", "p.csv", "--label", "y", "--fail-if", "class_wise_ece > 1"],
            "Did you mean 'classwise_ece'?",
        ),
        (["fit", "-", "--label", "y", "-o", "map.json"], "Say it: --format"),
    ],
)
def test_mistakes_are_found_before_anything_slow_is_loaded(
    tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("y,a,b\na,0.7,0.3\nb,0.2,0.8\n")
    (tmp_path / "p.xls").touch()
    modules, told = loaded_by(*arguments)
    assert message in told
    assert modules == []


@pytest.mark.parametrize(
    "options", [["--label", "Y"], ["--label", "y", "--weights", "Y"], ["--label=y", "--columns=Y"]]
)
def test_columns_are_looked_for_before_scikit_learn_is_loaded(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("y,a,b\na,0.7,0.3\nb,0.2,0.8\n")
    modules, told = loaded_by("fit", "p.csv", *options, "-o", "map.json")
    assert "no column called 'Y'. Did you mean 'y'?" in told
    assert modules == ["numpy"]
