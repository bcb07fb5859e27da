"""The pickled logits that come with papers, read without trusting them."""

import io
import math
import os
import pickle
import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["LabelledLogits", "read_pickled_logits"]

_LARGEST_FILE = 2**32
# A file of some arrays needs some dozens of steps; more is an attack on the memory. No list can be
# nested deeper than this either.
_MOST_STEPS = 1000
# Keys are hashed, and a few bytes of nested tuples take years of that.
_HASHING = ("DICT", "SETITEM", "SETITEMS", "ADDITEMS", "FROZENSET")
# An array that is named again is made again. Arrays take this many times the bytes of the file.
_MOST_COPIES = 4


class UnsafePickleError(Exception):
    """Why a file is not read; `read_pickled_logits` says it in a ValueError with the file."""


class LabelledLogits(NamedTuple):
    """Logits and labels of one part of the data.

    ``logits`` has shape (n, k) and the dtype of the file; ``labels`` has shape (n,), numbers from
    0 to k - 1.
    """

    logits: npt.NDArray[Any]
    labels: npt.NDArray[Any]


def read_pickled_logits(path: str | os.PathLike[str]) -> tuple[LabelledLogits, ...]:
    """Read logits and labels from a pickle, without running what else it may hold.

    Parameters
    ----------
    path : str or path
        A pickle of ``[(logits, labels), (logits, labels)]``, usually validation and test, or of
        one pair ``(logits, labels)``. Logits have shape (n, k), labels (n,) or (n, 1).

    Returns
    -------
    parts : tuple of LabelledLogits
        One for each pair, in the order of the file.

    Notes
    -----
    A pickle is a program, and `pickle.load` runs it. Here arrays of numbers are all that it can
    make: whatever else it asks for is refused before anything happens, with a ValueError that
    names it. Time and memory are bounded by the size of the file. Files of Python 2 and of all
    versions of NumPy can be read.

    When not to use it: for your own files. `numpy.savez` has no such problem.

    Examples
    --------
    >>> import pickle, tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from experiments.neural._pickled_logits import read_pickled_logits
    >>> validation = (np.zeros((5, 3), dtype=np.float32), np.zeros((5, 1), dtype=int))
    >>> test = (np.ones((4, 3), dtype=np.float32), np.ones((4, 1), dtype=int))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "logits.p"
    ...     _ = path.write_bytes(pickle.dumps([validation, test]))
    ...     (z_cal, y_cal), (z_test, y_test) = read_pickled_logits(path)
    >>> z_cal.shape, y_test
    ((5, 3), array([1, 1, 1, 1]))
    """
    with Path(path).open("rb") as file:
        content = file.read(_LARGEST_FILE + 1)
    try:
        if len(content) > _LARGEST_FILE:
            raise UnsafePickleError("it is larger than 4 GiB")
        return _as_parts(_unpickle(content), _MOST_COPIES * len(content))
    except UnsafePickleError as error:
        raise ValueError(
            f"`path` {str(path)!r} holds no logits that can be read safely: {error}. Pass a "
            "pickle of [(logits, labels), ...] with NumPy arrays, or write the arrays anew with "
            "numpy.savez."
        ) from None


def _unpickle(content: bytes) -> Any:
    _check_steps(content)
    try:
        return _ArraysOnly(io.BytesIO(content), encoding="latin1").load()
    except UnsafePickleError:
        raise
    except Exception as error:
        # Whatever a broken pickle runs into: it holds nothing of use.
        what = f"{type(error).__name__}: {error}"
        raise UnsafePickleError(f"it is no pickle, or damaged ({what:.120})") from None


def _check_steps(content: bytes) -> None:
    """Look through the program before any of it is run."""
    try:
        for n_steps, (code, argument, _) in enumerate(pickletools.genops(content)):
            if n_steps > _MOST_STEPS:
                raise UnsafePickleError(f"it has more than {_MOST_STEPS} steps")
            # Places in memory are made up to the largest number.
            if "PUT" in code.name and not 0 <= int(str(argument)) <= _MOST_STEPS:
                raise UnsafePickleError(f"it asks for {argument} places in memory")
            if code.name in ("PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4"):
                raise UnsafePickleError(f"it uses {code.name}, which no array needs")
            if code.name in _HASHING:
                raise UnsafePickleError("it holds a dict or a set, not only arrays")
            if code.name == "GLOBAL":
                _stand_in(*str(argument).split(" ", 1))
    except UnsafePickleError:
        raise
    except Exception as error:
        raise UnsafePickleError(f"it is no pickle, or cut off ({error!s:.120})") from None


class _ArraysOnly(pickle.Unpickler):
    """Knows the names that NumPy writes, and gives stand-ins of its own for them.

    Not even NumPy's functions are called with what the file says: the stand-ins collect it, and
    arrays are made of it after a check.
    """

    def find_class(self, module: str, name: str) -> Any:
        return _stand_in(module, name)


class _DType:
    """What a pickle says about a dtype."""

    def __init__(self, name: Any) -> None:
        self.name = name
        self.order: Any = "<"

    def __setstate__(self, state: Any) -> None:
        self.order = state[1]

    def make(self) -> np.dtype[Any]:
        """The dtype, of numbers only."""
        name, order = _text(self.name), _text(self.order)
        known = name[:1] in ("f", "i", "u") and name[1:] in ("1", "2", "4", "8")
        if not known or order not in ("<", ">", "|", "=") or name == "f1":
            raise UnsafePickleError(f"it holds an array of dtype {name:.60}, which is no number")
        # What it was on the machine that wrote it cannot be known; nearly all are little-endian.
        return np.dtype(f"{'<' if order == '=' else order}{name}")


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin1")
    return value if isinstance(value, str) else "?"


class _Array:
    """What a pickle says about an array."""

    def __init__(self) -> None:
        self.shape: Any = None
        self.dtype: Any = None
        self.fortran: Any = False
        self.content: Any = None

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.dtype, self.fortran, self.content = state

    @property
    def n_bytes(self) -> int:
        """How much it holds; nothing where it is none."""
        return len(self.content) if isinstance(self.content, str | bytes | bytearray) else 0

    def make(self) -> npt.NDArray[Any]:
        """The array, if there is as much of it as its shape says."""
        content = self.content
        if isinstance(content, str):
            # Other characters than those of bytes leave another number of them.
            content = content.encode("latin1", "ignore")
        shape = self.shape
        fine = isinstance(content, bytes | bytearray) and isinstance(self.dtype, _DType)
        fine = fine and isinstance(shape, tuple) and len(shape) <= 4
        if not fine or not all(type(length) is int and 0 <= length < 2**40 for length in shape):
            raise UnsafePickleError("it holds an array without dtype, shape or content")
        dtype = self.dtype.make()
        wanted = math.prod(shape) * dtype.itemsize
        if len(content) != wanted:
            has = f"which needs {wanted} bytes, but has {len(content)}"
            raise UnsafePickleError(f"it holds an array of shape {shape}, {has}")
        flat = np.frombuffer(content, dtype).astype(dtype.newbyteorder("="))
        return flat.reshape(shape, order="F" if self.fortran else "C")


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _from_buffer(buffer: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    array = _Array()
    array.__setstate__((1, shape, dtype, order == "F", buffer))
    return array


def _encode(text: Any, encoding: Any) -> str:
    """How Python 3 writes bytes in old protocols; encoded once it is known to be an array."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise UnsafePickleError("it encodes something that is no content of an array")
    return text


class _StandIn:
    """Something that a pickle may call, and can do nothing else with."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise UnsafePickleError("it changes a function")


_STAND_INS = {
    ("numpy", "ndarray"): _StandIn(_reconstruct),
    ("numpy", "dtype"): _StandIn(lambda name, *_: _DType(name)),
    ("_codecs", "encode"): _StandIn(_encode),
    **{
        (f"numpy.{core}.{module}", name): stand_in
        for core in ("core", "_core")
        for module, name, stand_in in (
            ("multiarray", "_reconstruct", _StandIn(_reconstruct)),
            ("numeric", "_frombuffer", _StandIn(_from_buffer)),
        )
    },
}


def _stand_in(module: str, name: str = "") -> _StandIn:
    if (module, name) not in _STAND_INS:
        raise UnsafePickleError(f"it asks for {module}.{name}, and only arrays are allowed"[:200])
    return _STAND_INS[module, name]


def _as_parts(content: Any, most_bytes: int) -> tuple[LabelledLogits, ...]:
    """The pairs, from one or several of them, of so many bytes together."""
    if not isinstance(content, list | tuple) or not content:
        raise UnsafePickleError(f"it holds a {type(content).__name__}, not pairs of arrays")
    pairs = [content] if isinstance(content[0], _Array) else list(content)
    for pair in pairs:
        arrays = isinstance(pair, list | tuple) and all(isinstance(x, _Array) for x in pair)
        if not arrays or len(pair) != 2:
            raise UnsafePickleError("it does not hold pairs (logits, labels) of arrays")
    n_bytes = sum(array.n_bytes for pair in pairs for array in pair)
    if n_bytes > most_bytes:
        size = most_bytes // _MOST_COPIES
        raise UnsafePickleError(f"it holds arrays of {n_bytes} bytes in a file of {size}")
    return tuple(_as_part(logits.make(), labels.make()) for logits, labels in pairs)


def _as_part(logits: npt.NDArray[Any], labels: Any) -> LabelledLogits:
    if logits.ndim != 2 or len(logits) == 0 or logits.shape[1] < 2:
        raise UnsafePickleError(f"its logits have shape {logits.shape}, not (n, k)")
    if not np.isfinite(logits).all():
        raise UnsafePickleError("its logits hold NaN or infinity")
    n, k = logits.shape
    if labels.shape not in ((n,), (n, 1)):
        raise UnsafePickleError(f"its labels have shape {labels.shape}, for {n} rows of logits")
    whole = labels.ravel().astype(np.int64)
    if not (whole == labels.ravel()).all() or not 0 <= whole.min() <= whole.max() < k:
        raise UnsafePickleError(f"its labels are not whole numbers from 0 to {k - 1}")
    return LabelledLogits(logits, whole)
