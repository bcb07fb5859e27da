"""Splitters of scikit-learn, which a search holds as its ``cv``."""

import inspect
from collections.abc import Mapping
from typing import Any

from sklearn import model_selection

__all__ = ["SPLITTERS", "splitter_parameters"]

SPLITTERS: Mapping[str, type] = {
    cls.__name__: cls
    for cls in (
        model_selection.GroupKFold,
        model_selection.KFold,
        model_selection.LeaveOneOut,
        model_selection.ShuffleSplit,
        model_selection.StratifiedGroupKFold,
        model_selection.StratifiedKFold,
        model_selection.StratifiedShuffleSplit,
    )
}
"""Those that are made of numbers alone, by name."""


def splitter_parameters(splitter: Any) -> dict[str, Any]:
    """What a splitter was made with; it keeps each under its name."""
    names = inspect.signature(type(splitter)).parameters
    return {name: getattr(splitter, name) for name in names}
