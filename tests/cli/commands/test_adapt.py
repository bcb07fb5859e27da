"""``dircal adapt``."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dircal
from dircal import GenerativeParameters
from dircal.shift import PriorShift

ANIMALS = np.array(["ant", "bee", "cow"])
ALPHA = np.ones((3, 3)) + 1.5 * np.eye(3)


@pytest.fixture
def shifted(run, write_csv):
    """A map of balanced animals, and a file of mostly cows without a label."""
    q, y = GenerativeParameters(ALPHA, [0.34, 0.33, 0.33]).sample(2000, 0)
    write_csv("old.csv", scores=q, labels=ANIMALS[y])
    run("fit", "old.csv", "--label", "y", "--calibrator", "vector", "-o", "map.json")
    q, y = GenerativeParameters(ALPHA, [0.1, 0.1, 0.8]).sample(2000, 1)
    write_csv("new.csv", scores=q, labels=np.full(len(q), ""))
    return q


def test_frequencies_are_found_in_new_rows(run, shifted):
    result = run("adapt", "map.json", "new.csv", "-o", "adapted.json")
    assert "cow: frequency 0.33" in result.output
    assert "Old and new frequencies differ" in result.output
    adapted = dircal.load("adapted.json")
    expected = PriorShift(dircal.load("map.json")).adapt(shifted)
    assert_allclose(adapted.priors_, expected.priors_, rtol=1e-6)
    run("apply", "adapted.json", "new.csv", "-o", "calibrated.csv")
    assert "cow" in run("explain", "adapted.json").output
    run("export", "adapted.json", "--to", "python", "-o", "map.py")


def test_frequencies_are_given(run, shifted):
    priors = "ant=0.1,bee=0.1,cow=0.8"
    result = run("adapt", "map.json", "--priors", priors, "-o", "adapted.json", "--json")
    document = json.loads(result.stdout)
    assert document["priors"] == [0.1, 0.1, 0.8]
    assert document["rows"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name PREDICTIONS to find the new frequencies in"),
        (["--priors", "ant=0.5,bee"], "--priors: 'bee' is no frequency"),
        (["--priors", "ant=0.5,ant=0.1,bee=0.4,cow=0.5"], "--priors: 'ant' is named twice"),
        (["--priors", "ant=0.5\nbee=0.5"], "is not a list with commas"),
        (["new.csv", "--old-priors", "ant=1,ant=1"], "--old-priors: 'ant' is named twice"),
        (["--priors", "ant=0.5,bee=0.5"], "`priors` lacks the label 'cow'"),
        (["--priors", "ant=0.5,bee=0.3,cow=0.3"], "`priors` must sum to one"),
        (["--priors", "ant=0.5,bee=0.3,emu=0.2"], "names the label 'emu'"),
        (["none.csv"], "none.csv"),
        (
            ["--priors", "ant=0.5,bee=0.3,cow=0.2", "--old", "old.csv", "--label", "y"],
            "--old needs PREDICTIONS",
        ),
        (
            ["--priors", "ant=0.5,bee=0.3,cow=0.2", "--columns", "ant,bee,cow"],
            "--columns needs PREDICTIONS",
        ),
    ],
)
def test_bad_input(run, shifted, arguments, message):
    result = run("adapt", "map.json", *arguments, "-o", "adapted.json", code=2)
    assert message in result.stderr


def test_frequencies_are_given_and_old_rows_are_compared(run, shifted):
    call = ("adapt", "map.json", "new.csv", "--priors", "ant=0.1,bee=0.1,cow=0.8", "--json")
    of_fit = json.loads(run(*call, "-o", "a.json").stdout)["assumption_pvalue"]
    document = json.loads(run(*call, "--old", "old.csv", "--label", "y", "-o", "b.json").stdout)
    assert document["priors"] == [0.1, 0.1, 0.8]
    assert document["assumption_pvalue"] == pytest.approx(of_fit)


def test_old_rows_tell_whether_more_has_changed(run, shifted, write_csv):
    call = ("adapt", "map.json", "new.csv", "--old", "old.csv", "--label", "y", "--force")
    told = run(*call, "-o", "adapted.json").output
    assert "The new rows look like a mixture of the old classes" in told
    write_csv(
        "new.csv",
        scores=shifted**4 / (shifted**4).sum(axis=1, keepdims=True),
        labels=np.full(len(shifted), ""),
    )
    document = json.loads(run(*call, "-o", "adapted.json", "--json").stdout)
    assert document["assumption_pvalue"] < 0.01
    assert "they should not be trusted" in document["sentences"][-1]
    # Without --force nothing is written, with the rows of the fit as well as with those of --old.
    for arguments in (call[:3], call[:-1]):
        result = run(*arguments, "-o", "other.json", "--json", code=1)
        assert json.loads(result.stdout)["output"] is None
        assert not Path("other.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--old", "old.csv"], "--old and --label belong together"),
        (["--label", "y"], "--old and --label belong together"),
        (["--old", "none.csv", "--label", "y"], "none.csv"),
        (["--old", "old.csv", "--label", "z"], "no column called 'z'"),
        (["--old", "old.csv", "--label", "id"], "holds the label '0', which is none of"),
        (["--old", "adapted.json", "--label", "y"], "adapted.json"),
    ],
)
def test_bad_old_rows(run, shifted, options, message):
    told = run("adapt", "map.json", "new.csv", *options, "-o", "adapted.json", code=2).stderr
    assert message in told
