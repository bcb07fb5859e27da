"""What is said of all measures of predictions, how sure we are of them, and the tests."""

from dataclasses import dataclass
from typing import Any

from dircal._typing import LabelArray
from dircal.inference import (
    CalibrationTest,
    ConfidenceInterval,
    Findings,
    ScoreTest,
    find_all,
    tell_sources,
)
from dircal.metrics import Predictions

__all__ = ["Evaluation", "evaluate_predictions"]

LEVEL = 0.95
"""Of the intervals."""
_SCORE_TEST = "score_test"


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate_predictions` finds; ``classes`` are the labels of the columns."""

    classes: LabelArray
    found: Findings
    score_test: ScoreTest | None

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
        if self.score_test is not None:
            values[f"{_SCORE_TEST}.pvalue"] = self.score_test.pvalue
        return values

    def sentences(self) -> list[str]:
        """What the tests say."""
        if self.score_test is None:
            return ["Tests of calibration need one label for each row: with soft labels none ran."]
        told = [
            repr(test).partition(": ")[2].removesuffix(">") + "."
            for test in (*self.found.tests.values(), self.score_test)
        ]
        return [*told[:-1], f"{_SCORE_TEST}: {told[-1]}"]

    def source(self) -> str:
        """Where numbers come from; nothing where all are drawn."""
        intervals, tests = self.found.intervals.items(), self.found.tests.items()
        told = [(f"the interval of {name}", one.source) for name, one in intervals]
        told += [(f"the test of {name}", one.source) for name, one in tests]
        if self.score_test is not None:
            told.append(("the score test", self.score_test.source))
        return tell_sources(self.n_samples, told)

    def document(self) -> dict[str, Any]:
        """Plain data."""
        named: list[tuple[str, CalibrationTest | ScoreTest]] = [*self.found.tests.items()]
        if self.score_test is not None:
            named.append((_SCORE_TEST, self.score_test))
        tests = {
            name: {"statistic": t.statistic, "pvalue": t.pvalue, "source": t.source}
            for name, t in named
        }
        score = self.score_test
        pairs = [] if score is None else [[*pair, p] for pair, p in score.pairs.items()]
        off = [] if score is None else [[label, p] for label, p in score.classes.items()]
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
    return Evaluation(classes, found, found.score_test)
