"""Checks of the matrices, vectors and seeds that users pass: the side entrance of the one door."""

import numpy as np

from dircal._typing import ArrayLike, FloatArray
from dircal.exceptions import RowSumWarning, warn
from dircal.tables._conversion import as_array
from dircal.tables._numbers import LARGEST, check_integer
from dircal.tables._values import ROW_SUM_QUIET, ROW_SUM_TOLERANCE

__all__ = [
    "LARGEST",
    "check_distribution",
    "check_random_state",
    "check_ranks",
    "check_square",
    "check_table",
    "check_vector",
]


def check_square(name: str, value: ArrayLike) -> FloatArray:
    """A matrix (k, k) of finite numbers, with k of at least two."""
    matrix = _as_numbers(name, value)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ValueError(
            f"`{name}` must be a square matrix for at least two classes; got shape {matrix.shape}. "
            "Pass a row for each output class and a column for each input class."
        )
    return matrix


def check_vector(name: str, value: ArrayLike, matrix: str, n_classes: int) -> FloatArray:
    """A vector (k,) of finite numbers that belongs to ``matrix``."""
    vector = _as_numbers(name, value)
    if vector.shape != (n_classes,):
        raise ValueError(
            f"`{name}` must have shape ({n_classes},); got shape {vector.shape}. "
            f"Pass one number for each row of `{matrix}`."
        )
    return vector


def check_distribution(name: str, value: ArrayLike, matrix: str, n_classes: int) -> FloatArray:
    """A vector (k,) of positive probabilities, made to sum to one."""
    vector = check_vector(name, value, matrix, n_classes)
    if vector.min() <= 0.0:
        i = int(vector.argmin())
        raise ValueError(
            f"`{name}` must be positive; entry {i} is {vector[i]:.6g}. "
            "Pass a small number for a class that hardly ever occurs."
        )
    total = float(vector.sum())
    miss = round(abs(total - 1.0), 9)
    if miss > ROW_SUM_TOLERANCE:
        raise ValueError(f"`{name}` must sum to one; it sums to {total:.6g}. Divide it by its sum.")
    if miss > ROW_SUM_QUIET:
        message = f"`{name}` does not sum to one (it sums to {total:.6g}); it was renormalised."
        warn(message, RowSumWarning)
    return vector / total


def check_table(name: str, value: ArrayLike, *, row: str, columns: str, fix: str) -> FloatArray:
    """Check a table (n, m) of finite numbers, with at least one row and two columns.

    ``row`` and ``columns`` name what these stand for in the error, and ``fix`` what to do.
    """
    table = _as_numbers(name, value)
    if table.ndim != 2 or len(table) == 0 or table.shape[1] < 2:
        raise ValueError(
            f"`{name}` must be a table with a row for each {row} and a column for each of at least "
            f"two {columns}; got shape {table.shape}. {fix}"
        )
    return table


def check_ranks(name: str, value: ArrayLike) -> FloatArray:
    """A vector (m,) of finite numbers, one for each of at least two methods."""
    vector = _as_numbers(name, value)
    if vector.ndim != 1 or len(vector) < 2:
        raise ValueError(
            f"`{name}` must be one number for each of at least two methods; got shape "
            f"{vector.shape}. Pass the result of `average_ranks`."
        )
    return vector


def check_random_state(value: object) -> np.random.Generator:
    """The generator itself, or a new one from a seed; None draws a seed."""
    if value is not None and not isinstance(value, np.random.Generator):
        check_integer("random_state", value, at_least=0)
    return np.random.default_rng(value)  # type: ignore[arg-type]


def _as_numbers(name: str, value: ArrayLike) -> FloatArray:
    """A copy, as finite float64 numbers."""
    try:
        array = as_array(value)
        if np.iscomplexobj(array):
            raise TypeError("it holds complex numbers")
        array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`{name}` must hold real numbers in a regular shape: {error}. "
            "Pass an array of numbers."
        ) from error
    bad = ~(np.abs(array) <= LARGEST)
    if bad.any():
        raise ValueError(
            f"`{name}` must be finite, and at most {LARGEST:g} to be computed with; "
            f"it holds {array[bad][0]}. Check how it was computed."
        )
    return array
