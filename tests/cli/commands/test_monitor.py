"""``dircal monitor``."""

import json

import numpy as np
import pandas as pd
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
    assert "900 new rows, 900 with a label in all" in run(*call).output
    assert "No alarm" in run(*call).output
    stream(2000)
    assert "1,100 new rows, 2,000 with a label in all" in run(*call, code=1).output
    assert "0 new rows, 2,000 with a label in all" in run(*call, code=1).output
    in_one = run("monitor", "stream.csv", "--label", "y", "--json", "--batch", 100, code=1)
    row = json.loads(in_one.stdout)["alarms"][0]["row"]
    assert CalibrationMonitor.load("s.json").alarms_[0].row == row


def test_another_file_follows(run, stream):
    stream(300, "monday.csv")
    stream(500, "tuesday.csv")
    run("monitor", "monday.csv", "--label", "y", "--state", "s.json")
    result = run("monitor", "tuesday.csv", "--label", "y", "--state", "s.json")
    assert "500 new rows, 800 with a label in all" in result.output


def test_a_first_label_that_comes_late_does_not_make_another_file(run, gaps):
    gaps(600)
    call = ("monitor", "stream.csv", "--label", "y", "--state", "s.json", "--json")
    run(*call)
    missing = gaps(700, filled=1)
    found = json.loads(run(*call).stdout)
    assert (found["new_rows"], found["rows"]) == (100, (~missing).sum())


@pytest.mark.parametrize("option", ["--time", "--group"])
def test_another_file_of_the_same_name_is_known_by_more_than_scores(run, tmp_path, option):
    """A file that is written again, whose first row has the same probabilities."""
    call = ("monitor", "day.csv", "--label", "y", option, "t", "--state", "s.json", "--json")
    for day in ("1", "2"):
        lines = [f"{day},ant,0.5,0.5", f"{day},bee,0.4,0.6"]
        (tmp_path / "day.csv").write_text("\n".join(["t,y,ant,bee", *lines]) + "\n")
        found = json.loads(run(*call).stdout)
    assert (found["new_rows"], found["rows"]) == (2, 4)


def test_a_state_keeps_its_columns(run, stream):
    stream(300)
    call = ("monitor", "stream.csv", "--label", "y", "--state", "s.json")
    run(*call, "--time", "id")
    assert "was made with --time 'id'" in run(*call, code=2).stderr
    assert "0 new rows" in run(*call, "--time", "id").output
    (told,) = run(*call, "--time", "id", "--id", "id", code=2).stderr.splitlines()
    assert "was made without --id" in told


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
        (["--label", "y", "--state", "stream.csv"], "--state 'stream.csv' is the input"),
        (["--label", "y", "--state", "nowhere/s.json"], "folder that does not exist"),
        (["--label", "y", "--state", "loop"], "'loop' is a link that leads back to itself"),
    ],
)
def test_bad_input(run, stream, tmp_path, arguments, message):
    stream(300)
    (tmp_path / "loop").symlink_to("loop")
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


@pytest.fixture
def gaps(write_csv):
    """Writes rows whose labels are partly missing, and says which."""
    scores, labels = drifting()
    missing = np.random.default_rng(1).random(len(labels)) < 0.3
    missing[0] = True

    def write(n_rows, name="stream.csv", *, filled=0):
        shown = np.where(missing & (np.arange(len(labels)) >= filled), "", labels)
        write_csv(name, scores=scores[:n_rows], labels=shown[:n_rows])
        return missing[:n_rows]

    return write


def test_rows_without_a_label_are_left_out_and_counted(run, gaps):
    missing = gaps(600)
    result = run("monitor", "stream.csv", "--label", "y", "--state", "s.json")
    assert f"600 new rows, {(~missing).sum()} with a label in all" in result.output
    assert f"{missing.sum()} rows have no label and are left out." in result.output
    scores, labels = drifting()
    straight = CalibrationMonitor(classes=ANIMALS).update(
        scores[:600][~missing], labels[:600][~missing]
    )
    assert CalibrationMonitor.load("s.json").e_value_ == straight.e_value_


def test_labels_may_come_late_in_a_file_of_their_own(run, gaps, write_csv, tmp_path):
    missing = gaps(600)
    call = ("monitor", "stream.csv", "--label", "y", "--id", "id", "--state", "s.json")
    assert f"{missing.sum()} rows wait for their label." in run(*call).output
    scores, labels = drifting()
    late = np.flatnonzero(missing)
    lines = ["id,y", *(f"{i},{labels[i]}" for i in late[:20]), "never seen,ant", f"{late[21]},"]
    (tmp_path / "late.csv").write_text("\n".join(lines) + "\n")
    found = json.loads(run(*call, "--late-labels", "late.csv", "--json").stdout)
    assert (found["new_rows"], found["late"], found["waiting"]) == (0, 20, missing.sum() - 20)
    again = run(*call, "--late-labels", "late.csv").output
    assert "21 late labels are of rows that do not wait for one" in again
    monitor = CalibrationMonitor(classes=ANIMALS)
    known = np.where(missing, None, labels[: len(missing)])
    monitor.update(scores[:600], known, keys=[str(i) for i in range(600)])
    monitor.resolve([str(i) for i in late[:20]], labels[late[:20]])
    assert CalibrationMonitor.load("s.json").to_dict()["streams"] == monitor.to_dict()["streams"]


def test_labels_may_be_filled_in_in_the_stream(run, gaps):
    missing = gaps(600)
    call = ("monitor", "stream.csv", "--label", "y", "--id", "id", "--state", "s.json")
    run(*call)
    gaps(800, filled=300)
    result = run(*call, "--batch", 250)
    assert "200 new rows" in result.output
    assert f"{missing[:300].sum()} labels came late." in result.output
    assert "left out" not in result.output


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (["7,ant"], [], "--late-labels needs --id"),
        (["0,emu"], ["--id", "id"], "'emu', which is none of"),
        (["0,ant", "0,ant"], ["--id", "id"], "--id: '0' occurs twice"),
        (None, ["--id", "id"], "No such file or directory: 'late.csv'"),
        (["0,ant"], ["--id", "y"], "was made with --id 'id'. Name the same column"),
    ],
)
def test_bad_late_labels_leave_the_state(run, gaps, tmp_path, lines, options, message):
    gaps(300)
    run("monitor", "stream.csv", "--label", "y", "--id", "id", "--state", "s.json")
    before = CalibrationMonitor.load("s.json").to_dict()
    if lines is not None:
        (tmp_path / "late.csv").write_text("\n".join(["id,y", *lines]) + "\n")
    call = ("monitor", "stream.csv", "--label", "y", "--state", "s.json", *options)
    assert message in run(*call, "--late-labels", "late.csv", code=2).stderr
    assert CalibrationMonitor.load("s.json").to_dict() == before


@pytest.mark.parametrize("option", ["--time", "--group"])
@pytest.mark.parametrize("name", ["gap.csv", "gap.parquet"])
def test_cells_that_are_empty_are_named_by_their_option(run, tmp_path, option, name):
    frame = pd.DataFrame({"y": list("aba"), "a": 0.6, "b": 0.4, "t": ["1", "2", None]})
    if name == "gap.csv":
        frame.to_csv(tmp_path / name, index=False)
    else:
        frame.to_parquet(tmp_path / name)
    told = run("monitor", name, "--label", "y", "--columns", "a,b", option, "t", code=2).stderr
    assert f"{option}: " in told
    assert "column 't' is empty. Fill it in, or leave the row out." in told


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
def test_times_of_parquet(run, tmp_path, zone):
    """Also those that a clock shows twice, when summer ends."""
    times = pd.date_range("2020-11-01", periods=300, freq="h", tz="UTC")
    scores, labels = drifting()
    frame = pd.DataFrame(scores[:300], columns=ANIMALS).assign(y=labels[:300])
    times = times.tz_localize(None) if zone is None else times.tz_convert(zone)
    frame.assign(t=times).to_parquet(tmp_path / "s.parquet")
    call = ("monitor", "s.parquet", "--label", "y", "--time", "t", "--state", "s.json", "--json")
    assert json.loads(run(*call, "--batch", "100").stdout)["new_rows"] == 300
    frame[::-1].assign(t=times[::-1]).to_parquet(tmp_path / "back.parquet")
    told = run("monitor", "back.parquet", "--label", "y", "--time", "t", code=2).stderr
    assert "must not go back" in told


def test_days_are_times(run, tmp_path):
    days = pd.date_range("2020-01-01", periods=30).date
    frame = pd.DataFrame({"y": ["a", "b"] * 15, "a": 0.6, "b": 0.4, "t": days})
    frame.to_parquet(tmp_path / "d.parquet")
    assert "30 new rows" in run("monitor", "d.parquet", "--label", "y", "--time", "t").output


def test_a_stream_without_any_label_needs_the_classes(run, write_csv):
    scores, _ = drifting()
    write_csv("stream.csv", scores=scores[:20], labels=np.full(20, ""))
    call = ("monitor", "stream.csv", "--label", "y", "--id", "id", "--state", "s.json")
    assert "Name the classes: --classes" in run(*call, code=2).stderr
    assert "20 rows wait for their label" in run(*call, "--classes", "ant,bee,cow").output


def test_rows_without_a_label_need_no_option(run):
    told = run("monitor", "--help").stdout
    assert "--label " in told
    assert "--scale" in told
    assert "--skip-unlabelled" not in told
    assert "--skip-unlabelled" in run("evaluate", "--help").stdout
