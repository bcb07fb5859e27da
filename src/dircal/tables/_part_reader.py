"""How batches of a table become checked parts, where they lie."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.data.parts import Part
from dircal._typing import InputScale
from dircal.tables._batches import AbstractBatch, BatchRows
from dircal.tables._columns import Arguments
from dircal.tables._conversion import NamedScores, as_array
from dircal.tables._loaded import missing_labels, present_labels
from dircal.tables._parts import Agreement, PartSummary, RawPart, check_part

__all__ = ["CheckedPart", "PartReader"]


@dataclass(frozen=True)
class CheckedPart:
    """A part that was read, and its summary."""

    raw: RawPart | None
    summary: PartSummary

    def __sizeof__(self) -> int:
        # Dask asks, to know how much it holds.
        return object.__sizeof__(self) + (0 if self.raw is None else self.raw.n_bytes)


@dataclass(frozen=True)
class PartReader:
    """Reads and checks batches.

    Parameters
    ----------
    scores : tuple of str
        Columns with the scores.
    label, weight : str
        Columns with the labels, and with the weights if there are any.
    skip_unlabelled : bool
        Whether rows without a label are left out.
    skip_option : str
        What the user calls the option for it.
    input_scale : {"probability", "logit"}
        Scale of the scores.
    arguments : Arguments
        What messages call them.
    """

    scores: tuple[str, ...]
    label: str
    weight: str | None
    skip_unlabelled: bool
    skip_option: str
    input_scale: InputScale
    arguments: Arguments

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [*self.scores, *self._others]

    @property
    def _others(self) -> list[str]:
        return [self.label, *([] if self.weight is None else [self.weight])]

    def check(self, batch: AbstractBatch, frame: Any = None) -> CheckedPart:
        """Read a batch, or the ``frame`` that it is, and summarise it.

        Errors are part of the summary: of several, that of the first batch is raised, whichever is
        read first.
        """
        place: Callable[[int], str] = batch.place
        try:
            raw = self.read(batch, frame)
            if raw is None:
                return CheckedPart(None, PartSummary())
            place = raw.place
            summary = check_part(raw, self.input_scale, replace(self.arguments, row=place))
            return CheckedPart(raw, summary)
        except ValueError as error:
            text = str(error)
            where = "" if place(0).partition(" of ")[2] in text else f" (In {batch.name}.)"
            return CheckedPart(None, PartSummary(error=text + where))

    def read(self, batch: AbstractBatch, frame: Any = None) -> RawPart | None:
        """Read the arrays of a batch; None if it has no rows."""
        if frame is None:
            rows = batch.read(self.scores, self._others)
        else:
            rows = batch.of_frame(frame, self.scores, self._others)  # type: ignore[attr-defined]
        if rows.n_rows == 0:
            return None
        labels, place = rows.others[self.label], rows.place
        weight = None if self.weight is None else rows.others[self.weight]
        scores = rows.scores
        skips, option = self.skip_unlabelled, self.skip_option
        missing = missing_labels(labels, place, self.label, skips=skips, option=option)
        if missing.any():
            kept = np.flatnonzero(~missing)
            if len(kept) == 0:
                return None
            scores, place = _take(rows, kept), partial(_place_of_kept, place, kept)
            labels = present_labels(labels, ~missing)
            weight = None if weight is None else as_array(weight)[kept]
        arguments = replace(self.arguments, row=place)
        return RawPart.of(scores, labels, weight, arguments)

    def part(self, raw: RawPart, agreed: Agreement, first: int, *, keeps: bool) -> Part:
        """Make a part that begins at row ``first`` of all, with columns assigned to classes."""
        return Part(first, raw.assign(agreed, self.input_scale), raw.place, {} if keeps else None)


def _take(rows: BatchRows, kept: npt.NDArray[np.intp]) -> Any:
    from dircal.tables._arrays import as_matrix

    matrix, names = as_matrix(rows.scores)
    return NamedScores(matrix[kept], names)


def _place_of_kept(place: Callable[[int], str], kept: npt.NDArray[np.intp], row: int) -> str:
    return place(int(kept[row]))
