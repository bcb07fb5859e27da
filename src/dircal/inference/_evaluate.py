"""All measures of predictions, with intervals and tests."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._typing import ArrayLike, InputScale, LabelArray
from dircal.inference._calibration_test import (
    CalibrationTest,
    classwise_test_of,
    confidence_test_of,
)
from dircal.inference._chosen_measure import check_drawing, default_measures, measure_all
from dircal.inference._confidence_interval import ConfidenceInterval, intervals_of
from dircal.inference._evaluation_split import AbstractEvaluationSplit, make_evaluation_split
from dircal.inference._limits import INFERENCE_LIMITS
from dircal.inference._score_test import ScoreTest, score_test_of
from dircal.inference._show import tell_sources
from dircal.inference._soft_rows import rows_once_each
from dircal.metrics import BinTable, ClassCurves, ConfidenceCurve, EqualWidth, Predictions, Table
from dircal.selection import check_calibrator
from dircal.tables import (
    MEASURING,
    ScoreTable,
    check_fit,
    check_option,
    check_random_state,
    pass_progress,
)

__all__ = ["Evaluation", "Findings", "evaluate", "find_all"]

# As in `calibration_test` and `score_test`.
_BINS = EqualWidth(15)


@dataclass(frozen=True)
class Findings:
    """What `find_all` finds, each by the name of its measure or statistic.

    Measures that have no interval have none here either; without draws there are no intervals and
    no tests, and with soft labels no tests.
    """

    n_samples: int
    measures: dict[str, float]
    intervals: dict[str, ConfidenceInterval]
    tests: dict[str, CalibrationTest]
    score_test: ScoreTest | None


def find_all(
    predictions: Predictions, *, level: float, n_resamples: int | None, seed: int
) -> Findings:
    """Measure and test; each number is that of the function of its name with this seed.

    Rows may be anywhere: all of it is sums over them. Nothing is drawn where ``n_resamples`` is
    None.
    """
    measures = default_measures(Table.EVALUATION)
    values = dict(
        zip([one.name for one in measures], measure_all(measures, predictions), strict=True)
    )
    n = predictions.n_samples
    if n_resamples is None:
        return Findings(n, values, {}, {}, None)
    sure = [one for one in measures if one.record.interval is not None]
    rows_seed = int(np.random.default_rng(seed).integers(2**63))
    intervals = intervals_of(sure, predictions, level, n_resamples, rows_seed)
    by_name = {one.measure: one for one in intervals}
    if predictions.has_soft_labels:
        # The tests draw one label for each row.
        return Findings(n, values, by_name, {}, None)
    tests = [
        test_of(predictions, _BINS, n_resamples, np.random.default_rng(seed))
        for test_of in (confidence_test_of, classwise_test_of)
    ]
    return Findings(
        n,
        values,
        by_name,
        {one.measure: one for one in tests},
        score_test_of(
            predictions, n_resamples, INFERENCE_LIMITS.get().alpha, np.random.default_rng(seed)
        ),
    )


_SCORE_TEST = "score_test"


@dataclass(frozen=True)
class Evaluation:
    """Result of `evaluate`.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    classes : array (k,)
        The labels, sorted.
    level : float
        Level of the intervals.
    measures : dict
        Value of each measure, by its name in `dircal.metrics`, with its defaults.
    confidence_bins : BinTable
        The bins of the confidence, as `dircal.metrics.confidence_bins` returns them.
    class_bins : BinTable
        The bins of all classes, as `dircal.metrics.class_bins` returns them.
    intervals : dict of ConfidenceInterval
        Intervals by the name of the measure; empty without ``n_resamples``.
    tests : dict of CalibrationTest
        Tests by the name of the statistic; empty without ``n_resamples`` and with soft labels.
    score_test : ScoreTest or None
        The score test; None without ``n_resamples`` and with soft labels.
    """

    n_rows: int
    classes: LabelArray
    level: float
    measures: dict[str, float]
    confidence_bins: BinTable = field(repr=False)
    class_bins: BinTable = field(repr=False)
    intervals: dict[str, ConfidenceInterval]
    tests: dict[str, CalibrationTest]
    score_test: ScoreTest | None

    def values(self) -> dict[str, float]:
        """Return all numbers by name: measures, ends of intervals, and p-values."""
        values = dict(self.measures)
        for name, one in self.intervals.items():
            values |= {f"{name}.low": one.low, f"{name}.high": one.high}
        return values | {f"{name}.pvalue": one.pvalue for name, one in self._all_tests()}

    def sentences(self) -> list[str]:
        """Return the results of the tests in words."""
        if self.score_test is None:
            return ["Tests of calibration need one label for each row: with soft labels none ran."]
        lines = [
            repr(test).partition(": ")[2].removesuffix(">") + "." for _, test in self._all_tests()
        ]
        return [*lines[:-1], f"{_SCORE_TEST}: {lines[-1]}"]

    def source(self) -> str:
        """Return a sentence on numbers that are not from draws; empty if all are."""
        intervals, tests = self.intervals.items(), self._all_tests()
        told = [(f"the interval of {name}", one.source) for name, one in intervals]
        told += [
            ("the score test" if name == _SCORE_TEST else f"the test of {name}", one.source)
            for name, one in tests
        ]
        return tell_sources(self.n_rows, told)

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain data."""
        score, intervals = self.score_test, self.intervals
        pairs = [] if score is None else [[*pair, p] for pair, p in score.pairs.items()]
        off = [] if score is None else [[label, p] for label, p in score.classes.items()]
        return {
            "rows": self.n_rows,
            "classes": self.classes,
            "level": self.level,
            "measures": {
                name: {
                    "value": value,
                    **{
                        key: getattr(intervals.get(name), key, None)
                        for key in ("corrected", "low", "high", "source")
                    },
                }
                for name, value in self.measures.items()
            },
            "tests": {
                name: {"statistic": t.statistic, "pvalue": t.pvalue, "source": t.source}
                for name, t in self._all_tests()
            },
            "classes_off": off,
            "pairs_off": pairs,
        }

    def _all_tests(self) -> list[tuple[str, CalibrationTest | ScoreTest]]:
        tests: list[tuple[str, CalibrationTest | ScoreTest]] = [*self.tests.items()]
        return tests if self.score_test is None else [*tests, (_SCORE_TEST, self.score_test)]


def evaluate(
    y_true: ArrayLike | ScoreTable,
    y_prob: ArrayLike | None = None,
    *,
    calibrator: Any = None,
    sample_weight: ArrayLike | None = None,
    input_scale: InputScale = "probability",
    classes: Iterable[Any] | None = None,
    level: float = 0.95,
    n_resamples: int | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> Evaluation:
    """Measure predictions, before or after calibration.

    Parameters
    ----------
    y_true : array of shape (n,), or ScoreTable
        True labels, or a table with labels and scores.
    y_prob : array of shape (n, k), optional
        Probabilities, or logits with ``input_scale="logit"``; left out for a table.
    calibrator : calibrator, optional
        A fitted one, whose probabilities are measured instead of the scores.
    sample_weight : array of shape (n,), optional
        Weights of the rows; a table has its own.
    input_scale : {"probability", "logit"}, default="probability"
        Scale of the scores. With a calibrator it is the scale that this was fitted on.
    classes : sequence, optional
        Label of each column, if the labels do not tell. With a calibrator they are its own.
    level : float, default=0.95
        Level of the intervals.
    n_resamples : int, optional
        Number of draws for intervals and tests, at least 100; None computes neither.
    random_state : int, numpy Generator or None, default=0
        Seed of the draws.

    Returns
    -------
    Evaluation
        All measures, the bins behind them and, with ``n_resamples``, intervals and tests.

    See Also
    --------
    compare : Measures of several calibrators.

    Notes
    -----
    Everything is a sum over rows. The numbers are those of `confidence_interval`,
    `calibration_test` and `score_test` with the same integer ``random_state``: draws belong to the
    numbers of rows, not to parts of a table. From 100,000 rows on, intervals, the test of the
    classes and the score test come from moments instead of draws, and what has more than 3000 sums
    from random signs of rows ("multipliers"); ``source`` reports which. The test of the confidence
    is always drawn.

    Weighted rows have no intervals and no tests: a weight means that a row stands for several, but
    not whether these were drawn together or separately.

    **When not to use it.** To measure a calibrator on the rows of its fit: use `compare`, which
    fits and scores different rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from dircal import evaluate, scan
    >>> frame = pd.DataFrame({"a": [0.9, 0.2, 0.6], "b": [0.1, 0.8, 0.4], "y": ["a", "b", "b"]})
    >>> result = evaluate(scan(frame, label="y"))
    >>> round(result.measures["log_loss"], 4)
    0.4149
    >>> result = evaluate(frame["y"], frame[["a", "b"]], n_resamples=100, random_state=0)
    >>> result.intervals["log_loss"]
    <ConfidenceInterval: log_loss 0.414... on 3 rows; 95 %: ...>
    """
    check_option("input_scale", input_scale, ("probability", "logit"))
    is_weighted = sample_weight is not None
    if isinstance(y_true, ScoreTable):
        is_weighted = y_true.weight is not None
    if n_resamples is not None:
        check_drawing(level, n_resamples)
        if is_weighted:
            raise ValueError(
                f"`n_resamples` is {n_resamples}, but the rows are weighted: intervals and tests "
                "are not available for weighted rows. Drop one of the two."
            )
    rng = check_random_state(random_state)
    seed = int(random_state if isinstance(random_state, Integral) else rng.integers(2**63))
    arguments, is_known = MEASURING, calibrator is not None
    if is_known:
        check_calibrator(calibrator)
        check_is_fitted(calibrator)
        input_scale, classes = calibrator.map_.input_scale, calibrator.column_classes_
        arguments = calibrator.fit_.columns.arguments
    with pass_progress("Measuring", y_true) as (source, passes):
        scores, labels = (source, None) if isinstance(source, ScoreTable) else (y_prob, source)
        data = check_fit(
            scores,
            labels,
            sample_weight,
            classes=classes,
            input_scale=input_scale,
            arguments=arguments,
            order_is_known=is_known,
        )
        passes.expect(data.shape[0])
        if n_resamples is not None:
            data = rows_once_each(data, "y_true")
        split = make_evaluation_split(data, None, is_fitted=True)
        predictions = _predictions_of(split, calibrator, input_scale)
        found = find_all(predictions, level=level, n_resamples=n_resamples, seed=seed)
    return Evaluation(
        found.n_samples,
        predictions.classes,
        level,
        found.measures,
        predictions.table(ConfidenceCurve(), _BINS),
        predictions.table(ClassCurves(), _BINS),
        found.intervals,
        found.tests,
        found.score_test,
    )


def _predictions_of(
    split: AbstractEvaluationSplit, calibrator: Any, input_scale: InputScale
) -> Predictions:
    """Return the probabilities that are measured: calibrated, as given, or of logits."""
    if calibrator is not None:
        return split.with_map(calibrator)
    if input_scale == "probability":
        return split.given
    return split.as_they_are(input_scale)
