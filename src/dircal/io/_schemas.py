"""Which classes a file may hold, and what each of them consists of.

A new calibrator is one entry of `SCHEMAS`: its fitted attributes beyond those that every calibrator
has, and, where it is needed, a function that checks that they belong together. A file that was
written with these names has to be readable forever: an attribute that is renamed or dropped is a
new version of the format, see `_file`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dircal import calibrators, selection
from dircal._core.bayes.posterior import ExactPosterior, SketchedPosterior
from dircal._core.model.penalty import GROUPS
from dircal._core.model.precondition import Preconditioner
from dircal._core.optim.newton import Status
from dircal._core.stats.effects import Effects
from dircal.calibrators._base import AbstractCalibrator
from dircal.calibrators._binary_base import AbstractBinaryCalibrator
from dircal.io._damage import Damage, Place
from dircal.io._fields import (
    Field,
    Floats,
    Indices,
    Instance,
    Labels,
    Members,
    Names,
    Number,
    Numbers,
    Table,
    Whole,
)
from dircal.maps import FitRecord, TemperatureComparison

__all__ = ["RECORDS", "SCHEMAS", "Schema", "check_columns", "class_of"]

Fields = Mapping[str, Field]


@dataclass(frozen=True)
class Schema:
    """What one class consists of.

    ``fitted`` and ``optional`` are attributes after a fit, ``parameters`` those of the constructor
    that are more than a number, a string or None, and ``agree`` raises `Damage` where the
    attributes of a fitted object do not belong together.
    """

    fitted: Fields
    optional: Fields = field(default_factory=dict)
    parameters: Fields = field(default_factory=dict)
    agree: Callable[[Any, Place], None] | None = None


def _agree_linear(calibrator: Any, place: Place) -> None:
    """The matrix is one that the class can have: that of one temperature is a diagonal."""
    weights = np.column_stack([calibrator.coef_, calibrator.intercept_])
    structure, params = calibrator._structure_and_params()
    if not np.array_equal(structure.unpack(params), weights):
        raise Damage(f"{place}.coef_", f"is no matrix that {type(calibrator).__name__} can have")


def _agree_bayesian(calibrator: Any, place: Place) -> None:
    k, posterior = len(calibrator.classes_), calibrator._posterior
    entries = posterior.inverse.means if hasattr(posterior, "inverse") else posterior.covariance
    if len(entries) != k * (k + 1):
        raise Damage(f"{place}.posterior", f"needs {k * (k + 1)} entries; got {len(entries)}")


def _agree_isotonic(calibrator: Any, place: Place) -> None:
    if not (np.diff(calibrator.knots_) > 0).all():
        raise Damage(f"{place}.knots_", "needs increasing numbers")
    if not (np.diff(calibrator.values_) >= 0).all():
        raise Damage(f"{place}.values_", "needs numbers that never fall")


def _agree_histogram(calibrator: Any, place: Place) -> None:
    edges = calibrator.bin_edges_
    fine = len(edges) == len(calibrator.bin_proba_) + 1 and not np.isnan(edges).any()
    if not fine or edges[0] != -np.inf or edges[-1] != np.inf or (edges[1:] < edges[:-1]).any():
        raise Damage(
            f"{place}.bin_edges_", "needs sorted edges from -inf to inf, one more than bins"
        )


def _agree_one_vs_rest(calibrator: Any, place: Place) -> None:
    _agree_members(calibrator, place)
    for i, member in enumerate(calibrator.calibrators_):
        if not np.array_equal(member.classes_, [0, 1]) or member.n_features_in_ != 2:
            raise Damage(f"{place}.calibrators_[{i}]", "needs the classes 0 and 1, in two columns")


def _agree_choice(calibrator: Any, place: Place) -> None:
    chosen = calibrator.calibrator_
    if not hasattr(chosen, "classes_"):
        raise Damage(f"{place}.calibrator_", "needs a fitted calibrator")
    for name in ("input_scale", "classes_", "column_classes_", "n_features_in_"):
        if not np.array_equal(getattr(chosen, name), getattr(calibrator, name)):
            raise Damage(f"{place}.calibrator_.{name}", f"is not that of {place}")
    if calibrator.choice_ not in calibrator.table_["calibrator"]:
        raise Damage(f"{place}.choice_", "is no entry of `table_`")


def _agree_search(calibrator: Any, place: Place) -> None:
    _agree_members(calibrator, place)
    if not calibrator.best_index_ < len(calibrator.cv_results_["params"]):
        raise Damage(f"{place}.best_index_", "is no row of `cv_results_`")
    for i, member in enumerate(calibrator.calibrators_):
        for name in ("classes_", "column_classes_", "n_features_in_"):
            if not np.array_equal(getattr(member, name), getattr(calibrator, name)):
                raise Damage(f"{place}.calibrators_[{i}].{name}", f"is not that of {place}")


def _agree_members(holder: Any, place: Place) -> None:
    """Members are of the kind that the holder was told, and read the same scale."""
    for i, member in enumerate(holder.calibrators_):
        where = f"{place}.calibrators_[{i}]"
        if type(member) is not type(holder.calibrator):
            raise Damage(where, f"needs a {type(holder.calibrator).__name__}")
        if member.input_scale != holder.input_scale:
            raise Damage(where, f"needs input_scale={holder.input_scale!r}")


def _agree_classifier(model: Any, place: Place) -> None:
    for i, member in enumerate(model.calibrators_):
        if not isinstance(member, AbstractCalibrator):
            raise Damage(f"{place}.calibrators_[{i}]", "needs a calibrator")
        if not np.array_equal(member.classes_, model.classes_):
            raise Damage(f"{place}.calibrators_[{i}].classes_", f"is not that of {place}")


_CLASSES: Fields = {"classes_": Labels(increasing=True)}
_CALIBRATOR: Fields = {
    **_CLASSES,
    "column_classes_": Labels(increasing=False),
    "n_features_in_": Whole(1),
}
_NAMED: Fields = {"feature_names_in_": Names()}
_SOLVED: Fields = {"clip_": Number(0.0, 1.0), "n_iter_": Whole(), "_status": Instance(Status)}
_LINEAR: Fields = {
    **_CALIBRATOR,
    **_SOLVED,
    "coef_": Floats(("k", "k")),
    "intercept_": Floats(("k",)),
    "_record": Instance(FitRecord),
}
_HELD: Fields = {"calibrator": Instance(AbstractCalibrator)}

SCHEMAS: Mapping[str, Schema] = {
    **{
        name: Schema(_LINEAR, _NAMED, agree=_agree_linear)
        for name in ("DirichletCalibrator", "MatrixScaling", "TemperatureScaling", "VectorScaling")
    },
    "BayesianDirichletCalibrator": Schema(
        {
            **_LINEAR,
            "temperature_": Number(0.0),
            "smoothing_": Number(0.0, 1.0),
            "precisions_": Numbers(GROUPS),
            "effective_parameters_": Numbers(GROUPS),
            "log_evidence_": Number(),
            "_normalised": Instance(bool),
            "_posterior": Instance((ExactPosterior, SketchedPosterior)),
        },
        {**_NAMED, "level_": Number(0.0, 1.0)},
        agree=_agree_bayesian,
    ),
    "IdentityCalibrator": Schema(_CALIBRATOR, _NAMED),
    "BetaCalibrator": Schema(
        {
            **_CALIBRATOR,
            **_SOLVED,
            "slope_positive_": Number(),
            "slope_negative_": Number(),
            "intercept_": Number(),
        },
        _NAMED,
    ),
    "PlattCalibrator": Schema(
        {**_CALIBRATOR, **_SOLVED, "slope_": Number(), "intercept_": Number()}, _NAMED
    ),
    "IsotonicCalibrator": Schema(
        {
            **_CALIBRATOR,
            "knots_": Floats(("knots",)),
            "values_": Floats(("knots",), low=0.0, high=1.0),
        },
        _NAMED,
        agree=_agree_isotonic,
    ),
    "HistogramCalibrator": Schema(
        {
            **_CALIBRATOR,
            "bin_edges_": Floats(("edges",), finite=False),
            "bin_counts_": Floats(("bins",), low=0.0),
            "bin_proba_": Floats(("bins",), low=0.0, high=1.0),
        },
        _NAMED,
        agree=_agree_histogram,
    ),
    "OneVsRestCalibrator": Schema(
        {**_CALIBRATOR, "calibrators_": Members("k")}, _NAMED, _HELD, _agree_one_vs_rest
    ),
    "AutoCalibrator": Schema(
        {
            **_CALIBRATOR,
            "calibrator_": Instance(AbstractCalibrator),
            "choice_": Instance(str),
            "table_": Table(("calibrator", "log_loss")),
            "probability_of_harm_": Number(0.0, 1.0),
        },
        _NAMED,
        {"calibrators": Instance((list, tuple, type(None))), "cv": Instance(object)},
        _agree_choice,
    ),
    "CalibratorCV": Schema(
        {
            **_CALIBRATOR,
            "calibrators_": Members("members"),
            "best_index_": Whole(),
            "best_params_": Instance(dict),
            "best_score_": Number(),
            "cv_results_": Table(("params", "mean_test_score")),
            "n_splits_": Whole(1),
        },
        _NAMED,
        {**_HELD, "param_grid": Instance((str, dict, list, tuple)), "cv": Instance(object)},
        _agree_search,
    ),
    "CalibratedClassifier": Schema(
        {
            **_CLASSES,
            "classifiers_": Members("members"),
            "calibrators_": Members("members"),
        },
        {**_NAMED, "n_features_in_": Whole(1)},
        {
            "classifier": Instance(BaseEstimator),
            "calibrator": Instance((AbstractCalibrator, type(None))),
            "cv": Instance(object),
        },
        _agree_classifier,
    ),
}
"""By the name of the class."""

RECORDS: Mapping[type, Fields] = {
    FitRecord: {
        "n_rows": Number(0.0),
        "observed": Floats(("k",), low=0.0, high=1.0),
        "effects": Instance((Effects, type(None))),
        "comparison": Instance(TemperatureComparison),
    },
    Effects: {
        **{name: Floats(("k",)) for name in ("before", "tempered", "after")},
        **{name: Indices(("pairs",), "k") for name in ("leader", "second")},
        **{name: Floats(("pairs",)) for name in ("share", "contested", "gap", "shift", "flipped")},
        "decisions_changed": Number(0.0),
        "losses": Instance(tuple),
    },
    ExactPosterior: {"covariance": Floats(("entries", "entries"))},
    SketchedPosterior: {"inverse": Instance(Preconditioner), "n": Number(0.0)},
    Preconditioner: {
        "inverse": Floats(("entries",)),
        "means": Floats(("entries",)),
        "owner": Indices(("entries",), "k"),
        "coupling": Floats(("k", "k")),
    },
    TemperatureComparison: {
        "temperature": Number(0.0),
        "loss_uncalibrated": Number(optional=True),
        "loss_temperature": Number(),
        "loss": Number(),
        "likelihood_ratio": Number(),
        "additional_parameters": Whole(),
    },
}
"""Dataclasses that a fitted calibrator remembers."""


def class_of(name: str) -> type[BaseEstimator] | None:
    """The published class of this name, if a file may hold it."""
    for room in (calibrators, selection):
        if name in SCHEMAS and name in room.__all__:
            cls: type[BaseEstimator] = getattr(room, name)
            return cls
    return None


def check_columns(calibrator: Any, place: Place) -> None:
    """Columns, labels and names of a fitted calibrator belong together."""
    k, columns = len(calibrator.classes_), calibrator.n_features_in_
    if not np.array_equal(np.sort(calibrator.column_classes_), calibrator.classes_):
        raise Damage(f"{place}.column_classes_", "needs the labels of `classes_` in some order")
    allowed = (1, 2) if isinstance(calibrator, AbstractBinaryCalibrator) else (k,)
    inner = getattr(calibrator, "calibrator", None)
    if isinstance(inner, AbstractBinaryCalibrator) and k == 2:
        allowed = (1, 2)
    if columns not in allowed or (isinstance(calibrator, AbstractBinaryCalibrator) and k != 2):
        raise Damage(f"{place}.n_features_in_", f"is {columns}, with {k} classes")
    names = getattr(calibrator, "feature_names_in_", None)
    if names is not None and len(names) != columns:
        raise Damage(f"{place}.feature_names_in_", f"needs {columns} names; got {len(names)}")
