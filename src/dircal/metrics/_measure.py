"""What the house knows of a measure: one record, in the measure's own file.

Everything that lists measures reads these records: intervals and comparisons, the report, the
command line, the demonstration.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Any

from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import AbstractQuantity

__all__ = ["RECORDS", "IntervalRule", "Measure", "Table", "is_measure", "measures_in", "publish"]

# What every measure takes; the rest are its own options.
_COMMON = ("y_true", "y_prob", "sample_weight", "classes")


class IntervalRule(Enum):
    """How draws of rows become an interval."""

    BCA = "mean of what rows lose: quantiles corrected for bias and skewness"
    ABSOLUTE_SUM = "sum of absolute gaps: corrected for what chance adds to it"
    SHIFTED = "anything else: quantiles shifted so that the mean draw is the estimate"


class Table(Flag):
    """Where a measure is shown unless the user says otherwise."""

    NOWHERE = 0
    COMPARISON = auto()
    REPORT = auto()
    EVALUATION = auto()
    DEMONSTRATION = auto()
    # The columns of the demonstration are narrow: a measure has to ask for one.
    WHERE_THERE_IS_ROOM = COMPARISON | REPORT | EVALUATION
    EVERYWHERE = WHERE_THERE_IS_ROOM | DEMONSTRATION


@dataclass(frozen=True)
class Measure:
    """The record of a measure.

    Parameters
    ----------
    function : callable
        What users call: ``(y_true, y_prob, *, sample_weight, classes, ...) -> float``. The measure
        has its name.
    quantity : callable
        The same of checked predictions, ``(predictions, ...)`` with all options of the function:
        an `AbstractQuantity`.
    title : str
        Name on a page.
    judges : str
        What it judges, in a few plain words.
    higher_is_better : bool
        The direction.
    interval : IntervalRule or None
        How draws of rows tell how sure we are of it; None where they do not.
    why_no_interval : str
        The reason, where there is none.
    place : int
        Measures are listed by rising place.
    shown_in : Table
        The tables that show it.
    heading : str
        Two short lines above a column of a narrow table, where it is shown in one.
    number_format : str
        How a number of it is written there.
    """

    function: Callable[..., float]
    quantity: Callable[..., AbstractQuantity]
    title: str
    judges: str
    higher_is_better: bool = False
    interval: IntervalRule | None = IntervalRule.SHIFTED
    why_no_interval: str = ""
    place: int = 1000
    shown_in: Table = Table.WHERE_THERE_IS_ROOM
    heading: str = ""
    number_format: str = ".3f"

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.function.__name__

    @property
    def options(self) -> dict[str, inspect.Parameter]:
        """The options of its function, beside what every measure takes."""
        parameters = inspect.signature(self.function).parameters
        return {name: one for name, one in parameters.items() if name not in _COMMON}

    def of(self, predictions: Predictions, **options: Any) -> AbstractQuantity:
        """The measure of checked predictions; options have the defaults of its function."""
        parameters = self.options.items()
        known = {name: one.default for name, one in parameters if one.default is not one.empty}
        return self.quantity(predictions, **known | options)


def is_measure(function: Callable[..., Any]) -> bool:
    """Whether it takes what every measure takes."""
    return {*_COMMON} <= {*inspect.signature(function).parameters}


RECORDS: dict[str, Measure] = {}
"""The published measures by name."""


def publish(record: Measure) -> Measure:
    """Enter a record, so that everything that lists measures shows it."""
    RECORDS[record.name] = record
    return record


def measures_in(table: Table) -> list[Measure]:
    """The measures that a table shows, in their order."""
    return sorted(
        (record for record in RECORDS.values() if table in record.shown_in),
        key=lambda record: (record.place, record.name),
    )
