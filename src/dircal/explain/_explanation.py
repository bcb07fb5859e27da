"""What a fitted map corrects, in sentences and a small table."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.special import logit

from dircal._html import card, table
from dircal._typing import FloatArray, LabelArray
from dircal.explain._contests import ContestEffect, about_contests, table_of_contests, told_of
from dircal.explain._effects import Effects, shifts_of_pairs
from dircal.explain._limits import EXPLAIN_LIMITS
from dircal.explain._sentences import (
    ClassEffect,
    PairEffect,
    TemperatureComparison,
    about_classes,
    about_confidence,
    about_pairs,
    about_temperature,
    caution,
    short_label,
)

__all__ = ["Explanation", "make_explanation"]


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
    comparison : TemperatureComparison or None
        The map against the best temperature map; None where nothing is corrected.
    why_nothing : str
        Why nothing is corrected; empty where something is.
    contests : tuple of ContestEffect
        Confidence where one class stands alone, where two compete, and where more do.

    Notes
    -----
    Effects are measured on rows, not read off coefficients: an entry of the matrix that meets no
    data moves nothing. A class is overestimated if the map lowers its mean probability more than
    the best temperature map does. The shift of a pair is the mean over its rows, the
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
    cow is overestimated: its mean probability is 0.341 before and 0.172 after (observed ...).
    """

    name: str
    rows: str
    n_rows: float
    classes: tuple[ClassEffect, ...]
    pairs: tuple[PairEffect, ...]
    decisions_changed: float
    comparison: TemperatureComparison | None
    why_nothing: str = ""
    contests: tuple[ContestEffect, ...] = ()

    @property
    def heading(self) -> str:
        """What is explained, and on which rows."""
        return f"Corrections by {self.name} on {self.rows} ({self.n_rows:.0f} rows)"

    def sentences(self) -> list[str]:
        """The explanation, a sentence a line."""
        if self.comparison is None:
            return [self.why_nothing]
        return [
            about_confidence(self.comparison.temperature),
            *caution(self.comparison),
            *about_contests(self.contests, self.n_rows),
            *about_classes(self.classes),
            *about_pairs(self.pairs, self.n_rows),
            f"Calibration changes {self.decisions_changed:.1%} of the predicted labels.",
            about_temperature(self.comparison),
        ]

    def table(self) -> str:
        """The largest effects as a table of plain text; empty where there are none."""
        limits = EXPLAIN_LIMITS.get()
        if not self.classes:
            return ""
        lines = [f"{'class':<24}{'shift':>7}{'before':>9}{'after':>9}{'observed':>10}"]
        for effect in self.classes[: limits.max_rows]:
            observed = "" if effect.observed is None else f"{effect.observed:.3f}"
            lines.append(
                f"{short_label(effect.label, 24):<24}{effect.shift:>+7.2f}{effect.before:>9.3f}"
                f"{effect.after:>9.3f}{observed:>10}"
            )
        if self.pairs:
            lines += ["", f"{'leads, then second':<24}{'shift':>7}{'rows':>9}{'flipped':>9}"]
        for pair in self.pairs[: limits.max_rows]:
            label = f"{short_label(pair.leader, 10)}, {short_label(pair.second, 10)}"
            lines.append(f"{label:<24}{pair.shift:>+7.2f}{pair.share:>9.1%}{pair.flipped:>9.1%}")
        bend = table_of_contests(self.contests)
        return "\n".join([*lines, "", *bend] if bend else lines)

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        if self.comparison is None:
            return self.why_nothing
        return "\n".join([f"{self.heading}:", *self._listed(), "", self.table()]).strip()

    def __repr__(self) -> str:
        limits = EXPLAIN_LIMITS.get()
        if self.comparison is None:
            return f"<Explanation: {self.why_nothing}>"
        listed = self._listed()
        more = [f"- ... {len(listed) - limits.max_rows} more; print() shows them all"]
        lines = [
            f"{self.heading}:",
            *listed[: limits.max_rows],
            *(more if len(listed) > limits.max_rows else []),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _html_of(self)

    def _listed(self) -> list[str]:
        return [f"- {sentence}" for sentence in self.sentences()]


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
        contests=told_of(effects.contests, has_labels=observed is not None),
    )


def _log_odds(proba: FloatArray) -> FloatArray:
    odds: FloatArray = logit(proba.clip(1e-15, 1.0 - 1e-15))
    return odds


def _html_of(explanation: Explanation) -> str:
    """Its sentences, and the largest effects as tables."""
    limits = EXPLAIN_LIMITS.get()
    said = "".join(f"<li>{escape(one)}</li>" for one in explanation.sentences())
    parts = [f'<ul style="margin:0 0 6px;padding-left:18px">{said}</ul>']
    if explanation.classes:
        rows = (
            [
                escape(short_label(one.label, limits.max_name_length)),
                f"{one.shift:+.2f}",
                f"{one.before:.3f}",
                f"{one.after:.3f}",
                "" if one.observed is None else f"{one.observed:.3f}",
            ]
            for one in explanation.classes[: limits.max_rows]
        )
        parts.append(table(["class", "shift", "before", "after", "observed"], rows))
    if explanation.pairs:
        rows = (
            [
                escape(
                    ", ".join(
                        short_label(each, limits.max_name_length)
                        for each in (one.leader, one.second)
                    )
                ),
                f"{one.shift:+.2f}",
                f"{one.share:.1%}",
                f"{one.flipped:.1%}",
            ]
            for one in explanation.pairs[: limits.max_rows]
        )
        parts.append(table(["leads, then second", "shift", "rows", "flipped"], rows))
    return card(explanation.heading, *parts)
