"""What a map does to decisions: how many, which confusions, and some rows to look at."""

from collections.abc import Iterator, Sequence

import numpy as np

from dircal._typing import FloatArray, IntArray
from dircal.metrics import Predictions
from dircal.plots import ConfusionChangeDisplay
from dircal.report._summary import Changes, Confusion, Example, Share

__all__ = ["summarise_changes"]

_TOLD = 8
# Classes that an example lists, besides the true one.
_LISTED = 4


def summarise_changes(
    before: Predictions,
    after: Predictions,
    names: tuple[str, ...],
    rows: IntArray,
) -> Changes:
    """Decisions ``before`` and ``after`` of rows whose numbers are ``rows``."""
    called, recalled = (one.probabilities.argmax(axis=1) for one in (before, after))
    # Of soft labels how probably each decision is right, less what both have in common.
    right, right_after = _right(before, called), _right(before, recalled)
    weight = before.sample_weight
    each = np.ones(before.n_samples) if weight is None else weight
    confusion = ConfusionChangeDisplay.of_predictions(before, after, names)
    return Changes(
        float(each.sum()),
        float(each[called != recalled].sum()),
        float(each @ np.maximum(right_after - right, 0.0)),
        float(each @ np.maximum(right - right_after, 0.0)),
        tuple(_confusions(confusion, names, -1)),
        tuple(_confusions(confusion, names, +1)),
        tuple(tuple(row) for row in confusion.change.tolist()),
        tuple(_examples(before, after, names, rows)),
    )


def _right(predictions: Predictions, called: IntArray) -> FloatArray:
    """Whether each decision is right, or how probably."""
    targets = predictions.rows.targets
    if targets is None:
        return np.where(called == predictions.labels, 1.0, 0.0)
    found: FloatArray = targets[np.arange(len(called)), called]
    return found


def _confusions(
    confusion: ConfusionChangeDisplay, names: Sequence[str], sign: int
) -> Iterator[Confusion]:
    """Mistakes that become rarer (-1) or more frequent (+1), those that change most first."""
    grown = sign * confusion.change
    np.fill_diagonal(grown, 0.0)
    order = np.argsort(-grown, axis=None, kind="stable")[:_TOLD]
    for i, j in zip(*np.unravel_index(order, grown.shape), strict=True):
        # Sums of weights are rounded.
        if grown[i, j] > 1e-9 * confusion.after.sum():
            before, after = float(confusion.before[i, j]), float(confusion.after[i, j])
            yield Confusion(names[i], names[j], before, after)


def _examples(
    predicted: Predictions, calibrated: Predictions, names: Sequence[str], rows: IntArray
) -> Iterator[Example]:
    """Rows that show what the map does, each another kind of it."""
    before, after = predicted.probabilities, calibrated.probabilities
    # Of soft labels the most probable one.
    labels = predicted.rows.labels
    at = np.arange(len(labels))
    gain = after[at, labels] - before[at, labels]
    right, right_after = (one.argmax(axis=1) == labels for one in (before, after))
    fall = before.max(axis=1) - after.max(axis=1)
    moved = np.abs(after - before).sum(axis=1)
    middle = -np.abs(moved - np.median(moved))
    kinds = (
        ("A mistake that is put right", gain, ~right & right_after),
        ("A right answer that is spoiled", -gain, right & ~right_after),
        ("Sure and wrong, and less sure now", fall, ~right & ~right_after & (fall > 0)),
        ("Right, and surer now", -fall, right & right_after & (fall < 0)),
        ("Right, and less sure now", fall, right & right_after & (fall > 0)),
        ("An ordinary row: half of the others change more", middle, np.ones(len(at), dtype=bool)),
    )
    shown: set[int] = set()
    for why, size, fits in kinds:
        fitting = np.flatnonzero(fits)
        if len(fitting) == 0:
            continue
        i = int(fitting[size[fitting].argmax()])
        if i not in shown:
            shown.add(i)
            yield _example(why, before[i], after[i], int(labels[i]), names, int(rows[i]))


def _example(
    why: str, before: FloatArray, after: FloatArray, label: int, names: Sequence[str], row: int
) -> Example:
    order = np.argsort(-np.maximum(before, after), kind="stable").tolist()
    listed = order[:_LISTED]
    if label not in listed:
        listed.append(label)
    shares = tuple(Share(names[j], float(before[j]), float(after[j]), j == label) for j in listed)
    rest = [j for j in order if j not in listed]
    return Example(row, why, shares, float(before[rest].sum()), float(after[rest].sum()))
