"""Fits in files of format versions 1 to 3, which contain fitted attributes by name."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from dircal.calibrators import AbstractCalibrator, Fit, FitColumns
from dircal.explain import FitRecord, LazyRecord
from dircal.io._types import FormatError, Place, check_fields, check_type, field_types
from dircal.llm import label_map
from dircal.maps import CalibrationMap, mean_of_maps
from dircal.selection import one_vs_rest_map
from dircal.shift import prior_shift_map, recalibrated_map

__all__ = ["fit_of_attributes", "without_dropped_content"]

# Details that came later, with their values in a file that lacks them.
_LATER: dict[str, Any] = {
    "strengths": {},
    "history": (),
    "row_mean_factor": 1.0,
    "posterior": None,
}
_MEMBERS = ("calibrator_", "correction_", "fresh_")
_MISSING = object()


def without_dropped_content(node: Any) -> Any:
    """Return a node without what is no longer stored.

    These are columns of a search that repeat its settings, and a table of confidences.
    """
    table = node.get("table") if isinstance(node, dict) else None
    if isinstance(table, dict) and table.get("type") == "ConfidenceTable":
        return {**node, "table": None}
    results = node.get("cv_results_") if isinstance(node, dict) else None
    items = results.get("items") if isinstance(results, dict) else None
    if not isinstance(results, dict) or not isinstance(items, dict):
        return node
    kept = {name: item for name, item in items.items() if not name.startswith("param_")}
    return {**node, "cv_results_": {**results, "items": kept}}


def fit_of_attributes(cls: Any, attributes: dict[str, Any], place: Place) -> Fit:
    """Make a fit of the attributes of a fitted estimator."""
    state = _Attributes(attributes, place)
    columns = FitColumns(
        state.take("classes_"),
        state.take("column_classes_"),
        state.take("n_features_in_"),
        state.take("feature_names_in_", None),
    )
    for name, hint in field_types(FitColumns).items():
        check_type(getattr(columns, name), hint, f"{place}.{name}")
    record = state.take("record", None)
    check_type(record, FitRecord | None, f"{place}.record")
    members = state.members()
    details = _details_of(cls.method_class.details, state, place)
    chain = _map_of(cls.__name__, state, columns, details, members)
    state.check_empty()
    check_type(chain, CalibrationMap, f"{place}.map_")
    lazy = None if record is None else LazyRecord(record)
    return Fit(columns, chain, details, members, lazy)


class _Attributes:
    """Attributes by name, each of which is taken once."""

    def __init__(self, state: dict[str, Any], place: Place) -> None:
        self._state = dict(state)
        self._place = place

    def take(self, name: str, default: Any = _MISSING) -> Any:
        """Return an attribute, or the default if the file lacks it."""
        if default is _MISSING and name not in self._state:
            raise FormatError(self._place, f"lacks {name!r}")
        return self._state.pop(name, default)

    def take_detail(self, name: str) -> Any:
        """Return a detail; those that were not public have no underscore in files."""
        key = name if name in self._state else f"{name}_"
        return self.take(key, _LATER.get(name, _MISSING))

    def members(self) -> tuple[Any, ...]:
        """Return the fitted calibrators inside."""
        found = [self.take(name) for name in _MEMBERS if name in self._state]
        several = self.take("calibrators_", [])
        check_type(several, list[Any], f"{self._place}.calibrators_")
        for member in [*found, *several]:
            if not isinstance(member, AbstractCalibrator) or "fit_" not in vars(member):
                raise FormatError(self._place, "has a member that is not a fitted calibrator")
        return (*found, *several)

    def check_empty(self) -> None:
        """Raise a `FormatError` if an attribute is left."""
        if self._state:
            name = min(self._state)
            raise FormatError(self._place, f"has {name!r:.60}, which this version does not know")


def _details_of(kind: type | None, state: _Attributes, place: Place) -> Any:
    if kind is None:
        return None
    if kind.__name__ == "SearchDetails":
        content = _search_results(state, place)
    else:
        content = {field.name: state.take_detail(field.name) for field in fields(kind)}
    check_fields(kind, content, place)
    return kind(**content)


def _search_results(state: _Attributes, place: Place) -> dict[str, Any]:
    """Return settings, scores and times of a search, which were columns of one table."""
    results = state.take("cv_results_")
    check_type(results, dict[str, Any], f"{place}.cv_results_")
    n_splits = state.take("n_splits_")
    check_type(n_splits, int, f"{place}.n_splits_")
    for name in ("best_params_", "best_score_"):
        state.take(name)
    try:
        return {
            "best_index": state.take("best_index_"),
            "settings": results["params"],
            "scores": np.array([results[f"split{i}_test_score"] for i in range(n_splits)]),
            "mean_fit_time": results["mean_fit_time"],
            "std_fit_time": results["std_fit_time"],
        }
    except (KeyError, ValueError) as error:
        raise FormatError(f"{place}.cv_results_", f"cannot be: {error}") from None


def _map_of(
    name: str, state: _Attributes, columns: FitColumns, details: Any, members: Sequence[Any]
) -> Any:
    """Return the map, which calibrators with members did not store."""
    if name == "AutoCalibrator":
        return members[0].map_
    if name == "CalibratorCV":
        return mean_of_maps([member.map_ for member in members])
    if name == "OneVsRestCalibrator":
        return one_vs_rest_map(members, columns)
    if name == "GroupedCalibrator":
        return state.take("map")
    if name == "PriorShift":
        return prior_shift_map(members[0].map_, details.old_priors, details.priors)
    if name == "RecalibratedCalibrator":
        return recalibrated_map(members, details.weights)
    if name == "LabelCalibrator":
        scale = state.take("fitted_scale")
        return label_map(columns, scale, details.mean_proba, members[0].map_)
    return state.take("map_")
