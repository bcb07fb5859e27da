"""What a map does to decisions: how many, which confusions, and some rows to look at."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dircal._typing import FloatArray
from dircal.metrics import Block, Predictions, fold_together
from dircal.plots import ConfusionChangeDisplay
from dircal.report._examples import find_examples
from dircal.report._summary import Changes, Confusion

__all__ = ["summarise_changes"]

_TOLD = 8


def summarise_changes(
    before: Predictions,
    after: Predictions,
    names: tuple[str, ...],
    row_number: Callable[[int], int] | None,
) -> Changes:
    """Decisions ``before`` and ``after``; ``row_number`` is that of a row at a place, if known."""
    total, flipped, fixed, spoiled = fold_together([before, after], _decisions).tolist()
    confusion = ConfusionChangeDisplay.of_predictions(before, after, names)
    return Changes(
        total,
        flipped,
        fixed,
        spoiled,
        tuple(_confusions(confusion, names, -1)),
        tuple(_confusions(confusion, names, +1)),
        tuple(tuple(row) for row in confusion.change.tolist()),
        tuple(find_examples(before, after, names, row_number)),
    )


def _decisions(both: tuple[Block, ...]) -> FloatArray:
    """Weight of all rows, and of those whose decision changes, for the better and the worse.

    Of soft labels, how much more or less probably the decision is right.
    """
    old, new = both
    weight = np.ones(len(old.decisions)) if old.weight is None else old.weight
    gain = np.subtract(new.hits, old.hits, dtype=np.float64)
    each = (
        np.ones(len(weight)),
        old.decisions != new.decisions,
        np.maximum(gain, 0.0),
        np.maximum(-gain, 0.0),
    )
    return np.array([weight @ one for one in each])


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
