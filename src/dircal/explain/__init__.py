"""Explanations of fits: effects of a map on rows, and sentences about them."""

from dircal.explain._contests import ContestEffect
from dircal.explain._effects import Effects
from dircal.explain._explanation import Explanation
from dircal.explain._record import (
    FitRecord,
    FittingRows,
    LazyRecord,
    explain_nothing,
    explain_rows,
    start_identity_record,
    start_record,
)
from dircal.explain._sentences import (
    ClassEffect,
    PairEffect,
    TemperatureComparison,
    verdict,
)

__all__ = [
    "ClassEffect",
    "ContestEffect",
    "Effects",
    "Explanation",
    "FitRecord",
    "FittingRows",
    "LazyRecord",
    "PairEffect",
    "TemperatureComparison",
    "explain_nothing",
    "explain_rows",
    "start_identity_record",
    "start_record",
    "verdict",
]
