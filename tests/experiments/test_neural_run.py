"""The experiment on networks, run by its command on files that are made here."""

import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from experiments._shared.measures import MEASURES
from experiments.neural.__main__ import main
from experiments.neural._results import Results
from scipy.special import softmax

ROOT = Path(__file__).parent.parent.parent
WITH_LOGITS, WITHOUT = 11, 7
"""How many methods a file with logits has, and one without."""


def make_logits(seed, n, k=3):
    """Logits of a network that is too sure of itself and mistakes class 1 for class 0."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1.5, (n, k))
    y = np.array([rng.choice(k, p=p) for p in softmax(truth, axis=1)])
    logits = 2.0 * truth
    logits[:, 0] += 0.5 * np.maximum(truth[:, 1], 0)
    return logits.astype(np.float32), y


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """An NPZ with logits and a split, a pickle of one pair, and probabilities without a split."""
    folder = tmp_path_factory.mktemp("networks")
    fit, test = make_logits(0, 200), make_logits(1, 300)
    np.savez(
        folder / "split.npz",
        val_logits=fit[0],
        val_labels=fit[1],
        test_logits=test[0],
        test_labels=test[1],
    )
    (folder / "pickled.p").write_bytes(pickle.dumps(make_logits(2, 400)))
    logits, y = make_logits(3, 300)
    np.savez(folder / "probabilities.npz", probs=softmax(logits, axis=1), labels=y)
    np.savez(folder / "top1_of_some.npz", conf=np.ones(3), pred=[0, 1, 2], labels=[0, 1, 1])
    return folder


def call(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(networks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    done = call(
        "--logits",
        networks,
        "--quick",
        "--jobs",
        1,
        "--results",
        folder,
        "--cache",
        folder / "cache",
    )
    assert done.exit_code == 0, done.output
    assert "3 of 3 networks done" in done.output
    assert "claims of the paper's text hold" in done.output
    return folder


class TestQuick:
    def test_every_method_has_every_measure_once(self, folder):
        rows = Results(folder).read("rows.csv")
        assert not rows.duplicated(["network", "method", "measure"]).any()
        counts = rows.groupby("network")["method"].nunique()
        assert counts.to_dict() == {
            "split": WITH_LOGITS,
            "pickled": WITH_LOGITS,
            "probabilities": WITHOUT,
        }
        assert len(rows) == counts.sum() * len(MEASURES)
        assert rows["value"].notna().all()

    def test_methods_that_need_logits_are_ranked_where_there_are_any(self, folder):
        ranks = pd.read_csv(folder / "tables" / "ranks.csv")
        n = ranks.groupby("family")["n"].first()
        assert n["paper"] == 2
        assert n["general"] == 3

    def test_comparisons_with_temperature_scaling_have_intervals(self, folder):
        table = Results(folder).read("differences.csv")
        own = table[(table["network"] == "split") & (table["method"] == "Dir-ODIR")]
        assert (own["low"] <= own["difference"]).all()
        assert (own["difference"] <= own["high"]).all()

    def test_again_there_is_nothing_to_do(self, folder, networks):
        before = {path: path.read_bytes() for path in folder.rglob("*.csv")}
        again = call(
            "--logits", networks, "--quick", "--results", folder, "--cache", folder / "cache"
        )
        assert again.exit_code == 0
        assert "networks done" not in again.output
        assert {path: path.read_bytes() for path in folder.rglob("*.csv")} == before

    def test_rows_are_enough_to_go_on(self, folder, networks, tmp_path, monkeypatch):
        copy = tmp_path / "results"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("cache"))
        monkeypatch.setattr("experiments.neural._run.run_all", pytest.fail)
        again = call(
            "--logits", networks, "--quick", "--results", copy, "--cache", tmp_path / "cache"
        )
        assert again.exit_code == 0

    def test_the_page_has_all_parts(self, folder):
        page = (folder / "page.md").read_text()
        for title in ("Average ranks", "Claims of the text", "Chosen strengths", "Time"):
            assert f"## {title}" in page
        assert "| split |" in page


def test_a_run_that_is_killed_goes_on(networks, tmp_path):
    command = [sys.executable, "-m", "experiments.neural", "--logits", str(networks), "--quick"]
    command += ["--networks", "split", "--jobs", "1", "--stage", "calibrate", "--stage", "collect"]
    command += ["--results", str(tmp_path / "results"), "--cache", str(tmp_path / "cache")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    outcomes = tmp_path / "cache" / "outcomes" / "split"
    limit = time.monotonic() + 120
    while not (outcomes / "TempS.json").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = (outcomes / "TempS.json").read_bytes()
    assert not Results(tmp_path / "results").done()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    assert (outcomes / "TempS.json").read_bytes() == kept
    assert len(Results(tmp_path / "results").done()) == WITH_LOGITS


def test_unknown_names_are_refused(networks):
    done = call("--logits", networks, "--networks", "nobody")
    assert done.exit_code == 2
    assert "nobody is not among" in done.output


def test_a_folder_without_networks_is_named(tmp_path):
    done = call("--logits", tmp_path)
    assert done.exit_code == 1
    assert "no networks in" in done.output
