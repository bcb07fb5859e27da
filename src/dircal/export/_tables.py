"""Names of columns of tables: those that an export reads, and those that it adds."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dircal.export._fitted import Fitted
from dircal.tables import ROW_SUM_TOLERANCE, show

__all__ = ["FARTHEST_SUM", "check_columns", "check_names", "is_name"]

FARTHEST_SUM = ROW_SUM_TOLERANCE + 1e-9
"""What a sum may miss one by: 0.33 + 0.33 + 0.33 misses by a little more than one hundredth."""


def check_columns(columns: Iterable[str] | None, calibrator: Any, fitted: Fitted) -> list[str]:
    """Name of the column of each score: as given, as at the fit, or the labels themselves."""
    if columns is None:
        columns = map(str, getattr(calibrator, "feature_names_in_", fitted.columns))
    return _check("columns", columns, fitted.columns, "score that the calibrator was fitted on")


def check_names(names: Iterable[str] | None, columns: list[str], fitted: Fitted) -> list[str]:
    """Name of the column of each probability, none of them that of a score."""
    if names is None:
        names = [f"calibrated_{label}" for label in fitted.classes]
    found = _check("names", names, fitted.classes, "class")
    taken = {column.lower() for column in columns}
    for name in found:
        if name.lower() in taken:
            raise ValueError(
                f"`names` has {name!r}, which is one of the columns with scores. Pass other names "
                "for the calibrated probabilities."
            )
    return found


def is_name(value: Any) -> bool:
    """Whether databases can have a table or a column of this name."""
    if not isinstance(value, str) or not value or "\0" in value:
        return False
    # Half of a pair of surrogates is no character.
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _check(argument: str, given: Any, labels: list[Any], what: str) -> list[str]:
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for name in found:
        if not is_name(name):
            raise ValueError(
                f"`{argument}` must hold names of columns; got {name!r}. Pass text that UTF-8 can "
                "encode, without zero characters."
            )
    differ = "different names"
    if len({*found}) == len(found) == len(labels):
        if len({name.lower() for name in found}) == len(found):
            return found
        differ = "names that differ in more than capital letters, as databases want them"
    raise ValueError(
        f"`{argument}` must hold {len(labels)} {differ}; got {_shown(found)}. Pass "
        f"one for each {what}, in the order of {_shown(labels)}."
    )


def _shown(names: list[Any]) -> str:
    return show(np.array(names, dtype=object))
