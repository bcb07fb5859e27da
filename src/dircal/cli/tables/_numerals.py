"""Many numbers as text at once, by pyarrow, digit for digit what Python's ``repr`` writes."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dircal._typing import FloatArray

__all__ = ["numerals"]


def numerals(values: FloatArray) -> Any:
    """The ``repr`` of numbers (m,), as an array of pyarrow.

    Both write the fewest digits that tell a number from all others. They differ in where exponents
    begin, in those of one digit, and in whole numbers.
    """
    texts = pa.array(values).cast(pa.utf8())
    is_equal = ((values >= 1e-4) & (values < 1)) | ((values > 0) & (values < 1e-9))
    if is_equal.all():
        return texts
    order = np.arange(len(values))
    parts = [texts]
    n_texts = len(texts)
    # In steps of a power of ten, by what is to be done.
    step = np.searchsorted([1e-9, 1e-6, 1e-5, 1e-4], values, side="right")
    step[is_equal] = -1
    for i, rewritten in enumerate((_repr, _with_zero, _millionths, _hundred_thousandths, _repr)):
        where = np.flatnonzero(step == i)
        if where.size:
            parts.append(rewritten(texts.take(where), values[where]))
            order[where] = n_texts + np.arange(where.size)
            n_texts += where.size
    return pa.concat_arrays(parts).take(order)


def _repr(texts: Any, values: FloatArray) -> Any:
    """By Python itself, each but once: zero and one come often. Zero has two signs."""
    del texts
    bits, inverse = np.unique(values.view(np.int64), return_inverse=True)
    return pa.array(map(repr, bits.view(np.float64).tolist()), pa.utf8()).take(inverse)


def _with_zero(texts: Any, values: FloatArray) -> Any:
    """1.5e-7 as 1.5e-07."""
    del values
    return pc.utf8_replace_slice(texts, start=-1, stop=-1, replacement="0")


def _millionths(texts: Any, values: FloatArray) -> Any:
    """0.0000015 as 1.5e-06."""
    del values
    return _scientific(texts, 7, "e-06")


def _hundred_thousandths(texts: Any, values: FloatArray) -> Any:
    """0.000015 as 1.5e-05."""
    del values
    return _scientific(texts, 6, "e-05")


def _scientific(texts: Any, start: int, exponent: str) -> Any:
    first = pc.utf8_slice_codeunits(texts, start, start + 1)
    rest = pc.utf8_slice_codeunits(texts, start + 1)
    point = pc.if_else(pc.equal(rest, ""), "", ".")
    return pc.binary_join_element_wise(first, point, rest, exponent, "")
