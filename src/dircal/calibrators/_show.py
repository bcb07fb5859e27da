"""What a fitted calibrator says of itself, to a terminal and to a notebook."""

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from dircal._core.data.losses import LOSS_CLIP
from dircal._html import card, facts, map_picture
from dircal._typing import FloatArray
from dircal.explain import verdict

if TYPE_CHECKING:
    from dircal.calibrators._base import AbstractCalibrator

__all__ = ["html_of", "text_of"]

_CLASSES_NAMED = 6
_CLASSES_DRAWN = 12
_POINTS = 25


def text_of(calibrator: "AbstractCalibrator") -> str:
    """The call that makes it, and below it what was found."""
    lines = (f"  {name}: {value}" for name, value in _facts(calibrator))
    return "\n".join([repr(calibrator), *lines])


def html_of(calibrator: "AbstractCalibrator", diagram: str) -> str:
    """A card with what was found and a picture of the map, above the diagram of scikit-learn."""
    found = facts((name, escape(value)) for name, value in _facts(calibrator))
    title = f"{type(calibrator).__name__}, fitted"
    grid, after = _curves(calibrator)
    return card(title, found, picture=map_picture(grid.tolist(), after.tolist())) + diagram


def _facts(calibrator: "AbstractCalibrator") -> list[tuple[str, str]]:
    classes = calibrator.classes_.tolist()
    more = ", ..." if len(classes) > _CLASSES_NAMED else ""
    named = ", ".join(str(label) for label in classes[:_CLASSES_NAMED])
    found = [("classes", f"{len(classes)} ({named}{more})")]
    choice = _ask(calibrator, "choice_")
    if choice is not None:
        table = _ask(calibrator, "table_")
        share = ""
        if "probability" in table:
            share = f", probability {table['probability'][table['calibrator'].index(choice)]:.0%}"
        found.append(("choice", f"{choice}{share}"))
    harm = _ask(calibrator, "probability_of_harm_")
    if harm is not None:
        found.append(("probability of harm", f"{harm:.2%}" if harm >= 1e-4 else "below 0.01%"))
    best = _ask(calibrator, "best_params_")
    if best:
        found.append(("best setting", _listed(best)))
    inner = _ask(calibrator, "calibrator_") or calibrator
    if inner is not calibrator:
        found.append(("predicts with", type(inner).__name__))
    temperature = _best_temperature(calibrator)
    if temperature is not None:
        found.append(("temperature", f"{temperature:.4g}: the scores were {verdict(temperature)}"))
    strengths = _ask(inner, "strengths_") or _ask(inner, "precisions_")
    if strengths:
        found.append(("strengths", _listed(strengths)))
    found.append(("map", " > ".join(type(step).__name__ for step in calibrator.map_.steps)))
    return found


def _best_temperature(calibrator: "AbstractCalibrator") -> float | None:
    """Temperature of largest likelihood on the calibration rows, as `explain` reports it.

    None where the fit has no record, or holds several maps.
    """
    fit = calibrator.fit_
    while fit.record is None and len(fit.members) == 1:
        fit = fit.members[0].fit_
    if fit.record is None:
        return None
    return fit.record.known.comparison.temperature


def _ask(calibrator: Any, name: str) -> Any:
    """An attribute that calibrators of some kinds have; None where there is none."""
    try:
        return getattr(calibrator, name, None)
    except ValueError:
        return None


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    )


def _curves(calibrator: "AbstractCalibrator") -> tuple[FloatArray, FloatArray]:
    """Probabilities (m,) of a class, and what the map makes of them (c, m), the rest being even."""
    k = len(calibrator.classes_)
    grid = np.linspace(0.02, 0.98, _POINTS)
    drawn = range(min(k, _CLASSES_DRAWN))
    rows = np.repeat(((1.0 - grid) / (k - 1))[None, :, None], len(drawn), axis=0)
    rows = np.repeat(rows, k, axis=2)
    for j in drawn:
        rows[j, :, j] = grid
    proba = rows.reshape(-1, k)
    if calibrator.n_features_in_ == 1:
        inputs = proba[:, 1:]
    else:
        inputs = proba[:, np.searchsorted(calibrator.classes_, calibrator.column_classes_)]
    if calibrator.map_.input_scale == "logit":
        inputs = np.log(np.maximum(inputs, LOSS_CLIP))
        if calibrator.n_features_in_ == 1:
            inputs -= np.log1p(-proba[:, 1:])
    after = calibrator.map_(inputs).reshape(len(drawn), _POINTS, k)
    return grid, np.stack([after[j, :, j] for j in drawn])
