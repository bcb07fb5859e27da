"""What the rows say: values by network, ranks over sources, and what is more than chance."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binomtest, sem, t

from experiments._shared.ranking import Ranking

from ._methods import GENERAL, OURS, PAPER_METHODS
from ._results import Results

__all__ = ["FAMILIES", "Family", "Mean", "Share", "Study"]

_MANY = 100
"""From so many classes on the paper speaks of many."""


class Family(NamedTuple):
    """Methods that are ranked among each other, and whether they need logits."""

    methods: tuple[str, ...]
    needs_logits: bool
    title: str


_RANKED = tuple(method for method in OURS if method != "Bayes-logits")
"""Given logits, Bayes is the same to all digits; twice the same would be a tie by force."""

FAMILIES = {
    "paper": Family(PAPER_METHODS, True, "The paper's six methods, files with logits"),
    "general": Family(GENERAL, False, "Methods without logits, all files"),
    "paper and ours": Family(
        (*PAPER_METHODS, *_RANKED), True, "The paper's methods and ours, files with logits"
    ),
    "general and ours": Family(
        (*GENERAL, *_RANKED), False, "Methods without logits and ours, all files"
    ),
}


@dataclass(frozen=True)
class Share:
    """How many sources of how many, with an interval of 95 % for the share (Wilson).

    Sources, not networks: nine networks on the same pictures are not nine trials.
    """

    count: int
    n: int

    def __bool__(self) -> bool:
        return self.n > 0

    @property
    def value(self) -> float:
        """The share; nan of nothing."""
        return self.count / self.n if self.n else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Its ends; everything of nothing."""
        if not self.n:
            return 0.0, 1.0
        low, high = binomtest(self.count, self.n).proportion_ci(method="wilson")
        return float(low), float(high)

    def __str__(self) -> str:
        if not self.n:
            return "none"
        low, high = self.interval
        return f"{self.count} of {self.n} sources ({100 * low:.0f} to {100 * high:.0f} %)"


@dataclass(frozen=True)
class Mean:
    """A mean over sources, with an interval of 95 % (Student)."""

    values: tuple[float, ...]

    def __bool__(self) -> bool:
        return len(self.values) > 0

    @property
    def value(self) -> float:
        """The mean; nan of nothing."""
        return float(np.mean(self.values)) if self.values else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Its ends; the whole line of fewer than two."""
        n = len(self.values)
        if n < 2:
            return -np.inf, np.inf
        reach = float(t.ppf(0.975, n - 1) * sem(self.values))
        return self.value - reach, self.value + reach

    def __str__(self) -> str:
        told = f"{100 * self.value:+.2f} %"
        if len(self.values) < 2:
            return told
        low, high = self.interval
        return f"{told} ({100 * low:+.2f} to {100 * high:+.2f} %)"


class Study:
    """All rows, with the questions that the tables ask of them."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.rows = results.read("rows.csv")
        self.networks = results.read("networks.csv").set_index("network")
        self.fits = results.read("fits.csv")
        self.choices = results.read("choices.csv")
        self._differences = results.read("differences.csv")

    def write(self, folder: str, tables: "dict[str, Callable[[Study], pd.DataFrame]]") -> None:
        """Make tables and write each under its name."""
        for name, make in tables.items():
            self.results.write(f"{folder}/{name}.csv", make(self))

    @cached_property
    def values(self) -> pd.DataFrame:
        """A line for each network, columns (measure, method)."""
        return self.rows.pivot(index="network", columns=["measure", "method"], values="value")

    def of(self, measure: str, method: str) -> pd.Series:
        """One column; empty where nothing of it has been run."""
        if (measure, method) not in self.values.columns:
            return pd.Series(dtype=float)
        column: pd.Series = self.values[(measure, method)].dropna()
        return column

    def chosen(
        self, *, logits: bool = False, many: bool | None = None, kind: str = "network"
    ) -> pd.Index:
        """Networks of a kind, with logits, and with few or many classes."""
        about = self.networks[self.networks["kind"] == kind]
        if logits:
            about = about[about["logits"] == 1]
        if many is not None:
            about = about[(about["n_classes"] >= _MANY) == many]
        return about.index

    def by_source(self, measure: str, family: Family) -> pd.DataFrame:
        """Means over the networks of each source that have all the methods."""
        columns = [(measure, method) for method in family.methods]
        if not set(columns).issubset(self.values.columns):
            return pd.DataFrame(columns=list(family.methods))
        names = self.chosen(logits=family.needs_logits)
        table = self.values[columns].reindex(names).dropna()
        table.columns = pd.Index(family.methods)
        means: pd.DataFrame = table.groupby(self.networks["source"]).mean()
        return means

    def ranking(self, measure: str, family: str) -> Ranking | None:
        """Ranks over sources; None where fewer than two are finished."""
        values = self.by_source(measure, FAMILIES[family])
        return Ranking.of(values, measure) if len(values) >= 2 else None

    def wins(self, method: str, other: str, measure: str, networks: pd.Index) -> Share:
        """On how many sources the first has the lower value, by the means over their networks."""
        pair = self._pair(measure, method, other, networks)
        pair = pair.groupby(self.networks["source"]).mean()
        return Share(int((pair[method] < pair[other]).sum()), len(pair))

    def agree(self, found: pd.Series) -> Share:
        """On how many sources more than half of the networks have what was looked for."""
        part = found.astype(float).groupby(self.networks["source"]).mean()
        return Share(int((part > 0.5).sum()), len(part))

    def reduction(self, method: str, other: str, measure: str, networks: pd.Index) -> Mean:
        """By which part the first is lower, network by network, then the mean of each source."""
        pair = self._pair(measure, method, other, networks)
        part = 1.0 - pair[method] / pair[other]
        return Mean(tuple(part.groupby(self.networks["source"]).mean()))

    def _pair(self, measure: str, method: str, other: str, networks: pd.Index) -> pd.DataFrame:
        both = {name: self.of(measure, name) for name in (method, other)}
        pair = pd.DataFrame(both)
        return pair[pair.index.isin(networks)].dropna()

    def differences(self, method: str, other: str) -> pd.DataFrame:
        """Differences of log-loss row by row: a line for each network, with an interval."""
        if self._differences.empty:
            return pd.DataFrame(columns=["difference", "low", "high", "moved"])
        own = self._differences
        own = own[(own["method"] == method) & (own["other"] == other)]
        return own.set_index("network")[["difference", "low", "high", "moved"]]

    def column(self, method: str, name: str) -> pd.Series:
        """A column of the fits of one method, by network."""
        own = self.fits[self.fits["method"] == method].set_index("network")[name]
        return pd.to_numeric(own, errors="coerce").dropna()
