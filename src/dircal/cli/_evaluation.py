"""What is said of all measures of predictions, how sure we are of them, and the tests."""

from dataclasses import dataclass
from typing import Any

from dircal._typing import LabelArray
from dircal.inference import (
    CalibrationTest,
    ConfidenceInterval,
    Findings,
    ScoreTest,
    Source,
    find_all,
)
from dircal.metrics import Predictions

__all__ = ["Evaluation", "evaluate_predictions"]

LEVEL = 0.95
"""Of the intervals."""
_SCORE_TEST = "score_test"
# Where numbers come from, in the order in which it is told.
_TOLD: dict[Source, str] = {
    "moments": "from moments of sums over rows",
    "multipliers": "From rows with random signs",
    "draws": "From draws",
}


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate_predictions` finds; ``classes`` are the labels of the columns."""

    classes: LabelArray
    found: Findings
    score_test: ScoreTest

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.found.n_samples

    @property
    def measures(self) -> list[tuple[str, float, ConfidenceInterval | None]]:
        """Names, values, and intervals of those that have one."""
        intervals = self.found.intervals
        return [(name, v, intervals.get(name)) for name, v in self.found.measures.items()]

    def values(self) -> dict[str, float]:
        """Everything that a gate can ask for, by name."""
        values = dict(self.found.measures)
        for name, one in self.found.intervals.items():
            values |= {f"{name}.low": one.low, f"{name}.high": one.high}
        values |= {f"{name}.pvalue": test.pvalue for name, test in self.found.tests.items()}
        return values | {f"{_SCORE_TEST}.pvalue": self.score_test.pvalue}

    def sentences(self) -> list[str]:
        """What the tests say."""
        told = [
            repr(test).partition(": ")[2].removesuffix(">") + "."
            for test in (*self.found.tests.values(), self.score_test)
        ]
        return [*told[:-1], f"{_SCORE_TEST}: {told[-1]}"]

    def source(self) -> str:
        """Where numbers come from; nothing where all are drawn."""
        by_source: dict[Source, list[str]] = {source: [] for source in _TOLD}
        for source, found in by_source.items():
            of_intervals = self.found.intervals.items()
            names = [name for name, one in of_intervals if one.source == source]
            found += [f"intervals of {', '.join(names)}"] if names else []
            tests = self.found.tests.items()
            found += [f"the test of {name}" for name, one in tests if one.source == source]
            found += ["the score test"] if self.score_test.source == source else []
        if not by_source["moments"] and not by_source["multipliers"]:
            return ""
        told = [f"{_TOLD[one]}: {'; '.join(names)}." for one, names in by_source.items() if names]
        return f"With {self.n_samples:,} rows these come {' '.join(told)}"

    def document(self) -> dict[str, Any]:
        """Plain data."""
        named: list[tuple[str, CalibrationTest | ScoreTest]] = [
            *self.found.tests.items(),
            (_SCORE_TEST, self.score_test),
        ]
        tests = {
            name: {"statistic": t.statistic, "pvalue": t.pvalue, "source": t.source}
            for name, t in named
        }
        pairs = [[*pair, p] for pair, p in self.score_test.pairs.items()]
        off = [[label, p] for label, p in self.score_test.classes.items()]
        return {
            "rows": self.n_samples,
            "classes": self.classes,
            "level": LEVEL,
            "measures": {
                name: {
                    "value": value,
                    "corrected": None if one is None else one.corrected,
                    "low": None if one is None else one.low,
                    "high": None if one is None else one.high,
                    "source": None if one is None else one.source,
                }
                for name, value, one in self.measures
            },
            "tests": tests,
            "classes_off": off,
            "pairs_off": pairs,
        }


def evaluate_predictions(
    predictions: Predictions, classes: LabelArray, *, n_resamples: int, seed: int
) -> Evaluation:
    """Measure and test rows of a file, or of many that are read in parts."""
    found = find_all(predictions, level=LEVEL, n_resamples=n_resamples, seed=seed)
    assert found.score_test is not None
    return Evaluation(classes, found, found.score_test)
