"""All measures of a file of predictions, how sure we are of them, and the tests."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._typing import InputScale, LabelArray
from dircal.cli._predictions_file import FileRows
from dircal.inference import (
    UNCALIBRATED,
    CalibrationTest,
    ComparisonRow,
    ScoreTest,
    both_tests_of,
    default_measures,
    score_test_of,
    tabulate_measures,
)
from dircal.metrics import EqualWidth, Table

__all__ = ["Evaluation", "evaluate_rows"]

LEVEL = 0.95
"""Of the intervals."""
# As in `dircal.calibration_test` and `dircal.score_test`.
_BINS = EqualWidth(15)
_ALPHA = 0.05
_SCORE_TEST = "score_test"


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate_rows` finds."""

    n_samples: int
    classes: LabelArray
    measures: tuple[ComparisonRow, ...]
    tests: dict[str, CalibrationTest]
    score_test: ScoreTest

    def values(self) -> dict[str, float]:
        """Everything that a gate can ask for, by name."""
        values = {one.measure: one.value for one in self.measures}
        for one in self.measures:
            if one.low is not None and one.high is not None:
                values |= {f"{one.measure}.low": one.low, f"{one.measure}.high": one.high}
        values |= {f"{name}.pvalue": test.pvalue for name, test in self.tests.items()}
        return values | {f"{_SCORE_TEST}.pvalue": self.score_test.pvalue}

    def sentences(self) -> list[str]:
        """What the tests say."""
        told = [
            repr(test).partition(": ")[2].removesuffix(">") + "."
            for test in (*self.tests.values(), self.score_test)
        ]
        return [*told[:-1], f"{_SCORE_TEST}: {told[-1]}"]

    def document(self) -> dict[str, Any]:
        """Plain data."""
        named: list[tuple[str, CalibrationTest | ScoreTest]] = [
            *self.tests.items(),
            (_SCORE_TEST, self.score_test),
        ]
        tests = {name: {"statistic": t.statistic, "pvalue": t.pvalue} for name, t in named}
        pairs = [[*pair, p] for pair, p in self.score_test.pairs.items()]
        off = [[label, p] for label, p in self.score_test.classes.items()]
        return {
            "rows": self.n_samples,
            "classes": self.classes,
            "level": LEVEL,
            "measures": {
                one.measure: {
                    "value": one.value,
                    "corrected": one.corrected,
                    "low": one.low,
                    "high": one.high,
                }
                for one in self.measures
            },
            "tests": tests,
            "classes_off": off,
            "pairs_off": pairs,
        }


def evaluate_rows(rows: FileRows, scale: InputScale, *, n_resamples: int, seed: int) -> Evaluation:
    """Measure and test; each number is that of the function of its name with this seed.

    Always by draws, also where there are so many rows that the function would take moments.
    """
    predictions = rows.predictions(scale)
    measures = tabulate_measures(
        default_measures(Table.EVALUATION),
        {UNCALIBRATED: predictions},
        LEVEL,
        n_resamples,
        np.random.default_rng(seed),
    )
    [tests] = both_tests_of([predictions], _BINS, n_resamples, seed)
    return Evaluation(
        predictions.n_samples,
        rows.classes,
        tuple(measures),
        {test.measure: test for test in tests},
        score_test_of(predictions, n_resamples, _ALPHA, np.random.default_rng(seed)),
    )
