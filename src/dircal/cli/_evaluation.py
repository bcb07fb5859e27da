"""All measures of a file of predictions, how sure we are of them, and the tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dircal import calibration_test, confidence_interval, metrics, score_test
from dircal._typing import InputScale, LabelArray
from dircal.cli._gates import Gate
from dircal.cli._predictions import Predictions
from dircal.inference import CalibrationTest, ScoreTest

__all__ = ["Evaluation", "Measured", "check_names", "evaluate"]

MEASURES = (
    "accuracy",
    "error_rate",
    "log_loss",
    "brier_score",
    "confidence_ece",
    "classwise_ece",
    "smooth_ece",
    "debiased_squared_error",
)
# The largest of many gaps has no interval.
WITHOUT_INTERVAL = ("maximum_calibration_error",)
_TESTED = ("confidence_ece", "classwise_ece")
_SCORE_TEST = "score_test"


@dataclass(frozen=True)
class Measured:
    """A measure, and the ends of its interval where it has one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` finds."""

    n_samples: int
    classes: LabelArray
    measures: tuple[Measured, ...]
    tests: dict[str, CalibrationTest]
    score_test: ScoreTest

    def values(self) -> dict[str, float]:
        """Everything that a gate can ask for, by name."""
        values = {one.name: one.value for one in self.measures}
        for one in self.measures:
            if one.low is not None and one.high is not None:
                values |= {f"{one.name}.low": one.low, f"{one.name}.high": one.high}
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
            "level": 0.95,
            "measures": {
                one.name: {"value": one.value, "low": one.low, "high": one.high}
                for one in self.measures
            },
            "tests": tests,
            "classes_off": off,
            "pairs_off": pairs,
        }


def evaluate(
    predictions: Predictions, scale: InputScale, *, n_resamples: int, seed: int
) -> Evaluation:
    """Measure and test; the columns are in the sorted order of the labels."""
    classes = sorted(predictions.classes.tolist())
    y_true, y_prob = predictions.labels, predictions.probabilities(scale)
    drawing: dict[str, Any] = {
        "n_resamples": n_resamples,
        "random_state": seed,
        "classes": classes,
    }
    measures = []
    for name in MEASURES:
        found = confidence_interval(name, y_true, y_prob, **drawing)
        measures.append(Measured(name, found.estimate, found.low, found.high))
    for name in WITHOUT_INTERVAL:
        measures.append(Measured(name, getattr(metrics, name)(y_true, y_prob, classes=classes)))
    tests = {
        name: calibration_test(y_true, y_prob, statistic=name, **drawing)  # type: ignore[arg-type]
        for name in _TESTED
    }
    return Evaluation(
        len(y_true),
        predictions.classes,
        tuple(measures),
        tests,
        score_test(y_true, y_prob, **drawing),
    )


def check_names(gates: Sequence[Gate]) -> None:
    """Refuse gates on what is not measured, before the work."""
    known = [*MEASURES, *WITHOUT_INTERVAL]
    known += [f"{name}.{end}" for name in MEASURES for end in ("low", "high")]
    known += [f"{name}.pvalue" for name in (*_TESTED, _SCORE_TEST)]
    for gate in gates:
        if gate.name not in known:
            raise ValueError(
                f"--fail-if {gate.rule!r}: {gate.name!r} is not measured. There are "
                f"{', '.join(known)}."
            )
