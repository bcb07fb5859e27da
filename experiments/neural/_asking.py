"""How claims are asked of the rows: what is counted, averaged, and told."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from experiments._shared.ranking import Ranking

from ._example import CLASS_NAMES, EXAMPLE, OF_EFFECTS, bins_name, matrix_name, pairs_name
from ._study import Mean, Share, Study
from ._tables import as_printed

__all__ = [
    "BOTH",
    "NOT_RUN",
    "Answer",
    "Held",
    "OpenError",
    "best_ranked",
    "bins_of_example",
    "by_zeros",
    "gap",
    "gaps_by_class",
    "judged",
    "listed",
    "lower_in_example",
    "most",
    "off_diagonal",
    "passed",
    "reductions",
    "tell_ranks",
    "value_of_example",
    "where_zeros_matter",
]

BOTH = ("cw-ECE", "log-loss")
_SAME = 1e-4
"""Log-losses that differ by less are the same to the paper."""
_SEEN = 0.05
"""Off-diagonal entries below this part of the diagonal are too small to explain anything."""

NOT_RUN = "not run"


class Answer(NamedTuple):
    """Whether a claim holds, and the numbers that decide."""

    holds: bool
    numbers: str
    surely: bool | None = None
    """Whether the intervals leave no doubt of it; None where nothing has an interval."""


class Held(NamedTuple):
    """Whether a number is in a range, and whether its interval is on the same side."""

    holds: bool
    surely: bool

    @classmethod
    def within(
        cls,
        value: float,
        interval: tuple[float, float],
        low: float = -np.inf,
        high: float = np.inf,
        *,
        ends: bool = False,
    ) -> "Held":
        """A number between two others, which belong to the range where ``ends`` says so."""
        holds = low <= value <= high if ends else low < value < high
        if holds:
            return cls(True, low < interval[0] and interval[1] < high)
        return cls(False, interval[1] < low or interval[0] > high)


def judged(found: Iterable[Held], numbers: str) -> Answer:
    """All have to hold; one that surely does not is enough to be sure of no."""
    found = list(found)
    holds = all(one.holds for one in found)
    doubtless = all if holds else any
    return Answer(holds, numbers, doubtless(one.surely for one in found if one.holds == holds))


class OpenError(Exception):
    """The rows do not decide a claim; the message says why."""

    def __init__(self, why: str = NOT_RUN) -> None:
        super().__init__(why)


def most(
    study: Study,
    method: str,
    other: str,
    *,
    many: bool | None = None,
    logits: bool = False,
    measures: tuple[str, ...] = BOTH,
) -> Answer:
    """Whether the first is better on more than half of the sources, by all the measures."""
    networks = study.chosen(many=many, logits=logits)
    shares = {name: study.wins(method, other, name, networks) for name in measures}
    told = listed(shares)
    return judged((Held.within(one.value, one.interval, 0.5) for one in shares.values()), told)


def best_ranked(study: Study, measure: str, method: str) -> Answer:
    """Whether a method has the best average rank of the paper's six."""
    ranking = study.ranking(measure, "paper")
    if ranking is None:
        raise OpenError
    near = ranking.among_best()
    holds = ranking.order[0] == method
    surely = near == [method] if holds else method not in near
    return Answer(holds, f"{tell_ranks(ranking)}; p {ranking.pvalue:.2g}", surely)


def tell_ranks(ranking: Ranking) -> str:
    told = ", ".join(f"{name} {ranking.ranks[name]:.2f}" for name in ranking.order)
    return f"{told} ({ranking.n} sources, critical difference {ranking.difference:.2f})"


def reductions(study: Study, method: str, other: str) -> dict[str, Mean]:
    """By which part the first is lower, by both measures, where there are logits."""
    networks = study.chosen(logits=True)
    return {name: study.reduction(method, other, name, networks) for name in BOTH}


def listed(found: Mapping[str, Share | Mean]) -> str:
    """What was counted or averaged, by name; open where a part of it has not been run."""
    if not all(found.values()):
        raise OpenError
    return "; ".join(f"{name} {what}" for name, what in found.items())


def by_zeros(study: Study) -> tuple[list[str], list[str]]:
    """Networks on which the off-diagonal entries do nothing, and the others."""
    gaps = study.differences("MS-ODIR-zero", "MS-ODIR")["difference"]
    gaps = gaps[gaps.index.isin(study.chosen(logits=True))]
    if gaps.empty:
        raise OpenError
    same = gaps.abs() < _SAME
    return list(gaps[same].index), list(gaps[~same].index)


def where_zeros_matter(study: Study) -> list[str]:
    """Networks on which the off-diagonal entries do something."""
    _, rest = by_zeros(study)
    if not rest:
        raise OpenError("there is no such network here")
    return rest


def passed(study: Study, measure: str, method: str) -> Share:
    values = study.of(measure, method)
    return study.agree(values[values.index.isin(study.chosen())] > 0.01)


def value_of_example(study: Study, measure: str, method: str) -> float:
    found = study.of(measure, method)
    if EXAMPLE not in found.index:
        raise OpenError
    return float(found[EXAMPLE])


def lower_in_example(study: Study, measure: str, method: str, other: str) -> Answer:
    """Whether a measure of the example is lower with the first method."""
    first, second = (value_of_example(study, measure, name) for name in (method, other))
    first, second = (as_printed(measure, value, len(CLASS_NAMES)) for value in (first, second))
    told = f"{method} {first:.4f}, {other} {second:.4f}"
    found = study.results.read(pairs_name())
    own = [
        line
        for line in found.to_dict("records")
        if (line["measure"], line["method"], line["other"]) == (measure, method, other)
    ]
    if not own:
        return Answer(first < second, told)
    value, low, high = (float(own[0][name]) for name in ("difference", "low", "high"))
    told += f"; difference {value:+.4f} ({low:+.4f} to {high:+.4f})"
    return judged([Held.within(value, (low, high), high=0.0)], told)


def bins_of_example(study: Study, method: str, curve: str) -> pd.DataFrame:
    table = study.results.read(bins_name())
    if table.empty:
        raise OpenError
    return table[(table["method"] == method) & (table["curve"] == curve)]


@dataclass(frozen=True)
class Gap:
    """Mean of frequency minus mean probability, with an interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.4f} ({self.low:+.4f} to {self.high:+.4f})"


def gap(bins: pd.DataFrame, n_together: int = 1) -> Gap:
    """Over all rows; labels vary about the frequency of their bin. 95 % for so many at once."""
    n, rows, frequency = bins["rows"].sum(), bins["rows"], bins["frequency"]
    value = float((rows * (frequency - bins["mean_predicted"])).sum() / n)
    error = np.sqrt((rows * frequency * (1.0 - frequency)).sum()) / n
    reach = float(norm.ppf(1.0 - 0.025 / n_together) * error)
    return Gap(value, value - reach, value + reach)


def gaps_by_class(study: Study, method: str) -> dict[int, Gap]:
    classes = range(len(CLASS_NAMES))
    return {j: gap(bins_of_example(study, method, str(j)), len(CLASS_NAMES)) for j in classes}


def off_diagonal(study: Study) -> pd.DataFrame:
    """Entries of a canonical matrix with the changes of the confusion matrix."""
    table = study.results.read(matrix_name(OF_EFFECTS))
    if table.empty:
        raise OpenError
    on_diagonal = table["row"] == table["column"]
    own, diagonal = table[~on_diagonal], table[on_diagonal]["a"].mean()
    if own["a"].max() < _SEEN * diagonal:
        raise OpenError(
            f"not decidable here: the largest off-diagonal entry is {own['a'].max():.4f}, the mean "
            f"of the diagonal {diagonal:.2f}, and the changes come from diagonal and intercepts"
        )
    return own.assign(change=own["confusions_after"] - own["confusions_before"])
