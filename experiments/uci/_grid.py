"""What is run: the cells of the experiment, and how often each pair is repeated."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ._classifiers import CLASSIFIERS
from ._data import DATASETS
from ._splits import N_FOLDS, N_REPETITIONS

__all__ = [
    "EXAMPLES",
    "MAP_EXAMPLE",
    "QUICK_CLASSIFIERS",
    "QUICK_DATASETS",
    "Cell",
    "cells",
    "n_repetitions",
]

QUICK_DATASETS = ("balance-scale", "glass", "iris")
QUICK_CLASSIFIERS = ("logistic", "nbayes", "tree")

EXAMPLES = (("balance-scale", "mlp"), ("car", "adas"))
"""The two pairs that the supplement shows in full."""

_FIVE_TIMES = ("balance-scale", "glass", "iris")


class Cell(NamedTuple):
    """One test fold of one classifier on one dataset."""

    dataset: str
    classifier: str
    repetition: int
    fold: int


MAP_EXAMPLE = Cell("abalone", "mlp", 0, 0)
"""The cell whose first map figure 2a shows; the paper does not say which one it drew."""


def n_repetitions(dataset: str, classifier: str) -> int:
    """How many of the paper's five repetitions the committed results have."""
    often = dataset in _FIVE_TIMES or classifier == "nbayes" or (dataset, classifier) in EXAMPLES
    return N_REPETITIONS if often else 1


def cells(
    datasets: Iterable[str] = DATASETS,
    classifiers: Iterable[str] = tuple(CLASSIFIERS),
    repetitions: int | None = None,
) -> Iterator[Cell]:
    """The cells, in the order in which they are run; None repeats as `n_repetitions` says."""
    for dataset in datasets:
        for classifier in classifiers:
            often = n_repetitions(dataset, classifier) if repetitions is None else repetitions
            for repetition in range(often):
                for fold in range(N_FOLDS):
                    yield Cell(dataset, classifier, repetition, fold)
