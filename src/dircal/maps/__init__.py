"""Calibration maps as values: their steps, chains and parametrisations."""

import importlib
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from dircal.maps._affine import AbstractLinearStep, Affine, Diagonal, Scale
from dircal.maps._columns import Columns, Complement, ZeroLogit, column_steps
from dircal.maps._composite import MeanOfMaps, OneVsRest, mean_of_maps
from dircal.maps._curved import WithCurves
from dircal.maps._curves import Interpolation, Lookup
from dircal.maps._links import LogOdds, Sigmoid, Softmax
from dircal.maps._log import LogProbability, LogSoftmax, MaskedAsLeast, Normalise
from dircal.maps._map import CalibrationMap, Masked
from dircal.maps._mixture import UniformMixture
from dircal.maps._step import AbstractStep

if TYPE_CHECKING:
    from dircal.maps._abstract_parameters import AbstractParameters
    from dircal.maps._parameters import (
        CanonicalParameters,
        GenerativeParameters,
        InterpretationPoints,
        LinearParameters,
    )

__all__ = [
    "STEPS",
    "AbstractLinearStep",
    "AbstractParameters",
    "AbstractStep",
    "Affine",
    "CalibrationMap",
    "CanonicalParameters",
    "Columns",
    "Complement",
    "Diagonal",
    "GenerativeParameters",
    "Interpolation",
    "InterpretationPoints",
    "LinearParameters",
    "LogOdds",
    "LogProbability",
    "LogSoftmax",
    "Lookup",
    "Masked",
    "MaskedAsLeast",
    "MeanOfMaps",
    "Normalise",
    "OneVsRest",
    "Scale",
    "Sigmoid",
    "Softmax",
    "UniformMixture",
    "WithCurves",
    "ZeroLogit",
    "column_steps",
    "mean_of_maps",
]

STEPS = {
    name: step
    for name, step in dict(globals()).items()
    if isinstance(step, type)
    and issubclass(step, AbstractStep)
    and is_dataclass(step)
    # `with_masks` adds it: files do not contain it.
    and step is not Masked
}
"""By name: what files may hold and exports have to know."""


def __getattr__(name: str) -> Any:
    # Parametrisations validate what users pass; a map alone needs nothing but NumPy.
    if name in __all__:
        return getattr(importlib.import_module("dircal.maps._parameters"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
