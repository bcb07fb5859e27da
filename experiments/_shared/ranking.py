"""Average ranks of methods, and which differences are more than chance."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from dircal import critical_difference, friedman
from dircal.inference import rank_groups

from .measures import HIGHER_IS_BETTER

__all__ = ["ALPHA_FRIEDMAN", "Ranking"]

ALPHA_FRIEDMAN = 0.005


@dataclass(frozen=True)
class Ranking:
    """Average ranks of several methods over several datasets or pairs."""

    ranks: pd.Series
    n: int
    statistic: float
    pvalue: float
    difference: float

    @classmethod
    def of(cls, values: pd.DataFrame, measure: str, posthoc: str = "bonferroni_dunn") -> "Ranking":
        """Rank the columns in every row; values that differ by rounding only are equal."""
        best: Literal["highest", "lowest"] = "highest" if measure in HIGHER_IS_BETTER else "lowest"
        result = friedman(values.to_numpy().round(12), best=best)
        difference = critical_difference(
            values.shape[1],
            len(values),
            method=posthoc,  # type: ignore[arg-type]
        )
        ranks = pd.Series(result.average_ranks, index=values.columns)
        return cls(ranks, len(values), result.statistic, result.pvalue, difference)

    @property
    def is_significant(self) -> bool:
        """Whether the paper would go on to compare the methods in pairs."""
        return self.pvalue < ALPHA_FRIEDMAN

    @property
    def order(self) -> list[str]:
        """Best first."""
        return list(self.ranks.sort_values(kind="stable").index)

    def groups(self) -> list[list[str]]:
        """Methods that do not differ by more than the critical difference."""
        if not self.is_significant:
            return [self.order]
        found = rank_groups(self.ranks.to_numpy(), self.difference)
        return [[self.ranks.index[i] for i in group] for group in found]

    def among_best(self) -> list[str]:
        """Methods that do not differ from the best one."""
        return self._near(self.ranks - self.ranks.min())

    def among_worst(self) -> list[str]:
        """Methods that do not differ from the worst one."""
        return self._near(self.ranks.max() - self.ranks)

    def _near(self, gaps: pd.Series) -> list[str]:
        reach = self.difference if self.is_significant else np.inf
        return list(gaps[gaps <= reach + 1e-12].index)
