"""What a fit returns: maps as values, how to apply, write and explain them."""

from dataclasses import is_dataclass

from dircal.maps._abstract_parameters import AbstractParameters
from dircal.maps._affine import AbstractLinearStep, Affine, Diagonal, Scale
from dircal.maps._columns import Columns, Complement, ZeroLogit, column_steps
from dircal.maps._composite import MeanOfMaps, OneVsRest, mean_of_maps
from dircal.maps._contests import ContestEffect
from dircal.maps._curved import WithCurves
from dircal.maps._curves import Interpolation, Lookup
from dircal.maps._effects import Effects
from dircal.maps._explanation import Explanation
from dircal.maps._links import LogOdds, Sigmoid, Softmax
from dircal.maps._log import LogProbability, LogSoftmax, MaskedAsLeast, Normalise
from dircal.maps._map import CalibrationMap, Masked
from dircal.maps._mixture import UniformMixture
from dircal.maps._parameters import (
    CanonicalParameters,
    GenerativeParameters,
    InterpretationPoints,
    LinearParameters,
)
from dircal.maps._record import (
    FitRecord,
    FittingRows,
    complete_record,
    explain_nothing,
    explain_rows,
    start_record,
)
from dircal.maps._sentences import ClassEffect, PairEffect, TemperatureComparison
from dircal.maps._step import AbstractStep

__all__ = [
    "STEPS",
    "AbstractLinearStep",
    "AbstractParameters",
    "AbstractStep",
    "Affine",
    "CalibrationMap",
    "CanonicalParameters",
    "ClassEffect",
    "Columns",
    "Complement",
    "ContestEffect",
    "Diagonal",
    "Effects",
    "Explanation",
    "FitRecord",
    "FittingRows",
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
    "PairEffect",
    "Scale",
    "Sigmoid",
    "Softmax",
    "TemperatureComparison",
    "UniformMixture",
    "WithCurves",
    "ZeroLogit",
    "column_steps",
    "complete_record",
    "explain_nothing",
    "explain_rows",
    "mean_of_maps",
    "start_record",
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
