"""What a fitted map corrects, in sentences and a small table."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.special import logit
from scipy.stats import chi2

from dircal._typing import FloatArray, LabelArray
from dircal.maps._contests import ContestEffect, about_contests, table_of_contests, told_of
from dircal.maps._effects import Effects, shifts_of_pairs

__all__ = [
    "ClassEffect",
    "Explanation",
    "PairEffect",
    "TemperatureComparison",
    "make_explanation",
]

# Told in sentences and shown in the table, at most, whatever the number of classes.
_TOLD = 3
_SHOWN = 5
# Contested rows that a pair needs to be told: fewer are an anecdote.
_CONTESTED_ROWS = 5.0
# Factors beyond this say no more.
_LARGEST_FACTOR = 20.0
# A change of the odds by a tenth is worth a word, unless another effect is far larger.
_NOTABLE = 0.1
# A mean probability that moves by less than this is not seen in the digits told.
_NOTICED = 1e-3
_NOT_DWARFED = 0.6
# Temperatures this close to one are called right.
_RIGHT_TEMPERATURE = 0.05
_SIGNIFICANT = 0.01


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
    parameters.
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


@dataclass(frozen=True)
class Explanation:
    r"""What a fitted map corrects.

    ``str`` of it is meant to be read; the attributes are the numbers behind it, all classes and
    all pairs, largest effect on the rows first.

    Parameters
    ----------
    name : str
        The calibrator.
    rows : str
        Which rows were looked at.
    n_rows : float
        Their number, counted by weight.
    classes : tuple of ClassEffect
        One for each class.
    pairs : tuple of PairEffect
        One for each pair of leading and second class that occurs.
    decisions_changed : float
        Part of the rows whose most probable class changes.
    comparison : TemperatureComparison
        The map against the best temperature map.
    contests : tuple of ContestEffect
        Confidence where one class stands alone, where two compete, and where more do.

    Notes
    -----
    Effects are measured on rows, not read off coefficients: an entry of the matrix that meets no
    data moves nothing. A class is over-estimated where the map lowers its mean probability more
    than the best temperature map does. The shift of a pair is the mean over its rows, the
    contested ones first of all, of

    .. math:: \ln\frac{\mu_j}{\mu_i} - \frac{1}{t} \ln\frac{q_j}{q_i},

    with i the leading and j the second class before the map, :math:`\mu` the probabilities after
    it and t the best temperature, less what the two classes as such gain against all others and
    what a different temperature would explain.

    When not to use it: it describes the map, not the truth. Whether the map is better than none
    is a matter of measures on new rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import DirichletCalibrator
    >>> rng = np.random.default_rng(0)
    >>> q = rng.dirichlet(np.ones(3), size=2000)
    >>> truth = q * [1.0, 1.0, 0.3]
    >>> y = [rng.choice(["ant", "bee", "cow"], p=row / row.sum()) for row in truth]
    >>> explanation = DirichletCalibrator().fit(q, y).explain()
    >>> print(explanation.sentences()[1])
    cow is over-estimated: mean probability 0.341 before, 0.172 after (observed 0.171).
    """

    name: str
    rows: str
    n_rows: float
    classes: tuple[ClassEffect, ...]
    pairs: tuple[PairEffect, ...]
    decisions_changed: float
    comparison: TemperatureComparison
    contests: tuple[ContestEffect, ...] = ()

    def sentences(self) -> list[str]:
        """The explanation, a sentence a line."""
        return [
            _about_confidence(self.comparison.temperature),
            *_caution(self.comparison),
            *about_contests(self.contests, self.n_rows),
            *_about_classes(self.classes),
            *_about_pairs(self.pairs, self.n_rows),
            f"{self.decisions_changed:.1%} of the decisions change.",
            _about_temperature(self.comparison),
        ]

    def table(self) -> str:
        """The largest effects as a table of plain text; empty where there are none."""
        if not self.classes:
            return ""
        lines = [f"{'class':<24}{'shift':>7}{'before':>9}{'after':>9}{'observed':>10}"]
        for effect in self.classes[:_SHOWN]:
            observed = "" if effect.observed is None else f"{effect.observed:.3f}"
            lines.append(
                f"{_short(effect.label, 24):<24}{effect.shift:>+7.2f}{effect.before:>9.3f}"
                f"{effect.after:>9.3f}{observed:>10}"
            )
        if self.pairs:
            lines += ["", f"{'leads, then second':<24}{'shift':>7}{'rows':>9}{'flipped':>9}"]
        for pair in self.pairs[:_SHOWN]:
            label = f"{_short(pair.leader, 10)}, {_short(pair.second, 10)}"
            lines.append(f"{label:<24}{pair.shift:>+7.2f}{pair.share:>9.1%}{pair.flipped:>9.1%}")
        bend = table_of_contests(self.contests)
        return "\n".join([*lines, "", *bend] if bend else lines)

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        heading = f"What {self.name} corrects, on {self.rows} ({self.n_rows:.0f} rows):"
        return "\n".join([heading, *(f"- {s}" for s in self.sentences()), "", self.table()]).strip()


def make_explanation(
    name: str,
    rows: str,
    n_rows: float,
    effects: Effects | None,
    labels: LabelArray,
    observed: FloatArray | None,
    comparison: TemperatureComparison,
) -> Explanation:
    """Put names to effects and order them by what they do to the rows."""
    if effects is None:
        return Explanation(name, rows, n_rows, (), (), 0.0, comparison)
    names = labels.tolist()
    of_classes = _log_odds(effects.after) - _log_odds(effects.tempered)
    by_class = np.argsort(-np.abs(effects.after - effects.tempered), kind="stable")
    of_pairs = shifts_of_pairs(effects)
    by_pair = np.argsort(-effects.contested * np.abs(of_pairs), kind="stable")
    return Explanation(
        name,
        rows,
        n_rows,
        tuple(
            ClassEffect(
                names[j],
                float(of_classes[j]),
                float(effects.before[j]),
                float(effects.tempered[j]),
                float(effects.after[j]),
                None if observed is None else float(observed[j]),
            )
            for j in by_class
        ),
        tuple(
            PairEffect(
                names[effects.leader[p]],
                names[effects.second[p]],
                float(of_pairs[p]),
                float(effects.share[p]),
                float(effects.contested[p]),
                float(effects.flipped[p]),
            )
            for p in by_pair
        ),
        effects.decisions_changed,
        comparison,
        told_of(effects.contests, has_labels=observed is not None),
    )


def _log_odds(proba: FloatArray) -> FloatArray:
    odds: FloatArray = logit(proba.clip(1e-15, 1.0 - 1e-15))
    return odds


def _about_confidence(temperature: float) -> str:
    if abs(temperature - 1.0) < _RIGHT_TEMPERATURE:
        return f"The confidence is about right: the best single temperature is {temperature:.2f}."
    word = "overconfident" if temperature > 1.0 else "underconfident"
    return f"The scores are {word}: the best single temperature is {temperature:.2f}."


def _about_classes(classes: tuple[ClassEffect, ...]) -> list[str]:
    classes = tuple(c for c in classes if abs(c.after - c.tempered) >= _NOTICED)
    told = _worth_telling(classes, [abs(c.after - c.tempered) for c in classes])
    return [_about_class(effect) for effect in told] or [
        "No class is plainly over- or under-estimated."
    ]


def _about_class(effect: ClassEffect) -> str:
    word = "over-estimated" if effect.shift < 0 else "under-estimated"
    observed = "" if effect.observed is None else f" (observed {effect.observed:.3f})"
    return (
        f"{effect.label} is {word}: mean probability {effect.before:.3f} before, "
        f"{effect.after:.3f} after{observed}."
    )


def _about_pairs(pairs: tuple[PairEffect, ...], n_rows: float) -> list[str]:
    pairs = tuple(pair for pair in pairs if pair.contested * n_rows >= _CONTESTED_ROWS)
    told = _worth_telling(pairs, [pair.contested * abs(pair.shift) for pair in pairs])
    # The other direction of a pair belongs to it, even if it is weaker.
    reversed_ = {(pair.second, pair.leader) for pair in told}
    also = [p for p in pairs if (p.leader, p.second) in reversed_ and abs(p.shift) >= _NOTABLE]
    told += [pair for pair in also if pair not in told]
    return [_about_pair(pair, n_rows) for pair in told] or [
        "No pair of classes is plainly confused beyond that."
    ]


def _worth_telling(effects: Sequence[_Effect], sizes: list[float]) -> list[_Effect]:
    """Those of the first effects that change the odds and are not dwarfed by the largest."""
    first = list(zip(effects, sizes, strict=True))[:_TOLD]
    return [
        effect
        for effect, size in first
        if abs(effect.shift) >= _NOTABLE and size >= _NOT_DWARFED * sizes[0]
    ]


def _about_pair(pair: PairEffect, n_rows: float) -> str:
    word, gains = ("sure", pair.second) if pair.shift > 0 else ("unsure", pair.leader)
    size = float(np.exp(abs(pair.shift)))
    factor = f"{size:.1f}" if size <= _LARGEST_FACTOR else f"more than {_LARGEST_FACTOR:.0f}"
    flipped = ""
    if pair.shift > 0 and pair.flipped > 0:
        flipped = f"; {pair.flipped * n_rows:.0f} of them become {pair.second}"
    return (
        f"Rows called {pair.leader} with {pair.second} second ({pair.share:.1%} of all) are too "
        f"{word} of {pair.leader}: the odds move towards {gains} by a factor of {factor}{flipped}."
    )


def _caution(comparison: TemperatureComparison) -> list[str]:
    if comparison.additional_parameters == 0 or comparison.pvalue < _SIGNIFICANT:
        return []
    return ["What follows may be chance: the rows do not show that more than that is wrong."]


def _about_temperature(comparison: TemperatureComparison) -> str:
    if comparison.additional_parameters == 0:
        return (
            f"One temperature is all there is to this map; its log-loss is {comparison.loss:.4f}."
        )
    verdict = (
        "more than one temperature is needed"
        if comparison.pvalue < _SIGNIFICANT
        else "one temperature would do about as well"
    )
    start = comparison.loss_uncalibrated
    before = "" if start is None else f"{start:.4f} before, "
    return (
        f"Log-loss {before}{comparison.loss_temperature:.4f} "
        f"with the best temperature, {comparison.loss:.4f} with this map (fitting rows); "
        f"likelihood ratio {comparison.likelihood_ratio:.1f} for "
        f"{comparison.additional_parameters} more parameters: {verdict}."
    )


def _short(label: Any, width: int) -> str:
    text = str(label)
    return text if len(text) <= width else text[: width - 1] + "…"
