"""Effects of a map in numbers, and in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.stats import chi2

from dircal._terminal import printable
from dircal.explain._limits import EXPLAIN_LIMITS

__all__ = [
    "ClassEffect",
    "PairEffect",
    "TemperatureComparison",
    "about_classes",
    "about_confidence",
    "about_pairs",
    "about_temperature",
    "caution",
    "short_label",
    "verdict",
]


@dataclass(frozen=True)
class ClassEffect:
    """What the map does to one class.

    ``before``, ``tempered`` and ``after`` are mean probabilities without a map, with the best
    temperature map and with this map; ``shift`` is the difference of the log-odds of the last two,
    negative where the class was over-estimated. ``observed`` is the share of the rows that belong
    to it, where labels are known.
    """

    label: Any
    shift: float
    before: float
    tempered: float
    after: float
    observed: float | None


@dataclass(frozen=True)
class PairEffect:
    """What the map does to the rows that ``leader`` leads with ``second`` next.

    ``shift`` is the mean change of the log-odds towards ``second``, beyond what the temperature
    map and the two classes as such explain. Rows count for it by how contested they are;
    ``contested`` is their sum, ``share`` the part of all rows that these are, and ``flipped`` the
    part of all rows in which the decision moves to ``second``.
    """

    leader: Any
    second: Any
    shift: float
    share: float
    contested: float
    flipped: float


_Effect = TypeVar("_Effect", ClassEffect, PairEffect)


@dataclass(frozen=True)
class TemperatureComparison:
    """How far the map is from the best temperature map, on the fitting rows.

    Mean log-losses; without a map it is not known of temperature scaling. The likelihood ratio is
    twice the gain in log-likelihood over all rows, to be read against the number of additional
    parameters; of a Bayesian map those count that the rows determine, not those that the prior
    holds.
    """

    temperature: float
    loss_uncalibrated: float | None
    loss_temperature: float
    loss: float
    likelihood_ratio: float
    additional_parameters: int

    @property
    def pvalue(self) -> float:
        """Chance of such a likelihood ratio if one temperature were enough."""
        if self.additional_parameters == 0:
            return 1.0
        return float(chi2.sf(max(self.likelihood_ratio, 0.0), self.additional_parameters))


def verdict(temperature: float) -> str:
    """What the best single temperature means for the scores, in one or two words."""
    if abs(temperature - 1.0) < EXPLAIN_LIMITS.get().max_right_log_temperature:
        return "about right"
    return "overconfident" if temperature > 1.0 else "underconfident"


def about_confidence(temperature: float) -> str:
    word = verdict(temperature)
    if word == "about right":
        return f"Confidence is about right: the best-fitting temperature is {temperature:.2f}."
    return (
        f"The classifier is {word}: the best-fitting temperature is {temperature:.2f} "
        "(1 means no change)."
    )


def about_classes(classes: tuple[ClassEffect, ...]) -> list[str]:
    classes = tuple(
        c for c in classes if abs(c.after - c.tempered) >= EXPLAIN_LIMITS.get().min_visible_change
    )
    told = _worth_telling(classes, [abs(c.after - c.tempered) for c in classes])
    return [_about_class(effect) for effect in told] or [
        "No class is clearly over- or underestimated."
    ]


def _about_class(effect: ClassEffect) -> str:
    word = "overestimated" if effect.shift < 0 else "underestimated"
    observed = "" if effect.observed is None else f" (observed frequency {effect.observed:.3f})"
    return (
        f"{_name(effect.label)} is {word}: its mean probability is {effect.before:.3f} before and "
        f"{effect.after:.3f} after{observed}."
    )


def about_pairs(pairs: tuple[PairEffect, ...], n_rows: float) -> list[str]:
    limits = EXPLAIN_LIMITS.get()
    pairs = tuple(pair for pair in pairs if pair.contested * n_rows >= limits.min_pair_rows)
    told = _worth_telling(pairs, [pair.contested * abs(pair.shift) for pair in pairs])
    # The other direction of a pair belongs to it, even if it is weaker.
    reversed_ = {(pair.second, pair.leader) for pair in told}
    also = [
        p
        for p in pairs
        if (p.leader, p.second) in reversed_ and abs(p.shift) >= limits.min_odds_change
    ]
    told += [pair for pair in also if pair not in told]
    return [_about_pair(pair, n_rows) for pair in told] or [
        "Beyond that, no two classes are clearly confused."
    ]


def _worth_telling(effects: Sequence[_Effect], sizes: list[float]) -> list[_Effect]:
    """Those of the first effects that change the odds and are not dwarfed by the largest."""
    limits = EXPLAIN_LIMITS.get()
    first = list(zip(effects, sizes, strict=True))[: limits.max_sentences]
    return [
        effect
        for effect, size in first
        if abs(effect.shift) >= limits.min_odds_change
        and size >= limits.min_relative_effect * sizes[0]
    ]


def _about_pair(pair: PairEffect, n_rows: float) -> str:
    limits = EXPLAIN_LIMITS.get()
    leader, second = _name(pair.leader), _name(pair.second)
    word, gains = ("over", second) if pair.shift > 0 else ("under", leader)
    size = float(np.exp(abs(pair.shift)))
    factor = f"{size:.1f}" if size <= limits.max_factor else f"more than {limits.max_factor:.0f}"
    flipped = ""
    if pair.shift > 0 and pair.flipped > 0:
        flipped = f", and {pair.flipped * n_rows:.0f} predictions change to {second}"
    return (
        f"When {leader} is predicted and {second} comes second ({pair.share:.1%} of rows), "
        f"{leader} is {word}estimated: the odds shift towards {gains} by a factor of "
        f"{factor}{flipped}."
    )


def caution(comparison: TemperatureComparison) -> list[str]:
    if (
        comparison.additional_parameters == 0
        or comparison.pvalue < EXPLAIN_LIMITS.get().significance
    ):
        return []
    return [
        "The remaining effects may be noise: on these rows, a single temperature fits "
        "about as well."
    ]


def about_temperature(comparison: TemperatureComparison) -> str:
    if comparison.additional_parameters == 0:
        return (
            "The map is a single temperature; its log-loss on the calibration set is "
            f"{comparison.loss:.4f}."
        )
    verdict = (
        "one temperature is not enough"
        if comparison.pvalue < EXPLAIN_LIMITS.get().significance
        else "one temperature fits about as well"
    )
    start = comparison.loss_uncalibrated
    before = "" if start is None else f"{start:.4f} uncalibrated, "
    return (
        f"Log-loss on the calibration set: {before}{comparison.loss_temperature:.4f} with the best "
        f"temperature, {comparison.loss:.4f} with this map. The likelihood ratio is "
        f"{comparison.likelihood_ratio:.1f} for {comparison.additional_parameters} extra "
        f"parameters: {verdict}."
    )


def short_label(label: Any, width: int) -> str:
    text = _name(label)
    return text if len(text) <= width else text[: width - 1] + "…"


def _name(label: Any) -> str:
    """A label in a line of text, to which nothing in it puts an end."""
    return printable(str(label)).replace("\n", " ")
