"""Python objects that files contain, as values of JSON: strings, numbers, dates, bytes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from dircal.tables import as_plain

__all__ = ["OBJECTS", "ObjectKind", "kind_of"]


@dataclass(frozen=True)
class ObjectKind:
    """A type of objects, the type of JSON that represents it, and the way there and back."""

    python_type: type
    json_type: type
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]

    def contains(self, value: Any) -> bool:
        """Whether a value is of the type and equal to itself after both ways."""
        if not isinstance(value, self.python_type) or isinstance(value, bool) != (
            self.python_type is bool
        ):
            return False
        try:
            return bool(self.read(self.write(value)) == value)
        except (ArithmeticError, ValueError):
            return False


def _finite(number: Any) -> Any:
    if not math.isfinite(number):
        raise ValueError("it is not finite")
    return number


_MICROSECOND = timedelta(microseconds=1)

# The first that contains an object represents it: every datetime is a date.
OBJECTS = {
    "str": ObjectKind(str, str, as_plain, as_plain),
    "bool": ObjectKind(bool, bool, as_plain, as_plain),
    "int": ObjectKind(int, int, as_plain, as_plain),
    "float": ObjectKind(float, float, as_plain, _finite),
    "bytes": ObjectKind(
        bytes, str, lambda value: value.decode("latin1"), lambda text: text.encode("latin1")
    ),
    "datetime": ObjectKind(datetime, str, datetime.isoformat, datetime.fromisoformat),
    "date": ObjectKind(date, str, date.isoformat, date.fromisoformat),
    "time": ObjectKind(time, str, time.isoformat, time.fromisoformat),
    "timedelta": ObjectKind(
        timedelta, int, lambda value: int(value // _MICROSECOND), lambda count: count * _MICROSECOND
    ),
    "Decimal": ObjectKind(Decimal, str, str, lambda text: _finite(Decimal(text))),
}


def kind_of(values: list[Any]) -> str | None:
    """Return the name of the kind that contains all values; None if no single one does."""
    return next(
        (name for name, kind in OBJECTS.items() if all(map(kind.contains, values))),
        None,
    )
