"""Checks of what a file contains: parameters, and whether the parts of a fit belong together."""

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from dircal._typing import IntArray, LabelArray
from dircal.calibrators import Fit
from dircal.io._map_file import MISFITS, check_steps, try_map
from dircal.io._registry import parameter_types
from dircal.io._types import FormatError, Place, check_type, field_types

__all__ = ["SHAPES", "check_fit", "check_parameters"]

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
    "ClassCells": dict.fromkeys(("counts", "proba"), "km"),
}
"""By class and field, a letter for each dimension: k classes, p pairs of them, m cells of
rows, e entries, b bins, g groups, f folds, s settings."""


def check_parameters(estimator: Any, parameters: Mapping[str, Any], place: Place) -> None:
    """Raise a `FormatError` unless the estimator can have these parameters."""
    for name, value in parameters.items():
        check_type(value, parameter_types(type(estimator))[name], f"{place}.{name}")
    _run(estimator.method, place)


def check_fit(estimator: Any, fit: Fit, place: Place) -> None:
    """Raise a `FormatError` unless the parts of a fit belong together, and to its estimator."""
    columns, k = fit.columns, len(fit.columns.classes)
    _check_shapes(columns, k, f"{place}.columns")
    _check_labels(columns.classes, f"{place}.classes", increasing=True)
    _check_labels(columns.column_classes, f"{place}.column_classes", increasing=False)
    if not np.array_equal(np.sort(columns.column_classes), columns.classes):
        raise FormatError(f"{place}.column_classes", "needs the labels of `classes` in some order")
    n = columns.n_features
    if n not in ((1, 2) if k == 2 else (k,)):
        raise FormatError(f"{place}.n_features", f"is {n}, with {k} classes")
    names = columns.feature_names
    if names is not None:
        if names.shape != (n,):
            raise FormatError(f"{place}.feature_names", f"needs {n} names; got {names.size}")
        if not all(isinstance(name, str) for name in names):
            raise FormatError(f"{place}.feature_names", "needs strings")
    check_steps(fit.map, f"{place}.map")
    if (fit.map.n_columns, fit.map.n_classes) != (n, k):
        raise FormatError(
            f"{place}.map",
            f"leads from {fit.map.n_columns} columns to {fit.map.n_classes} classes; there are "
            f"{n} and {k}",
        )
    if fit.map.input_scale != estimator.input_scale:
        raise FormatError(f"{place}.map", f"does not read input_scale={estimator.input_scale!r}")
    if fit.record is not None:
        _check_shapes(fit.record.known, k, f"{place}.record")
    _check_shapes(fit.details, k, f"{place}.details")
    try_map(fit.map, f"{place}.map")
    _run(lambda: estimator.method().check_fit(fit), place)


def _run(hook: Callable[[], object], place: Place) -> None:
    """Call the hook, and make a `FormatError` of its error."""
    try:
        hook()
    except FormatError:
        raise
    except (*MISFITS, AssertionError) as error:
        raise FormatError(place, f"cannot be: {error}") from None


def _check_labels(labels: LabelArray, place: Place, *, increasing: bool) -> None:
    if labels.dtype.kind not in "biufUSMmO":
        raise FormatError(place, f"cannot contain labels of the type {labels.dtype}")
    if labels.ndim != 1 or len(labels) < 2:
        raise FormatError(place, "needs at least two labels, in one dimension")
    if labels.dtype.kind == "O" and len({type(label) for label in labels}) > 1:
        raise FormatError(place, "needs labels of one type")
    if not all(label == label for label in labels.tolist()):
        raise FormatError(place, "needs labels; got NaN or NaT")
    try:
        ordered = labels if increasing else np.sort(labels)
        increases = bool((ordered[1:] > ordered[:-1]).all())
    except TypeError:
        raise FormatError(place, "needs labels that can be put in order") from None
    if not increases:
        raise FormatError(place, "needs distinct labels" + ", sorted" * increasing)


def _check_shapes(record: Any, n_classes: int, place: Place) -> None:
    """Raise a `FormatError` where arrays of a record, or of those inside, do not fit together.

    Arrays of whole numbers are numbers of classes.
    """
    _check_record(record, {"k": n_classes}, place)


def _check_record(record: Any, sizes: dict[str, int], place: Place) -> None:
    if not is_dataclass(record):
        return
    shapes = SHAPES.get(type(record).__name__, {})
    for name, hint in field_types(type(record)).items():
        value, where = getattr(record, name), f"{place}.{name}"
        _check_record(value, sizes, where)
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
