"""Each class before and after the map."""

from collections.abc import Sequence

import numpy as np

from dircal._typing import FloatArray
from dircal.metrics import Block, Predictions, fold_together
from dircal.plots import plain
from dircal.report._diagrams import class_diagrams
from dircal.report._summary import ClassSummary

__all__ = ["summarise_classes"]


def summarise_classes(
    before: Predictions, after: Predictions, names: Sequence[str], level: float
) -> tuple[ClassSummary, ...]:
    """A summary of each class, in the sorted order of the labels."""
    diagrams = [class_diagrams(one, names, level) for one in (before, after)]
    count, mean_before, hits_before = _sums(before)
    _, mean_after, hits_after = _sums(after)
    total = count.sum()
    lost, won = _exchanged(before, after)
    recalls = [
        np.divide(hits, count, out=np.full_like(count, np.nan), where=count > 0)
        for hits in (hits_before, hits_after)
    ]
    return tuple(
        ClassSummary(
            name,
            float(count[j]),
            float(count[j] / total),
            float(mean_before[j] / total),
            float(mean_after[j] / total),
            diagrams[0][j].error,
            diagrams[1][j].error,
            plain(recalls[0][j]),
            plain(recalls[1][j]),
            float(lost[j]),
            float(won[j]),
            diagrams[0][j],
            diagrams[1][j],
        )
        for j, name in enumerate(names)
    )


def _exchanged(before: Predictions, after: Predictions) -> tuple[FloatArray, FloatArray]:
    """For each class its rows that are right before only, and those that are right after only."""
    lost, won = fold_together([before, after], _exchanged_in)
    return lost, won


def _exchanged_in(both: tuple[Block, ...]) -> FloatArray:
    old, new = both
    weight = np.ones(len(old.decisions)) if old.weight is None else old.weight
    if old.targets is not None:
        moved = weight * (old.decisions != new.decisions)
        k = len(old.proba)
        return np.stack([np.bincount(one.decisions, moved * one.hits, minlength=k) for one in both])
    each = (old.hits & ~new.hits, new.hits & ~old.hits)
    return np.stack(
        [np.bincount(old.labels, weight * one, minlength=len(old.proba)) for one in each]
    )


def _sums(predictions: Predictions) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each class its rows, the sum of its probabilities, and its rows that are called so."""
    count, said, hits = predictions.fold(_sums_of)
    return count, said, hits


def _sums_of(block: Block) -> FloatArray:
    k, right = len(block.proba), block.hits
    weight = np.ones(len(block.decisions)) if block.weight is None else block.weight
    if block.targets is not None:
        hits = np.bincount(block.decisions, weight * block.hits, minlength=k)
        return np.stack([block.targets @ weight, block.proba @ weight, hits])
    count = np.bincount(block.labels, weight, minlength=k)
    hits = np.bincount(block.labels[right], weight[right], minlength=k)
    return np.stack([count, block.proba @ weight, hits])
