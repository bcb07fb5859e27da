"""Fingerprints of the rows, so that it can be told later whether they are the same."""

import hashlib
from functools import partial
from typing import Any

import numpy as np

from dircal._core.data.chunks import row_slices
from dircal._typing import ArrayLike, FloatArray
from dircal.tables import AbstractLabelledRows, LabelledScores

__all__ = ["Fingerprints", "fingerprints_of_arrays", "fingerprints_of_parts"]

Fingerprints = tuple[str, str, str | None, int | None]
"""Of labels, scores and weights, and the number of parts; None for one array."""


def fingerprints_of_arrays(y_true: ArrayLike, data: LabelledScores) -> Fingerprints:
    """Of the labels as text, and of the numbers."""
    weight = data.sample_weight
    weights = None if weight is None else _hash_numbers(weight[:, None])
    return _hash_labels(y_true), _hash_numbers(data.inputs), weights, None


def fingerprints_of_parts(data: AbstractLabelledRows) -> Fingerprints:
    """Of the fingerprints of all parts in their order, each on a line."""
    parts = data.fold_rows(partial(_of_part, data.classes.astype(str).tolist()))
    labels, scores, weights = (
        hashlib.sha256("\n".join(one).encode()).hexdigest() for one in zip(*parts, strict=True)
    )
    return labels, scores, weights if data.is_weighted else None, len(parts)


def _of_part(classes: list[str], rows: LabelledScores) -> list[tuple[str, str, str]]:
    names = hashlib.sha256("\n".join(classes).encode("utf-8", "surrogatepass"))
    names.update(np.ascontiguousarray(rows.labels, dtype="<i8").data)
    weight: Any = np.empty(0) if rows.sample_weight is None else rows.sample_weight
    return [(names.hexdigest(), _hash_numbers(rows.inputs), _hash_numbers(weight[:, None]))]


def _hash_labels(y_true: ArrayLike) -> str:
    labels = np.asarray(y_true).ravel().tolist()
    # Labels that are no Unicode, as names of odd files, have a fingerprint all the same.
    text = "\n".join(map(str, labels)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()


def _hash_numbers(numbers: FloatArray) -> str:
    """Of all numbers as double precision, row by row, the least significant byte first."""
    digest = hashlib.sha256()
    for part in row_slices(numbers.shape):
        digest.update(np.ascontiguousarray(numbers[part], dtype="<f8").data)
    return digest.hexdigest()
