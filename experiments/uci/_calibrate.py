"""Stage two: fit every method on the stored probabilities and measure its test predictions."""

import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments._shared.files import reason, write_arrays, write_json
from experiments._shared.measures import MEASURES, Scores
from experiments._shared.versions import versions

from ._data import Dataset, load
from ._files import Cache, read_predictions
from ._grid import EXAMPLES, Cell
from ._methods import METHODS, Fitted, Given, Part
from ._splits import inner_splits, outer_split

__all__ = ["MEASURES", "calibrate", "given_of"]

FloatArray = npt.NDArray[np.float64]

_DRAWS = 1000


def calibrate(cache: Cache, cell: Cell, methods: Iterable[str]) -> None:
    """Fit the methods on one cell; each leaves its measures, choices and seconds."""
    missing = [name for name in methods if not cache.outcome(cell, name).exists()]
    if not missing or not cache.predictions(cell).exists():
        return
    dataset = load(cell.dataset)
    predictions, _ = read_predictions(cache.predictions(cell))
    _, test = outer_split(dataset, cell.repetition, cell.fold)
    given = list(_given(dataset, cell, predictions))
    score = Scores(
        dataset.y[test],
        dataset.n_classes,
        n_resamples=_DRAWS,
        # All methods of a cell meet the same draws of labels.
        random_state=1000 * cell.repetition + cell.fold,
        mce_over="classes",
    )
    for name in missing:
        try:
            outcome, proba = _run(name, given, predictions[:, test], score)
        except Exception as error:
            write_json(cache.no_outcome(cell, name), {"reason": reason(error)})
            continue
        if (cell.dataset, cell.classifier) in EXAMPLES:
            write_arrays(cache.calibrated(cell, name), proba=proba, y=dataset.y[test])
        write_json(cache.outcome(cell, name), outcome)


def given_of(cache: Cache, cell: Cell) -> Iterator[Given]:
    """What the methods learn from in one cell, for each of the three classifiers."""
    predictions, _ = read_predictions(cache.predictions(cell))
    return _given(load(cell.dataset), cell, predictions)


def _run(
    name: str, given: list[Given], scores: FloatArray, score: Scores
) -> tuple[dict[str, Any], FloatArray]:
    """Fit one method three times; what comes of it, and its probabilities of the test rows."""
    began = time.process_time()
    with warnings.catch_warnings():
        # Optima at infinity and edges of the paper's grids are no news here.
        warnings.simplefilter("ignore")
        fitted = [METHODS[name](one) for one in given]
        proba = _mean_prediction(fitted, scores)
    fitting = time.process_time() - began
    outcome = {
        "measures": {measure: score(measure, proba) for measure in MEASURES},
        "chosen": "; ".join(one.chosen for one in fitted if one.chosen),
        "seconds": fitting,
        "seconds_with_measures": time.process_time() - began,
        "versions": versions(),
    }
    return outcome, proba


def _given(dataset: Dataset, cell: Cell, predictions: FloatArray) -> Iterator[Given]:
    """What the methods learn from, for each of the three classifiers.

    Hyperparameters are chosen on the rows that trained the classifier, optimistic as its
    predictions are there: so it was done.
    """
    classes = np.arange(dataset.n_classes)
    splits = inner_splits(dataset, cell.repetition, cell.fold)
    for scores, split in zip(predictions, splits, strict=True):
        fit, choose = (Part(scores[rows], dataset.y[rows]) for rows in (split.fits, split.trains))
        yield Given(classes, fit, choose)


def _mean_prediction(fitted: list[Fitted], scores: FloatArray) -> FloatArray:
    """The average over the three pairs of classifier and calibrator."""
    members = zip(fitted, scores, strict=True)
    total = sum(one.calibrator.predict_proba(rows) for one, rows in members)
    mean: FloatArray = total / len(fitted)
    return mean
