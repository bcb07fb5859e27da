"""A table of measures of several calibrators, and how it is shown."""

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dircal._frames import to_frame
from dircal._numerals import format_measure, format_pvalue
from dircal._typing import FloatArray
from dircal.inference._calibrators import UNCALIBRATED
from dircal.inference._drawn_sums import Source
from dircal.inference._show import html_of_comparison, tell_sources
from dircal.metrics import RECORDS
from dircal.tables import check_option

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

    @property
    def calibrators(self) -> list[str]:
        """Names of the calibrators, the uncalibrated predictions first."""
        return list(dict.fromkeys(row.calibrator for row in self.table))

    @property
    def measures(self) -> list[str]:
        """Names of the measures, the log-loss first."""
        names = dict.fromkeys(row.measure for row in self.table)
        return sorted(names, key=lambda name: name != "log_loss")

    def best(self, measure: str) -> str:
        """Return the name of the calibrator with the best value of a measure.

        Parameters
        ----------
        measure : str
            Name of the measure.

        Returns
        -------
        calibrator : str
            Of equal ones the first.
        """
        higher = measure in RECORDS and RECORDS[measure].higher_is_better
        values = [self.row(name, measure).value for name in self.calibrators]
        return self.calibrators[values.index(max(values) if higher else min(values))]

    def sentence(self) -> str:
        """Return the main result in one sentence."""
        measure = self.measures[0]
        title = RECORDS[measure].title.lower() if measure in RECORDS else measure
        best = self.best(measure)
        row, before = self.row(best, measure), self.row(UNCALIBRATED, measure)
        if best == UNCALIBRATED:
            return f"Best {title}: uncalibrated ({format_measure(before.value)})."
        chance = "" if row.pvalue is None else f", p-value {format_pvalue(row.pvalue)}"
        return (
            f"Best {title}: {best} ({format_measure(row.value)}; uncalibrated "
            f"{format_measure(before.value)}{chance})."
        )

    def to_frame(self, form: Literal["wide", "long"] = "wide") -> Any:
        """Return the table as a data frame.

        Parameters
        ----------
        form : {"wide", "long"}, default="wide"
            "wide": a row for each calibrator and a column for each measure. "long": a row for each
            calibrator and measure, with intervals, changes and p-values.

        Returns
        -------
        frame : data frame, or dict of lists
            Of pandas or polars; a dict of lists if neither is installed.
        """
        check_option("form", form, ("wide", "long"))
        if form == "long":
            return to_frame(columns_of(self.table))
        columns: dict[str, list[Any]] = {"calibrator": self.calibrators}
        for measure in self.measures:
            columns[measure] = [self.row(name, measure).value for name in self.calibrators]
        return to_frame(columns)

    def __repr__(self) -> str:
        names, columns = self.calibrators, [["", *self.calibrators]]
        for measure in self.measures:
            best = self.best(measure)
            stars = ["*" if name == best else " " for name in names]
            values = [format_measure(self.row(name, measure).value) for name in names]
            columns.append([measure, *(a + b for a, b in zip(values, stars, strict=True))])
        lines = [self.sentence(), "", *_as_lines(columns)]
        note = "* best. Intervals, changes and p-values: to_frame('long')."
        return "\n".join([*lines, "", note, *filter(None, [self.sources()])])

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


def _as_lines(columns: list[list[str]]) -> Iterator[str]:
    """Yield the lines of a table; headings are broken at underscores and end at the bottom."""
    headings = [heading.split("_") for heading, *_ in columns]
    height = max(map(len, headings))
    widths = [
        max(map(len, [*heading, *cells]))
        for heading, (_, *cells) in zip(headings, columns, strict=True)
    ]
    padded = [[""] * (height - len(heading)) + heading for heading in headings]
    rows = [*zip(*padded, strict=True), *zip(*(cells for _, *cells in columns), strict=True)]
    for first, *rest in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  ".join([f"{first:{widths[0]}}", *cells]).rstrip()
