"""All measures of some predictions, how sure we are of them, and the tests."""

from dataclasses import dataclass

import numpy as np

from dircal.inference._calibration_test import (
    CalibrationTest,
    classwise_test_of,
    confidence_test_of,
)
from dircal.inference._chosen_measure import default_measures, measure_all
from dircal.inference._confidence_interval import ConfidenceInterval, intervals_of
from dircal.inference._score_test import ScoreTest, score_test_of
from dircal.metrics import EqualWidth, Predictions, Table

__all__ = ["Findings", "find_all"]

# As in `calibration_test` and `score_test`.
_BINS = EqualWidth(15)
_ALPHA = 0.05


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
        score_test_of(predictions, n_resamples, _ALPHA, np.random.default_rng(seed)),
    )
