"""The experiment on networks: files of a user, good and bad."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from experiments._shared.files import read_json
from experiments.neural.__main__ import main
from experiments.neural._calibrate import calibrate, setting_of
from experiments.neural._collect import collect
from experiments.neural._files import Cache
from experiments.neural._grids import grid_of
from experiments.neural._methods import METHODS, Fitted, Method
from experiments.neural._networks import Entry, find_networks, known, read_network
from experiments.neural._results import Results
from experiments.neural._run import _guess
from scipy.special import softmax

from dircal.exceptions import ConvergenceWarning, GridEdgeWarning


def make(n=60, k=3, seed=0):
    """Logits and labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (n, k))
    return logits, (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)


def call(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)


LOGITS, Y = make()
BAD = {
    "short": ({"logits": LOGITS, "labels": Y[:50]}, "labels of shape (50,) for 60 rows"),
    "long": ({"logits": LOGITS[:50], "labels": Y}, "labels of shape (60,) for 50 rows"),
    "nothing": ({"scores": LOGITS, "labels": Y}, "has the arrays labels, scores. Name them logits"),
    "no_labels": ({"logits": LOGITS}, "has the arrays logits. Name them"),
    "no_test": ({"val_logits": LOGITS, "val_labels": Y}, "val_labels, val_logits. Name them"),
    "mixed": (
        {"val_logits": LOGITS, "val_labels": Y, "test_probs": LOGITS, "test_labels": Y},
        "Name them",
    ),
    "from_one": ({"logits": LOGITS, "labels": Y + 1}, "is 3. Count the classes from 0 to 2"),
    "fractions": ({"logits": LOGITS, "labels": Y + 0.5}, "its label in row 0 is"),
    "lost": (
        {"logits": np.where(LOGITS.max() == LOGITS, np.nan, LOGITS), "labels": Y},
        "NaN or infinity",
    ),
    "nan_label": ({"logits": LOGITS, "labels": np.full(60, np.nan)}, "row 0 is nan"),
    "words": ({"logits": LOGITS, "labels": Y.astype(str)}, "its labels are of type"),
    "flat": ({"logits": LOGITS[:, 0], "labels": Y}, "its logits are of shape (60,)"),
    "negative": ({"probs": LOGITS, "labels": Y}, "Name the array logits"),
    "widths": (
        {"val_logits": LOGITS, "val_labels": Y, "test_logits": LOGITS[:, :2], "test_labels": Y % 2},
        "differ in the number of classes",
    ),
    "few": ({"logits": LOGITS[:8], "labels": Y[:8]}, "4 rows to fit on"),
}


class TestBadFiles:
    @pytest.mark.parametrize("name", BAD)
    def test_one_line_says_which_file_and_what(self, tmp_path, name):
        arrays, message = BAD[name]
        np.savez(tmp_path / f"{name}.npz", **arrays)
        done = call("--logits", tmp_path, "--cache", tmp_path / "cache")
        assert done.exit_code == 1
        assert done.output.startswith("Error: ")
        assert done.output.count("\n") == 1
        assert f"{name}.npz" in done.output
        assert message in done.output

    @pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 cut off"])
    def test_what_is_no_npz_is_named(self, tmp_path, content):
        (tmp_path / "broken.npz").write_bytes(content)
        with pytest.raises(ValueError, match=r"broken\.npz cannot be read as NPZ"):
            find_networks([tmp_path])

    def test_a_single_array_is_no_npz(self, tmp_path):
        with (tmp_path / "one.npz").open("wb") as file:
            np.save(file, LOGITS)
        with pytest.raises(ValueError, match=r"one\.npz cannot be read as NPZ"):
            find_networks([tmp_path])

    def test_pickles_are_checked_alike(self, tmp_path):
        path = tmp_path / "uneven.p"
        path.write_bytes(pickle.dumps([(LOGITS, Y), (LOGITS[:, :2], Y % 2)]))
        with pytest.raises(ValueError, match=r"uneven\.p cannot be used: its two parts differ"):
            read_network(path)
        path.write_bytes(pickle.dumps([(LOGITS, Y + 1)]))
        with pytest.raises(ValueError, match=r"uneven\.p.*whole numbers from 0 to 2"):
            read_network(path)

    def test_confidences_alone_are_left_out(self, tmp_path):
        np.savez(tmp_path / "top1.npz", conf=np.ones(3), pred=[0, 1, 2], labels=[0, 1, 1])
        assert find_networks([tmp_path]) == []


def test_a_file_that_was_replaced_is_read_again(tmp_path):
    path = tmp_path / "one.npz"
    np.savez(path, logits=LOGITS, labels=Y)
    assert read_network(path).has_logits
    np.savez(path, probs=softmax(LOGITS, axis=1), labels=Y)
    assert not read_network(path).has_logits


def test_a_name_of_ours_does_not_make_it_ours(tmp_path):
    name = "cifar100_vgg16_bolt"
    np.savez(tmp_path / f"{name}.npz", logits=LOGITS, labels=Y)
    (ours,) = find_networks([tmp_path])
    (theirs,) = find_networks([tmp_path], in_catalogue=False)
    assert (ours.about.source, ours.about.grid) == ("CIFAR-100 bolt", "full")
    assert (theirs.about.source, theirs.about.kind, theirs.about.grid) == (name, "network", "")


def test_names_may_be_numbers(tmp_path):
    results = Results(tmp_path)
    for name in ("1", "002"):
        results.add("networks.csv", [[name, name, 3]], ["network", "source", "n"], ["network"])
    table = results.read("networks.csv")
    assert table["network"].tolist() == table["source"].tolist() == ["002", "1"]


def test_two_files_of_one_name_are_refused(tmp_path):
    np.savez(tmp_path / "same.npz", logits=LOGITS, labels=Y)
    (tmp_path / "same.p").write_bytes(pickle.dumps((LOGITS, Y)))
    done = call("--logits", tmp_path, "--cache", tmp_path / "cache")
    assert done.exit_code == 1
    assert "are both called same" in done.output


@pytest.mark.parametrize(
    ("k", "has_logits", "full", "seconds"),
    [
        (10, True, False, 30),
        (10, False, False, 16),
        (100, True, True, 330),
        (100, True, False, 110),
        (155, True, False, 200),
        (1000, True, False, 1330),
    ],
)
def test_times_are_guessed_within_half(k, has_logits, full, seconds):
    entry = Entry("one", Path("one.npz"), k, 9, has_logits, "", known("one"))
    guess = _guess(entry, grid_of(k, full=full).name)
    assert seconds / 1.5 < guess < 1.5 * seconds


def test_complaints_of_solvers_are_counted_by_kind(tmp_path, monkeypatch):
    def fit(network, grid):
        for message in ("X did not converge in 3 iterations.", "X has no finite optimum.") * 2:
            warnings.warn(message, ConvergenceWarning, stacklevel=1)
        warnings.warn("edge", GridEdgeWarning, stacklevel=1)
        return Fitted({"Uncal": network.test.proba})

    monkeypatch.setitem(METHODS, "Uncal", Method(fit))
    np.savez(tmp_path / "one.npz", logits=LOGITS, labels=Y)
    (entry,) = find_networks([tmp_path], in_catalogue=False)
    cache, results = Cache(tmp_path / "cache"), Results(tmp_path / "results")
    calibrate(cache, entry, "Uncal", quick=True)
    collect(cache, results, entry, setting_of(entry, quick=True))
    (line,) = results.read("fits.csv").to_dict("records")
    assert (line["not_converged"], line["at_infinity"]) == (1, 1)
    told = read_json(cache.outcome("one", "Uncal"))["complaints"]
    assert told["not_converged"] == ["X did not converge in 3 iterations."]
