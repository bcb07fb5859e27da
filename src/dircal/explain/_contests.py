"""What a map does to the confidence of rows, by how many classes compete in them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from dircal._typing import FloatArray, IntArray
from dircal.explain._limits import EXPLAIN_LIMITS

__all__ = [
    "ContestEffect",
    "about_contests",
    "contests_of",
    "sums_by_contest",
    "table_of_contests",
    "told_of",
]

Contest: TypeAlias = Literal["alone", "pair", "many"]
"""One class holds nine tenths of the probability, two hold them together, or it takes more."""

_KINDS: tuple[Contest, ...] = get_args(Contest)
_WHERE: dict[Contest, str] = {
    "alone": "one class dominates",
    "pair": "two classes compete",
    "many": "more than two compete",
}


@dataclass(frozen=True)
class ContestEffect:
    """What the map does to the confidence of rows in which so many classes compete.

    The contest of a row is told by the best temperature map: in "alone" the leading class has nine
    tenths of the probability, in "pair" it has them with the second one, in "many" it takes more.
    ``share`` is the part of all rows. ``before``, ``tempered`` and ``after`` are the mean
    probability of the leading class without a map, with the best temperature map and with this
    map; ``observed`` is how often it is the label, where labels are known.
    """

    contest: Contest
    share: float
    before: float
    tempered: float
    after: float
    observed: float | None

    @property
    def shift(self) -> float:
        """Change of the log-odds from the temperature map to this: negative if that is too sure."""
        after, tempered = logit(np.clip([self.after, self.tempered], 1e-15, 1.0 - 1e-15))
        return float(after - tempered)

    @property
    def is_notable(self) -> bool:
        """Whether the map says something else than the temperature map, nearer to the labels."""
        limits = EXPLAIN_LIMITS.get()
        if (
            abs(self.shift) < limits.min_log_odds_change
            or abs(self.after - self.tempered) < limits.min_confidence_change
        ):
            return False
        right = self.after if self.observed is None else self.observed
        return abs(self.after - right) < abs(self.tempered - right)

    def contradicts(self, n_rows: float) -> bool:
        """Whether labels speak against the temperature map, by more than chance."""
        if self.observed is None:
            return False
        doubt = np.sqrt(self.tempered * (1.0 - self.tempered) / (self.share * n_rows))
        return bool(
            abs(self.tempered - self.observed)
            > EXPLAIN_LIMITS.get().min_confidence_change + 2.0 * doubt
        )


def sums_by_contest(
    probas: Sequence[FloatArray],
    leader: IntArray,
    second: IntArray,
    hits: npt.NDArray[Any],
    weight: FloatArray,
) -> FloatArray:
    """Weighted sums (3, 5) over rows, by contest: of ones, three confidences, and ``hits`` (m,).

    ``probas`` (k, m) are those without a map, with the temperature map and with this map.
    """
    limits = EXPLAIN_LIMITS.get()
    row = np.arange(len(weight))
    confidences = [proba[leader, row] for proba in probas]
    tempered = confidences[1]
    alone = tempered >= limits.contested_mass
    pair = tempered + probas[1][second, row] >= limits.contested_mass
    kind = np.where(alone, 0, np.where(pair, 1, 2))
    of_rows = [np.ones(len(weight)), *confidences, hits]
    sums = [np.bincount(kind, weight * values, len(_KINDS)) for values in of_rows]
    return np.array(sums, dtype=np.float64).T


def contests_of(sums: FloatArray) -> tuple[ContestEffect, ...]:
    """Means of what `sums_by_contest` has summed, of contests that occur."""
    return tuple(
        ContestEffect(kind, float(share), *(means / share).tolist())
        for kind, (share, *means) in zip(_KINDS, map(np.asarray, sums), strict=True)
        if share > 0.0
    )


def told_of(
    contests: tuple[ContestEffect, ...] | None, *, has_labels: bool
) -> tuple[ContestEffect, ...]:
    """What is known of rows with labels or without; older files know nothing."""
    found = contests or ()
    return found if has_labels else tuple(replace(each, observed=None) for each in found)


def about_contests(contests: Sequence[ContestEffect], n_rows: float) -> list[str]:
    """Return sentences on the rows for which one temperature is not enough, if any."""
    contests = [
        each for each in contests if each.share * n_rows >= EXPLAIN_LIMITS.get().min_contest_rows
    ]
    told = [_about(each) for each in contests if each.is_notable]
    if not told:
        return []
    others = [each for each in contests if not each.is_notable and not each.contradicts(n_rows)]
    sentences = [f"After temperature scaling, the classifier is still {_listed(told)}."]
    if others:
        places = _listed([_WHERE[each.contest] for each in others])
        sentences.append(f"After temperature scaling, confidence is about right when {places}.")
    return sentences


def table_of_contests(contests: Sequence[ContestEffect]) -> list[str]:
    """The same as lines of a table."""
    if not any(each.is_notable for each in contests):
        return []
    heading = ("rows", "before", "temp.", "after", "acc.")
    lines = [f"{'confidence when':<24}" + "".join(f"{name:>7}" for name in heading)]
    for each in contests:
        observed = "" if each.observed is None else f"{each.observed:.3f}"
        lines.append(
            f"{_WHERE[each.contest]:<24}{each.share:>7.1%}{each.before:>7.3f}"
            f"{each.tempered:>7.3f}{each.after:>7.3f}{observed:>7}"
        )
    return lines


def _about(each: ContestEffect) -> str:
    word = "overconfident" if each.shift < 0.0 else "underconfident"
    right = "" if each.observed is None else f"accuracy {each.observed:.3f}, "
    return (
        f"{word} when {_WHERE[each.contest]} ({each.share:.1%} of rows: confidence "
        f"{each.tempered:.3f}, {right}this map {each.after:.3f})"
    )


def _listed(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
