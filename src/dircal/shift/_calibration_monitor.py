"""Watches a stream of probabilities and labels, and says when they stop belonging together."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from dircal._files import write_whole
from dircal._typing import ArrayLike, FloatArray, IntArray
from dircal.shift._alarm import Alarm
from dircal.shift._limits import MONITOR_LIMITS
from dircal.shift._monitor_file import FORMAT, VERSION, labels_from_json, labels_to_json, parse
from dircal.shift._pending import PendingRows
from dircal.shift._stream_rows import (
    MISSING,
    Earlier,
    check_labels,
    check_monitored_classes,
    check_stream,
)
from dircal.shift._watch import Watch, choose_bets
from dircal.tables import check_integer, check_number, find_key, observed_classes

__all__ = ["CalibrationMonitor"]

MapName = Literal["temperature", "frequencies", "classes", "vector", "full"]


class CalibrationMonitor:
    r"""An alarm for streams of probabilities and labels that stop belonging together.

    The monitor bets against the probabilities: with maps that it learned on earlier rows it makes
    money only where they are not calibrated. What it has made of one coin is the e-value. It may
    be looked at after every row, for years, and still raises a false alarm with a probability of
    at most ``level``.

    Parameters
    ----------
    classes : sequence
        Label of each column of the probabilities, in any order.
    level : float, default=0.05
        Probability that a stream which is calibrated ever raises an alarm.
    maps : sequence of str, default=("temperature", "frequencies", "classes", "full")
        Which maps are tried: "temperature", sharper or flatter; "frequencies", other ones of the
        classes; "classes", another frequency of one class, each class separately; "vector", a slope
        and an intercept for each class; "full", a matrix. With more than 12 classes the last is the
        one before.
    clip : float, default=1e-06
        Probabilities are raised to this, so that one row cannot ruin a stream.
    max_pending : int, default=10000
        Rows that wait for a late label, at most; the oldest are given up.

    Attributes
    ----------
    alarm_ : bool
        Whether any stream has raised an alarm.
    alarms_ : tuple of Alarm
        What was found where, and since when.
    e_value_ : float, or array of shape (n_groups,)
        What was made of one coin, now; in the order of ``groups_`` where there are groups.
    groups_ : list
        The groups, in the order in which they came; empty where there are none.
    discoveries_ : list
        Groups that have shifted, of which on average at most a part of ``level`` has not:
        e-values by the procedure of Benjamini and Hochberg.
    n_rows_ : int
        Labelled rows so far.
    n_missing_, n_pending_ : int
        Rows that have no label and will have none, and that wait for theirs.
    pending_ : list
        Keys of those that wait, the oldest first.
    trace_ : tuple of arrays
        Numbers of rows, and logarithms of the e-value to base 10 then; at most 512 points, and none
        with groups.

    See Also
    --------
    recalibrate : What to do about it.

    Notes
    -----
    With p the probabilities, and q a mixture of p and of maps of it that were learned on earlier
    rows only, the e-value after t rows is

    .. math:: E_t = \prod_{s \le t} \frac{q_s(y_s)}{p_s(y_s)}.

    If p is calibrated its mean is at most one, whatever q is, and by Ville's inequality
    :math:`P(\exists t: E_t \ge 1 / \alpha) \le \alpha`. An alarm is raised where it reaches one
    over the level, and stays until `reset`. Within a batch E is looked at after every row. Maps are
    renewed after blocks of 8 to 200 rows from sums of a fixed size, in which older rows fade:
    memory does not grow. The row at which the shift *began* is found by a scan: with sums over at
    most 64 segments of the rows before the alarm, the likelihood ratio of a change at each boundary
    is computed for a slope, for one class and for all classes. A stream is
    wrong from its first row with a prior probability of one half, and else all rows are equally
    likely; the posterior gives the interval. In simulations it covered in 85 % to 100 % of the
    streams with an alarm.

    Labels may come late, with ``keys``, or not at all. The promise then holds as long as whether
    and when a label comes does not depend on the label itself.

    When not to use it: for a fixed set of rows, where `score_test` sees more; where labels come
    only for rows that a person thought wrong; or for accuracy: it may fall while calibration holds.

    References
    ----------
    Shafer, G. (2021). Testing by betting. Journal of the Royal Statistical Society A 184.

    Wang, R. and Ramdas, A. (2022). False discovery rate control with e-values. Journal of the
    Royal Statistical Society B 84.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal.shift import CalibrationMonitor
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet(np.ones(3), size=4000)
    >>> y = (p.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    >>> sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
    >>> monitor = CalibrationMonitor(classes=[0, 1, 2]).update(p[:2000], y[:2000])
    >>> monitor.alarm_
    False
    >>> monitor.update(sharp[2000:], y[2000:]).alarm_
    True
    >>> 2000 < monitor.alarms_[0].row < 2500
    True
    """

    def __init__(
        self,
        *,
        classes: Iterable[Any],
        level: float = 0.05,
        maps: Sequence[MapName] = ("temperature", "frequencies", "classes", "full"),
        clip: float = 1e-6,
        max_pending: int = 10_000,
    ) -> None:
        self._column_classes = check_monitored_classes(classes)
        self.classes = [*classes]
        self.level = level
        self.maps = tuple(maps)
        self.clip = clip
        self.max_pending = max_pending
        check_number("level", level, above=0.0, below=1.0)
        check_number("clip", clip, above=0.0, below=0.1)
        check_integer("max_pending", max_pending, at_least=0)
        self._classes = observed_classes(self._column_classes)
        bets = choose_bets(self.maps, len(self._classes))
        self._watch = Watch(len(self._classes), bets)
        self._earlier = Earlier()
        self._n_missing = 0
        self._pending = PendingRows(max_pending)

    def update(
        self,
        P: ArrayLike,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        keys: ArrayLike | None = None,
    ) -> Self:
        """Take in rows that follow those before; on bad input nothing changes.

        Parameters
        ----------
        P : array or data frame of shape (n_samples, n_classes)
            Probabilities that are watched.
        y : array of shape (n_samples,)
            Labels; None, NaN or an empty text where one is missing.
        groups : array of shape (n_samples,), optional
            Which stream a row belongs to. Each is watched by itself.
        times : array of shape (n_samples,), optional
            Time of each row: numbers, dates and times, all with a time zone or all without, or
            strings that sort by time. Alarms contain them.
        keys : array of shape (n_samples,), optional
            Names of the rows, for labels that are still to come; see `resolve`.

        Returns
        -------
        self : CalibrationMonitor
            The monitor.
        """
        rows = check_stream(P, y, self._column_classes, groups, times, keys, self._earlier)
        waiting = rows.labels == MISSING
        if rows.keys is not None:
            self._pending.check(rows.keys)
            self._n_missing += self._pending.add(rows.take(waiting))
        else:
            self._n_missing += int(waiting.sum())
        self._earlier = self._earlier.and_then(rows)
        if not waiting.all():
            self._watch.advance(rows.take(~waiting), self.clip, self.level)
        return self

    def resolve(self, keys: ArrayLike, y: ArrayLike) -> Self:
        """Take in labels that came late, in the order of their coming.

        Parameters
        ----------
        keys : array of shape (n_samples,)
            Names of rows that `update` was given without a label.
        y : array of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : CalibrationMonitor
            The monitor.
        """
        found = self._pending.find(keys, self._earlier.key_type)
        labels = check_labels(y, len(found), self._classes)
        if (labels == MISSING).any():
            raise ValueError("`y` lacks a label. Leave out keys whose label is still missing.")
        self._watch.advance(self._pending.take(found, labels), self.clip, self.level)
        return self

    def reset(self, group: Any = None) -> Self:
        """Start anew after an alarm, with one coin.

        Parameters
        ----------
        group : object, optional
            The stream that starts anew; None stands for all.

        Returns
        -------
        self : CalibrationMonitor
            The monitor; the promise of its level holds from here on.
        """
        places = [*self._watch.places.values()]
        if group is not None:
            places = [find_key("group", group, self.groups_, "all")]
        self._watch.restart(places)
        return self

    @property
    def alarm_(self) -> bool:
        """Whether any stream has raised an alarm."""
        return bool((self._watch.streams.alarm_row > 0).any())

    @property
    def alarms_(self) -> tuple[Alarm, ...]:
        """What was found where, and since when."""
        return self._watch.alarms(self._classes, self.level)

    @property
    def e_value_(self) -> Any:
        """What was made of one coin, now."""
        values: FloatArray = np.exp(
            np.minimum(self._watch.streams.log_e, MONITOR_LIMITS.get().max_exponent)
        )
        if self._earlier.has_groups:
            return values
        return float(values[0]) if len(values) else 1.0

    @property
    def groups_(self) -> list[Any]:
        """The groups, in the order in which they came."""
        return [*self._watch.places] if self._earlier.has_groups else []

    @property
    def discoveries_(self) -> list[Any]:
        """Groups that have shifted, with a false discovery rate of at most the level."""
        return self._watch.discoveries(self.level)

    @property
    def n_rows_(self) -> int:
        """Labelled rows so far."""
        return int(self._watch.streams.n_rows.sum())

    @property
    def n_missing_(self) -> int:
        """Rows without a label."""
        return self._n_missing

    @property
    def n_pending_(self) -> int:
        """Rows that wait for their label."""
        return len(self._pending)

    @property
    def pending_(self) -> list[Any]:
        """Keys of the rows that wait for their label, the oldest first."""
        return self._pending.keys

    @property
    def trace_(self) -> tuple[IntArray, FloatArray]:
        """Numbers of rows, and logarithms of the e-value to base 10 then."""
        rows = np.array([row for row, _ in self._watch.trace], dtype=np.int64)
        return rows, np.array([log_e for _, log_e in self._watch.trace]) / np.log(10.0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, as JSON, whole or not at all."""
        write_whole(path, json.dumps(self.to_dict()).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a state that `save` has written, and go on as if nothing had happened.

        Parameters
        ----------
        path : str or path
            Name of the file.

        Returns
        -------
        monitor : CalibrationMonitor
            The same, to the last bit.
        """
        return cls.from_dict(parse(Path(path).read_bytes(), str(path)), str(path))

    def to_dict(self) -> dict[str, Any]:
        """The state as plain data for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "classes": labels_to_json(self._column_classes),
            "level": self.level,
            "maps": list(self.maps),
            "clip": self.clip,
            "max_pending": self.max_pending,
            **asdict(self._earlier),
            "n_missing": self._n_missing,
            "pending": self._pending.to_json(),
            **self._watch.to_json(),
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any], name: str = "state") -> Self:
        """Return the monitor of a document from `to_dict`."""
        try:
            options = {key: document[key] for key in ("level", "maps", "clip", "max_pending")}
            monitor = cls(classes=labels_from_json(document["classes"]).tolist(), **options)
            monitor._n_missing = int(document["n_missing"])
            monitor._pending.from_json(document["pending"], len(monitor._classes))
            monitor._watch.from_json(document)
            monitor._earlier = Earlier.from_json(document, monitor.pending_)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"`path` {name!r} is a damaged state of a monitor ({error!s:.120}). Pass a file "
                "that `save` has written, or start anew."
            ) from None
        return monitor
