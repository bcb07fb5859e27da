"""What the rows say: means over folds, ranks over pairs, and what is more than chance."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import sem, t

from experiments._shared.measures import HIGHER_IS_BETTER, MEASURES
from experiments._shared.ranking import Ranking

from ._methods import LEGACY, METHODS, OURS, PAPER_METHODS
from ._results import Results

__all__ = ["NOT_ALL_CLASSIFIERS", "PASS", "Ranking", "Study", "Temperature"]

PASS = 0.05
"""A test is passed with a p-value above this."""
NOT_ALL_CLASSIFIERS = ("libras-movement", "mfeat-karhunen", "shuttle", "yeast")
"""Datasets that the paper's comparison of classifiers leaves out."""

Temperature = Literal["converged", "2019"]


def _half(values: Any) -> float:
    """Half of an interval of 95 % for a mean (Student)."""
    return float(t.ppf(0.975, len(values) - 1) * sem(values)) if len(values) > 1 else float("nan")


def _reach(values: pd.Series) -> float:
    """Half of an interval of 95 % for a mean over pairs (Student); the datasets are the trials."""
    return _half(values.groupby("dataset").mean())


def _reach_of_ratio(parts: pd.Series, sizes: pd.Series) -> float:
    """Half of an interval of 95 % for the sum of parts by that of sizes; a dataset is a trial."""
    return _half((parts - parts.sum() / sizes.sum() * sizes) / sizes.mean())


class Study:
    """All rows, with the questions that the tables ask of them."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.rows = results.all_rows()
        self._examples: dict[str, pd.DataFrame] = {}

    def write(self, folder: str, tables: "dict[str, Callable[[Study], pd.DataFrame]]") -> None:
        """Make tables and write each under its name."""
        for name, make in tables.items():
            self.results.write(f"{folder}/{name}.csv", make(self))

    def example(self, name: str) -> pd.DataFrame:
        """A table of an example, read once."""
        if name not in self._examples:
            self._examples[name] = self.results.read(name)
        return self._examples[name]

    @cached_property
    def means(self) -> pd.DataFrame:
        """Mean over the test folds: a line for each finished pair, columns (measure, method)."""
        by = ["dataset", "classifier", "measure", "method"]
        folds = self.rows.groupby(by)["value"]
        count = folds.size().unstack(["measure", "method"])
        complete = count.eq(count.iloc[:, 0], axis=0).all(axis=1) & (count.iloc[:, 0] % 5 == 0)
        means: pd.DataFrame = folds.mean().unstack(["measure", "method"])[complete]
        return means

    @cached_property
    def repetitions(self) -> pd.Series:
        """How often the five folds were drawn for each pair."""
        return self.rows.groupby(["dataset", "classifier"])["repetition"].nunique()

    def values(self, measure: str, temperature: Temperature = "converged") -> pd.DataFrame:
        """Means of the paper's seven methods, with either temperature scaling as TempS."""
        table = self.means[measure]
        if temperature == "2019":
            table = table.assign(TempS=table[LEGACY])
        return table[list(PAPER_METHODS)]

    def ranking(
        self,
        measure: str,
        temperature: Temperature = "converged",
        classifier: str | None = None,
    ) -> Ranking:
        """Ranks of the seven methods over all pairs or those of one classifier."""
        return self._ranking(self.values(measure, temperature), measure, classifier)

    def _ranking(self, values: pd.DataFrame, measure: str, classifier: str | None) -> Ranking:
        if classifier is not None:
            values = values[values.index.get_level_values("classifier") == classifier]
        return Ranking.of(values, measure)

    def rank_gap(self, measure: str, method: str, than: str) -> tuple[float, float]:
        """How far a method ranks behind another, and the reach of that; datasets are the trials."""
        values = self.values(measure).round(12)
        ranks = values.rank(axis=1, ascending=measure not in HIGHER_IS_BETTER)
        gap = ranks[method] - ranks[than]
        return float(gap.mean()), _reach(gap)

    def rank_instead(self, method: str, measure: str, classifier: str | None = None) -> float:
        """Average rank of a method of ours that takes the place of DirL2 among the seven."""
        values = self.values(measure).assign(DirL2=self.means[measure][method])
        return float(self._ranking(values, measure, classifier).ranks["DirL2"])

    def ranking_of_all(self, measure: str) -> Ranking:
        """Ranks of the seven methods and ours together."""
        return Ranking.of(self.means[measure][[*PAPER_METHODS, *OURS]], measure)

    def share_better(self, measure: str, method: str, than: str) -> float:
        """Share of pairs on which a method is better than another; equal ones count half."""
        return float(self._better(measure, method, than).mean())

    def reach_better(self, measure: str, method: str, than: str) -> float:
        """How far the interval of that share reaches to either side."""
        return _reach(self._better(measure, method, than))

    def _better(self, measure: str, method: str, than: str) -> pd.Series:
        """One where a method is better than another, zero where it is worse, half where equal."""
        values = self.means[measure].round(12)
        gain = np.sign(values[method] - values[than])
        return (1.0 + gain if measure in HIGHER_IS_BETTER else 1.0 - gain) / 2.0

    def ranking_of_classifiers(self, measure: str) -> Ranking:
        """Ranks of the uncalibrated classifiers over the datasets of the paper's comparison."""
        values = self.means[measure]["Uncal"].unstack("classifier")
        kept = [name for name in values.index if name not in NOT_ALL_CLASSIFIERS]
        return Ranking.of(values.loc[kept].dropna(), measure, "nemenyi")

    def tests(self, measure: str, by: str) -> pd.DataFrame:
        """Rows with the p-values that are compared: of all methods, or of all classifiers.

        Classifiers are compared on the datasets of the paper's comparison, uncalibrated.
        """
        rows = self.rows[self.rows["measure"] == measure]
        if by == "classifier":
            left_out = rows["dataset"].isin(NOT_ALL_CLASSIFIERS)
            rows = rows[(rows["method"] == "Uncal") & ~left_out]
        return rows

    def passed(self, measure: str, by: str) -> pd.Series:
        """Share of passed tests; every pair counts once, however often it was repeated."""
        return self._passed(measure, by).mean().sort_values(ascending=False)

    def reach_passed(self, measure: str, by: str) -> pd.Series:
        """How far the intervals of these shares reach to either side."""
        return self._passed(measure, by).agg(_reach)

    def passed_ahead(self, measure: str, name: str, others: list[str]) -> tuple[float, float]:
        """By how much a classifier passes more often than others in the mean, and its reach."""
        shares = self._shares_passed(measure, "classifier").groupby(["dataset", "classifier"])
        table = shares.mean().unstack("classifier")
        gap = (table[name] - table[others].mean(axis=1)).dropna()
        return float(gap.mean()), _half(gap)

    def _passed(self, measure: str, by: str) -> Any:
        return self._shares_passed(measure, by).groupby(by)

    def _shares_passed(self, measure: str, by: str) -> Any:
        rows = self.tests(measure, by)
        share = (rows["value"] > PASS).groupby(
            [rows["dataset"], rows["classifier"], rows["method"]]
        )
        return share.mean()

    def chosen(self, method: str) -> pd.Series:
        """How often each hyperparameter was chosen, in the first repetition of every pair."""
        return self._choices(method).sum()

    def reach_chosen(self, method: str) -> pd.Series:
        """How far the intervals of the shares of these choices reach to either side."""
        choices = self._choices(method)
        return choices.apply(_reach_of_ratio, sizes=choices.sum(axis=1))

    def lead_of(self, method: str, value: float) -> tuple[float, float]:
        """By how much a value is chosen more often than any other, and the reach of that."""
        choices = self._choices(method)
        others = choices.drop(columns=value, errors="ignore")
        own = choices[value] if value in choices else 0 * others.iloc[:, 0]
        lead, sizes = own - others[others.sum().idxmax()], choices.sum(axis=1)
        return float(lead.sum() / sizes.sum()), _reach_of_ratio(lead, sizes)

    def _choices(self, method: str) -> pd.DataFrame:
        """Counts of chosen values, a line for each dataset."""
        rows = self.rows[(self.rows["method"] == method) & (self.rows["repetition"] == 0)]
        texts = rows[rows["measure"] == MEASURES[0]].set_index("dataset")["chosen"]
        values = texts.str.split(r"[; ]+", regex=True).explode().astype(float)
        return values.groupby("dataset").value_counts().unstack(fill_value=0).sort_index(axis=1)

    def seconds(self) -> pd.DataFrame:
        """Seconds of each method: a cell's mean and largest, and the sum of one repetition."""
        rows = self.rows[self.rows["measure"] == MEASURES[0]]
        spent = rows.groupby("method")["seconds"]
        once = rows[rows["repetition"] == 0].groupby("method")["seconds"].sum()
        columns = {"mean": spent.mean(), "largest": spent.max(), "one_repetition": once}
        return pd.DataFrame(columns).loc[list(METHODS)]
