"""What the map itself says: its sentences and its canonical parameters."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dircal._numerals import format_percent
from dircal._typing import LabelArray
from dircal.calibrators import AbstractCalibrator, IdentityCalibrator
from dircal.explain import Explanation
from dircal.maps import UniformMixture, WithCurves
from dircal.plots import canonical_of
from dircal.report._summary import MapSummary
from dircal.selection import AutoCalibrator

__all__ = ["summarise_map"]

_KINDS = {
    "IdentityCalibrator": "no change at all",
    "TemperatureScaling": "one temperature for all classes",
    "VectorScaling": "a slope and an intercept for each class",
    "MatrixScaling": "a full matrix, in which each class may correct every other",
    "DirichletCalibrator": "a full matrix, in which each class may correct every other",
    "BayesianDirichletCalibrator": "a full matrix and curves, both held back by the evidence",
    "IsotonicCalibrator": "a staircase that only rises",
    "HistogramCalibrator": "one value for each bin",
    "BetaCalibrator": "a curve with three parameters",
    "PlattCalibrator": "a curve with two parameters",
    "OneVsRestCalibrator": "a curve for each class, then divided by the sum",
    "CalibratorCV": "settings chosen by folds",
}
_MAPS = {
    "identity": "no change at all",
    "temperature": "one temperature for all classes",
    "vector": "a slope and an intercept for each class",
    "full": "a full matrix, in which each class may correct every other",
    "curved": "a full matrix and curves",
}


def summarise_map(fitted: AbstractCalibrator, names: Sequence[str]) -> MapSummary:
    """The map of a fitted calibrator, with the names of the classes in place of their labels."""
    whole: Any = fitted
    inner: Any = fitted.calibrator_ if isinstance(fitted, AutoCalibrator) else fitted
    name = type(inner).__name__
    if isinstance(fitted, AutoCalibrator):
        name = f"{name}, by AutoCalibrator"
    kind = _kind(fitted, inner)
    if isinstance(inner, IdentityCalibrator):
        return MapSummary(name, kind, (), None, None, str(whole.explain()))
    canonical = canonical_of(inner)
    try:
        explanation: Explanation = inner.explain()
    except AttributeError:
        why = (
            f"{type(inner).__name__} is no linear map of log-probabilities: it has no matrix, and "
            "no sentences can be read off it. The diagrams show what it does."
        )
        return MapSummary(name, kind, (), None, None, why)
    except ValueError as error:
        # Averages of maps are outside of the family, and say so.
        return MapSummary(name, kind, (), None, None, str(error))
    sentences = tuple(_named(explanation, fitted.classes_, names).sentences())
    if canonical is None:
        return MapSummary(name, kind, sentences, None, None, _why_no_matrix(inner))
    matrix = tuple(tuple(row) for row in np.asarray(canonical.A).tolist())
    return MapSummary(name, kind, sentences, matrix, tuple(canonical.c.tolist()), None)


def _kind(fitted: AbstractCalibrator, inner: AbstractCalibrator) -> str:
    """What sort of map it is, for people who do not know the names of calibrators."""
    if not isinstance(fitted, AutoCalibrator):
        return _KINDS.get(type(inner).__name__, f"the map of {type(inner).__name__}")
    table, choice = fitted.table_, fitted.choice_
    kind = _MAPS.get(choice) or _KINDS.get(choice, choice)
    if "probability" not in table:
        return f"{kind}, chosen by AutoCalibrator"
    probability = table["probability"][table["calibrator"].index(choice)]
    return (
        f"{kind}, the most probable of five that AutoCalibrator weighs "
        f"({format_percent(probability, 0)})"
    )


def _why_no_matrix(inner: Any) -> str:
    if inner.map_.find(WithCurves) is not None:
        return "It has curves, which no matrix of canonical parameters can hold."
    mixture = inner.map_.find(UniformMixture)
    if mixture is not None and mixture.normalised:
        return (
            "It reads probabilities that are normalised again after the temperature, and has no "
            "canonical parameters."
        )
    return "It reads logits, which have no canonical parameters."


def _named(explanation: Explanation, classes: LabelArray, names: Sequence[str]) -> Explanation:
    name_of = dict(zip(classes.tolist(), names, strict=True))
    return replace(
        explanation,
        classes=tuple(replace(one, label=name_of[one.label]) for one in explanation.classes),
        pairs=tuple(
            replace(one, leader=name_of[one.leader], second=name_of[one.second])
            for one in explanation.pairs
        ),
    )
