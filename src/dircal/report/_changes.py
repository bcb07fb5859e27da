"""What a map does to decisions: how many, which confusions, and some rows to look at."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from dircal._typing import FloatArray
from dircal.metrics import Block, Predictions, fold_together
from dircal.plots import ConfusionChangeDisplay
from dircal.report._limits import REPORT_LIMITS
from dircal.report._summary import Changes, Confusion, Example, Share

__all__ = ["summarise_changes"]


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
    order = np.argsort(-grown, axis=None, kind="stable")[: REPORT_LIMITS.get().max_examples]
    for i, j in zip(*np.unravel_index(order, grown.shape), strict=True):
        # Sums of weights are rounded.
        if grown[i, j] > 1e-9 * confusion.after.sum():
            before, after = float(confusion.before[i, j]), float(confusion.after[i, j])
            yield Confusion(names[i], names[j], before, after)


_KINDS = (
    "A mistake that is put right",
    "A right answer that is spoiled",
    "Sure and wrong, and less sure now",
    "Right, and surer now",
    "Right, and less sure now",
    "An ordinary row: half of the others change more",
)


def find_examples(
    before: Predictions,
    after: Predictions,
    names: Sequence[str],
    row_number: Callable[[int], int] | None,
) -> Iterator[Example]:
    """The row that shows each kind best, if it is not shown already."""
    both = [before, after]
    every = -(-before.n_samples // REPORT_LIMITS.get().max_change_rows)
    moved = fold_together(both, _Moved(every))
    found = fold_together(both, _Kinds(float(np.median(np.concatenate(moved)))))
    shown: set[int] = set()
    for why, one in zip(_KINDS, found.rows, strict=True):
        if one is not None and one.place not in shown:
            shown.add(one.place)
            row = None if row_number is None else row_number(one.place)
            yield _example(why, one, names, row)


def _moved(both: tuple[Block, ...]) -> FloatArray:
    old, new = both
    distances: FloatArray = np.abs(new.proba - old.proba).sum(axis=0)
    return distances


@dataclass(frozen=True)
class _Moved:
    """How far every so many rows are moved."""

    every: int

    def __call__(self, both: tuple[Block, ...]) -> list[FloatArray]:
        return [_moved(both)[-(both[0].start or 0) % self.every :: self.every]]


@dataclass(frozen=True)
class _Row:
    """A row, and by how much it shows what it is for."""

    size: float
    place: int
    label: int
    before: FloatArray
    after: FloatArray


@dataclass
class _Best:
    """The best row of each kind; the first of equals."""

    rows: list[_Row | None]

    def __iadd__(self, other: Self) -> Self:
        for i, row in enumerate(other.rows):
            mine = self.rows[i]
            if row is not None and (mine is None or row.size > mine.size):
                self.rows[i] = row
        return self


@dataclass(frozen=True)
class _Kinds:
    """The best rows of a block; an ordinary one is moved by the ``median``."""

    median: float

    def __call__(self, both: tuple[Block, ...]) -> _Best:
        old, new = both
        # Of soft labels the most probable one.
        label = old.label_or_mode
        at = np.arange(len(label))
        gain = new.proba[label, at] - old.proba[label, at]
        right, right_after = old.decisions == label, new.decisions == label
        fall = old.confidence - new.confidence
        kinds = (
            (gain, ~right & right_after),
            (-gain, right & ~right_after),
            (fall, ~right & ~right_after & (fall > 0)),
            (-fall, right & right_after & (fall < 0)),
            (fall, right & right_after & (fall > 0)),
            (-np.abs(_moved(both) - self.median), np.ones(len(at), dtype=bool)),
        )
        return _Best([_best(old, new, size, fits) for size, fits in kinds])


def _best(old: Block, new: Block, size: FloatArray, fits: npt.NDArray[np.bool_]) -> _Row | None:
    fitting = np.flatnonzero(fits)
    if len(fitting) == 0:
        return None
    i = int(fitting[size[fitting].argmax()])
    place = (old.start or 0) + i
    # Copies: a view would keep the whole block.
    return _Row(
        float(size[i]),
        place,
        int(old.label_or_mode[i]),
        old.proba[:, i].copy(),
        new.proba[:, i].copy(),
    )


def _example(why: str, one: _Row, names: Sequence[str], row: int | None) -> Example:
    before, after = one.before, one.after
    order = np.argsort(-np.maximum(before, after), kind="stable").tolist()
    listed = order[: REPORT_LIMITS.get().max_example_classes]
    if one.label not in listed:
        listed.append(one.label)
    shares = tuple(
        Share(names[j], float(before[j]), float(after[j]), j == one.label) for j in listed
    )
    rest = [j for j in order if j not in listed]
    return Example(row, why, shares, float(before[rest].sum()), float(after[rest].sum()))
