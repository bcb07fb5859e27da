"""What an alarm tells: since when, and what is no longer as it was said to be."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dircal._core.shift.change_point import find_change
from dircal._core.shift.eprocess import Streams
from dircal._typing import LabelArray
from dircal.shift._limits import MONITOR_LIMITS

__all__ = ["Alarm", "alarm_of"]


@dataclass(frozen=True)
class Alarm:
    """An alarm of a monitor, in numbers; ``sentences`` says them in words.

    Parameters
    ----------
    group : object
        The stream it is about; None where there is one.
    row : int
        Number of the labelled row, counted from one, at which the e-value was first large enough.
    time : str or None
        Of that row, where times are known.
    began : int
        Number of the last row before the shift, by a scan of likelihood ratios; 0 if the first row
        is wrong already.
    began_low, began_high : int
        Ends of the 95 % interval of that row.
    began_time : str or None
        Time of that row.
    log10_e : float
        Logarithm of the largest e-value so far, to base 10.
    level : float
        Probability of an alarm, ever, if nothing is wrong.
    n_since : int
        Rows since the shift.
    confidence, accuracy : float
        Mean of the largest probability in these rows, and how often it was right.
    classes : tuple
        Labels, with the shares of the rows that were said to have them, and that have.
    impossible : int
        Rows whose label had been given no probability.
    """

    group: Any
    row: int
    time: str | None
    began: int
    began_low: int
    began_high: int
    began_time: str | None
    log10_e: float
    level: float
    n_since: int
    confidence: float
    accuracy: float
    classes: tuple[tuple[Any, float, float], ...]
    impossible: int

    def sentences(self) -> list[str]:
        """The alarm in words, a sentence a line."""
        of = "" if self.group is None else f" of {self.group}"
        e_value = f"{10**self.log10_e:.3g}" if self.log10_e < 6 else f"10^{self.log10_e:.0f}"
        told = [
            f"Alarm at row {self.row:,}{of}{_at(self.time)}: the probabilities are not calibrated. "
            f"The e-value reached {e_value}, and {1.0 / self.level:.3g} is enough at level "
            f"{self.level:g}.",
            f"The shift began about row {self.began:,}{_at(self.began_time)}, "
            f"{self.n_since:,} rows ago (95 %: row {self.began_low:,} to {self.began_high:,}).",
        ]
        if self.impossible > 0:
            rows = "a row" if self.impossible == 1 else f"{self.impossible:,} rows"
            told.append(
                f"In {rows} since then the label had been given no probability at all: look at "
                "these first. What can happen needs more than zero."
            )
        error = np.sqrt(self.confidence * (1.0 - self.confidence) / max(self.n_since, 1))
        if abs(self.confidence - self.accuracy) > MONITOR_LIMITS.get().min_standard_errors * error:
            what = "too sure" if self.confidence > self.accuracy else "too timid"
            told.append(
                f"Predictions are {what}: said to be right in {self.confidence:.1%} of the rows, "
                f"right in {self.accuracy:.1%}."
            )
        for label, said, seen in self._off():
            what = "more" if seen > said else "less"
            told.append(f"{label} is {what} frequent than said: {said:.1%} said, {seen:.1%} seen.")
        return told

    def _off(self) -> list[tuple[Any, float, float]]:
        """Classes that are off by more than chance, the worst first."""
        limits = MONITOR_LIMITS.get()

        def errors(entry: tuple[Any, float, float]) -> float:
            _, said, seen = entry
            spread = np.sqrt(max(said * (1.0 - said), 1e-12) / max(self.n_since, 1))
            return float(abs(seen - said) / spread)

        off = sorted(self.classes, key=errors, reverse=True)
        return [
            entry
            for entry in off[: limits.max_classes]
            if errors(entry) > limits.min_standard_errors
        ]

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain data, and the sentences."""
        return {**asdict(self), "sentences": self.sentences()}


def _at(time: str | None) -> str:
    return "" if time is None else f" ({time})"


def alarm_of(
    streams: Streams,
    stream: int,
    classes: LabelArray,
    level: float,
    group: Any,
    time: str | None,
    time_of: Mapping[int, str],
) -> Alarm:
    """Return the alarm of a stream, at this ``time``, with ``time_of`` rows before a change."""
    alarm_row = int(streams.alarm_row[stream])
    ends, sums = streams.segment_ends[stream], streams.segment_sums[stream]
    change = find_change(ends, sums, streams.open_sums[stream], alarm_row)
    n_since, since = int(streams.n_rows[stream]) - change.row, change.since
    n = max(n_since, 1)
    predicted, observed, _ = since.by_class
    shares = zip(classes.tolist(), (predicted / n).tolist(), (observed / n).tolist(), strict=True)
    return Alarm(
        group=group,
        row=alarm_row,
        time=time,
        began=change.row,
        began_low=change.low,
        began_high=change.high,
        began_time=time_of.get(change.row),
        log10_e=float(streams.peak[stream] / np.log(10.0)),
        level=level,
        n_since=n_since,
        confidence=float(since.confidence / n),
        accuracy=float(since.correct / n),
        classes=tuple(shares),
        impossible=int(since.impossible),
    )
