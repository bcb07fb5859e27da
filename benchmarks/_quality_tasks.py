"""Real classifiers to calibrate: rows to fit on, and rows to measure on."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from experiments._shared.data import data_folders
from experiments.uci._classifiers import CLASSIFIERS
from experiments.uci._data import DATASETS, load
from experiments.uci._files import Cache, read_predictions
from experiments.uci._grid import NOT_RUN, Cell
from experiments.uci._predict import predict
from experiments.uci._splits import inner_splits, outer_split
from scipy.special import softmax

__all__ = ["HALVES", "Task", "tasks"]

HALVES = ("developed on", "held out")
"""Constants of the prior and of the floor were chosen by averages over the first half alone."""

_ROOT = Path(__file__).resolve().parents[1]
_CACHE = Cache(_ROOT / "experiments" / "uci" / "cache")
_SEED = 0
# Rows of a network to fit on.
_N_FIT = 5000
_MOST_CLASSES = 200
# What was looked at while they were chosen: datasets up to here, networks up to so many classes.
_LAST_DEVELOPED = "optdigits"
_DEVELOPED_CLASSES = 20

FloatArray = npt.NDArray[np.float64]
LabelArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """Probabilities (n, k) and labels 0..k-1, to fit on and to measure on."""

    name: str
    kind: str
    classifier: str
    half: str
    fit_proba: FloatArray
    fit_labels: LabelArray
    test_proba: FloatArray
    test_labels: LabelArray


def tasks() -> Iterator[Task]:
    """All of UCI, then all networks, whatever of them is there."""
    yield from _uci()
    yield from _networks()


def _uci() -> Iterator[Task]:
    """One test fold of every pair; the classifier of its first inner split.

    Pairs that the experiment leaves out for their time are left out here too.
    """
    for dataset in DATASETS:
        for classifier in CLASSIFIERS:
            cell = Cell(dataset, classifier, 0, 0)
            path = _CACHE.predictions(cell)
            tried = path.exists() or _CACHE.no_predictions(cell).exists()
            if not tried and (dataset, classifier) not in NOT_RUN:
                predict(_CACHE, cell)
            if not path.exists():
                continue
            data = load(dataset)
            proba = read_predictions(path)[0][0]
            _, test = outer_split(data, 0, 0)
            fits = next(iter(inner_splits(data, 0, 0))).fits
            yield Task(
                f"{dataset}/{classifier}",
                "UCI",
                classifier,
                HALVES[dataset > _LAST_DEVELOPED],
                proba[fits],
                data.y[fits],
                proba[test],
                data.y[test],
            )


def _networks() -> Iterator[Task]:
    """The source's own validation part, or half of the rows, at most 5000, shuffled."""
    found = [path for folder in data_folders("networks") for path in folder.glob("*.npz")]
    for path in sorted(path for path in found if not path.stem.startswith("top1")):
        with np.load(path) as stored:
            if "val_logits" in stored:
                fit = _proba(stored["val_logits"], logits=True), stored["val_labels"]
                test = _proba(stored["test_logits"], logits=True), stored["test_labels"]
            else:
                logits = "logits" in stored
                if not logits and "probs" not in stored:
                    # Labels alone are no classifier.
                    continue
                proba = _proba(stored["logits" if logits else "probs"], logits=logits)
                order = np.random.default_rng(_SEED).permutation(len(proba))
                proba, labels = proba[order], stored["labels"][order]
                middle = len(proba) // 2
                n_fit = min(middle, _N_FIT)
                fit = proba[:n_fit], labels[:n_fit]
                test = proba[middle:], labels[middle:]
        n_classes = fit[0].shape[1]
        if n_classes <= _MOST_CLASSES:
            half = HALVES[n_classes > _DEVELOPED_CLASSES]
            yield Task(path.stem, "networks", "network", half, *fit, *test)


def _proba(outputs: npt.NDArray[np.float32], *, logits: bool) -> FloatArray:
    wide = outputs.astype(np.float64)
    proba: FloatArray = softmax(wide, axis=1) if logits else wide
    proba /= proba.sum(axis=1, keepdims=True)
    return proba
