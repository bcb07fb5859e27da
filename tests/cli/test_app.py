import json
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


# Help and mistakes load next to nothing: users who mistype see it at once.
HEAVY = ("numpy", "sklearn", "scipy", "rich", "pandas", "matplotlib", "pyarrow", "torch")
# All command lines in one process: to start one takes longer than they do.
CODE = """
import contextlib, io, json, sys
from dircal.cli._app import app
heavy, lines = json.load(sys.stdin)
for line in lines:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        with contextlib.suppress(SystemExit):
            app(line)
    print(json.dumps([[name for name in heavy if name in sys.modules], output.getvalue()]))
"""


def loaded_by(lines):
    """For each command line, the heavy modules that are loaded after it, and its output."""
    content = json.dumps([HEAVY, lines])
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, input=content, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(lines)
    return found


def test_help_loads_next_to_nothing():
    first, *others = loaded_by([["--help"], *([name, "--help"] for name in SUMMARIES)])
    assert all(name in first[1] for name in SUMMARIES)
    assert "Exit codes:" in first[1]
    for name, (_, output) in zip(SUMMARIES, others, strict=True):
        assert f"Example: dircal {name}" in output
    assert [modules for modules, _ in (first, *others)] == [[]] * (1 + len(SUMMARIES))


P = ["p.csv", "--label", "y"]
FIT = ["fit", *P, "-o", "map.json"]


MISTAKES = [
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
]


@pytest.fixture
def predictions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("y,a,b\na,0.7,0.3\nb,0.2,0.8\n")
    (tmp_path / "p.xls").touch()


def test_mistakes_are_found_before_anything_slow_is_loaded(predictions):
    found = loaded_by([arguments for arguments, _ in MISTAKES])
    for (arguments, message), (modules, output) in zip(MISTAKES, found, strict=True):
        assert message in output, arguments
        assert modules == [], arguments


def test_columns_are_looked_for_before_scikit_learn_is_loaded(predictions):
    wrong = [["--label", "Y"], ["--label", "y", "--weights", "Y"], ["--label=y", "--columns=Y"]]
    for modules, output in loaded_by([["fit", "p.csv", *each, "-o", "m.json"] for each in wrong]):
        assert "no column called 'Y'. Did you mean 'y'?" in output
        assert modules == ["numpy"]
