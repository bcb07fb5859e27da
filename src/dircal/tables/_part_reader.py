"""How batches of a table become checked parts, where they lie."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from dircal._core.data.parts import Part
from dircal._typing import InputScale
from dircal.tables._batches import AbstractBatch
from dircal.tables._columns import Arguments
from dircal.tables._raw_rows import Agreement, PartSummary, RawRows
from dircal.tables._reading import RowReader

__all__ = ["CheckedPart", "PartReader"]


@dataclass(frozen=True)
class CheckedPart:
    """A part that was read, and its summary."""

    raw: RawRows | None
    summary: PartSummary

    def __sizeof__(self) -> int:
        # Dask asks, to know how much it holds.
        return object.__sizeof__(self) + (0 if self.raw is None else self.raw.n_bytes)


@dataclass(frozen=True)
class PartReader:
    """Reads and checks batches.

    Parameters
    ----------
    rows : RowReader
        Reads the rows.
    input_scale : {"probability", "logit"}
        Scale of the scores.
    arguments : Arguments
        Names of the arguments in messages.
    """

    rows: RowReader
    input_scale: InputScale
    arguments: Arguments

    def check(self, batch: AbstractBatch) -> CheckedPart:
        """Read a batch, and summarise it.

        Errors are part of the summary: of several, that of the first batch is raised, whichever is
        read first.
        """
        place: Callable[[int], str] = batch.place
        try:
            raw, n_left_out = self.read(batch)
            if raw is None:
                return CheckedPart(None, PartSummary(n_left_out=n_left_out))
            place = raw.place
            arguments = replace(self.arguments, row=place)
            summary = raw.summary(arguments)
            worst = raw.worst_sum(self.input_scale, arguments)
            return CheckedPart(raw, replace(summary, worst=worst, n_left_out=n_left_out))
        except ValueError as error:
            text = str(error)
            where = "" if place(0).partition(" of ")[2] in text else f" (In {batch.name}.)"
            return CheckedPart(None, PartSummary(error=text + where))

    def read(self, batch: AbstractBatch) -> tuple[RawRows | None, int]:
        """Read the arrays of a batch, None without rows; and count the rows that are left out."""
        rows = self.rows.read(batch)
        if rows.n_rows == 0:
            return None, rows.n_left_out
        arguments = replace(self.arguments, row=rows.place)
        raw = RawRows.of(rows.named_scores, rows.labels, rows.weight, arguments)
        return raw, rows.n_left_out

    def part(self, raw: RawRows, agreed: Agreement, first: int, *, keeps: bool) -> Part:
        """Make a part that begins at row ``first`` of all, with columns assigned to classes."""
        return Part(first, raw.assign(agreed, self.input_scale), raw.place, {} if keeps else None)
