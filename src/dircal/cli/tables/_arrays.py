"""NPY and NPZ: arrays of NumPy, mapped from the file and read in slices."""

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from dircal._typing import AnyFloatArray, LabelArray
from dircal.cli.tables._base import (
    AbstractChunk,
    AbstractTable,
    Change,
    Columns,
    as_many_rows,
    read_marks,
    reading,
)

__all__ = ["ArrayTable", "read_labels"]

# Headers are a line of Python literals; a longer one is no header.
_LONGEST_HEADER = 10_000
_COPY_BYTES = 2**20
# Of a ZIP file, whose length has two bytes.
_LONGEST_COMMENT = 2**16 - 1


@dataclass
class _Slice(AbstractChunk):
    scores: AnyFloatArray
    others: dict[int, LabelArray]
    first: int

    @property
    def advance(self) -> int:  # type: ignore[override]
        return len(self.scores)

    def numbers(self, columns: Columns) -> AnyFloatArray:
        n_scores = self.scores.shape[1]
        parts = [
            self.scores[:, column] if column < n_scores else self.others[column]
            for column in columns
        ]
        kinds = {part.dtype.kind for part in parts}
        if not kinds <= set("fiub"):
            raise ValueError("an array with other things than numbers cannot be computed with")
        return np.column_stack(parts)

    def values(self, column: int) -> LabelArray:
        return self.others[column]


class ArrayTable(AbstractTable):
    """An array (n, k) of scores; in an NPZ file also arrays (n,) of labels and weights."""

    unit = "rows"

    def __init__(self, path: Path, array: str | None) -> None:
        self.path = path
        self._stack = ExitStack()
        self._archive = path.suffix.lower() == ".npz"
        try:
            with reading(path):
                arrays = self._members() if self._archive else {"scores": _map_file(path)}
            self._name = _name_of_scores(path, arrays, array)
        except BaseException:
            self._stack.close()
            raise
        self._scores = arrays.pop(self._name)
        self.size, n_columns = self._scores.shape
        aside = {n: a for n, a in arrays.items() if a.shape == (self.size,)}
        self.names = (*map(str, range(n_columns)), *aside)
        self._others = dict(enumerate(aside.values(), start=n_columns))
        self.score_columns = range(n_columns)

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def names_to_add(self, names: list[str]) -> list[str]:
        del names
        return [self._name]

    def chunks(self, columns: Columns) -> Iterator[AbstractChunk]:
        del columns
        return self._slices()

    def _slices(self) -> Iterator[_Slice]:
        step = as_many_rows(self._scores.shape[1])
        for start in range(0, self.size, step):
            part = slice(start, start + step)
            others = {column: array[part] for column, array in self._others.items()}
            yield _Slice(self._scores[part], others, start)

    def rewrite(self, target: Path, change: Change) -> None:
        with target.open("xb") as file:
            if not self._archive:
                if change.names is not None:
                    raise ValueError(
                        "--prefix and --suffix add columns, and an NPY file has no names for them. "
                        "Leave them out, or use NPZ."
                    )
                self._write_scores(file, change)
                return
            scores, added = f"{self._name}.npy", change.names
            with zipfile.ZipFile(file, "w") as out, zipfile.ZipFile(self.path) as source:
                out.comment = self._comment(source.comment, change)
                for info in source.infolist():
                    with out.open(_like(info, info.filename), "w", force_zip64=True) as new:
                        if added is None and info.filename == scores:
                            self._write_scores(new, change)
                            continue
                        with source.open(info) as old:
                            shutil.copyfileobj(old, new, _COPY_BYTES)
                if added is not None:
                    info = _like(source.getinfo(scores), f"{added[0]}.npy")
                    with out.open(info, "w", force_zip64=True) as new:
                        self._write_scores(new, change)

    def _comment(self, old: bytes, change: Change) -> bytes:
        """The marks, unless somebody else has written a comment or they do not fit."""
        marks = self.marks_after(change)
        return marks if (self.marks or not old) and len(marks) <= _LONGEST_COMMENT else old

    def _write_scores(self, file: IO[bytes], change: Change) -> None:
        single = self._scores.dtype == np.float32
        kind = np.dtype(np.float32 if single else np.float64)
        header = {"descr": npy.dtype_to_descr(kind), "fortran_order": False}
        npy.write_array_header_1_0(file, header | {"shape": self._scores.shape})
        for chunk in self._slices():
            numbers = change.transform(chunk, chunk.numbers(change.columns))
            file.write(np.ascontiguousarray(numbers, dtype=kind).tobytes())
            change.tell(chunk.advance)

    def _members(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of an archive, unpacked to temporary files and mapped from there."""
        with zipfile.ZipFile(self.path) as archive:
            self.marks = read_marks(archive.comment)
            return {
                info.filename.removesuffix(".npy"): self._unpack(archive, info)
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }

    def _unpack(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> npt.NDArray[Any]:
        where = f"array {info.filename.removesuffix('.npy')!r} in {str(self.path)!r}"
        file = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        with archive.open(info) as member:
            dtype, shape, fortran = _header(member, where)
            n_bytes = prod(shape) * dtype.itemsize
            # What is declared is checked before anything is unpacked.
            if info.file_size - member.tell() != n_bytes:
                raise _cut_off(where, shape, dtype, info.file_size)
            shutil.copyfileobj(member, file, _COPY_BYTES)
        file.flush()
        return _mapped(file, dtype, shape, fortran, 0)


def _like(info: zipfile.ZipInfo, name: str) -> zipfile.ZipInfo:
    """A member of another archive, of the same date and compression."""
    other = zipfile.ZipInfo(name, info.date_time)
    other.compress_type = info.compress_type
    return other


def _name_of_scores(path: Path, arrays: dict[str, Any], wanted: str | None) -> str:
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    if wanted is not None and wanted not in arrays:
        raise ValueError(f"{str(path)!r} has no array {wanted!r}; it has {_list(arrays)}.")
    if wanted is None and len(matrices) != 1:
        raise ValueError(
            f"{str(path)!r} has {len(matrices)} arrays with rows and columns; it has "
            f"{_list(arrays)}. Name the one with the scores: --columns NAME."
        )
    name = matrices[0] if wanted is None else wanted
    array = arrays[name]
    if array.ndim != 2 or array.dtype.kind not in "fiub" or 0 in array.shape:
        raise ValueError(
            f"{str(path)!r}: the array of scores must be numbers with a row for each sample and a "
            f"column for each class; got {array.dtype} of shape {array.shape}."
        )
    return name


def _list(arrays: dict[str, Any]) -> str:
    shown = [f"{name!r} {array.shape}" for name, array in list(arrays.items())[:8]]
    return ", ".join(shown) or "none"


def read_labels(path: Path) -> LabelArray:
    """Labels (n,) from an NPY file of their own."""
    with reading(path):
        labels = _map_file(path)
    if labels.ndim != 1:
        raise ValueError(
            f"{str(path)!r} must have one label for each row; got shape {labels.shape}."
        )
    return np.asarray(labels)


def _map_file(path: Path) -> npt.NDArray[Any]:
    where = repr(str(path))
    with path.open("rb") as file:
        dtype, shape, fortran = _header(file, where)
        offset = file.tell()
        size = path.stat().st_size
        if size - offset < prod(shape) * dtype.itemsize:
            raise _cut_off(where, shape, dtype, size)
        return _mapped(file, dtype, shape, fortran, offset)


def _mapped(
    file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...], fortran: bool, offset: int
) -> npt.NDArray[Any]:
    if prod(shape) == 0:
        return np.empty(shape, dtype)
    order: Any = "F" if fortran else "C"
    return np.memmap(file, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)


def _header(file: Any, where: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file, _LONGEST_HEADER)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        text = str(error).partition("\n")[0]
        raise ValueError(f"{where} is no array of NumPy ({text[:200]}).") from error
    if dtype.hasobject:
        raise ValueError(f"{where} holds Python objects, which are not loaded: they can run code.")
    if any(length < 0 for length in shape):
        raise ValueError(f"{where} declares the shape {shape}.")
    return dtype, shape, fortran


def _cut_off(where: str, shape: tuple[int, ...], dtype: Any, size: int) -> ValueError:
    return ValueError(
        f"{where} declares {dtype} of shape {shape}, which does not fit its {size:,} bytes. It is "
        "damaged or cut off; write or copy it again."
    )
