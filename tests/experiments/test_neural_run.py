"""The experiment on networks, run by its command on files that are made here."""

import pickle
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from experiments._shared.measures import MEASURES
from experiments.neural.__main__ import _short, main
from experiments.neural._calibrate import DRAWS, QUICK_DRAWS, setting_of
from experiments.neural._networks import find_networks
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

    def test_fits_say_whether_they_converged(self, folder):
        fits = Results(folder).read("fits.csv")
        assert fits["not_converged"].tolist() == [0] * len(fits)
        assert fits["at_infinity"].between(0, 1).all()

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
            *("--logits", networks, "--quick", "--results", copy, "--cache", tmp_path / "cache"),
            *("--stage", "calibrate", "--stage", "collect"),
        )
        assert again.exit_code == 0
        assert Results(copy).done() == Results(folder).done() != set()

    def test_the_page_has_all_parts(self, folder):
        page = (folder / "page.md").read_text()
        for title in ("Average ranks", "Claims of the text", "Chosen strengths", "Time"):
            assert f"## {title}" in page
        assert "| split |" in page


def test_a_run_that_is_killed_goes_on(networks, tmp_path):
    arguments = ["--logits", str(networks), "--quick", "--networks", "split", "--jobs", "1"]
    arguments += ["--stage", "calibrate", "--stage", "collect"]
    arguments += ["--results", str(tmp_path / "results"), "--cache", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "experiments.neural", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    outcomes = tmp_path / "cache" / "outcomes" / "split"
    limit = time.monotonic() + 1200
    while not (outcomes / "TempS.json").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = (outcomes / "TempS.json").read_bytes()
    assert not Results(tmp_path / "results").done()
    assert call(*arguments).exit_code == 0
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


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Results of one file, of probabilities alone, that is called like one of ours."""
    folder = tmp_path_factory.mktemp("alone")
    logits, y = make_logits(4, 300)
    np.savez(folder / "c10_lenet5.npz", probs=softmax(logits, axis=1), labels=y)
    results = folder / "results"
    done = call(
        *("--logits", folder, "--quick", "--jobs", 1),
        *("--results", results, "--cache", folder / "cache"),
    )
    assert done.exit_code == 0, done.output
    return results


class TestOneNetwork:
    """A file alone gives everything but ranks, whatever it is called."""

    def test_tables_and_page_come_out(self, alone):
        scores = pd.read_csv(alone / "tables" / "scores.csv")
        assert set(scores["network"]) == {"c10_lenet5"}
        assert (alone / "compare" / "printed.csv").exists()
        assert not Results(alone).read("tables/ranks.csv").size
        assert "Too few networks have been run." in (alone / "page.md").read_text()

    def test_it_is_none_of_ours(self, alone):
        assert Results(alone).read("networks.csv")["source"].tolist() == ["c10_lenet5"]
        assert "Not run yet: " not in (alone / "page.md").read_text()
        assert not list(alone.glob("figures/*"))


class TestStaleResults:
    def test_a_file_that_was_replaced_is_run_again(self, tmp_path):
        logits, y = make_logits(5, 200)
        others = ("--quick", "--jobs", 1, "--results", tmp_path / "results")
        others = (*others, "--cache", tmp_path / "cache", "--stage", "calibrate")
        (tmp_path / "given").mkdir()
        path = tmp_path / "given" / "one.npz"
        np.savez(path, logits=logits, labels=y)
        assert call("--logits", path.parent, *others, "--stage", "collect").exit_code == 0
        before = Results(tmp_path / "results").read("rows.csv")
        np.savez(path, probs=softmax(logits / 3, axis=1), labels=y)
        assert call("--logits", path.parent, *others, "--stage", "collect").exit_code == 0
        results = Results(tmp_path / "results")
        assert len(results.done()) == WITHOUT
        rows = results.read("rows.csv")
        assert rows["method"].nunique() == WITHOUT
        losses = [
            table.set_index(["method", "measure"])["value"][("Uncal", "log-loss")]
            for table in (before, rows)
        ]
        assert losses[0] != losses[1]
        assert set(results.read("fits.csv")["draws"]) == {QUICK_DRAWS}

    def test_a_quick_run_does_not_count_as_a_whole_one(self, folder, networks):
        results = Results(folder)
        found = find_networks([networks], in_catalogue=False)
        quick, whole = ({one.name: setting_of(one, q) for one in found} for q in (True, False))
        assert results.done(quick) == results.done() != set()
        assert results.done(whole) == set()
        draws = {name: replace(one, draws=DRAWS) for name, one in quick.items()}
        assert results.done(draws) == set()
        # What is not at hand cannot be compared: committed rows stand.
        assert results.done({}) == results.done()

    def test_rows_that_do_not_tell_their_draws_stand(self, folder, networks, tmp_path):
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
        results = Results(tmp_path)
        results.write("fits.csv", results.read("fits.csv").drop(columns="draws"))
        found = find_networks([networks], in_catalogue=False)
        assert results.done({one.name: setting_of(one, True) for one in found}) == results.done()

    def test_folders_of_one_name_keep_apart(self, tmp_path):
        names = {_short(tmp_path / parent / "logits") for parent in ("a", "b")}
        assert len(names) == 2
