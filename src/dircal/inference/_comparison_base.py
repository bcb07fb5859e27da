"""The table that a comparison of calibrators makes."""

import importlib
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dircal._typing import FloatArray
from dircal.validation import check_option

__all__ = ["UNCALIBRATED", "Comparison", "ComparisonRow"]

UNCALIBRATED = "uncalibrated"
"""Name of the predictions as they are."""


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
        labels.
    scored : array (m,)
        Which rows were scored, in the order of the probabilities.
    complaints : dict of tuples of str
        What the fits of each calibrator warned about.
    """

    table: tuple[ComparisonRow, ...]
    level: float
    probabilities: dict[str, FloatArray] = field(repr=False)
    scored: npt.NDArray[np.intp] = field(repr=False)
    complaints: dict[str, tuple[str, ...]]

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

    def columns(self) -> dict[str, list[Any]]:
        """The table as lists, one for each column."""
        names = [one.name for one in fields(ComparisonRow)]
        values = zip(*(astuple(row) for row in self.table), strict=True)
        return {name: list(column) for name, column in zip(names, values, strict=True)}

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas") -> Any:
        """The table as a data frame of a library that is installed."""
        check_option("library", library, ("pandas", "polars"))
        try:
            module = importlib.import_module(library)
        except ImportError as error:
            raise ImportError(
                f"`library` is {library!r}, which is not installed. Install it, or take "
                "`columns()`, which needs none."
            ) from error
        return module.DataFrame(self.columns())

    def __repr__(self) -> str:
        width = max(len(row.calibrator) for row in self.table)
        longest = max(len(row.measure) for row in self.table)
        percent = f"{100 * self.level:g} %"
        head = f"{'calibrator':{width}}  {'measure':{longest}}  {'value':>8}  {percent:>18}  "
        lines = [head + f"{'change':>9}  p-value"]
        for row in self.table:
            ends = "" if row.low is None else f"{_short(row.low)} to {_short(row.high)}"
            line = f"{row.calibrator:{width}}  {row.measure:{longest}}  {_short(row.value):>8}"
            line += f"  {ends:>18}"
            if row.calibrator != UNCALIBRATED:
                chance = "" if row.pvalue is None else f"{row.pvalue:.2g}"
                line += f"  {_short(row.difference):>9}  {chance}"
            lines.append(line.rstrip())
        return "\n".join(lines)


def _short(value: float | None) -> str:
    """A number in few characters, however small."""
    if value is None:
        return ""
    return f"{value:.4f}" if abs(value) >= 0.0005 or value == 0.0 else f"{value:.0e}"
