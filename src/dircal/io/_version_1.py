"""Files of format version 1, as JSON of version 2.

Version 1 wrote each calibrator by attributes of its own (``coef_``, ``clip_``, ``knots_`` ...);
version 2 writes the steps of its map. What is not to be converted is left as it stands: the reader
of version 2 checks the result like any other file.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dircal import maps
from dircal._core.data.simplex import ROUNDING
from dircal._typing import FloatArray
from dircal.io._arrays import MemoryBudget, array_to_json
from dircal.io._map_file import MapReader
from dircal.io._registry import estimators_by_name
from dircal.io._types import FormatError, Place, check_type
from dircal.io._write import value_to_json

__all__ = ["upgrade"]

Json = Any
# A file of version 1 that was written by us is a third as deep.
_DEEPEST = 100
_TYPES = {"SketchedPosterior": "LowRankPosterior"}
_STATUSES = {"AT_INFINITY": "SEPARATED"}
_NAMES = {
    "classifier": "estimator",
    "classifiers_": "estimators_",
    "level_": "row_mean_factor_",
    "owner": "param_class",
}
# Where the parts of an object stand, under their names.
_CONTENT = ("parameters", "fitted", "fields")


def upgrade(node: Json, budget: MemoryBudget) -> Json:
    """The same object in version 2."""
    return _Upgrade(MapReader(budget)).convert(node, "object", 0)


class _Upgrade:
    """Walks through nodes, from the outside in."""

    def __init__(self, reader: MapReader) -> None:
        self.reader = reader

    def convert(self, node: Json, place: Place, depth: int) -> Json:
        """A node with all that is in it."""
        if depth > _DEEPEST:
            raise FormatError(place, "is nested too deeply")
        if isinstance(node, list):
            return [self.convert(x, f"{place}[{i}]", depth + 1) for i, x in enumerate(node)]
        if not isinstance(node, dict):
            return node
        kind = node.get("type")
        if kind == "status":
            return {"type": "Status", **_without_type(node), **_status(node)}
        if kind == "array":
            return self._expand(node, place) if "diagonal" in node else node
        if isinstance(kind, str):
            node = {**self._with_map(node, place), "type": _TYPES.get(kind, kind)}
            node |= {key: _renamed(node[key]) for key in _CONTENT if key in node}
        return {
            key: self.convert(value, f"{place}.{key}", depth + 1) for key, value in node.items()
        }

    def _expand(self, node: Json, place: Place) -> Json:
        """A matrix that was written as its diagonal."""
        entries = self._floats(node["diagonal"], place)
        if entries.ndim != 1:
            raise FormatError(place, "has a diagonal that is none")
        # The matrix, its text, and the matrix that is read from the text.
        self.reader.budget.take(3 * entries.size**2 * 8, place)
        return array_to_json(np.diag(entries), place)

    def _with_map(self, node: Json, place: Place) -> Json:
        """A fitted calibrator with its map in place of the attributes that said the same."""
        cls = estimators_by_name().get(node["type"])
        state, parameters = node.get("fitted"), node.get("parameters")
        if cls is None or not isinstance(state, dict) or not isinstance(parameters, dict):
            return node
        state = dict(state)
        make = _STEPS.get(node["type"])
        if make is not None:
            old = _Attributes(self, node["type"], parameters.get("input_scale"), state, place)
            try:
                steps = (*old.column_steps(), *make(old))
            except (IndexError, TypeError) as error:
                raise FormatError(place, f"cannot be: {error}") from None
            chain = maps.CalibrationMap(old.whole("n_features_in_"), steps)
            state["map_"] = value_to_json(chain, place)
        return {**node, "fitted": state}

    def _floats(self, node: Json, place: Place) -> FloatArray:
        value = self.reader.read(node, place)
        check_type(value, FloatArray, place)
        return np.asarray(value)


def _renamed(content: Json) -> Json:
    if not isinstance(content, dict):
        return content
    return {_NAMES.get(key, key): value for key, value in content.items()}


def _without_type(node: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in node.items() if key != "type"}


def _status(node: Mapping[str, Json]) -> dict[str, Json]:
    name = node.get("name")
    return {"name": _STATUSES[name]} if isinstance(name, str) and name in _STATUSES else {}


class _Attributes:
    """Attributes of a calibrator of version 1; those that are asked for are taken out."""

    def __init__(
        self, upgrade: _Upgrade, kind: str, scale: Json, state: dict[str, Json], place: Place
    ) -> None:
        self.kind = kind
        self.of_logits = scale == "logit"
        self._upgrade = upgrade
        self._state = state
        self._place = place

    def _take(self, name: str) -> Json:
        if name not in self._state:
            raise FormatError(self._place, f"lacks {name!r}")
        return self._state.pop(name)

    def whole(self, name: str) -> int:
        """A whole number, which stays where it is."""
        value: Any = self._state.get(name)
        check_type(value, int, f"{self._place}.{name}")
        return int(value)

    def number(self, name: str) -> float:
        """A finite number."""
        where = f"{self._place}.{name}"
        value = self._upgrade.reader.read(self._take(name), where)
        check_type(value, float, where)
        return float(value)

    def flag(self, name: str) -> bool:
        """A truth value."""
        value = self._take(name)
        check_type(value, bool, f"{self._place}.{name}")
        return bool(value)

    def floats(self, name: str, *, finite: bool = True) -> FloatArray:
        """An array of float64."""
        where = f"{self._place}.{name}"
        node = self._take(name)
        if finite:
            return self._upgrade._floats(self._upgrade.convert(node, where, 0), where)
        value = self._upgrade.reader.read(node, where)
        if not isinstance(value, np.ndarray) or value.dtype != np.float64:
            raise FormatError(where, "needs an array of float64")
        return value

    def diagonal(self, name: str) -> FloatArray:
        """Diagonal of a matrix that has nothing else."""
        node, where = self._state.get(name), f"{self._place}.{name}"
        if isinstance(node, dict) and "diagonal" in node:
            return self._upgrade._floats(self._take(name)["diagonal"], where)
        matrix = self.floats(name)
        if matrix.ndim != 2 or (matrix != np.diag(matrix.diagonal())).any():
            self.refuse(name)
        return matrix.diagonal()

    def refuse(self, name: str) -> None:
        """Say that another calibrator has such a matrix."""
        raise FormatError(f"{self._place}.{name}", f"is no matrix that {self.kind} can have")

    def column_steps(self) -> list[maps.AbstractStep]:
        """Both columns, in the order of the classes."""
        steps: list[maps.AbstractStep] = []
        if self.whole("n_features_in_") == 1:
            steps.append(maps.ZeroLogit() if self.of_logits else maps.Complement())
        where = f"{self._place}.column_classes_"
        labels = self._upgrade.reader.read(self._state.get("column_classes_"), where)
        if not isinstance(labels, np.ndarray) or labels.ndim != 1:
            raise FormatError(where, "needs labels")
        order = np.argsort(labels).tolist()
        if order != list(range(len(order))):
            steps.append(maps.Columns(tuple(order)))
        return steps


def _scores(old: _Attributes, normalise: maps.Normalise) -> list[maps.AbstractStep]:
    clip = old.number("clip_")
    if old.of_logits:
        return [maps.LogSoftmax(clip)]
    return [normalise, maps.LogProbability(clip)]


def _linear(old: _Attributes) -> list[maps.AbstractStep]:
    scores = _scores(old, maps.Normalise())
    if old.of_logits and old.kind in ("MatrixScaling", "VectorScaling"):
        # These read logits as they are.
        scores = []
    if old.of_logits and old.kind not in ("TemperatureScaling", "VectorScaling"):
        scores = [maps.MaskedAsLeast(), *scores]
    return [*scores, *_linear_step(old), maps.Softmax()]


def _linear_step(old: _Attributes) -> list[maps.AbstractStep]:
    if old.kind == "BayesianDirichletCalibrator":
        temperature, weight = old.number("temperature_"), old.number("smoothing_")
        slope = 1.0 / temperature if temperature > 0.0 else 0.0
        mixture = maps.UniformMixture(slope, weight, old.flag("normalised"))
        return [mixture, maps.Affine(old.floats("coef_"), old.floats("intercept_"))]
    if old.kind in ("TemperatureScaling", "VectorScaling"):
        slopes, intercepts = old.diagonal("coef_"), old.floats("intercept_")
        if old.kind == "VectorScaling":
            return [maps.Diagonal(slopes, intercepts)]
        if (slopes != slopes[0]).any() or intercepts.any():
            old.refuse("coef_")
        return [maps.Scale(float(slopes[0]))]
    return [maps.Affine(old.floats("coef_"), old.floats("intercept_"))]


def _identity(old: _Attributes) -> list[maps.AbstractStep]:
    return [maps.Softmax() if old.of_logits else maps.Normalise()]


def _platt(old: _Attributes) -> list[maps.AbstractStep]:
    line = maps.Diagonal(np.array([old.number("slope_")]), np.array([old.number("intercept_")]))
    scores = _scores(old, maps.Normalise(ROUNDING))
    return [*scores, maps.LogOdds(), line, maps.Sigmoid()]


def _beta(old: _Attributes) -> list[maps.AbstractStep]:
    slopes = np.array([[-old.number("slope_negative_"), old.number("slope_positive_")]])
    line = maps.Affine(slopes, np.array([old.number("intercept_")]))
    return [*_scores(old, maps.Normalise(ROUNDING)), line, maps.Sigmoid()]


def _positive(old: _Attributes) -> list[maps.AbstractStep]:
    if old.of_logits:
        return [maps.LogOdds()]
    return [maps.Normalise(ROUNDING), maps.Columns((1,))]


def _isotonic(old: _Attributes) -> list[maps.AbstractStep]:
    curve = maps.Interpolation(old.floats("knots_"), old.floats("values_"))
    return [*_positive(old), curve, maps.Complement()]


def _histogram(old: _Attributes) -> list[maps.AbstractStep]:
    # The outer edges are infinite, and no part of the map.
    edges = old.floats("bin_edges_", finite=False)
    curve = maps.Lookup(edges[1:-1], old.floats("bin_proba_"))
    return [*_positive(old), curve, maps.Complement()]


_STEPS: Mapping[str, Callable[[_Attributes], list[maps.AbstractStep]]] = {
    "BayesianDirichletCalibrator": _linear,
    "BetaCalibrator": _beta,
    "DirichletCalibrator": _linear,
    "HistogramCalibrator": _histogram,
    "IdentityCalibrator": _identity,
    "IsotonicCalibrator": _isotonic,
    "MatrixScaling": _linear,
    "PlattCalibrator": _platt,
    "TemperatureScaling": _linear,
    "VectorScaling": _linear,
}
"""Steps of a map after its columns, from the attributes of version 1."""
