"""Real classifiers to calibrate: rows to fit on, and rows to measure on.

Files that are no classifiers of single labels have rules of their own, and are told apart:

* ``top1_*`` hold one confidence for each row and whether it was right: a task of two classes,
  "right" and "wrong", of the kind *confidences*.
* ``cifar10h_human`` holds votes of people: a task as any other, of the kind *people*.
* ``imagenet5k_real_labels`` holds sets of labels that people accept for the rows of the two
  networks of that name: each network is a task once more, of the kind *relabelled*, on the rows for
  which exactly one label is accepted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from experiments._shared.data import data_folders
from experiments.neural._networks import known
from experiments.uci._classifiers import CLASSIFIERS
from experiments.uci._data import DATASETS, load
from experiments.uci._files import Cache, read_predictions
from experiments.uci._grid import Cell
from experiments.uci._predict import predict
from experiments.uci._splits import inner_splits, outer_split
from scipy.special import softmax

__all__ = ["HALVES", "NETWORKS", "SIZES", "UCI", "Task", "draws_of", "networks", "tasks"]

HALVES = ("developed on", "held out")
"""Constants of the prior and of the floor were chosen by averages over the first half alone."""
UCI, NETWORKS = "UCI", "networks"
SIZES = (50, 100, 200, 500, 1000)
"""Rows of the learning curves, below all that there are."""

_ROOT = Path(__file__).resolve().parents[1]
_CACHE = Cache(_ROOT / "experiments" / "uci" / "cache")
_SEED = 0
# Rows of a network to fit on.
_N_FIT = 5000
# What was looked at while they were chosen: datasets up to here, networks up to so many classes.
_LAST_DEVELOPED = "optdigits"
_DEVELOPED_CLASSES = 20
# A draw is no draw where it takes nearly all rows.
_LARGEST_PART = 0.8
# Draws of each size, fewer where a fit takes long; and rows that they are measured on.
_DRAWS = 5
_DRAWS_OF_MANY_CLASSES = 2
_MANY_CLASSES = 100
_TEST_ROWS = 4000
# Networks that one recipe, or one group of people, has made count as one source with each test set.
_RECIPES = ("chenyaofo", "nli", "paper_c10_", "paper_c100_", "top1_imagenet", "top1_paper")

FloatArray = npt.NDArray[np.float64]
LabelArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """Probabilities (n, k) and labels 0..k-1, to fit on and to measure on.

    ``source`` is what counts as one: a dataset of UCI, or all networks of one recipe and test set.
    ``draw`` is 0 where the rows to fit on are all that there are.
    """

    name: str
    kind: str
    source: str
    classifier: str
    half: str
    fit_proba: FloatArray
    fit_labels: LabelArray
    test_proba: FloatArray
    test_labels: LabelArray
    draw: int = 0


def tasks() -> Iterator[Task]:
    """All of UCI, then all networks, whatever of them is there."""
    yield from _uci()
    yield from networks()


def draws_of(task: Task) -> Iterator[Task]:
    """Fewer rows to fit on, several times, where there are enough."""
    n, k = task.fit_proba.shape
    n_draws = _DRAWS if k < _MANY_CLASSES else _DRAWS_OF_MANY_CLASSES
    for size in SIZES:
        if size > _LARGEST_PART * n:
            continue
        for draw in range(1, n_draws + 1):
            chosen = np.random.default_rng([draw, size]).permutation(n)[:size]
            yield replace(
                task,
                fit_proba=task.fit_proba[chosen],
                fit_labels=task.fit_labels[chosen],
                test_proba=task.test_proba[:_TEST_ROWS],
                test_labels=task.test_labels[:_TEST_ROWS],
                draw=draw,
            )


def _uci() -> Iterator[Task]:
    """One test fold of every pair; the classifier of its first inner split."""
    for dataset in DATASETS:
        for classifier in CLASSIFIERS:
            cell = Cell(dataset, classifier, 0, 0)
            path = _CACHE.predictions(cell)
            tried = path.exists() or _CACHE.no_predictions(cell).exists()
            if not tried:
                predict(_CACHE, cell)
            if not path.exists():
                continue
            data = load(dataset)
            proba = read_predictions(path)[0][0]
            _, test = outer_split(data, 0, 0)
            fits = next(iter(inner_splits(data, 0, 0))).fits
            yield Task(
                f"{dataset}/{classifier}",
                UCI,
                dataset,
                classifier,
                HALVES[dataset > _LAST_DEVELOPED],
                proba[fits],
                data.y[fits],
                proba[test],
                data.y[test],
            )


def networks() -> Iterator[Task]:
    """The source's own validation part, or half of the rows, at most 5000, shuffled."""
    found = [path for folder in data_folders("networks") for path in folder.glob("*.npz")]
    relabelled = {path.parent: path for path in found if path.stem.endswith("_real_labels")}
    for path in sorted(found):
        with np.load(path) as stored:
            arrays = dict(stored)
        if "conf" in arrays:
            yield _task(path.stem, "confidences", *_halves(*_right_or_wrong(arrays)))
        elif "val_logits" in arrays:
            fit = _proba(arrays["val_logits"], logits=True), arrays["val_labels"]
            test = _proba(arrays["test_logits"], logits=True), arrays["test_labels"]
            yield _task(path.stem, NETWORKS, fit, test)
        elif "logits" in arrays or "probs" in arrays:
            logits = "logits" in arrays
            proba = _proba(arrays["logits" if logits else "probs"], logits=logits)
            kind = "people" if path.stem.endswith("_human") else NETWORKS
            yield _task(path.stem, kind, *_halves(proba, arrays["labels"]))
            if path.stem.startswith("imagenet5k") and path.parent in relabelled:
                accepted = np.load(relabelled[path.parent])["real_labels"]
                one = (accepted >= 0).sum(axis=1) == 1
                halves = _halves(proba[one], accepted[one].max(axis=1).astype(np.int64))
                yield _task(f"{path.stem}, one accepted label", "relabelled", *halves)


def _task(
    name: str,
    kind: str,
    fit: tuple[FloatArray, LabelArray],
    test: tuple[FloatArray, LabelArray],
) -> Task:
    n_classes = fit[0].shape[1]
    half = HALVES[n_classes > _DEVELOPED_CLASSES]
    return Task(name, kind, _source(name, n_classes), "network", half, *fit, *test)


def _source(name: str, n_classes: int) -> str:
    recipe = next((each for each in _RECIPES if each in name), None)
    if recipe is not None:
        return f"{recipe.strip('_')}, {n_classes} classes"
    return known(name.partition(",")[0]).source


def _right_or_wrong(arrays: dict[str, npt.NDArray[Any]]) -> tuple[FloatArray, LabelArray]:
    confidence = arrays["conf"].astype(np.float64).clip(0.0, 1.0)
    proba = np.column_stack([1.0 - confidence, confidence])
    return proba, (arrays["pred"] == arrays["labels"]).astype(np.int64)


def _halves(
    proba: FloatArray, labels: LabelArray
) -> tuple[tuple[FloatArray, LabelArray], tuple[FloatArray, LabelArray]]:
    order = np.random.default_rng(_SEED).permutation(len(proba))
    proba, labels = proba[order], labels[order]
    middle = len(proba) // 2
    n_fit = min(middle, _N_FIT)
    return (proba[:n_fit], labels[:n_fit]), (proba[middle:], labels[middle:])


def _proba(outputs: npt.NDArray[np.float32], *, logits: bool) -> FloatArray:
    wide = outputs.astype(np.float64)
    proba: FloatArray = softmax(wide, axis=1) if logits else wide
    proba /= proba.sum(axis=1, keepdims=True)
    return proba
