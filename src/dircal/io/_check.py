"""Whether an estimator is whole: parameters, fitted attributes, and that they belong together.

The same checks are made before writing and after reading, so that what was saved can be loaded.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dircal._typing import LabelArray
from dircal.io._format_error import FormatError, Place
from dircal.io._records import check_shapes
from dircal.io._registry import fitted_types, parameter_types
from dircal.io._types import check_type
from dircal.maps import CalibrationMap

__all__ = ["check_estimator", "check_map", "key_of"]

# What numbers and objects of the wrong kind run into; anything else would be an error of ours.
_MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# How far the probabilities of one row may sum from one.
_SUM_TOLERANCE = 1e-9


def key_of(attribute: str) -> str:
    """Name in a file: attributes that are not public have no underscore there."""
    return attribute.lstrip("_")


def check_estimator(
    estimator: BaseEstimator,
    parameters: Mapping[str, Any],
    fitted: Mapping[str, Any] | None,
    place: Place,
) -> None:
    """Raise a `FormatError` if these cannot be parameters and attributes of the estimator.

    ``fitted`` is None for one that is not fitted; otherwise its attributes are set.
    """
    cls = type(estimator)
    for name, value in parameters.items():
        check_type(value, parameter_types(cls)[name], f"{place}.{name}")
    if hasattr(estimator, "_check_parameters"):
        _run(estimator._check_parameters, place)
    if fitted is None:
        return
    for name, hint in fitted_types(cls).items():
        if name in fitted:
            check_type(fitted[name], hint, f"{place}.{key_of(name)}")
        elif not _may_lack(cls, name):
            raise FormatError(place, f"lacks {name!r}")
    _check_labels(estimator.classes_, f"{place}.classes_", increasing=True)
    for name, value in fitted.items():
        check_shapes(value, len(estimator.classes_), f"{place}.{key_of(name)}")
    if hasattr(cls, "map_") or "map_" in fitted:
        _check_columns(estimator, place)
    if hasattr(estimator, "_check_fitted"):
        _run(estimator._check_fitted, place)


def _may_lack(cls: type, name: str) -> bool:
    """Whether a fit sets the attribute only where there is something to say.

    A classifier may read what has no columns; only what has a map knows how many it reads.
    """
    has_map = hasattr(cls, "map_") or "map_" in fitted_types(cls)
    return name == "feature_names_in_" or (name == "n_features_in_" and not has_map)


def _run(hook: Callable[[], object], place: Place) -> object:
    """What the hook returns, or a `FormatError` with what it says."""
    try:
        return hook()
    except _MISFITS as error:
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


def _check_columns(calibrator: Any, place: Place) -> None:
    """Columns, labels, names and the map of a fitted calibrator belong together."""
    classes, n_columns = calibrator.classes_, calibrator.n_features_in_
    k = len(classes)
    _check_labels(calibrator.column_classes_, f"{place}.column_classes_", increasing=False)
    if not np.array_equal(np.sort(calibrator.column_classes_), classes):
        raise FormatError(
            f"{place}.column_classes_", "needs the labels of `classes_` in some order"
        )
    if n_columns not in ((1, 2) if k == 2 else (k,)):
        raise FormatError(f"{place}.n_features_in_", f"is {n_columns}, with {k} classes")
    names = getattr(calibrator, "feature_names_in_", None)
    if names is not None:
        if names.shape != (n_columns,):
            raise FormatError(
                f"{place}.feature_names_in_", f"needs {n_columns} names; got {names.size}"
            )
        if not all(isinstance(name, str) for name in names):
            raise FormatError(f"{place}.feature_names_in_", "needs strings")
    found = _run(lambda: calibrator.map_, place)
    assert isinstance(found, CalibrationMap)
    check_map(found, f"{place}.map_")
    if (found.n_columns, found.n_classes) != (n_columns, k):
        raise FormatError(
            f"{place}.map_",
            f"leads from {found.n_columns} columns to {found.n_classes} classes; there are "
            f"{n_columns} and {k}",
        )
    if found.input_scale != calibrator.input_scale:
        raise FormatError(f"{place}.map_", f"does not read input_scale={calibrator.input_scale!r}")
    _try_out(found, f"{place}.map_")


def check_map(chain: CalibrationMap, place: Place) -> None:
    """Raise a `FormatError` where the steps of a map do not fit together."""
    _run(lambda: chain.n_classes, place)


def _try_out(chain: CalibrationMap, place: Place) -> None:
    """Apply the map to one row: a chain that fits together need not end in probabilities."""
    row = np.full((1, chain.n_columns), 1.0 / max(chain.n_columns, 2))
    with np.errstate(all="ignore"):
        proba: Any = _run(lambda: chain(row), place)
    fine = np.isfinite(proba).all() and (proba >= 0.0).all()
    if not fine or abs(proba.sum() - 1.0) > _SUM_TOLERANCE:
        raise FormatError(place, "does not end in probabilities")
