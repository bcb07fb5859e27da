"""Calibrators by the names they have on the command line."""

import json
from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["NAMES", "make_calibrator", "make_calibrators"]

# By name, so that help need not load them.
_CLASSES = {
    "auto": "AutoCalibrator",
    "bayesian": "BayesianDirichletCalibrator",
    "beta": "BetaCalibrator",
    "dirichlet": "DirichletCalibrator",
    "histogram": "HistogramCalibrator",
    "identity": "IdentityCalibrator",
    "isotonic": "IsotonicCalibrator",
    "matrix": "MatrixScaling",
    "platt": "PlattCalibrator",
    "temperature": "TemperatureScaling",
    "vector": "VectorScaling",
}
NAMES = tuple(_CLASSES)
# These have options of their own on the command line.
_ELSEWHERE = {"input_scale": "--scale", "classes": "--classes"}


class ChosenColumns(Protocol):
    """What has to be known of a table: names of the columns with scores, and the classes."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    @property
    def classes(self) -> Any:
        """Their labels, or both where there is one column."""


def make_calibrator(
    name: str,
    scale: str,
    rows: ChosenColumns,
    *,
    classes: list[Any] | None = None,
    options: Sequence[str] = (),
) -> Any:
    """The calibrator of a name; a binary one for each class against the rest if there are more.

    ``classes`` are the labels of the columns where nobody else tells it.
    """
    from sklearn.utils import get_tags

    import dircal
    from dircal import calibrators

    # A class of its own room that has no short name here goes by its name.
    kind = _CLASSES.get(name, name)
    if kind not in _CLASSES.values() and kind not in calibrators.__all__:
        raise ValueError(f"{name!r} is no calibrator; there are {', '.join(NAMES)}.")
    calibrator = getattr(dircal, kind)(input_scale=scale, classes=classes)
    given = dict(_parse(option) for option in options)
    known = [one for one in calibrator.get_params(deep=False) if one not in _ELSEWHERE]
    for option in given:
        if option in _ELSEWHERE:
            raise ValueError(f"--option {option}: use {_ELSEWHERE[option]} instead.")
        if option not in known:
            raise ValueError(f"--option {option}: {kind} has {', '.join(known) or 'no options'}.")
    calibrator.set_params(**given)
    binary = not get_tags(calibrator).classifier_tags.multi_class
    if len(rows.columns) == 1 and not binary:
        raise ValueError(
            f"one column of scores was chosen, but {name} needs one for each class. Choose both, "
            "or a calibrator that reads one: beta, histogram, isotonic or platt."
        )
    if not binary or len(rows.classes) <= 2:
        return calibrator
    return dircal.OneVsRestCalibrator(calibrator.set_params(classes=None), classes=classes)


def make_calibrators(names: str, scale: str, rows: ChosenColumns) -> dict[str, Any]:
    """Several of them, by a list of names, for the columns of these rows."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted or len(set(wanted)) < len(wanted):
        raise ValueError(f"--calibrators {names!r} must name calibrators, each once.")
    return {name: make_calibrator(name, scale, rows) for name in wanted}


def _parse(option: str) -> tuple[str, Any]:
    """``name=value``; the value is JSON where it can be, and a word otherwise."""
    name, equals, text = option.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"--option {option!r} must be NAME=VALUE, for example lam=0.01.")
    try:
        return name.strip(), json.loads(text)
    except ValueError:
        return name.strip(), text.strip()
