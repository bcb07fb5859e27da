"""NPY and NPZ: arrays of NumPy, read in slices."""

from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from dircal._typing import AnyFloatArray, LabelArray
from dircal.cli.tables._archive import Archive, unpacking
from dircal.cli.tables._base import (
    LONGEST_TEXT,
    AbstractChunk,
    AbstractTable,
    Change,
    Columns,
    as_many_rows,
    label_too_long,
    read_marks,
)
from dircal.cli.tables._stored import StoredArray, stored_array

__all__ = ["ArrayTable", "empty_labels", "read_labels"]

# Of a comment in a ZIP file, whose length has two bytes.
_LONGEST_COMMENT = 2**16 - 1


@dataclass
class _Slice(AbstractChunk):
    """Rows of the scores, None if nobody asks for them, and of other arrays that are asked for."""

    where: list[str]
    first: int
    advance: int
    scores: npt.NDArray[Any] | None
    others: dict[int, npt.NDArray[Any]]
    kept: npt.NDArray[np.intp] | None = None

    @property
    def n_rows(self) -> int:
        return self.advance if self.kept is None else len(self.kept)

    def numbers(self, columns: Columns) -> AnyFloatArray:
        parts = [self._column(column) for column in columns]
        for column, part in zip(columns, parts, strict=True):
            if part.dtype.kind not in "fiub":
                raise ValueError(
                    f"{self.where[column]} holds {part.dtype}, not numbers. Name an array of "
                    "numbers."
                )
        return np.column_stack(parts)

    def _column(self, column: int) -> npt.NDArray[Any]:
        if column in self.others:
            return self.others[column]
        assert self.scores is not None
        return self.scores[:, column]

    def values(self, column: int) -> LabelArray:
        return self.others[column]

    def is_empty(self, column: int) -> npt.NDArray[np.bool_]:
        return empty_labels(self.others[column])

    def take(self, rows: npt.NDArray[np.bool_]) -> "_Slice":
        return replace(
            self,
            scores=None if self.scores is None else self.scores[rows],
            others={column: values[rows] for column, values in self.others.items()},
            kept=np.flatnonzero(rows),
        )


class ArrayTable(AbstractTable):
    """An array (n, k) of scores; in an NPZ file also arrays (n,) of labels and weights."""

    unit = "rows"

    def __init__(self, path: Path, array: str | None) -> None:
        self.path = path
        self._archive: Archive | None = None
        arrays: dict[str, StoredArray | ValueError]
        with ExitStack() as stack:
            if path.suffix.lower() == ".npz":
                self._archive = stack.enter_context(Archive(path))
                self.marks = read_marks(self._archive.comment)
                arrays = dict(self._archive.arrays)
            else:
                arrays = {"scores": _array_in(path, stack)}
            self._name, self._scores = _array_of_scores(path, arrays, array)
            self._stack = stack.pop_all()
        del arrays[self._name]
        self.size, n_columns = self._scores.shape
        # What cannot be read may be what is asked for; then it says why.
        aside = {
            name: one
            for name, one in arrays.items()
            if isinstance(one, ValueError) or one.shape == (self.size,)
        }
        self.names = (*map(str, range(n_columns)), *aside)
        self._others = dict(enumerate(aside.values(), start=n_columns))
        self.score_columns = range(n_columns)

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def names_to_add(self, names: list[str]) -> list[str]:
        del names
        return [self._name]

    def has(self, name: str) -> bool:
        # Other matrices are no columns, but have names as well.
        return self._archive is not None and name in self._archive.arrays

    def chunks(self, columns: Columns) -> Iterator[AbstractChunk]:
        step = as_many_rows(self._scores.shape[1])
        others = {c: self._blocks(self._others[c], step) for c in columns if c in self._others}
        scores = self._blocks(self._scores, step) if len(others) < len(set(columns)) else None
        n_scores = self._scores.shape[1]
        where = [self._scores.where] * n_scores
        where += [f"array {name!r:.80} in {str(self.path)!r}" for name in self.names[n_scores:]]
        for start in range(0, self.size, step):
            yield _Slice(
                where,
                start,
                min(step, self.size - start),
                None if scores is None else next(scores),
                {column: next(blocks) for column, blocks in others.items()},
            )

    def _blocks(self, array: StoredArray | ValueError, step: int) -> Iterator[npt.NDArray[Any]]:
        if isinstance(array, ValueError):
            raise array
        blocks = array.blocks(step)
        while True:
            with unpacking(self.path):
                block = next(blocks, None)
            if block is None:
                return
            yield _as_labels(block, array.where)

    def rewrite(self, target: Path, change: Change) -> None:
        with target.open("xb") as file:
            if self._archive is not None:
                added = None if change.names is None else change.names[0]
                comment = self._comment(self._archive.comment, change)
                self._archive.copy_to(
                    file, self._name, added, lambda new: self._write_scores(new, change), comment
                )
                return
            if change.names is not None:
                raise ValueError(
                    "--prefix and --suffix add columns, and an NPY file has no names for them. "
                    "Leave them out, or use NPZ."
                )
            self._write_scores(file, change)

    def _comment(self, old: bytes, change: Change) -> bytes:
        """The marks, unless somebody else has written a comment or they do not fit."""
        marks = self.marks_after(change)
        return marks if (self.marks or not old) and len(marks) <= _LONGEST_COMMENT else old

    def _write_scores(self, file: IO[bytes], change: Change) -> None:
        single = self._scores.dtype == np.float32
        kind = np.dtype(np.float32 if single else np.float64)
        header = {"descr": npy.dtype_to_descr(kind), "fortran_order": False}
        npy.write_array_header_1_0(file, header | {"shape": self._scores.shape})
        for chunk in self.chunks(change.columns):
            numbers = change.transform(chunk, chunk.numbers(change.columns))
            file.write(np.ascontiguousarray(numbers, dtype=kind).tobytes())
            change.tell(chunk.advance)


def _array_of_scores(
    path: Path, arrays: dict[str, StoredArray | ValueError], wanted: str | None
) -> tuple[str, StoredArray]:
    if wanted is None:
        matrices = [n for n, a in arrays.items() if isinstance(a, StoredArray) and a.ndim == 2]
        refused = next((a for a in arrays.values() if isinstance(a, ValueError)), None)
        if not matrices and refused is not None:
            raise refused
        if len(matrices) != 1:
            raise ValueError(
                f"{str(path)!r} has {len(matrices)} arrays with rows and columns; it has "
                f"{_list(arrays)}. Name the one with the scores: --columns NAME."
            )
        wanted = matrices[0]
    if wanted not in arrays:
        raise ValueError(f"{str(path)!r} has no array {wanted!r}; it has {_list(arrays)}.")
    array = arrays[wanted]
    if isinstance(array, ValueError):
        raise array
    if array.ndim != 2 or array.dtype.kind not in "fiub" or 0 in array.shape:
        raise ValueError(
            f"{str(path)!r}: the array of scores must be numbers with a row for each sample and a "
            f"column for each class; got {array.dtype} of shape {array.shape}."
        )
    return wanted, array


def _list(arrays: dict[str, StoredArray | ValueError]) -> str:
    shown = [
        f"{name!r:.80}" if isinstance(one, ValueError) else f"{name!r:.80} {one.shape}"
        for name, one in list(arrays.items())[:8]
    ]
    return ", ".join(shown) or "none"


def read_labels(path: Path) -> LabelArray:
    """Labels (n,) from an NPY file of their own."""
    with ExitStack() as stack:
        array = _array_in(path, stack)
        if array.ndim != 1:
            raise ValueError(
                f"{str(path)!r} must have one label for each row; got shape {array.shape}."
            )
        blocks = [_as_labels(block, array.where) for block in array.blocks(as_many_rows(1))]
        return np.concatenate(blocks) if blocks else np.empty(0, array.dtype)


def empty_labels(labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which labels (n,) are none: empty texts, NaN and NaT."""
    if labels.dtype.kind in "US":
        return np.asarray(np.char.str_len(np.char.strip(labels)) == 0)
    # NaN and NaT differ from themselves.
    return np.asarray(labels != labels)


def _as_labels(block: npt.NDArray[Any], where: str) -> npt.NDArray[Any]:
    """The same, if its texts are as short as labels are."""
    length = np.dtype(block.dtype).itemsize // (4 if block.dtype.kind == "U" else 1)
    if length > LONGEST_TEXT:
        raise label_too_long(where, length)
    return block


def _array_in(path: Path, stack: ExitStack) -> StoredArray:
    """The array of an NPY file, which stays open."""
    file = stack.enter_context(path.open("rb"))
    return stored_array(file, repr(str(path)), path.stat().st_size, lambda: nullcontext(file))
