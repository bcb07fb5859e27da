"""The experiment on UCI data, run by its command."""

import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from experiments.uci.__main__ import AFTER, HERE, main
from experiments.uci._calibrate import MEASURES
from experiments.uci._methods import METHODS
from experiments.uci._results import Results, rows_name
from experiments.uci._run import STAGES

ROOT = Path(__file__).parent.parent.parent
COMMITTED = HERE / "results"
BUT_FIGURES = [f"--stage={stage}" for stage in (*STAGES, *AFTER) if stage != "figures"]


def call(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)


def values(folder):
    """The rows without the seconds."""
    rows = Results(folder).all_rows()
    return rows.drop(columns=["seconds", "versions"])


@pytest.fixture(scope="module", autouse=True)
def a_corner_of_the_grid():
    """The quick run of two datasets and two classifiers: the least that has ranks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.uci.__main__.QUICK_DATASETS", ("balance-scale", "iris"))
        patch.setattr("experiments.uci.__main__.QUICK_CLASSIFIERS", ("logistic", "nbayes"))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results of the quick run, which had the rows of all but one pair already."""
    folder = tmp_path_factory.mktemp("quick")
    datasets = ("balance-scale", "iris")
    for name in ("cells.csv", *map(rows_name, datasets)):
        lines = Results(COMMITTED).read(name).query(f"repetition == 0 and dataset in {datasets}")
        had = "classifier == 'logistic' or classifier == 'nbayes' and dataset != 'iris'"
        Results(folder).write(name, lines.query(had))
    done = call("--quick", "--jobs", 1, "--results", folder, "--cache", folder / "cache")
    assert done.exit_code == 0, done.output
    assert "claims of the paper's text hold" in done.output
    assert "2 of 2 datasets done" in done.output
    assert [*folder.glob("cache/outcomes/*")] == [folder / "cache" / "outcomes" / "iris"]
    return folder


class TestQuick:
    def test_rows_are_those_of_the_grid(self, folder):
        assert len(values(folder)) == 2 * 2 * 5 * len(METHODS) * len(MEASURES)

    def test_values_agree_with_the_committed_ones(self, folder):
        """The committed rows have these cells too, made on some other day."""
        key = ["dataset", "classifier", "repetition", "fold", "method", "measure"]
        both = values(folder).merge(values(COMMITTED), on=key, suffixes=("", "_committed"))
        assert len(both) == len(values(folder))
        # Naive Bayes has no choices that a library could make differently tomorrow.
        # Bins of equal numbers of rows part rows whose scores differ in the last digit, and that
        # digit is the processor's.
        losses = both[
            (both["measure"] == "log-loss")
            & (both["classifier"] == "nbayes")
            & (both["method"] != "FreqB")
            # Committed before the clip of these two changed; `make paper-uci` renews them.
            & ~both["method"].isin(["Bayes", "Auto"])
        ]
        assert (losses["value"] - losses["value_committed"]).abs().max() < 1e-3

    def test_again_there_is_nothing_to_do(self, folder):
        before = {path: path.read_bytes() for path in folder.rglob("*.csv*")}
        again = call("--quick", "--results", folder, "--cache", folder / "cache", *BUT_FIGURES)
        assert again.exit_code == 0
        assert "datasets done" not in again.output
        assert {path: path.read_bytes() for path in folder.rglob("*.csv*")} == before

    def test_committed_rows_are_enough_to_go_on(self, folder, tmp_path, monkeypatch):
        """Without the cache, finished cells are not run again."""
        copy = tmp_path / "results"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("cache"))
        monkeypatch.setattr("experiments.uci._run.run_all", pytest.fail)
        again = call("--quick", "--results", copy, "--cache", tmp_path / "cache", *BUT_FIGURES)
        assert again.exit_code == 0

    def test_the_page_shows_both(self, folder):
        page = (folder / "page.md").read_text()
        assert "## Claims of the text" in page
        assert "4 of 231 pairs" in page
        # Of the examples of the supplement nothing was run.
        assert "figure_s8.svg" in page
        assert "figure_s3.svg" not in page
        drawn = {f"figures/{path.name}" for path in (folder / "figures").iterdir()}
        assert drawn == set(re.findall(r"figures/\w+\.svg", page))


def test_a_run_that_is_killed_goes_on(tmp_path, folder):
    arguments = ["--datasets", "iris", "--classifiers", "nbayes", "--repetitions", "1"]
    arguments += ["--stage", "predict", "--stage", "calibrate", "--stage", "collect"]
    arguments += ["--results", str(tmp_path / "results"), "--cache", str(tmp_path / "cache")]
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments.uci", "--jobs", "1", *arguments], cwd=ROOT
    )
    finished: list[Path] = []
    while len(finished) < 5:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
        finished = list(tmp_path.glob("cache/outcomes/*/*/*.json"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    times = {path: path.stat().st_mtime_ns for path in finished}
    assert call("--jobs", 1, *arguments).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in finished} == times
    whole = values(folder).query("dataset == 'iris' and classifier == 'nbayes'")
    pd.testing.assert_frame_equal(values(tmp_path / "results"), whole.reset_index(drop=True))


class TestBadInput:
    def test_unknown_names_are_refused(self):
        done = call("--datasets", "iris,sonar")
        assert done.exit_code == 2
        assert "sonar is not among abalone" in done.output

    def test_missing_data_are_named(self, tmp_path, monkeypatch):
        monkeypatch.setenv("DIRCAL_DATA", str(tmp_path))
        done = call("--datasets", "yeast", "--jobs", 1, "--results", tmp_path, "--cache", tmp_path)
        assert done.exit_code == 1
        assert "Set DIRCAL_DATA" in done.output

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["--backend", "carrier-pigeon"], "Invalid backend: carrier-pigeon"),
            (["--jobs", "0"], "0 is not in the range"),
        ],
    )
    def test_workers_that_cannot_be(self, tmp_path, arguments, told):
        done = call("--quick", "--results", tmp_path, "--cache", tmp_path, *arguments)
        assert done.exit_code == 2
        assert told in done.output

    def test_too_little_to_rank(self, tmp_path):
        done = call("--stage", "tables", "--results", tmp_path)
        assert done.exit_code == 1
        assert "nothing to rank. Run more of them." in " ".join(done.output.split())

    def test_a_folder_that_cannot_be_written(self, tmp_path, folder):
        (tmp_path / "file").write_text("")
        arguments = ["--jobs", 1, "--results", tmp_path / "file", "--cache", folder / "cache"]
        done = call("--datasets", "iris", "--classifiers", "nbayes", "--repetitions", 1, *arguments)
        assert done.exit_code == 1
        assert "file" in done.output
        assert "Traceback" not in done.output
