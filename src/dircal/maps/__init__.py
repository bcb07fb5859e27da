"""What a fit returns: maps as values, how to apply, write and explain them."""

from dircal.maps._explanation import (
    ClassEffect,
    Explanation,
    FitRecord,
    PairEffect,
    TemperatureComparison,
    make_explanation,
)
from dircal.maps._parameters import (
    AbstractParameters,
    CanonicalParameters,
    GenerativeParameters,
    InterpretationPoints,
    LinearParameters,
)

__all__ = [
    "AbstractParameters",
    "CanonicalParameters",
    "ClassEffect",
    "Explanation",
    "FitRecord",
    "GenerativeParameters",
    "InterpretationPoints",
    "LinearParameters",
    "PairEffect",
    "TemperatureComparison",
    "make_explanation",
]
