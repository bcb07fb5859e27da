"""Arrays as NumPy stores them, read in blocks.

Not mapped: a file that is cut off while it is read must be an error, and the system ends a process
that looks at a page which is not there any more.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import prod
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

__all__ = ["StoredArray", "stored_array"]

# Headers are a line of Python literals; a longer one is no header.
_LONGEST_HEADER = 10_000
_READERS = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
    # As the second, but in UTF-8; it is for names of fields, and there are none in numbers.
    (3, 0): npy.read_array_header_2_0,
}


@dataclass(frozen=True)
class StoredArray:
    """What the header of an array says, and how to read on.

    ``where`` is how people call it, ``offset`` the length of its header, and ``content`` opens it
    at its beginning. An array that goes column by column needs a ``content`` that jumps.
    """

    where: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    offset: int
    content: Callable[[], AbstractContextManager[IO[bytes]]]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def blocks(self, step: int) -> Iterator[npt.NDArray[Any]]:
        """So many rows at a time, of one dimension or two."""
        n_rows, width = self.shape[0], prod(self.shape[1:])
        with self.content() as file:
            if file.tell() == 0:
                # Read, not jumped over: archives check what they have read whole.
                file.read(self.offset)
            for start in range(0, n_rows, step):
                n = min(step, n_rows - start)
                if self.fortran and self.ndim == 2:
                    columns = [self._read(file, j * n_rows + start, n) for j in range(width)]
                    yield np.stack(columns, axis=1)
                else:
                    flat = self._read(file, start * width, n * width)
                    yield flat.reshape(n, *self.shape[1:])

    def _read(self, file: IO[bytes], first: int, count: int) -> npt.NDArray[Any]:
        place, n_bytes = self.offset + first * self.dtype.itemsize, count * self.dtype.itemsize
        if file.tell() != place:
            file.seek(place)
        content = file.read(n_bytes)
        if len(content) != n_bytes:
            raise ValueError(
                f"{self.where} ended while it was read: it has been cut off. Run the command again "
                "when the file is whole."
            )
        return np.frombuffer(content, self.dtype)


def stored_array(
    file: IO[bytes],
    where: str,
    size: int,
    content: Callable[[], AbstractContextManager[IO[bytes]]],
) -> StoredArray:
    """The array whose header the file is at, in ``size`` bytes; a ValueError where it is none."""
    shape, fortran, dtype = _header(file, where)
    if dtype.hasobject:
        raise ValueError(f"{where} holds Python objects, which are not loaded: they can run code.")
    if dtype.kind not in "biufcSUmM" or dtype.itemsize == 0:
        raise ValueError(f"{where} holds {str(dtype)!r:.60}, which is neither numbers nor text.")
    if not all(0 <= length < 2**62 for length in shape):
        raise ValueError(f"{where} declares the shape {shape!s:.60}.")
    offset = file.tell()
    if size - offset < prod(shape) * dtype.itemsize:
        raise ValueError(
            f"{where} declares {dtype} of shape {shape!s:.60}, which does not fit its {size:,} "
            "bytes. It is damaged or cut off; write or copy it again."
        )
    return StoredArray(where, dtype, shape, fortran, offset, content)


def _header(file: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        with warnings.catch_warnings():
            # Python 2 wrote whole numbers in another way, which is fine.
            warnings.simplefilter("ignore")
            version = npy.read_magic(file)
            if version not in _READERS:
                raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
            shape, fortran, dtype = _READERS[version](file, _LONGEST_HEADER)
    except OSError as error:
        if error.errno is not None:
            raise
        raise _no_array(where, error) from error
    except Exception as error:
        # The parsers of headers and archives have many ways to fail.
        raise _no_array(where, error) from error
    return shape, bool(fortran), dtype


def _no_array(where: str, error: Exception) -> ValueError:
    text = str(error).partition("\n")[0] or type(error).__name__
    return ValueError(f"{where} is no array of NumPy, or damaged ({text[:200]}).")
