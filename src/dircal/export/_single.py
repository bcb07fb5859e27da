"""Whether a map has digits to spare for single precision."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import FloatArray
from dircal.export._evaluate import evaluate
from dircal.export._expression import Expression
from dircal.export._formulas import SINGLE, expression_of, steps_inside

__all__ = ["single_expression"]

# Half of what is promised: the rows that are tried are hard ones, but not all there are.
_LARGEST_ERROR = 5e-6
# What is promised holds for probabilities and logits within these.
_SMALLEST_PROBABILITY = 1e-30
_LARGEST_LOGIT = 50.0
_BISECTIONS = 20
# Multiplications for each round of trying.
_WORK = 3e7


def single_expression(calibrator: Any, remedy: str) -> Expression:
    """The map in single precision, if it is as exact there as is promised."""
    exact, small = expression_of(calibrator), expression_of(calibrator, SINGLE)
    steps = steps_inside(calibrator)
    if steps is not None:
        raise ValueError(
            f"`dtype` 'float32' cannot hold the map of {steps}: its steps are "
            f"closer together than single precision can tell scores apart. {remedy}"
        )
    rows = _hard_rows(calibrator, exact)
    error = float(np.abs(evaluate(small, rows, np.float32) - evaluate(exact, rows)).max())
    if not error <= _LARGEST_ERROR:
        raise ValueError(
            f"`dtype` 'float32' is not exact enough for this {type(calibrator).__name__}: its "
            f"weights are so large that probabilities would be off by {error:.1g}. {remedy}"
        )
    with np.errstate(all="ignore"):
        extreme = evaluate(small, _extreme_rows(calibrator), np.float32)
    if not np.isfinite(extreme).all():
        raise ValueError(
            f"`dtype` 'float32' would overflow with the weights of this "
            f"{type(calibrator).__name__}. {remedy}"
        )
    return small


def _hard_rows(calibrator: Any, exact: Expression) -> npt.NDArray[np.float32]:
    """Rows with large scores between which the map is undecided, where rounding shows most."""
    k = calibrator.n_features_in_
    n = int(np.clip(_WORK / (k * k + 1) / _BISECTIONS, 50, 400))
    rng = np.random.default_rng(0)
    first, second = rng.uniform(0.0, 1.0, size=(2, n, k)) ** rng.choice([0.2, 1.0, 5.0], (2, n, 1))
    low, high = np.zeros((2, n, 1))
    high += 1.0
    winner = evaluate(exact, _as_rows(first, calibrator)).argmax(axis=1)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        between = _as_rows(first + middle * (second - first), calibrator)
        same = (evaluate(exact, between).argmax(axis=1) == winner)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    undecided = _as_rows(first + low * (second - first), calibrator)
    return np.vstack([undecided, _as_rows(first, calibrator)]).astype(np.float32)


def _as_rows(places: FloatArray, calibrator: Any) -> FloatArray:
    """Rows of the promised range, from numbers between 0 and 1."""
    if calibrator.input_scale == "logit":
        return _LARGEST_LOGIT * (2.0 * places - 1.0)
    proba: FloatArray = np.exp(places * np.log(_SMALLEST_PROBABILITY))
    if calibrator.n_features_in_ == 1:
        return proba
    rows: FloatArray = proba / proba.sum(axis=1, keepdims=True)
    return np.maximum(rows, _SMALLEST_PROBABILITY)


def _extreme_rows(calibrator: Any) -> npt.NDArray[np.float32]:
    """Ones and zeros, or the largest logits there are, in a few mixtures."""
    k = calibrator.n_features_in_
    signs = np.random.default_rng(0).choice([0.0, 1.0], size=(20, k))
    if calibrator.input_scale == "logit":
        return np.float32(np.finfo(np.float32).max) * (2 * signs - 1).astype(np.float32)
    if k == 1:
        return signs.astype(np.float32)
    signs[:, 0] = 1.0
    rows: FloatArray = signs / signs.sum(axis=1, keepdims=True)
    return rows.astype(np.float32)
