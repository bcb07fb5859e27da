"""A table of measures of several calibrators, and how it is shown."""

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._frames import to_frame
from dircal._numerals import format_level, format_measure, format_measure_range, format_pvalue
from dircal._typing import FloatArray
from dircal.inference._calibrators import UNCALIBRATED
from dircal.inference._drawn_sums import Source
from dircal.inference._show import html_of_comparison, tell_sources

__all__ = [
    "WITHOUT_BIAS",
    "Comparison",
    "ComparisonRow",
    "columns_of",
    "show_corrected",
]

WITHOUT_BIAS = "without bias"
"""Above the values that intervals are of, where these are not the measured ones."""


@dataclass(frozen=True)
class ComparisonRow:
    """One measure of one calibrator.

    Parameters
    ----------
    calibrator : str
        Name of the calibrator.
    measure : str
        Name of the measure.
    value : float
        The measure.
    difference : float
        The value less that without calibration.
    low, high : float or None
        Ends of the interval of the value; None for the largest gap, which has none.
    difference_low, difference_high : float or None
        Ends of the interval of the difference; None without calibration.
    pvalue : float or None
        Of the hypothesis that calibration makes no difference.
    corrected : float or None
        The value that the interval is one of: without what chance adds to absolute gaps; the
        value itself for other measures.
    source : {"draws", "moments", "multipliers"} or None
        Whether the intervals are from rows that were drawn, or from the normal distribution with
        the same moments; None where there are none.
    """

    calibrator: str
    measure: str
    value: float
    difference: float
    low: float | None = None
    high: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    pvalue: float | None = None
    corrected: float | None = None
    source: Source | None = None

    @property
    def is_corrected(self) -> bool:
        """Whether the interval is one of another number than the value."""
        return self.corrected is not None and self.corrected != self.value


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of `compare`: a table with a row for each calibrator and measure.

    Parameters
    ----------
    table : tuple of ComparisonRow
        The calibrators one after another, the predictions as they are first.
    level : float
        Of the intervals.
    probabilities : dict of arrays (m, k)
        Probabilities of the scored rows from each calibrator; columns in the sorted order of the
        labels. Empty where rows are read in parts.
    scored : array (m,) or None
        Which rows were scored, in the order of the probabilities; None where rows are read in
        parts.
    fit_warnings : dict of tuples of str
        What the fits of each calibrator warned about.
    n_scored : int
        Number of rows that were scored.
    """

    table: tuple[ComparisonRow, ...]
    level: float
    probabilities: dict[str, FloatArray] = field(repr=False)
    scored: npt.NDArray[np.intp] | None = field(repr=False)
    fit_warnings: dict[str, tuple[str, ...]]
    n_scored: int

    def __iter__(self) -> Iterator[ComparisonRow]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    def row(self, calibrator: str, measure: str) -> ComparisonRow:
        """The row of one measure of one calibrator."""
        for row in self.table:
            if (row.calibrator, row.measure) == (calibrator, measure):
                return row
        names = dict.fromkeys((row.calibrator, row.measure) for row in self.table)
        raise KeyError(f"{(calibrator, measure)} is none of the rows {list(names)}")

    def sources(self) -> str:
        """Which intervals come from moments and which from draws; empty where all are drawn."""
        found = ((row.measure, row.source) for row in self.table if row.source is not None)
        return tell_sources(self.n_scored, found, "the intervals")

    def to_frame(self) -> Any:
        """The table as a data frame of pandas or polars; a dict of lists where neither is there."""
        return to_frame(columns_of(self.table))

    def __repr__(self) -> str:
        width = max(len(row.calibrator) for row in self.table)
        longest = max(len(row.measure) for row in self.table)
        percent = format_level(self.level)
        # Chance makes calibration errors too large; intervals are of what is left without it.
        extra = any(row.is_corrected for row in self.table)
        head = f"{'calibrator':{width}}  {'measure':{longest}}  {'value':>8}  "
        head += f"{WITHOUT_BIAS}  {percent:>18}  " if extra else f"{percent:>18}  "
        lines = [head + f"{'change':>9}  p-value"]
        for row in self.table:
            line = f"{row.calibrator:{width}}  {row.measure:{longest}}  "
            line += f"{format_measure(row.value):>8}  "
            line += f"{show_corrected(row):>{len(WITHOUT_BIAS)}}  " if extra else ""
            line += f"{format_measure_range(row.low, row.high):>18}"
            if row.calibrator != UNCALIBRATED:
                chance = "" if row.pvalue is None else format_pvalue(row.pvalue)
                line += f"  {format_measure(row.difference):>9}  {chance}"
            lines.append(line.rstrip())
        return "\n".join([*lines, *filter(None, [self.sources()])])

    def _repr_html_(self) -> str:
        return html_of_comparison(self)


def columns_of(table: Iterable[ComparisonRow]) -> dict[str, list[Any]]:
    """Rows of a comparison as lists, one for each column."""
    names = [one.name for one in fields(ComparisonRow)]
    values = zip(*(astuple(row) for row in table), strict=True)
    return {name: list(column) for name, column in zip(names, values, strict=True)}


def show_corrected(row: ComparisonRow) -> str:
    """The value that the interval is one of; nothing where it is the measured one."""
    return format_measure(row.corrected) if row.is_corrected and row.corrected is not None else ""
