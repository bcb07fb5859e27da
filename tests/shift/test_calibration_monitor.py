"""Alarms of streams: when, since when, and what must not disturb them."""

import datetime as dt
import json
import subprocess
import sys
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from dircal.shift import CalibrationMonitor

NAMES = np.array(["ant", "bee", "cow"])


def calibrated(seed, n, k=3):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    return p, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def sharpen(p, slope=2.0):
    return p**slope / (p**slope).sum(axis=1, keepdims=True)


def drifting(seed=0, n=2000):
    """Calibrated for n rows, and too sure for n more."""
    p, y = calibrated(seed, 2 * n)
    return np.vstack([p[:n], sharpen(p[n:])]), y


def test_one_alarm_with_its_time_and_its_words():
    p, y = drifting()
    times = np.datetime64("2024-01-01") + np.arange(len(y))
    monitor = CalibrationMonitor(classes=NAMES)
    for start in range(0, len(y), 500):
        part = slice(start, start + 500)
        monitor.update(p[part], NAMES[y[part]], times=times[part])
    assert monitor.alarm_
    [alarm] = monitor.alarms_
    assert 2000 < alarm.row < 2300
    assert 1700 < alarm.began < 2100
    assert alarm.time == str(times[alarm.row - 1])
    assert alarm.began_time == str(times[alarm.began - 1])
    told = " ".join(alarm.sentences())
    assert "the probabilities are not calibrated" in told
    assert "Predictions are too sure" in told
    assert json.loads(json.dumps(alarm.to_dict()))["row"] == alarm.row
    assert monitor.e_value_ > 20
    rows, log10_e = monitor.trace_
    assert rows[-1] == len(y)
    assert len(rows) <= 512
    assert np.log10(monitor.e_value_) == pytest.approx(log10_e[-1])


def test_other_frequencies_are_told_by_class():
    p, y = calibrated(1, 6000)
    kept = (y != 2) | (np.arange(6000) < 3000) | (np.arange(6000) % 3 == 0)
    monitor = CalibrationMonitor(classes=NAMES).update(p[kept], NAMES[y[kept]])
    assert "cow is less frequent than said" in " ".join(monitor.alarms_[0].sentences())


def test_a_stream_that_is_wrong_from_its_first_row_began_there():
    p, y = calibrated(20, 9000, k=10)
    p[:, 0] *= 2.0
    p /= p.sum(axis=1, keepdims=True)
    monitor = CalibrationMonitor(classes=range(10)).update(p, y, groups=np.arange(9000) % 9)
    assert len(monitor.alarms_) == 9
    assert np.median([alarm.began for alarm in monitor.alarms_]) == 0
    assert [alarm.began_low for alarm in monitor.alarms_] == [0] * 9
    assert all(alarm.n_since == 1000 - alarm.began for alarm in monitor.alarms_)


@pytest.mark.parametrize("n_calibrated", [0, 5, 2000])
def test_the_change_does_not_depend_on_batches(n_calibrated):
    p, y = calibrated(21, n_calibrated, k=2)
    p = np.vstack([p, np.tile([0.999, 0.001], (60, 1))])
    y = np.append(y, np.ones(60, dtype=int))
    found = []
    for size in (1, 7, 60, 5000):
        monitor = CalibrationMonitor(classes=[0, 1])
        for start in range(0, len(y), size):
            rows = slice(start, start + size)
            monitor.update(p[rows], y[rows], times=np.arange(len(y))[rows])
        [alarm] = monitor.alarms_
        found.append((alarm.row, alarm.began, alarm.began_low, alarm.began_high, alarm.began_time))
    assert len({*found}) == 1
    _, began, low, high, time = found[0]
    assert low <= n_calibrated <= high
    # Row 2000 is the one with time 1999.
    assert time == (None if began == 0 else str(began - 1))


def test_one_class_that_is_overestimated_is_found_by_its_bet():
    p, y = calibrated(22, 12_000, k=10)
    p[:, 4] *= 1.6
    p /= p.sum(axis=1, keepdims=True)
    groups = np.arange(12_000) % 4
    without = ("temperature", "frequencies", "full")
    rows = [
        sum(
            alarm.row
            for alarm in CalibrationMonitor(classes=range(10), **options)
            .update(p, y, groups=groups)
            .alarms_
        )
        for options in ({}, {"maps": without})
    ]
    assert 0 < rows[0] < rows[1]


def test_labels_that_were_called_impossible_are_told():
    p, y = calibrated(2, 1000)
    p[::100] = np.eye(3)[(y[::100] + 1) % 3]
    monitor = CalibrationMonitor(classes=range(3)).update(p, y)
    assert "no probability at all" in " ".join(monitor.alarms_[0].sentences())


def test_calibrated_streams_stay_silent():
    """Twenty streams; at level 0.05 one false alarm is expected at most."""
    p, y = calibrated(3, 20_000)
    groups = np.arange(20_000) % 20
    monitor = CalibrationMonitor(classes=range(3)).update(p, y, groups=groups)
    assert len(monitor.alarms_) <= 2
    assert monitor.e_value_.shape == (20,)
    assert monitor.discoveries_ == []


def test_groups_are_watched_by_themselves():
    p, y = calibrated(4, 3000)
    bad = sharpen(p, 2.5)
    both = CalibrationMonitor(classes=range(3))
    groups = np.repeat(["fine", "off"], 3000)
    order = np.random.default_rng(0).permutation(6000)
    both.update(np.vstack([p, bad])[order], np.tile(y, 2)[order], groups=groups[order])
    assert [alarm.group for alarm in both.alarms_] == ["off"]
    assert both.discoveries_ == ["off"]
    assert set(both.groups_) == {"fine", "off"}
    alone = CalibrationMonitor(classes=range(3)).update(
        bad[order[order >= 3000] - 3000], y[order[order >= 3000] - 3000]
    )
    assert both.e_value_[both.groups_.index("off")] == pytest.approx(alone.e_value_, rel=1e-6)


def test_thousands_of_streams_at_once():
    p, y = calibrated(5, 40_000)
    groups = np.arange(40_000) % 4000
    monitor = CalibrationMonitor(classes=range(3)).update(p, y, groups=groups)
    assert len(monitor.groups_) == 4000
    assert monitor.n_rows_ == 40_000


def test_state_is_restored_to_the_last_bit(tmp_path):
    p, y = drifting(6)
    whole = CalibrationMonitor(classes=range(3))
    parts = CalibrationMonitor(classes=range(3))
    for start in range(0, len(y), 300):
        part = slice(start, start + 300)
        whole.update(p[part], y[part], times=np.arange(len(y))[part])
        parts.update(p[part], y[part], times=np.arange(len(y))[part])
        parts.save(tmp_path / "state.json")
        parts = CalibrationMonitor.load(tmp_path / "state.json")
    assert parts.e_value_ == whole.e_value_
    assert parts.alarms_ == whole.alarms_
    assert_array_equal(parts.trace_[1], whole.trace_[1])
    assert parts.to_dict() == whole.to_dict()


def test_memory_does_not_grow():
    p, y = calibrated(7, 12_000)
    monitor = CalibrationMonitor(classes=range(3)).update(p[:6000], y[:6000])
    before = len(json.dumps(monitor.to_dict()))
    after = len(json.dumps(monitor.update(p[6000:], y[6000:]).to_dict()))
    assert after < 1.2 * before + 20 * 512


def test_labels_that_come_late(tmp_path):
    p, y = drifting(8, 500)
    keys = [f"row {i}" for i in range(len(y))]
    labels = [None if i % 2 else label for i, label in enumerate(NAMES[y].tolist())]
    monitor = CalibrationMonitor(classes=NAMES)
    monitor.update(p, labels, keys=keys)
    assert monitor.n_rows_ == 500
    assert monitor.n_pending_ == 500
    monitor.save(tmp_path / "state.json")
    monitor = CalibrationMonitor.load(tmp_path / "state.json")
    monitor.resolve(keys[1::2], NAMES[y[1::2]])
    assert monitor.n_rows_ == 1000
    assert monitor.n_pending_ == 0
    order = np.r_[0:1000:2, 1:1000:2]
    direct = CalibrationMonitor(classes=NAMES).update(p[order[:500]], NAMES[y[order[:500]]])
    direct.update(p[order[500:]], NAMES[y[order[500:]]])
    assert monitor.e_value_ == pytest.approx(direct.e_value_, rel=1e-9)


def test_labels_that_never_come():
    p, _ = calibrated(9, 100)
    monitor = CalibrationMonitor(classes=NAMES, max_pending=5)
    monitor.update(p[:10], [""] * 10)
    assert (monitor.n_missing_, monitor.n_rows_) == (10, 0)
    monitor.update(p[10:20], [np.nan] * 10, keys=range(10))
    assert (monitor.n_missing_, monitor.n_pending_) == (15, 5)
    with pytest.raises(ValueError, match="`keys` has 0, which does not wait for a label"):
        monitor.resolve([0], ["ant"])
    monitor.resolve([9], ["ant"])
    assert monitor.n_rows_ == 1


def test_it_starts_anew():
    p, y = drifting(10)
    monitor = CalibrationMonitor(classes=range(3)).update(p, y)
    assert monitor.alarm_
    assert not monitor.reset().alarm_
    assert monitor.e_value_ == 1.0
    assert monitor.update(p[:1000], y[:1000]).n_rows_ == 1000
    with pytest.raises(ValueError, match="`group` must be one of the 0 in `groups_`; got 'x'"):
        monitor.reset("x")


def test_columns_by_order_and_by_name():
    p, y = drifting(11, 300)
    plain = CalibrationMonitor(classes=NAMES).update(p, NAMES[y]).e_value_
    turned = CalibrationMonitor(classes=["cow", "ant", "bee"])
    assert turned.update(p[:, [2, 0, 1]], NAMES[y]).e_value_ == pytest.approx(plain)
    frame = pd.DataFrame(p, columns=NAMES)[["bee", "cow", "ant"]]
    assert CalibrationMonitor(classes=NAMES).update(frame, NAMES[y]).e_value_ == plain


def test_options_are_heeded():
    p, y = drifting(12, 400)
    strict = CalibrationMonitor(classes=range(3), level=1e-6).update(p, y)
    loose = CalibrationMonitor(classes=range(3), level=0.5).update(p, y)
    assert loose.alarms_[0].row < strict.alarms_[0].row
    only = CalibrationMonitor(classes=range(3), maps=["frequencies"]).update(p, y)
    assert only.e_value_ < loose.e_value_
    zeros = np.eye(3)[y]
    zeros[5] = np.eye(3)[(y[5] + 1) % 3]
    coarse = CalibrationMonitor(classes=range(3), clip=0.01).update(zeros, y)
    fine = CalibrationMonitor(classes=range(3), clip=1e-9).update(zeros, y)
    assert coarse.e_value_ != fine.e_value_
    many, labels = calibrated(0, 100, k=20)
    assert CalibrationMonitor(classes=range(20)).update(many, labels).n_rows_ == 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": [1]}, "`classes` must be at least two distinct labels"),
        ({"classes": [1, 1]}, "`classes` must be distinct labels"),
        ({"classes": None}, "`classes` must be a list or an array; got a NoneType"),
        ({"classes": "abc"}, "`classes` must be a list or an array; got a str"),
        ({"classes": [None, 1, 2]}, r"`classes` holds None\. Leave it out"),
        ({"classes": [np.nan, 1, 2]}, r"`classes` holds NaN or infinity\. Leave it out"),
        ({"classes": [1, "1"]}, "`classes` must hold labels of one type; got int and str"),
        ({"classes": [(1, 2), (3,)]}, "`classes` must be distinct labels"),
        (
            {"classes": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]},
            r"`classes` must contain strings, numbers or booleans; got datetime\.date.*Convert",
        ),
        (
            {"classes": np.array([1, 2], "M8[D]")},
            "`classes` must contain strings, numbers or booleans",
        ),
        (
            {"classes": [b"a", b"b"]},
            "`classes` must contain strings, numbers or booleans; got b'a'",
        ),
        ({"level": 0.0}, "`level` must"),
        ({"clip": 0.5}, "`clip` must"),
        ({"maps": []}, "`maps` must be some of temperature"),
        ({"maps": ["tree"]}, "`maps` must be some of temperature"),
        ({"max_pending": -1}, "`max_pending` must"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        CalibrationMonitor(**{"classes": range(3), **options})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"P": np.empty((0, 3)), "y": []}, "`P` is empty"),
        ({"P": [[0.5, 0.5]], "y": [0]}, "`P` has 2 columns, but the map has 3 classes"),
        ({"P": [[0.9, 0.9, 0.1]], "y": [0]}, "`P` must have rows that sum to one"),
        ({"y": [7] + [0] * 99}, "`y` holds the label 7, which is not among `classes`"),
        ({"y": [0] * 3}, r"`y` has shape \(3,\), but `P` has 100 rows"),
        ({"y": None}, "`y` is None"),
        ({"times": [2] + [1] * 99}, "`times` must not go back; row 1 has 1 after 2"),
        ({"times": [5] * 100}, "`times` must not go back; got 5 after 9"),
        ({"times": ["2024"] * 100}, "`times` must be of one kind"),
        ({"times": [1]}, "`times` has 1 entries, but there are 100 rows"),
        ({"groups": ["a"] * 100}, "`groups` must be given always or never"),
        ({"keys": ["a"] * 100}, "`keys` must name each row once; 'a' occurs twice"),
        (
            {"keys": ["waits", *map(str, range(99))]},
            "`keys` has 'waits', which waits for its label",
        ),
        ({"keys": [None] * 100}, "`keys` must contain strings, numbers or booleans; got None"),
        ({"keys": [1, *["a"] * 99]}, "`keys` must contain values of one type; got 1 and 'a'"),
        ({"keys": range(100)}, "`keys` must contain strings, as before; got 0"),
    ],
)
def test_bad_rows_change_nothing(change, message):
    p, y = calibrated(13, 100)
    monitor = CalibrationMonitor(classes=range(3)).update(p, y, times=[9] * 100)
    monitor.update(p[:1], [None], keys=["waits"])
    before = json.dumps(monitor.to_dict())
    with pytest.raises(ValueError, match=message):
        monitor.update(**{"P": p, "y": y, **change})
    assert json.dumps(monitor.to_dict()) == before


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[:50], "it is not JSON"),
        (lambda text: "[]", "is no state of a monitor"),
        (lambda text: text.replace('"version": 2', '"version": 9'), "has version 9 of the state"),
        (lambda text: text.replace('"n_rows"', '"rows"'), "is a damaged state"),
        (lambda text: text.replace('"groups": [null]', '"groups": []'), "is a damaged state"),
        (lambda text: text.replace('"maps": ["temp', '"maps": ["wrong'), "is a damaged state"),
    ],
)
def test_damaged_states(damage, message, tmp_path):
    p, y = calibrated(14, 50)
    path = tmp_path / "state.json"
    CalibrationMonitor(classes=range(3)).update(p, y).save(path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(ValueError, match=message):
        CalibrationMonitor.load(path)


KILLED = """
import os, signal, sys
import numpy as np
from dircal.shift import CalibrationMonitor
rng = np.random.default_rng(0)
p = rng.dirichlet(np.ones(3), 1000)
y = (p.cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1)
monitor = CalibrationMonitor(classes=range(3))
for start in range(0, 1000, 100):
    if start == 500:
        os.kill(os.getpid(), signal.SIGKILL)
    monitor.update(p[start : start + 100], y[start : start + 100])
    monitor.save(sys.argv[1])
"""


def test_a_killed_process_loses_no_more_than_the_batch_in_flight(tmp_path):
    path = tmp_path / "state.json"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert CalibrationMonitor.load(path).n_rows_ == 500
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize(
    ("first", "second"), [(["1", "a"], [1, 2]), ([1, 2], ["1", "2"]), ([True, False], [0, 1])]
)
def test_groups_and_keys_keep_their_type_across_batches(first, second, tmp_path):
    p, y = calibrated(15, 2)
    monitor = CalibrationMonitor(classes=range(3))
    with pytest.raises(ValueError, match="`groups` must contain values of one type"):
        monitor.update(p, y, groups=[first[0], second[0]])
    monitor.update(p, [None, None], groups=first, keys=first).resolve(first, y)
    monitor.save(tmp_path / "state.json")
    for each in (monitor, CalibrationMonitor.load(tmp_path / "state.json")):
        for name in ("groups", "keys"):
            with pytest.raises(ValueError, match=f"`{name}` must contain .*, as before; got"):
                each.update(p, y, **{"groups": first, name: second})
        with pytest.raises(ValueError, match=r"`keys` must contain .*, as before; got"):
            each.resolve(second, y)
        for group in (second[0], [first[0]]):
            with pytest.raises(ValueError, match="`group` must be one of the 2 in `groups_`"):
                each.reset(group)
        assert each.reset(np.array(first)[0]).groups_ == first


@pytest.mark.parametrize("keys", [None, []])
def test_no_keys(keys):
    with pytest.raises(ValueError, match="`keys` "):
        CalibrationMonitor(classes=range(3)).resolve(keys, [0])


def at(hour, offset):
    zone = dt.timezone(dt.timedelta(hours=offset))
    return dt.datetime(2020, 1, 1, hour, tzinfo=zone)


def new_york(*times):
    return pd.Series(pd.to_datetime([*times], utc=True).tz_convert("America/New_York"))


def as_strings(times):
    return [time.isoformat() for time in times]


AUTUMN = new_york("2020-11-01 05:30", "2020-11-01 06:00")
IN_ORDER = {
    "clock change": AUTUMN,
    "clock change as strings": as_strings(AUTUMN),
    "clock change of Python": [
        dt.datetime(2020, 11, 1, 1, 30, tzinfo=ZoneInfo("America/New_York")),
        dt.datetime(2020, 11, 1, 1, 0, fold=1, tzinfo=ZoneInfo("America/New_York")),
    ],
    "zones": [at(13, 2), at(12, 0)],
    "zones as strings": ["2020-01-01T13:00:00+02:00", "2020-01-01 12:00:00Z"],
    "units": [np.datetime64("2020-01-01T00:00", "ns"), np.datetime64("2020-01-01T00:00:00", "s")],
    "dates and times": [dt.date(2020, 1, 1), pd.Timestamp("2020-01-01T00:00:00.000000001")],
    "digits": ["2020-01-01T00:00:00.1", "2020-01-01T00:00:00.10", "2020-01-01T00:00:00.1000000001"],
    "months": np.array(["2020-01", "2020-02"], "M8[M]"),
    "hours": np.array(["2020-01-01T01", "2020-01-01T02"], "M8[h]"),
    "other strings": ["part 1", "part 2"],
    "numbers": [1, 1.5],
}
BACKWARDS = {
    "zones": [at(12, -5), at(13, 0)],
    "zones as strings": as_strings([at(12, -5), at(13, 0)]),
    "clock change": AUTUMN[::-1].reset_index(drop=True),
    "nanoseconds": np.array([2, 1], "M8[ns]"),
    "digits": ["2020-01-01T00:00:00.1000000001", "2020-01-01T00:00:00.1"],
    "units": [np.datetime64("2020-01-01T00:00:01", "s"), np.datetime64("2020-01-01", "ns")],
}


def two_batches(times):
    """Watch two rows, the second one with a state that was saved in between."""
    monitor = CalibrationMonitor(classes=range(3)).update([[0.2, 0.3, 0.5]], [2], times=times[:1])
    monitor = CalibrationMonitor.from_dict(json.loads(json.dumps(monitor.to_dict())))
    return monitor.update([[0.2, 0.3, 0.5]], [2], times=times[1:2])


def one_batch(times):
    p, y = calibrated(16, len(times))
    return CalibrationMonitor(classes=range(3)).update(p, y, times=times)


@pytest.mark.parametrize("watch", [one_batch, two_batches])
@pytest.mark.parametrize("times", IN_ORDER.values(), ids=IN_ORDER)
def test_times_in_order(times, watch):
    assert watch(times).n_rows_ >= 2


@pytest.mark.parametrize("watch", [one_batch, two_batches])
@pytest.mark.parametrize("times", BACKWARDS.values(), ids=BACKWARDS)
def test_times_that_go_back(times, watch):
    with pytest.raises(ValueError, match=r"`times` must not go back; .* after .*\. "):
        watch(times)


@pytest.mark.parametrize(
    "times",
    [
        ["2020-01-01T00:00", "2020-01-01T00:00Z"],
        ["2020-01-01", "row 2"],
        [1, "2020-01-01"],
        [dt.datetime(2020, 1, 1), at(3, 0)],
    ],
)
def test_times_of_two_kinds(times):
    for watch in (one_batch, two_batches):
        with pytest.raises(
            ValueError, match=r"`times` must .* one (kind|type); (row 1 has|got) .*2020-01-01"
        ):
            watch(times)


@pytest.mark.parametrize(
    "missing",
    [
        np.array(["2020-01-01", "NaT"], "M8[D]"),
        pd.Series([pd.Timestamp("2020-01-01"), pd.NaT]),
        [pd.Timestamp("2020-01-01", tz="UTC"), pd.NaT],
        ["2020-01-01", "NaT"],
        [dt.date(2020, 1, 1), None],
        [1.0, np.nan],
    ],
)
def test_missing_times_are_rejected_and_change_nothing(missing):
    p, y = calibrated(17, 2)
    monitor = CalibrationMonitor(classes=range(3))
    with pytest.raises(ValueError, match=r"`times` must .*; (row 1 is|got)"):
        monitor.update(p, y, times=missing)
    assert monitor.n_rows_ == 0
    assert monitor.update(p, y, times=np.array(["2020-01-01", "2020-01-02"], "M8[D]")).n_rows_ == 2


def older(monitor, **changes):
    """Return the state as an older version has saved it."""
    state = monitor.to_dict() | changes
    del state["group_type"], state["key_type"]
    return CalibrationMonitor.from_dict(json.loads(json.dumps(state)))


def test_states_of_older_versions():
    p, y = calibrated(18, 2)
    monitor = CalibrationMonitor(classes=range(3)).update(p, y, groups=["a", "b"])
    dates = np.array(["2020-01-02", "2020-01-03"], "M8[D]")
    with_nat = older(monitor, last_time="NaT")
    assert with_nat.update(p, y, groups=["a", "b"], times=dates).n_rows_ == 4
    with pytest.raises(ValueError, match="`groups` must contain strings, as before"):
        with_nat.update(p, y, groups=[1, 2])
    zoned = older(monitor, last_time="2020-11-01T01:30:00-04:00")
    assert zoned.update(p, y, groups=["a", "b"], times=new_york(*["2020-11-01 06:00"] * 2))


@pytest.mark.parametrize(
    "classes",
    [
        ["a", np.str_("b")],
        [1, np.int64(2)],
        [1.0, 2.0],
        [False, True],
        np.array(["a", "b"], dtype=object),
        np.array([np.int64(1), np.int64(2)], dtype=object),
        np.array([2**63, 2**63 + 1], dtype=np.uint64),
        np.array(["a", "b"], dtype=np.dtypes.StringDType()),
        pd.Series(["a", "b"]),
    ],
)
def test_classes_of_any_type_that_is_accepted_are_saved(classes):
    monitor = CalibrationMonitor(classes=classes).update([[0.2, 0.8]], classes[:1])
    again = CalibrationMonitor.from_dict(json.loads(json.dumps(monitor.to_dict())))
    assert again.classes == list(classes)
    assert again.update([[0.2, 0.8]], classes[:1]).n_rows_ == 2


@pytest.mark.parametrize("labels", [[1, "1"], [True, 1], [b"1", 1]])
def test_labels_keep_their_type(labels):
    monitor = CalibrationMonitor(classes=[0, 1])
    with pytest.raises(ValueError, match="`y` must hold labels of one type"):
        monitor.update([[0.2, 0.8]] * 2, labels)
    with pytest.raises(ValueError, match="`y` holds the label '1', which is not among `classes`"):
        monitor.update([[0.2, 0.8]] * 2, ["1", None])
