"""Arrays as JSON, exact to the last bit."""

import base64
import binascii
import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal.io._types import FormatError, Place

__all__ = ["MemoryBudget", "array_from_json", "array_to_json"]

# Up to so many entries are written as numbers, for people; more as base64, for size.
_READABLE = 400
_FLOATS = ("float64", "float32", "float16")
_WHOLE = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_NUMBERS = ("bool", *_WHOLE, *_FLOATS)
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_TEXT = re.compile("[US][0-9]{1,6}")

Json = dict[str, Any]


class MemoryBudget:
    """How much memory arrays may take that are larger than what the file holds of them."""

    def __init__(self) -> None:
        self.left = 2**30

    def take(self, n_bytes: int, place: Place) -> None:
        """Refuse to go beyond the limit."""
        self.left -= n_bytes
        if self.left < 0:
            raise FormatError(place, "arrays would take more memory than 1 GiB")


def array_to_json(array: npt.NDArray[Any], place: Place) -> Json:
    """An array of numbers, truth values, dates or text."""
    array = _as_storable(array)
    kind = array.dtype.kind
    head: Json = {"type": "array", "dtype": array.dtype.name, "shape": list(array.shape)}
    if kind == "O":
        return head | {"dtype": "object", **_objects_to_json(array, place)}
    if kind in "US":
        # Its width is part of the dtype, and of what `predict` returns.
        width = array.dtype.itemsize // (4 if kind == "U" else 1)
        texts = array if kind == "U" else np.char.decode(array, "latin1")
        return head | {"dtype": f"{kind}{width}", "data": texts.tolist()}
    if kind in "mM":
        return head | {"data": array.astype(np.int64).tolist()}
    if array.dtype.name not in _NUMBERS:
        raise FormatError(place, f"an array of {array.dtype} cannot be written")
    if array.size > _READABLE:
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        return head | {"base64": base64.b64encode(little.tobytes()).decode()}
    values = array.tolist()
    return head | {"data": _name_infinities(values) if array.dtype.name in _FLOATS else values}


def _as_storable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of a type that files contain, if there is one with the same values."""
    if array.dtype.kind == "T":
        return array.astype(object)
    if array.dtype.kind == "f" and array.dtype.name not in _FLOATS:
        return array.astype(np.float64)
    of_numpy = (isinstance(value, np.datetime64 | np.timedelta64) for value in array.flat)
    return np.array(array.tolist()) if array.dtype.kind == "O" and any(of_numpy) else array


def _objects_to_json(array: npt.NDArray[Any], place: Place) -> Json:
    from dircal.io._objects import OBJECTS, kind_of
    from dircal.tables import as_plain, plain_labels_advice

    values = [as_plain(value) for value in array.ravel()]
    name = kind_of(values)
    if name is not None:
        written = np.empty(array.size, dtype=object)
        written[:] = [OBJECTS[name].write(value) for value in values]
        return {"of": name, "data": written.reshape(array.shape).tolist()}
    types = {type(value) for value in values}
    names = " and ".join(sorted(each.__name__ for each in types))
    raise FormatError(
        place,
        f"holds values of the type {names}, which cannot be written; strings and numbers can",
        plain_labels_advice(min(types, key=lambda each: each.__name__)),
    )


def _name_infinities(values: Any) -> Any:
    """Nested lists of floats with the names of those that JSON has no number for."""
    if isinstance(values, list):
        return [_name_infinities(value) for value in values]
    return values if math.isfinite(values) else str(values)


def array_from_json(node: Json, place: Place, budget: MemoryBudget) -> npt.NDArray[Any]:
    """The array, or `FormatError`."""
    dtype, shape = node.get("dtype"), _shape(node.get("shape"), place)
    ways = [way for way in ("data", "base64") if way in node]
    known = {"type", "dtype", "shape", *ways, *(["of"] if dtype == "object" else [])}
    if len(ways) != 1 or set(node) != known or not isinstance(dtype, str):
        raise FormatError(place, "an array needs `dtype`, `shape`, and `data` or `base64`")
    if ways == ["base64"]:
        return _from_base64(node["base64"], dtype, shape, place)
    flat = _flat(node["data"], shape, place)
    if _TEXT.fullmatch(dtype):
        return _from_texts(flat, dtype[0], int(dtype[1:]), place, budget).reshape(shape)
    return _from_lists(flat, dtype, node.get("of"), shape, place)


def _shape(value: Any, place: Place) -> tuple[int, ...]:
    fine = isinstance(value, list) and len(value) <= 8
    if not fine or not all(type(length) is int and 0 <= length < 2**40 for length in value):
        raise FormatError(place, f"the shape of an array cannot be {value!r:.60}")
    return tuple(value)


def _flat(data: Any, shape: tuple[int, ...], place: Place) -> list[Any]:
    """Entries of nested lists that have this shape."""
    rows = [data]
    for length in shape:
        if not all(isinstance(row, list) and len(row) == length for row in rows):
            raise FormatError(place, f"`data` does not have the shape {list(shape)}")
        rows = [entry for row in rows for entry in row]
    return rows


def _from_lists(
    flat: list[Any], dtype: Any, of: Any, shape: tuple[int, ...], place: Place
) -> npt.NDArray[Any]:
    if dtype in _FLOATS:
        numbers = [_NOT_FINITE.get(x, x) if isinstance(x, str) else x for x in flat]
        return _checked(numbers, (int, float), np.dtype(dtype), place).reshape(shape)
    if dtype in _WHOLE:
        return _checked(flat, (int,), np.dtype(dtype), place).reshape(shape)
    if dtype == "bool":
        return _checked(flat, (bool,), np.dtype(bool), place).reshape(shape)
    if dtype == "object":
        return _from_objects(flat, of, place).reshape(shape)
    if dtype == "timedelta64" or dtype.startswith(("datetime64[", "timedelta64[")):
        whole = _checked(flat, (int,), np.dtype(np.int64), place)
        try:
            return whole.astype(dtype).reshape(shape)
        except (TypeError, ValueError):
            pass
    raise FormatError(place, f"an array cannot have the dtype {dtype!r:.60}")


def _from_objects(flat: list[Any], of: Any, place: Place) -> npt.NDArray[Any]:
    from dircal.io._objects import OBJECTS

    if not isinstance(of, str) or of not in OBJECTS:
        raise FormatError(place, f"an array cannot hold objects of kind {of!r:.60}")
    _checked(flat, (OBJECTS[of].json_type,), None, place)
    objects = np.empty(len(flat), dtype=object)
    try:
        objects[:] = [OBJECTS[of].read(value) for value in flat]
    except (ArithmeticError, ValueError):
        raise FormatError(place, f"an array holds a value that is not a {of}") from None
    return objects


def _from_texts(
    flat: list[Any], kind: str, width: int, place: Place, budget: MemoryBudget
) -> npt.NDArray[Any]:
    budget.take(4 * width * len(flat), place)
    if not all(isinstance(text, str) and len(text) <= width for text in flat):
        raise FormatError(place, f"needs texts of up to {width} characters")
    try:
        texts = flat if kind == "U" else [text.encode("latin1") for text in flat]
        array = np.array(texts, dtype=f"{kind}{width}")
    except UnicodeEncodeError:
        raise FormatError(place, "an array of bytes holds other characters") from None
    if array.tolist() != texts:
        raise FormatError(place, "holds a text that ends in a zero")
    return array


def _checked(
    flat: list[Any], kinds: tuple[type, ...], dtype: np.dtype[Any] | None, place: Place
) -> npt.NDArray[Any]:
    """Values that are all of these kinds, as an array in which each is still what it was."""
    for value in flat:
        if type(value) not in kinds:
            raise FormatError(place, f"an array holds {value!r:.60}, which is not of its dtype")
    if dtype is None:
        return np.empty(0)
    try:
        array = np.array(flat, dtype=dtype)
    except (OverflowError, ValueError):
        raise FormatError(place, f"an array holds a number that is no {dtype}") from None
    if dtype.kind == "f" and array.tolist() != flat:
        same = [a == b or (a != a and b != b) for a, b in zip(array.tolist(), flat, strict=True)]
        if not all(same):
            raise FormatError(
                place, f"an array holds {flat[same.index(False)]!r}, which is no {dtype}"
            )
    return array


def _from_base64(text: Any, dtype: Any, shape: tuple[int, ...], place: Place) -> npt.NDArray[Any]:
    if dtype not in _NUMBERS or not isinstance(text, str):
        raise FormatError(place, f"`base64` is for arrays of numbers, not of {dtype!r:.60}")
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise FormatError(place, "`base64` holds other characters, or is cut off") from None
    little = np.dtype(dtype).newbyteorder("<")
    wanted = math.prod(shape) * little.itemsize
    if len(content) != wanted:
        raise FormatError(
            place, f"an array of shape {list(shape)} needs {wanted} bytes; got {len(content)}"
        )
    if dtype == "bool" and any(set(content) - {0, 1}):
        raise FormatError(place, "an array holds a byte that is no truth value")
    return np.frombuffer(content, little).astype(np.dtype(dtype)).reshape(shape)
