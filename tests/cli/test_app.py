import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dircal import __version__, calibrators
from dircal.cli._app import SUMMARIES, app


def test_demo_shows_every_calibrator_before_and_after(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["demo"], catch_exceptions=False, env={"COLUMNS": "80"})
    assert result.exit_code == 0
    # The report is where the last line says.
    page = tmp_path / "dircal-report.html"
    assert result.output.splitlines()[-1] == page.as_uri()
    assert "Gaussian naive Bayes on handwritten digits" in page.read_text(encoding="utf-8")
    for name in ["uncalibrated", *calibrators.__all__]:
        # Twice for each of three classifiers: the measures, and how sure we are of them.
        shown = name.removesuffix("Calibrator")
        assert shown == "Identity" or result.output.count(f"\n{shown} ") == 6, name
    for classifier in ("Gaussian naive Bayes", "Random forest", "Neural network"):
        assert classifier in result.output
    for column in ("uracy", "loss", "score", "conf.", "class", "MCE", "p of"):
        assert result.output.count(f"{column} ") >= 3, column
    assert "Temperature" in result.output
    # Intervals of the log-loss and of its change, and a p-value for each calibrator.
    row = (
        r"TemperatureScaling +\d\.\d{3} to \d\.\d{3} +[+-]\d\.\d{3} +[+-]\d\.\d{3} to [+-]\d\.\d{3}"
    )
    assert len(re.findall(row + r"( +(<\.001|[01]\.\d{3})){3}", result.output)) == 3
    assert "Traceback" not in result.output


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


def test_demo_saves_files_to_try(tmp_path):
    runner = CliRunner()
    result = runner.invoke(app, ["demo", "--save", str(tmp_path), "--json"])
    assert [Path(one).name for one in json.loads(result.stdout)["files"]] == [
        "calibration.csv",
        "test.csv",
    ]
    assert (tmp_path / "test.csv").read_text().startswith("digit,0,1,2,3,4,5,6,7,8,9\n")
    assert runner.invoke(app, ["demo", "--save", str(tmp_path)]).exit_code == 2
    assert runner.invoke(app, ["demo", "--save", str(tmp_path), "--force"]).exit_code == 0


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


class TestReproduce:
    def test_arguments_and_exit_code_are_handed_over(self, capfd):
        result = CliRunner().invoke(app, ["reproduce", "uci", "--datasets", "sonar"])
        assert result.exit_code == 2
        assert "sonar is not among abalone, " in capfd.readouterr().err

    def test_folders_are_those_of_the_caller(self, capfd, tmp_path, monkeypatch):
        (tmp_path / "mine").mkdir()
        # A folder of this name is not mistaken for ours.
        (tmp_path / "experiments").mkdir()
        monkeypatch.chdir(tmp_path)
        result = CliRunner().invoke(app, ["reproduce", "neural", "--logits", "mine"])
        assert result.exit_code == 1
        assert "There are no networks in mine" in capfd.readouterr().err

    def test_without_a_checkout_it_says_so(self, monkeypatch, tmp_path):
        monkeypatch.setattr("dircal.cli._reproduce._checkout", lambda: tmp_path)
        result = CliRunner().invoke(app, ["reproduce", "uci"])
        assert result.exit_code == 2
        assert "Clone the repository" in result.output

    def test_without_the_extra_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setattr("dircal.cli._reproduce.find_spec", lambda name: None)
        result = CliRunner().invoke(app, ["reproduce", "uci"])
        assert result.exit_code == 2
        assert "pip install 'dircal[experiments]'" in " ".join(result.output.split())
