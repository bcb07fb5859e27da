"""A stream of predictions that a monitor reads, batch by batch, with a state between calls."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._files import write_whole
from dircal._progress import Progress
from dircal._typing import AnyFloatArray, LabelArray
from dircal.cli._source import PredictionsFile, check_exists
from dircal.io import to_bytes
from dircal.shift import CalibrationMonitor
from dircal.tables import (
    ScoreTable,
    as_classes,
    empty_labels,
    label_text,
    parse_whole_numbers,
    show,
    unchanged,
)

__all__ = ["StreamNames", "Watched", "Watching", "watch_file"]


@dataclass(frozen=True)
class StreamNames:
    """Names of the columns of times, groups and keys; None if there is none."""

    time: str | None
    group: str | None
    key: str | None

    @property
    def by_option(self) -> dict[str, str | None]:
        """The names by their options."""
        return {"time": self.time, "group": self.group, "id": self.key}


@dataclass(frozen=True)
class StreamRows:
    """Some rows; labels and keys are text, empty if there is none."""

    scores: AnyFloatArray
    labels: npt.NDArray[np.object_]
    groups: LabelArray | None = None
    times: LabelArray | None = None
    keys: npt.NDArray[np.object_] | None = None

    def part(self, rows: slice) -> "StreamRows":
        """Take some of the rows."""
        columns = (self.groups, self.times, self.keys)
        return StreamRows(
            self.scores[rows],
            self.labels[rows],
            *(None if column is None else column[rows] for column in columns),
        )

    def digest(self) -> str:
        """Return the mark by which the first row is recognised, without its label.

        A label may arrive or be corrected later; scores, group, time and key stay.
        """
        others = [str(one[0]) for one in (self.groups, self.times, self.keys) if one is not None]
        content = self.scores[0].tobytes() + "\0".join(others).encode()
        return hashlib.sha256(content).hexdigest()[:16]


@dataclass(frozen=True)
class Watching:
    """What `dircal monitor` was told."""

    source: PredictionsFile
    names: StreamNames
    level: float
    batch: int
    state: Path | None
    calibrator: Any
    late: Path | None

    @property
    def mark(self) -> str:
        """By which the map of a state is known again; empty where there is none."""
        if self.calibrator is None:
            return ""
        return hashlib.sha256(to_bytes(self.calibrator)).hexdigest()[:16]


@dataclass(frozen=True)
class Watched:
    """The monitor, how many rows were new, how many labels came late, and how many were unknown.

    The last belong to rows that do not wait: they have their label, or were never seen.
    """

    monitor: CalibrationMonitor
    n_new: int
    n_late: int
    n_unknown: int


def watch_file(told: Watching) -> Watched:
    """Read what is new in the stream, and labels that came late.

    After every batch the state is written: whatever happens, no more than one batch is lost, and
    the next call begins behind the last row of the state.
    """
    if told.late is not None:
        check_exists(told.late)
    known = _read_state(told)
    table = told.source.table
    with unchanged(*table.files):
        names, classes = _score_columns(told, table, known)
        monitor = _monitor(told, known, classes)
        labels = _Labels(monitor, classes, told.source)
        stream: dict[str, Any] = {} if known is None else known["stream"]
        seen = n_new = n_late = n_unknown = 0
        with Progress("Watching", 0, "rows", counts_passes=True) as progress:
            for number, rows in _batches(told, table, names, progress.advance):
                if number == 0:
                    stream = _continued(stream, told, rows.digest())
                    seen = stream["rows"]
                place = min(max(seen - number, 0), len(rows.labels))
                n_resolved, _ = labels.resolve(rows.part(slice(0, place)))
                fresh = rows.part(slice(place, None))
                if len(fresh.labels):
                    labels.update(fresh, told.calibrator)
                n_late, n_new = n_late + n_resolved, n_new + len(fresh.labels)
                stream = {**stream, "rows": seen + n_new}
                if len(fresh.labels) or n_resolved:
                    _write_state(told, monitor, stream)
    for n_found, n_others in _late_labels(told, labels):
        n_late, n_unknown = n_late + n_found, n_unknown + n_others
        _write_state(told, monitor, stream)
    if told.state is not None and not told.state.exists():
        _write_state(told, monitor, stream)
    return Watched(monitor, n_new, n_late, n_unknown)


def _late_labels(told: Watching, labels: "_Labels") -> Iterator[tuple[int, int]]:
    """Labels of rows that wait, from a file of names and labels; how many, and how many others."""
    if told.late is None or told.names.key is None:
        return
    table = replace(told.source.at(told.late), columns=None).table
    label, key = told.source.label, told.names.key
    table.columns.position(key, "--id")
    with unchanged(*table.files):
        for _, rows in table.read((), (label, key)):
            texts, keys = (_texts(rows.others[name]) for name in (label, key))
            for start in range(0, rows.n_rows, told.batch):
                part = slice(start, start + told.batch)
                yield labels.resolve(StreamRows(np.empty((0, 0)), texts[part], keys=keys[part]))


def _score_columns(
    told: Watching, table: ScoreTable, known: dict[str, Any] | None
) -> tuple[list[str], LabelArray]:
    """Return the columns with the scores and the label of each; check the other columns."""
    others = [
        table.columns.position(name, f"--{option}")
        for option, name in told.names.by_option.items()
        if name is not None
    ]
    if told.calibrator is not None:
        # Calibrated probabilities follow the sorted labels.
        return told.calibrator.predict_proba(table).columns, told.calibrator.classes_
    if known is None:
        observed = _observed(told.source, table)
    else:
        observed = np.array(known["classes"]["values"])
    found = table.find(observed, others)
    return [table.columns.names[i] for i in found.positions], found.classes


def _observed(source: PredictionsFile, table: ScoreTable) -> LabelArray:
    """Labels that occur: at least one, unless the classes are named."""
    try:
        return replace(table, skip_unlabelled=True).observed
    except ValueError:
        columns = [rows.others[source.label] for _, rows in table.read((), (source.label,))]
        if not columns or not all(empty_labels(one).all() for one in columns):
            raise
    if source.classes is None:
        raise ValueError(f"{table.where} has no row with a label yet. Name the classes: --classes.")
    return np.array([], dtype=np.str_)


def _texts(column: Any) -> npt.NDArray[np.object_]:
    """Return labels or keys as text, empty if there is none."""
    values, empty = np.asarray(column), empty_labels(column)
    texts = np.full(len(values), "", dtype=object)
    texts[~empty] = [label_text(one) for one in values[~empty].tolist()]
    return texts


def _batches(
    told: Watching, table: ScoreTable, names: list[str], advance: Callable[[int], None]
) -> Iterator[tuple[int, StreamRows]]:
    """Yield rows in batches, with the number of the first of each."""
    label, stream = told.source.label, told.names
    others = [one for one in (label, *stream.by_option.values()) if one is not None]
    for first, rows in table.read(names, others):
        for option, name in (("--time", stream.time), ("--group", stream.group)):
            if name is not None and (empty := empty_labels(rows.others[name])).any():
                raise ValueError(
                    f"{option}: {rows.place(int(empty.argmax()))}, column {name!r} is empty. Fill "
                    "it in, or leave the row out."
                )
        columns = {name: np.asarray(column) for name, column in rows.others.items()}
        times = None if stream.time is None else columns[stream.time]
        if times is not None and times.dtype.kind in "OU" and isinstance(times[0], str):
            whole = parse_whole_numbers(times)
            times = times.astype(str) if whole is None else whole
        every = StreamRows(
            rows.scores,
            _texts(columns[label]),
            None if stream.group is None else columns[stream.group],
            times,
            None if stream.key is None else _texts(columns[stream.key]),
        )
        for start in range(0, rows.n_rows, told.batch):
            yield first + start, every.part(slice(start, start + told.batch))
        advance(rows.n_rows)


@dataclass(frozen=True)
class _Labels:
    """Hands rows of a file to a monitor, whose classes may be of another type than texts."""

    monitor: CalibrationMonitor
    classes: LabelArray
    source: PredictionsFile

    def update(self, rows: StreamRows, calibrator: Any) -> None:
        """Rows that are new."""
        proba = rows.scores if calibrator is None else calibrator.predict_proba(rows.scores)
        if rows.keys is not None:
            self._refuse_twice(rows.keys.tolist())
        self.monitor.update(
            proba, self._typed(rows.labels), groups=rows.groups, times=rows.times, keys=rows.keys
        )

    def resolve(self, rows: StreamRows) -> tuple[int, int]:
        """Labels of rows that wait for theirs; how many were found, and how many were not."""
        if rows.keys is None or not len(rows.labels):
            return 0, 0
        waiting = set(self.monitor.pending_)
        there = np.array([text != "" for text in rows.labels])
        late = there & np.array([key in waiting for key in rows.keys])
        if late.any():
            keys = rows.keys[late].tolist()
            self._refuse_twice(keys, waiting=())
            self.monitor.resolve(keys, self._typed(rows.labels[late]))
        return int(late.sum()), int(there.sum() - late.sum())

    def _typed(self, texts: Any) -> Any:
        """Labels of the type of the classes; None where one is missing."""
        where = f"{str(self.source.path)!r}, column {self.source.label!r}"
        there = np.array([text != "" for text in texts])
        found = np.full(len(texts), None, dtype=object)
        found[there] = as_classes(
            texts[there],
            self.classes,
            where,
            "Drop its rows, or start a new state with --classes.",
        ).tolist()
        return found

    def _refuse_twice(self, keys: Sequence[str], waiting: Iterable[str] | None = None) -> None:
        taken = set(self.monitor.pending_ if waiting is None else waiting)
        for key in keys:
            if key == "":
                raise ValueError("--id: a row has no name. Name every row.")
            if key in taken:
                raise ValueError(
                    f"--id: {key!r} occurs twice, or waits for its label already. Name every row "
                    "once, and pass labels that came late with --late-labels."
                )
            taken.add(key)


def _read_state(told: Watching) -> dict[str, Any] | None:
    if told.state is None or not told.state.exists():
        return None
    # The monitor checks what is its own.
    known = CalibrationMonitor.load(told.state).to_dict()
    document = json.loads(told.state.read_bytes())
    known["map"], known["stream"] = document.get("map", ""), document.get("stream", {})
    if not isinstance(known["map"], str) or not _is_place(known["stream"]):
        raise ValueError(
            f"--state {str(told.state)!r} is damaged: it does not hold how far a stream was read. "
            "Name a new state."
        )
    if known["map"] != told.mark:
        what = "without a map" if not known["map"] else "with another map"
        raise ValueError(
            f"--state {str(told.state)!r} was made {what}. Pass the same --map, or name a new "
            "state."
        )
    for option, name in told.names.by_option.items():
        before = known["stream"].get(option) if known["stream"] else name
        if before != name:
            how = f"without --{option}" if before is None else f"with --{option} {before!r}"
            raise ValueError(
                f"--state {str(told.state)!r} was made {how}. Name the same column, or name a new "
                "state."
            )
    if known["level"] != told.level:
        raise ValueError(
            f"--state {str(told.state)!r} has the level {known['level']:g}, not {told.level:g}. "
            "Pass the same --level, or name a new state."
        )
    return known


def _is_place(stream: Any) -> bool:
    """Whether a state holds a place in a stream, or that none has been read."""
    if not isinstance(stream, dict) or not stream:
        return stream == {}
    kinds = {name: type(stream.get(name)) for name in ("name", "first", "rows")}
    return kinds == {"name": str, "first": str, "rows": int} and stream["rows"] >= 0


def _monitor(
    told: Watching, known: dict[str, Any] | None, classes: LabelArray
) -> CalibrationMonitor:
    if known is None:
        return CalibrationMonitor(classes=classes.tolist(), level=told.level)
    monitor = CalibrationMonitor.from_dict(known, str(told.state))
    if [label_text(one) for one in monitor.classes] != [
        label_text(one) for one in classes.tolist()
    ]:
        raise ValueError(
            f"--state {str(told.state)!r} has the classes {show(np.array(monitor.classes))}, and "
            f"the stream {show(classes)}. Name the columns in that order, or a new state."
        )
    return monitor


def _continued(stream: dict[str, Any], told: Watching, first: str) -> dict[str, Any]:
    """How far a stream was read: not at all, unless name and first row are the same."""
    name = told.source.path.name
    same = stream.get("name") == name and stream.get("first") == first
    rows = int(stream["rows"]) if same else 0
    return {"name": name, "rows": rows, "first": first, **told.names.by_option}


def _write_state(told: Watching, monitor: CalibrationMonitor, stream: dict[str, Any]) -> None:
    if told.state is None:
        return
    document = {**monitor.to_dict(), "map": told.mark, "stream": stream}
    write_whole(told.state, json.dumps(document).encode())
