"""Measures of a table in parts, with intervals and tests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._typing import InputScale, LabelArray
from dircal.calibrators import IdentityCalibrator
from dircal.distributed._open import Selection, check_rows
from dircal.inference import (
    CalibrationTest,
    ConfidenceInterval,
    ScoreTest,
    check_drawing,
    find_all,
)
from dircal.metrics import (
    BinTable,
    ClassCurves,
    ConfidenceCurve,
    EqualWidth,
    predictions_in_parts,
)
from dircal.selection import check_calibrator
from dircal.tables import MEASURING, check_option, check_random_state

__all__ = ["Evaluation", "evaluate"]

# As in the measures themselves.
_BINS = EqualWidth(15)


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` finds.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    classes : array (k,)
        The labels, sorted.
    measures : dict
        Value of each measure, by its name in `dircal.metrics`, with its defaults.
    confidence_bins : BinTable
        What `dircal.metrics.confidence_bins` gives of all rows.
    class_bins : BinTable
        What `dircal.metrics.class_bins` gives of all rows.
    intervals : dict of ConfidenceInterval
        What `dircal.confidence_interval` gives, by the name of the measure; empty where nothing was
        drawn.
    tests : dict of CalibrationTest
        What `dircal.calibration_test` gives, by the name of the statistic; empty where nothing was
        drawn.
    score_test : ScoreTest or None
        What `dircal.score_test` gives; None where nothing was drawn.
    """

    n_rows: int
    classes: LabelArray
    measures: dict[str, float]
    confidence_bins: BinTable = field(repr=False)
    class_bins: BinTable = field(repr=False)
    intervals: dict[str, ConfidenceInterval]
    tests: dict[str, CalibrationTest]
    score_test: ScoreTest | None


def evaluate(
    frame: Any,
    *,
    label: str = "y",
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    calibrator: Any = None,
    input_scale: InputScale = "probability",
    classes: Iterable[Any] | None = None,
    level: float = 0.95,
    n_resamples: int | None = None,
    random_state: int | np.random.Generator | None = None,
    client: Any = None,
) -> Evaluation:
    """Measure predictions in a table in parts, before or after calibration.

    Parameters
    ----------
    frame : Dask DataFrame, path, pyarrow dataset or list of data frames
        The table; see `fit`.
    label : str, default="y"
        Column with the true labels.
    weight : str, optional
        Column with the weights of the rows.
    columns : sequence of str, optional
        Columns with the scores; None stands for all others.
    calibrator : calibrator, optional
        A fitted one, whose probabilities are measured in place of the scores.
    input_scale : {"probability", "logit"}, default="probability"
        What the scores are. With a calibrator it is what that was fitted on.
    classes : sequence, optional
        Label of each column, where the labels do not tell. With a calibrator they are its own.
    level : float, default=0.95
        How often the intervals hold the true value.
    n_resamples : int, optional
        Number of draws, at least 100, for intervals and tests; None leaves both out.
    random_state : int, numpy Generator or None, optional
        Seed of the draws.
    client : distributed.Client, optional
        Client of the cluster that works; see `fit`.

    Returns
    -------
    Evaluation
        All measures, the bins behind them and, with ``n_resamples``, intervals and tests.

    See Also
    --------
    fit : Fit a calibrator on a table in parts.
    report : A page about a table in parts, with what calibration would change.

    Notes
    -----
    All of these are sums over rows, added up where the rows are. The measures take one pass; the
    intervals and tests some more, and give what `dircal.confidence_interval`,
    `dircal.calibration_test` and `dircal.score_test` give for the same rows in one array with the
    same integer ``random_state``: draws belong to the numbers of rows, not to parts. From 100,000
    rows on intervals, the test of the classes and the score test come from moments, whose
    ``source`` says so, in place of draws, and what has more than 3000 sums from random signs of
    rows ("multipliers"). The test of the confidence is always drawn.

    There are no intervals and tests of weighted rows: a weight would say that a row stands for
    several, but not whether these were drawn together or apart.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dircal import distributed
    >>> table = pa.table({"a": [0.9, 0.2, 0.6], "b": [0.1, 0.8, 0.4], "y": ["a", "b", "b"]})
    >>> parts = [table.slice(0, 1), table.slice(1)]
    >>> found = distributed.evaluate(parts)
    >>> round(found.measures["log_loss"], 4)
    0.4149
    >>> found = distributed.evaluate(parts, n_resamples=100, random_state=0)
    >>> found.intervals["log_loss"]
    <ConfidenceInterval: log_loss 0.415 on 3 rows; 95 %: ...>
    """
    check_option("input_scale", input_scale, ("probability", "logit"))
    if n_resamples is not None:
        check_drawing(level, n_resamples)
        if weight is not None:
            raise ValueError(
                f"`n_resamples` is {n_resamples}, but `weight` is {weight!r}: weighted rows have "
                "no intervals and tests. Leave one of both out."
            )
    rng = check_random_state(random_state)
    seed = int(random_state if isinstance(random_state, Integral) else rng.integers(2**63))
    arguments, judged = MEASURING, calibrator is not None
    if judged:
        check_calibrator(calibrator)
        check_is_fitted(calibrator)
        input_scale, classes = calibrator.map_.input_scale, calibrator.column_classes_
        arguments = calibrator._arguments
    selection = Selection(frame, label, weight, columns, client)
    data = check_rows(selection, classes, input_scale, arguments, judged=judged)
    if calibrator is None and input_scale == "logit":
        calibrator = IdentityCalibrator(input_scale="logit")._fit_checked(data)
    predictions = predictions_in_parts(data, calibrator)
    found = find_all(predictions, level=level, n_resamples=n_resamples, seed=seed)
    return Evaluation(
        found.n_samples,
        data.classes,
        found.measures,
        predictions.table(ConfidenceCurve(), _BINS),
        predictions.table(ClassCurves(), _BINS),
        found.intervals,
        found.tests,
        found.score_test,
    )
