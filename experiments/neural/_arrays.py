"""What files of networks hold, as it is stored, and what is wrong with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from experiments._shared.files import reason
from experiments.neural._pickled_logits import read_pickled_logits

__all__ = ["Arrays", "has_no_scores", "read_arrays"]

_SCALES = ("logits", "probs")


class Arrays(NamedTuple):
    """One part of a file as it is stored."""

    scale: str
    values: npt.NDArray[Any]
    labels: npt.NDArray[Any]


def has_no_scores(path: Path) -> bool:
    """Whether an NPZ accompanies networks: confidences or other labels, no scores of classes."""
    if path.suffix != ".npz":
        return False
    with _opened(path) as stored:
        names = set(stored)
    scores = any(name.endswith(_SCALES) for name in names)
    return not scores and not names.isdisjoint(("conf", "real_labels"))


def read_arrays(path: Path) -> list[Arrays]:
    """One part or two of an NPZ or a pickle; a ValueError says why a file cannot be used."""
    found = _read_npz(path) if path.suffix == ".npz" else _read_pickle(path)
    wrong = next(filter(None, map(_what_is_wrong, found)), "")
    if not wrong and len({arrays.values.shape[1] for arrays in found}) > 1:
        wrong = "its two parts differ in the number of classes."
    if len(found) > 2:
        wrong = f"it has {len(found)} parts. Store one, or one to fit and one to test."
    if wrong:
        raise ValueError(f"{path} cannot be used: {wrong}")
    return found


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """An NPZ; whatever a damaged one runs into is told as one thing."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            yield stored
    except OSError:
        raise
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as NPZ ({reason(error)}). Write it anew with "
            "numpy.savez(path, logits=..., labels=...)."
        ) from error


def _read_npz(path: Path) -> list[Arrays]:
    with _opened(path) as stored:
        names = set(stored)
        prefixes = ("val_", "test_") if "val_labels" in names else ("",)
        for scale in _SCALES:
            wanted = [(f"{prefix}{scale}", f"{prefix}labels") for prefix in prefixes]
            if all(names.issuperset(pair) for pair in wanted):
                return [Arrays(scale, *(stored[name] for name in pair)) for pair in wanted]
    raise ValueError(
        f"{path} has the arrays {', '.join(sorted(names)) or 'none'}. Name them logits (or probs) "
        "and labels, or val_logits, val_labels, test_logits and test_labels."
    )


def _read_pickle(path: Path) -> list[Arrays]:
    return [Arrays("logits", *pair) for pair in read_pickled_logits(path)]


def _what_is_wrong(arrays: Arrays) -> str:
    """Why a part cannot be used and what to do about it; nothing where it can."""
    scale, values, labels = arrays
    if (
        values.ndim != 2
        or len(values) == 0
        or values.shape[1] < 2
        or values.dtype.kind not in "fiu"
    ):
        return (
            f"its {scale} are of shape {values.shape} and type {values.dtype}. Store numbers with "
            "a row for each instance and a column for each of two classes or more."
        )
    n, k = values.shape
    lost = ~np.isfinite(values).all(axis=1)
    if lost.any():
        return (
            f"its {scale} hold NaN or infinity, first in row {lost.argmax()}. Leave such rows out."
        )
    if scale == "probs":
        lost = (values < 0).any(axis=1) | (values.sum(axis=1) <= 0)
        if lost.any():
            return (
                f"its probs are negative or all zero in row {lost.argmax()}. Name the array logits "
                "if it holds scores before the softmax."
            )
    if labels.shape not in ((n,), (n, 1)):
        return f"it has labels of shape {labels.shape} for {n} rows of {scale}. Store one for each."
    flat = labels.ravel()
    if flat.dtype.kind not in "fiu":
        return f"its labels are of type {labels.dtype}. {_count(k)}"
    lost = ~((flat >= 0) & (flat < k) & (flat == np.floor(flat)))
    if lost.any():
        return f"its label in row {lost.argmax()} is {flat[lost.argmax()]}. {_count(k)}"
    return ""


def _count(k: int) -> str:
    return f"Count the classes from 0 to {k - 1}, in the order of the columns."
