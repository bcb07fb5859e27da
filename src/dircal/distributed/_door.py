"""The door where parts are: what is read of each, and how it is checked there."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw

from dircal._core.data.parts import Part
from dircal._typing import InputScale
from dircal.distributed._loaders import Loader
from dircal.tables import Agreement, Arguments, PartSummary, RawPart, check_part

__all__ = ["CheckedPart", "Door", "plain_column"]

_TEXTS = ("string", "large_string")


@dataclass(frozen=True)
class CheckedPart:
    """A part that was read, and what there is to know of it."""

    raw: RawPart | None
    summary: PartSummary
    place: Callable[[int], str]

    def __sizeof__(self) -> int:
        # Dask asks, to know how much it holds.
        return object.__sizeof__(self) + (0 if self.raw is None else self.raw.n_bytes)


@dataclass(frozen=True)
class Door:
    """Which columns of a part are read, and how.

    Parameters
    ----------
    scores : tuple of str
        Columns with the scores.
    label, weight : str
        Columns with the labels, and with the weights if there are any.
    input_scale : {"probability", "logit"}
        What the scores are.
    arguments : Arguments
        How the caller calls them.
    """

    scores: tuple[str, ...]
    label: str
    weight: str | None
    input_scale: InputScale
    arguments: Arguments

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [*self.scores, self.label, *([] if self.weight is None else [self.weight])]

    def check(self, loader: Loader, frame: Any = None) -> CheckedPart:
        """Read a part, or take the ``frame`` that it is; errors of the door are told, not raised.

        Of several parts with errors the first is to be told, whichever is read first.
        """
        arguments = replace(self.arguments, row=loader.place)
        frame = loader(self.columns) if frame is None else frame
        try:
            raw = self.read(frame, arguments)
            if raw is None:
                return CheckedPart(None, PartSummary(), loader.place)
            summary = check_part(raw, self.input_scale, arguments)
            return CheckedPart(raw, summary, loader.place)
        except ValueError as error:
            text = str(error)
            where = "" if loader.place(0).partition(" of ")[2] in text else f" (In {loader.name}.)"
            return CheckedPart(None, PartSummary(error=text + where), loader.place)

    def read(self, frame: Any, arguments: Arguments) -> RawPart | None:
        """The arrays of a part; None where it has no rows."""
        table = nw.from_native(frame, eager_only=True)
        if len(table) == 0:
            return None
        scores = table.select(*self.scores).to_native()
        weight = None if self.weight is None else plain_column(table[self.weight])
        return RawPart.of(scores, plain_column(table[self.label]), weight, arguments)

    def part(
        self,
        raw: RawPart,
        place: Callable[[int], str],
        agreed: Agreement,
        first: int,
        *,
        keeps: bool,
    ) -> Part:
        """A part that begins at row ``first`` of all, with columns assigned to classes."""
        return Part(first, raw.assign(agreed, self.input_scale), place, {} if keeps else None)


def plain_column(series: Any) -> Any:
    """A column as the door takes it; Arrow's own are NumPy's here."""
    native = series.to_native()
    if type(native).__module__.partition(".")[0] != "pyarrow":
        return native
    native = native.combine_chunks()
    if str(native.type) in _TEXTS and native.null_count == 0:
        # Rows of one label then share one object, whose hash is known.
        native = native.dictionary_encode()
    if not hasattr(native, "dictionary"):
        return native.to_numpy(zero_copy_only=False)
    if native.null_count > 0:
        return native.dictionary_decode().to_numpy(zero_copy_only=False)
    return native.dictionary.to_numpy(zero_copy_only=False)[native.indices.to_numpy()]
