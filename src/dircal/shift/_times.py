"""Times of rows: numbers, dates and times, or strings, none of them before the last."""

import re
from datetime import datetime
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike
from dircal.tables import as_label_array, check_keys, is_missing

__all__ = ["check_times"]

# A date as ISO 8601 writes it, with a time of any precision and an offset from UTC if it has one.
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"(?:[T ]\d\d(?::\d\d(?::\d\d(?:\.(\d+))?)?)?(?:Z|[+-]\d\d:?\d\d(?::\d\d)?)?)?"
)


def check_times(given: ArrayLike | None, n_rows: int, last: Any) -> list[Any] | None:
    """Return a number or a string for each row; raise if it is missing or before the last one.

    Dates and times become strings, which are compared as instants.

    Parameters
    ----------
    given : array, optional
        Times of rows; None if they are not known.
    n_rows : int
        Number of rows.
    last : number or str, optional
        Time of the last row before these.
    """
    if given is None:
        return None
    times = check_keys("times", _as_texts(as_label_array(given, "times").ravel()), n_rows)
    moments = [_moment(time) for time in times]
    for i, (one, other) in enumerate(pairwise(moments)):
        if one[0] != other[0] or other[1] < one[1]:
            _refuse(f"row {i + 1} has {times[i + 1]!r} after {times[i]!r}", one[0] == other[0])
    if last is not None and times:
        one, other = _moment(last), moments[0]
        if one[0] != other[0] or other[1] < one[1]:
            _refuse(f"got {times[0]!r} after {last!r}", one[0] == other[0])
    return times


def _refuse(found: str, one_kind: bool) -> NoReturn:
    if one_kind:
        raise ValueError(
            f"`times` must not go back; {found}. Sort the rows by time, or leave `times` out."
        )
    raise ValueError(
        f"`times` must be of one kind; {found}. Pass numbers only, or times that all have a time "
        "zone, or none of them."
    )


def _as_texts(times: npt.NDArray[Any]) -> list[Any]:
    """Return dates and times as strings of ISO 8601, numbers and other strings unchanged."""
    if times.dtype.kind == "M":
        # Years and months have days as well.
        times = times.astype(np.promote_types(times.dtype, "M8[D]")).astype(str)
    values = [*times] if times.dtype.kind == "m" else times.tolist()
    for i, time in enumerate(values):
        if is_missing(time) or (isinstance(time, str) and time in ("", "NaT")):
            raise ValueError(
                f"`times` must not be missing; row {i} is {time!r}. Drop such rows, or leave "
                "`times` out."
            )
        if isinstance(time, np.datetime64):
            values[i] = _as_texts(np.array([time]))[0]
        elif hasattr(time, "isoformat"):
            values[i] = time.isoformat()
    return values


def _moment(time: Any) -> tuple[str, Any]:
    """Return the kind of a time, and a value to compare it by with others of the kind."""
    if not isinstance(time, str):
        return "number", time
    found = _ISO.fullmatch(time)
    try:
        moment = None if found is None else datetime.fromisoformat(time)
    except ValueError:
        moment = None
    if found is None or moment is None:
        return "string", time
    # Python keeps six digits of a second, and NumPy eighteen.
    digits = (found[1] or "").rstrip("0")
    moment, offset = moment.replace(microsecond=0, tzinfo=None), moment.utcoffset()
    if offset is None:
        return "local", (moment, digits)
    return "instant", ((moment - datetime.min) - offset, digits)
