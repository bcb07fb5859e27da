"""Who is trained on which rows: five times five folds, and three inside each."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedKFold

from ._data import Dataset

__all__ = ["N_FOLDS", "N_INNER", "N_REPETITIONS", "InnerSplit", "inner_splits", "outer_split"]

N_REPETITIONS = 5
N_FOLDS = 5
N_INNER = 3

Rows = npt.NDArray[np.intp]


class InnerSplit(NamedTuple):
    """Rows of the dataset that train the classifier, and those that fit its calibrator."""

    trains: Rows
    fits: Rows


def outer_split(dataset: Dataset, repetition: int, fold: int) -> tuple[Rows, Rows]:
    """Rows for training and for testing."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=repetition)
    splits: list[tuple[Rows, Rows]] = list(folds.split(dataset.X, dataset.y))
    return splits[fold]


def inner_splits(dataset: Dataset, repetition: int, fold: int) -> Iterator[InnerSplit]:
    """The three divisions of the training rows."""
    train, _ = outer_split(dataset, repetition, fold)
    folds = StratifiedKFold(N_INNER, shuffle=True, random_state=repetition)
    for inside, outside in folds.split(dataset.X[train], dataset.y[train]):
        yield InnerSplit(train[inside], train[outside])
