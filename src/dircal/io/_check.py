"""Checks of what a file contains: parameters, and whether the parts of a fit belong together."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dircal._typing import LabelArray
from dircal.calibrators import Fit
from dircal.io._format_error import FormatError, Place
from dircal.io._map_file import MISFITS, check_steps, try_map
from dircal.io._records import check_shapes
from dircal.io._registry import parameter_types
from dircal.io._types import check_type

__all__ = ["check_fit", "check_parameters"]


def check_parameters(estimator: Any, parameters: Mapping[str, Any], place: Place) -> None:
    """Raise a `FormatError` unless the estimator can have these parameters."""
    for name, value in parameters.items():
        check_type(value, parameter_types(type(estimator))[name], f"{place}.{name}")
    _run(estimator.method, place)


def check_fit(estimator: Any, fit: Fit, place: Place) -> None:
    """Raise a `FormatError` unless the parts of a fit belong together, and to its estimator."""
    columns, k = fit.columns, len(fit.columns.classes)
    check_shapes(columns, k, f"{place}.columns")
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
        check_shapes(fit.record.known, k, f"{place}.record")
    check_shapes(fit.details, k, f"{place}.details")
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
