"""Why a number of ours is not the printed one."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from ._calibrate import DRAWS
from ._published import OTHER_ORDERS, PUBLISHED_ORDER
from ._tables import as_printed

__all__ = ["EXPLAINED", "NOT_EXPLAINED", "Cell", "Reruns", "digits_of", "judge"]

_LEVEL = 0.99
_DIGITS = {"p-conf-ECE": 3, "p-cw-ECE": 4}
_PRINTED_DRAWS = {"p-conf-ECE": 1000, "p-cw-ECE": 10_000}
"""As the decimals tell."""
_WITHOUT_ADAM = ("Uncal", "TempS")
_RUNS = ", ".join(f"{method} {1 + others} runs" for method, others in OTHER_ORDERS.items())
NOT_EXPLAINED = "not explained"
EXPLAINED = {
    "equal": "Our converged fit has all printed digits.",
    "draws": (
        "p-values are shares of random draws. Ours and the printed one differ by no more than two "
        "such shares of the same probabilities do in 99 of 100 cases; print has 1000 draws of "
        "confidence and 10 000 of classes, as its decimals tell."
    ),
    "ten bins": (
        "The authors' code calls the test of confidence with the default of its error, 10 bins, "
        "where all else has 15. In ten bins our map has the printed p-value, up to draws."
    ),
    "Adam": (
        "Our map is the minimum of the objective, that of print is where Adam stopped, with the "
        "strengths that were chosen among such maps. The published procedure run again, with its "
        "strengths and in its order of rows, has all printed digits (p-values: in ten bins for "
        "confidence, and up to draws)."
    ),
    "Adam, other order": (
        "As before, but print is of a run whose order of rows, or whose strengths, we do not know: "
        "it lies in the interval in which one more run falls in 99 of 100 cases, by the runs in "
        f"the orders that were tried (Student; {_RUNS}). This is weaker than digits: print is not "
        "contradicted."
    ),
}
"""What each verdict means, best first."""


def digits_of(measure: str) -> int:
    """Decimals that the tables print of a measure."""
    return _DIGITS.get(measure, 5)


@dataclass(frozen=True)
class Cell:
    """One printed number, and ours in its units."""

    measure: str
    method: str
    ours: float
    printed: float

    @property
    def digits(self) -> int:
        """Decimals in print."""
        return digits_of(self.measure)

    def is_printed(self, value: float) -> bool:
        """Whether a value would be printed as this cell is; p-values up to draws."""
        if self.measure in _PRINTED_DRAWS:
            return abs(value - self.printed) <= self._reach_of_draws(value)
        return self.has_digits_of(value)

    def has_digits_of(self, value: float) -> bool:
        """Whether all printed digits are the same."""
        return f"{value:.{self.digits}f}" == f"{self.printed:.{self.digits}f}"

    def _reach_of_draws(self, value: float) -> float:
        """How far two shares of so many draws are apart at most, and half a digit."""
        share = (value + self.printed) / 2.0
        variance = share * (1.0 - share) * (1.0 / DRAWS + 1.0 / _PRINTED_DRAWS[self.measure])
        reach = norm.ppf(0.5 + _LEVEL / 2.0) * np.sqrt(variance)
        return float(reach + 0.5 * 10.0**-self.digits)


@dataclass(frozen=True)
class Reruns:
    """Values of the published procedure, in its order of rows and in all that were tried."""

    published: float
    values: tuple[float, ...]

    @classmethod
    def of(
        cls, table: pd.DataFrame, network: str, method: str, measure: str, n_classes: int
    ) -> "Reruns | None":
        """From the table of re-runs, in the units of print; None where there is none."""
        if table.empty:
            return None
        own = table[
            (table["network"] == network)
            & (table["method"] == method)
            & (table["measure"] == measure)
        ]
        values = own.set_index("order")["value"].map(lambda v: as_printed(measure, v, n_classes))
        if PUBLISHED_ORDER not in values.index:
            return None
        return cls(float(values[PUBLISHED_ORDER]), tuple(values))

    def interval(self) -> tuple[float, float]:
        """Where one more run falls (Student); a point where there was one run only."""
        n, mean = len(self.values), float(np.mean(self.values))
        if n < 2:
            return mean, mean
        spread = float(np.std(self.values, ddof=1)) * np.sqrt(1.0 + 1.0 / n)
        reach = float(t.ppf(0.5 + _LEVEL / 2.0, n - 1)) * spread
        # No measure is negative.
        return max(mean - reach, 0.0), mean + reach


def judge(cell: Cell, reruns: Reruns | None) -> str:
    """The first explanation that fits."""
    if cell.has_digits_of(cell.ours):
        return "equal"
    # The test of confidence is printed of ten bins: in 15 it may be near by chance.
    if cell.is_printed(cell.ours) and (reruns is None or cell.measure != "p-conf-ECE"):
        return "draws"
    if reruns is None:
        return NOT_EXPLAINED
    if cell.is_printed(reruns.published):
        return "ten bins" if cell.method in _WITHOUT_ADAM else "Adam"
    low, high = reruns.interval()
    half = 0.5 * 10.0**-cell.digits
    if low - half <= cell.printed <= high + half:
        return "Adam, other order"
    return NOT_EXPLAINED
