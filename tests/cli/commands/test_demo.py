"""The demonstration: three classifiers, and files to try."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

from click.testing import CliRunner

from dircal import calibrators


def test_demo_shows_what_the_default_changes(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["demo"], catch_exceptions=False, env={"COLUMNS": "80"})
    assert result.exit_code == 0
    lines = [line.strip() for line in result.output.splitlines()]
    assert len(lines) <= 40
    page = tmp_path / "dircal-report.html"
    assert lines[-1] == page.as_uri()
    assert "AutoCalibrator" in page.read_text(encoding="utf-8")
    number = r"(\d+\.\d)%"
    row = rf"confidence {number} +accuracy {number} +log-loss (\d\.\d{{3}})$"
    for i in [i for i, line in enumerate(lines) if line.startswith("before")]:
        before, after = (re.search(row, lines[i + j]).groups() for j in (0, 1))
        gaps = [abs(float(one[0]) - float(one[1])) for one in (before, after)]
        assert gaps[1] < gaps[0]
        assert float(after[2]) < float(before[2])
        assert "confident: the best-fitting temperature is" in lines[i + 2]
    assert sum(line.startswith("after") for line in lines) == 3


def test_demo_shows_every_calibrator_in_details(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = ["demo", "--details"]
    result = CliRunner().invoke(app, call, catch_exceptions=False, env={"COLUMNS": "80"})
    assert result.exit_code == 0
    # The report is where the last line says.
    page = tmp_path / "dircal-report.html"
    assert result.output.splitlines()[-1] == page.as_uri()
    assert "Gaussian naive Bayes on handwritten digits" in page.read_text(encoding="utf-8")
    for name in ["uncalibrated", "AutoCalibrator", *calibrators.__all__]:
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
    assert len(re.findall(row + r"( +[01](\.\d+)?(e-\d+)?){3}\n", result.output)) == 3
    assert "Traceback" not in result.output


def test_demo_does_not_overwrite_a_page(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "dircal.cli._demo.run_classifiers", lambda **_: iter([SimpleNamespace(name="X")])
    )
    monkeypatch.setattr("dircal.cli._demo_text.show_classifier", lambda *_: None)
    (tmp_path / "dircal-report.html").write_text("precious")
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0
    assert "dircal-report.html is there already and stays as it is" in result.output
    assert "--force" in result.output
    assert (tmp_path / "dircal-report.html").read_text() == "precious"


def test_demo_saves_files_to_try(app, tmp_path):
    runner = CliRunner()
    result = runner.invoke(app, ["demo", "--save", str(tmp_path), "--json"])
    assert [Path(one).name for one in json.loads(result.stdout)["files"]] == [
        "calibration.csv",
        "test.csv",
    ]
    assert (tmp_path / "test.csv").read_text().startswith("digit,0,1,2,3,4,5,6,7,8,9\n")
    assert runner.invoke(app, ["demo", "--save", str(tmp_path)]).exit_code == 2
    assert runner.invoke(app, ["demo", "--save", str(tmp_path), "--force"]).exit_code == 0
