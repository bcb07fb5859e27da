"""Shapes of the arrays in the records that a fitted calibrator keeps.

Annotations tell types; that some arrays have to be of the same length they cannot tell.
"""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from dircal._typing import IntArray
from dircal.io._format_error import FormatError, Place
from dircal.io._types import field_types

__all__ = ["SHAPES", "check_shapes"]

SHAPES: Mapping[str, Mapping[str, str]] = {
    "FitRecord": {"observed": "k"},
    "Effects": {
        **dict.fromkeys(("before", "tempered", "after"), "k"),
        **dict.fromkeys(("leader", "second"), "p"),
        **dict.fromkeys(("share", "contested", "gap", "shift", "flipped"), "p"),
    },
    "ExactPosterior": {"covariance": "ee"},
    "Preconditioner": {
        **dict.fromkeys(("inverse", "means", "param_class"), "e"),
        "coupling": "kk",
    },
    "FitColumns": dict.fromkeys(("classes", "column_classes"), "k"),
    "GroupDetails": {"groups": "g"},
    "HistogramDetails": {"bin_counts": "b"},
    "LabelDetails": {"mean_proba": "k", "groups": "g", "group_means": "gk"},
    "PriorShiftDetails": dict.fromkeys(("old_priors", "priors"), "k"),
    "SearchDetails": {"scores": "fs", "mean_fit_time": "s", "std_fit_time": "s"},
    "LabelShift": dict.fromkeys(("low", "high"), "k"),
    "ConfidenceTable": {"counts": "kb", "edges": "i"},
}
"""By class and field, a letter for each dimension: k classes, p pairs of them, e entries, b
bins and i edges inside them, g groups, f folds, s settings."""


def check_shapes(record: Any, n_classes: int, place: Place) -> None:
    """Raise a `FormatError` where arrays of a record, or of those inside, do not fit together.

    Arrays of whole numbers are numbers of classes.
    """
    _check(record, {"k": n_classes}, place)


def _check(record: Any, sizes: dict[str, int], place: Place) -> None:
    if not is_dataclass(record):
        return
    shapes = SHAPES.get(type(record).__name__, {})
    for name, hint in field_types(type(record)).items():
        value, where = getattr(record, name), f"{place}.{name}"
        _check(value, sizes, where)
        if not isinstance(value, np.ndarray) or name not in shapes:
            continue
        letters = shapes[name]
        wanted = tuple(
            sizes.setdefault(letter, length)
            for letter, length in zip(letters, value.shape, strict=False)
        )
        if len(letters) != value.ndim or wanted != value.shape:
            raise FormatError(where, f"has shape {value.shape}, which does not fit the others")
        k = sizes["k"]
        if hint == IntArray and value.size and not 0 <= value.min() <= value.max() < k:
            raise FormatError(where, f"needs numbers from 0 to {k - 1}")
