"""``dircal monitor``."""

import json

import numpy as np
import pytest

from dircal.shift import CalibrationMonitor

ANIMALS = np.array(["ant", "bee", "cow"])


def drifting(n=1000, slope=2.5):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 2 * n)
    y = (p.cumsum(axis=1) > rng.random((2 * n, 1))).argmax(axis=1)
    p[n:] = p[n:] ** slope / (p[n:] ** slope).sum(axis=1, keepdims=True)
    return p, ANIMALS[y]


@pytest.fixture
def stream(write_csv):
    """Writes the first rows of a drifting stream."""
    scores, labels = drifting()

    def write(n_rows, name="stream.csv"):
        return write_csv(name, scores=scores[:n_rows], labels=labels[:n_rows])

    return write


def test_an_alarm_is_told_and_exits_with_one(run, stream):
    stream(2000)
    result = run("monitor", "stream.csv", "--label", "y", "--time", "id", code=1)
    assert "Alarm at row 1," in result.output
    assert "Predictions are too sure" in result.output
    assert "▁" in result.output
    document = json.loads(run("monitor", "stream.csv", "--label", "y", "--json", code=1).stdout)
    assert document["alarm"]
    assert document["alarms"][0]["row"] > 1000


def test_a_growing_file_is_read_on_from_where_it_was(run, stream):
    stream(900)
    call = ("monitor", "stream.csv", "--label", "y", "--state", "s.json", "--batch", 300)
    assert "900 new rows, 900 in all" in run(*call).output
    assert "No alarm" in run(*call).output
    stream(2000)
    assert "1,100 new rows, 2,000 in all" in run(*call, code=1).output
    assert "0 new rows, 2,000 in all" in run(*call, code=1).output
    in_one = run("monitor", "stream.csv", "--label", "y", "--json", "--batch", 100, code=1)
    row = json.loads(in_one.stdout)["alarms"][0]["row"]
    assert CalibrationMonitor.load("s.json").alarms_[0].row == row


def test_another_file_follows(run, stream):
    stream(300, "monday.csv")
    stream(500, "tuesday.csv")
    run("monitor", "monday.csv", "--label", "y", "--state", "s.json")
    result = run("monitor", "tuesday.csv", "--label", "y", "--state", "s.json")
    assert "500 new rows, 800 in all" in result.output


def test_scores_go_through_a_map(run, fitted, write_csv):
    write_csv("stream.csv")
    run("monitor", "stream.csv", "--label", "y", "--map", "map.json", "--state", "s.json")
    result = run("monitor", "stream.csv", "--label", "y", "--state", "s.json", code=2)
    assert "was made with another map" in result.stderr


def test_groups(run, tmp_path):
    scores, labels = drifting()
    rows = [
        f"{'fine' if i < 1000 else 'off'},{label}," + ",".join(map(str, row))
        for i, (row, label) in enumerate(zip(scores.tolist(), labels, strict=True))
    ]
    (tmp_path / "g.csv").write_text("\n".join(["site,y,ant,bee,cow", *rows]) + "\n")
    result = run("monitor", "g.csv", "--label", "y", "--group", "site", code=1)
    assert "1 of 2 groups have raised an alarm" in result.output
    assert "false discoveries among all groups: off" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label", "z"], "no column called 'z'"),
        (["--label", "y", "--time", "when"], "--time"),
        (["--label", "y", "--scale", "logit"], "a monitor watches probabilities"),
        (["--label", "y", "--level", "0.01", "--state", "s.json"], "has the level 0.05, not 0.01"),
        (["--label", "y", "--state", "stream.csv"], "it is not JSON"),
        (["--label", "y", "--state", "nowhere/s.json"], "folder that does not exist"),
    ],
)
def test_bad_input(run, stream, arguments, message):
    stream(300)
    run("monitor", "stream.csv", "--label", "y", "--state", "s.json")
    before = CalibrationMonitor.load("s.json").to_dict()
    result = run("monitor", "stream.csv", *arguments, code=2)
    assert message in result.stderr
    assert CalibrationMonitor.load("s.json").to_dict() == before


def test_a_label_never_seen_leaves_the_state(run, stream, write_csv):
    stream(300)
    run("monitor", "stream.csv", "--label", "y", "--state", "s.json")
    scores, labels = drifting()
    write_csv("more.csv", scores=scores[:5], labels=np.array([*labels[:4], "emu"]))
    result = run("monitor", "more.csv", "--label", "y", "--state", "s.json", code=2)
    assert "'emu'" in result.stderr
    assert CalibrationMonitor.load("s.json").n_rows_ == 300
