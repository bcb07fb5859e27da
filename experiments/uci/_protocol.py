"""Who is trained on which rows: five times five folds, and three inside each."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from _data import Dataset
from _methods import METHODS
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold

from dircal import metrics

__all__ = ["Cell", "cells", "probabilities"]

_OUTER, _INNER = 5, 3

FloatArray = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Cell:
    """One test fold of one repetition."""

    repetition: int
    fold: int
    train: Rows
    test: Rows


def cells(dataset: Dataset, n_repetitions: int) -> Iterator[Cell]:
    """All test folds."""
    for repetition in range(n_repetitions):
        folds = StratifiedKFold(_OUTER, shuffle=True, random_state=repetition)
        for fold, (train, test) in enumerate(folds.split(dataset.X, dataset.y)):
            yield Cell(repetition, fold, train, test)


def probabilities(
    dataset: Dataset, classifier: ClassifierMixin, cell: Cell
) -> dict[str, FloatArray]:
    """Test probabilities of every method: the averages over three (classifier, calibrator) pairs.

    Each classifier is trained on two thirds of the training rows. The calibrator is fitted on its
    predictions for the last third; hyperparameters are chosen on its predictions for the rows that
    trained it, optimistic as these are: so it was done.
    """
    X, y = dataset.X, dataset.y
    classes = np.arange(dataset.n_classes)
    total = {name: np.zeros((len(cell.test), dataset.n_classes)) for name in METHODS}
    folds = StratifiedKFold(_INNER, shuffle=True, random_state=cell.repetition)
    for inside, outside in folds.split(X[cell.train], y[cell.train]):
        trains, fits = cell.train[inside], cell.train[outside]
        model = clone(classifier).fit(X[trains], y[trains])
        rows = np.concatenate([fits, trains])
        scores = model.predict_proba(X[rows])
        pair = (np.arange(len(fits)), np.arange(len(fits), len(rows)))
        test_scores = model.predict_proba(X[cell.test])
        for name, make in METHODS.items():
            calibrator = make(classes, pair).fit(scores, y[rows])
            total[name] += calibrator.predict_proba(test_scores)
    return {name: proba / _INNER for name, proba in total.items()}


def log_losses(dataset: Dataset, classifier: ClassifierMixin, cell: Cell) -> dict[str, float]:
    """Log-loss of every method on one test fold."""
    classes = np.arange(dataset.n_classes)
    y_true = dataset.y[cell.test]
    return {
        name: metrics.log_loss(y_true, proba, classes=classes)
        for name, proba in probabilities(dataset, classifier, cell).items()
    }
