import json
from types import SimpleNamespace

import numpy as np
import pytest

import dircal


class StandIn:
    """What the command needs of `dircal.Report`."""

    def __init__(self, arguments):
        self.arguments = arguments

    @classmethod
    def from_predictions(cls, table, **options):
        cls.last = {"table": table, **options}
        return cls(cls.last)

    @property
    def summary(self):
        n_rows = len(self.arguments["table"].loaded.scores)
        return SimpleNamespace(data=SimpleNamespace(n_rows=n_rows))

    def to_html(self, path):
        path.write_text("<!doctype html>")

    def to_pdf(self, path):
        path.write_bytes(b"%PDF")


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(dircal, "Report", StandIn, raising=False)
    return StandIn


def test_arguments_are_handed_over(run, write_csv, stand_in, animals, tmp_path):
    write_csv()
    run(
        *("report", "p.csv", "--label", "y", "--calibrators", "temperature", "--folds", "3"),
        *("--resamples", "200", "--seed", "5", "--title", "Animals", "-o", "r.html"),
    )
    last = stand_in.last
    rows = last["table"].loaded
    np.testing.assert_array_equal(rows.scores, animals[0])
    np.testing.assert_array_equal(rows.labels, animals[1])
    assert list(last["calibrators"]) == ["temperature"]
    assert last["table"].found.classes.tolist() == ["ant", "bee", "cow"]
    assert (last["cv"], last["n_resamples"], last["random_state"]) == (3, 200, 5)
    assert (last["title"], last["source"], last["input_scale"]) == (
        "Animals",
        "p.csv",
        "probability",
    )
    assert (tmp_path / "r.html").exists()
    run("report", "p.csv", "--label", "y", "-o", "r.html", code=2)
    found = run("report", "p.csv", "--label", "y", "-o", "r.html", "--force", "--json").stdout
    assert json.loads(found) == {"output": "r.html", "rows": 300}
    assert stand_in.last["calibrators"] is None


@pytest.mark.skipif(not hasattr(dircal, "Report"), reason="there is no report yet")
def test_the_page_is_written(run, write_csv, tmp_path):
    write_csv()
    common = ["p.csv", "--label", "y", "--calibrators", "temperature", "--resamples", "100"]
    run("report", *common, "-o", "r.html")
    assert "</html>" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("name", ["x.txt", "x.HTM.docx"])
def test_a_page_is_html_or_pdf(run, write_csv, tmp_path, name):
    write_csv()
    told = run("report", "p.csv", "--label", "y", "-o", name, code=2).stderr
    assert "the report is written as HTML" in told
    assert f"Name it '{name.rpartition('.')[0]}.html'" in told
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("options", [["-o", "r.pdf"], ["-o", "r", "--format", "pdf"]])
def test_a_page_can_be_a_pdf(run, write_csv, stand_in, tmp_path, monkeypatch, options):
    write_csv()
    monkeypatch.setattr("dircal.report.find_browser", lambda: "browser")
    run("report", "p.csv", "--label", "y", *options)
    assert (tmp_path / options[1]).read_bytes() == b"%PDF"


def test_a_file_is_not_called_what_it_is_not(run, write_csv):
    write_csv()
    told = run("report", "p.csv", "--label", "y", "-o", "r.html", "--format", "pdf", code=2).stderr
    assert "Name it 'r.pdf'" in told
    told = run("report", "p.csv", "--label", "y", "-o", "r.pdf", "--format", "html", code=2).stderr
    assert "Name it 'r.html'" in told


def test_a_missing_browser_is_told_before_the_work(run, write_csv, stand_in, monkeypatch):
    write_csv()
    monkeypatch.setattr("shutil.which", lambda name: None)
    stand_in.last = None
    told = run("report", "p.csv", "--label", "y", "-o", "r.pdf", code=2).stderr
    assert "needs a browser: none of chromium" in told
    assert stand_in.last is None


def test_a_page_about_many_files(run, lake, write_csv, tmp_path):
    write_csv()
    common = ["--label", "y", "--calibrators", "temperature", "--resamples", "100", "--folds", "2"]
    common += ["--engine", "threads"]
    found = run("report", "lake", *common, "-o", "r.html", "--json").stdout
    assert json.loads(found) == {"output": "r.html", "rows": 300}
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "2 folds, dealt by the numbers of the rows" in page
    assert "table = scan(..., label=&#39;y&#39;), the rows with the fingerprint" in page
    told = run("report", "lake/*.csv", *common[:-2], "-o", "n.html", code=2).stderr
    assert "contains no files of predictions" in told
    told = run("report", "lake", *common, "--old", "p.csv", "-o", "n.html", code=2).stderr
    assert "`y_old` needs all rows in memory, but the table is read in parts" in told


def test_old_rows_and_costs_are_handed_over(run, write_csv, stand_in, animals, tmp_path):
    proba, y = animals
    write_csv()
    # No cow has come yet, and the columns are in another order.
    few = y != "cow"
    write_csv(
        "old.csv", columns=["cow", "ant", "bee"], scores=proba[few][:, [2, 0, 1]], labels=y[few]
    )
    (tmp_path / "costs.csv").write_text("class,keep,sell\nant,0,3\nbee,1,0\ncow,0,5\n")
    run(
        *("report", "p.csv", "--label", "y", "--old", "old.csv", "--costs", "costs.csv"),
        *("--ask", "0.5", "-o", "r.html"),
    )
    last = stand_in.last
    np.testing.assert_array_equal(last["y_old"], y[few])
    np.testing.assert_array_equal(last["prob_old"], proba[few])
    assert last["costs"].actions == ("keep", "sell", "ask")
    assert last["costs"].matrix.tolist() == [[0, 3, 0.5], [1, 0, 0.5], [0, 5, 0.5]]
    assert last["table"].found.classes.tolist() == ["ant", "bee", "cow"]


def test_without_them_there_are_none(run, write_csv, stand_in):
    write_csv()
    run("report", "p.csv", "--label", "y", "-o", "r.html")
    assert [stand_in.last[name] for name in ("y_old", "prob_old", "costs")] == [None] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--old", "nowhere.csv"], "No such file or directory: 'nowhere.csv'"),
        (["--old", "bare.csv"], "no column called 'y'"),
        (["--ask", "1"], "--ask belongs to --costs"),
        (["--costs", "costs.csv"], "lacks the class 'cow'"),
        (["--old", "p.csv", "-o", "costs.csv"], "the report is written as HTML"),
    ],
)
def test_bad_old_rows_and_costs(run, write_csv, stand_in, tmp_path, options, message):
    write_csv()
    (tmp_path / "bare.csv").write_text("ant,bee,cow\n1,0,0\n")
    (tmp_path / "costs.csv").write_text("class,keep,sell\nant,0,3\nbee,1,0\n")
    found = run("report", "p.csv", "--label", "y", "-o", "r.html", *options, code=2)
    assert message in found.stderr
    assert not (tmp_path / "r.html").exists()
