"""Every calibrator as an expression: the same steps as its `predict_proba`, written out.

A new calibrator that no base class here covers is one more function with ``@formula.register``.
"""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._core.data.simplex import ROUNDING, TINY
from dircal._core.model.structure import Diagonal, Scalar
from dircal.calibrators import (
    BayesianDirichletCalibrator,
    BetaCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    PlattCalibrator,
)
from dircal.calibrators._base import AbstractCalibrator, column_order
from dircal.calibrators._binary_base import AbstractBinaryCalibrator
from dircal.calibrators._linear_base import AbstractLinearCalibrator
from dircal.export._expression import (
    Choose,
    Columns,
    Expression,
    Input,
    Linear,
    LogSoftmax,
    Lookup,
    RowMax,
    RowSum,
    Softmax,
    column,
    constant,
    join,
)
from dircal.selection import (
    AutoCalibrator,
    CalibratedClassifier,
    CalibratorCV,
    OneVsRestCalibrator,
)

__all__ = ["DOUBLE", "SINGLE", "Precision", "expression_of", "formula", "steps_inside"]


@dataclass(frozen=True)
class Precision:
    """The smallest probability that has a logarithm, and the largest logit to compute with."""

    smallest: float
    largest: float | None


DOUBLE = Precision(TINY, None)
# Sums of products of logits this large, and of moderate weights, are finite in single precision.
SINGLE = Precision(float(np.finfo(np.float32).tiny), 1e30)


def expression_of(calibrator: Any, precision: Precision = DOUBLE) -> Expression:
    """The map of a fitted calibrator, from the columns of `X` to those of ``classes_``."""
    if isinstance(calibrator, CalibratedClassifier):
        raise ValueError(
            "`calibrator` is a CalibratedClassifier, which holds a classifier as well; only maps "
            "of scores can be exported. Export one of its `calibrators_`, and the classifier by "
            "its own means."
        )
    if not isinstance(calibrator, AbstractCalibrator):
        what = f"the class {calibrator.__name__}" if isinstance(calibrator, type) else calibrator
        raise ValueError(
            f"`calibrator` must be a fitted calibrator of dircal; got {what!r}. "
            "Pass for example DirichletCalibrator().fit(X, y)."
        )
    check_is_fitted(calibrator)
    x: Expression = Input(calibrator.n_features_in_)
    if calibrator.input_scale == "logit" and precision.largest is not None:
        x = x.at_most(precision.largest).at_least(-precision.largest)
    if calibrator.n_features_in_ == 1:
        x = _two_columns(x, calibrator.input_scale)
    order = column_order(calibrator.column_classes_)
    if order is not None:
        x = Columns(x, tuple(order.tolist()))
    return formula(calibrator, x, precision)


def _two_columns(x: Expression, input_scale: str) -> Expression:
    if input_scale == "logit":
        return join([x - x, x])
    p = x.at_most(1.0)
    return join([1.0 - p, p])


@singledispatch
def formula(calibrator: Any, x: Expression, precision: Precision) -> Expression:
    """Probabilities from scores ``x`` whose columns are in the order of the classes."""
    del x, precision
    raise ValueError(
        f"`calibrator` is a {type(calibrator).__name__}, which has no formula to export. Save it "
        "with dircal.save, or fit a calibrator that has one."
    )


@formula.register
def _(calibrator: AbstractLinearCalibrator, x: Expression, precision: Precision) -> Expression:
    scores = _scores(calibrator, x, precision)
    structure = calibrator._structure(len(calibrator.classes_))
    if isinstance(structure, Scalar):
        return Softmax(scores * float(calibrator.coef_[0, 0]))
    if isinstance(structure, Diagonal):
        return Softmax(scores * calibrator.coef_.diagonal() + constant(calibrator.intercept_))
    return _full(calibrator, scores)


@formula.register
def _(calibrator: BayesianDirichletCalibrator, x: Expression, precision: Precision) -> Expression:
    uniform = calibrator.smoothing_
    tempered = _scores(calibrator, x, precision) * (1.0 / calibrator.temperature_)
    top = RowMax(tempered)
    below = tempered - top
    total = RowSum(below.exp()).log()
    sure = below - total + float(np.log1p(-uniform))
    unsure = float(np.log(uniform / len(calibrator.classes_)))
    # The logarithm of a sum of exponentials, taken around the larger.
    soft: Expression = sure.at_least(unsure) + (((sure - unsure).abs() * -1.0).exp() + 1.0).log()
    return _full(calibrator, soft if calibrator._normalised else soft + top + total)


@formula.register
def _(calibrator: AutoCalibrator, x: Expression, precision: Precision) -> Expression:
    return formula(calibrator.calibrator_, x, precision)


@formula.register
def _(calibrator: IdentityCalibrator, x: Expression, precision: Precision) -> Expression:
    del precision
    return x / RowSum(x) if calibrator.input_scale == "probability" else Softmax(x)


@formula.register
def _(calibrator: PlattCalibrator, x: Expression, precision: Precision) -> Expression:
    scores = _two_scores(calibrator, x, precision)
    log_odds = column(scores, 1) - column(scores, 0)
    return _both(log_odds * calibrator.slope_ + calibrator.intercept_)


@formula.register
def _(calibrator: BetaCalibrator, x: Expression, precision: Precision) -> Expression:
    scores = _two_scores(calibrator, x, precision)
    positive = column(scores, 1) * calibrator.slope_positive_
    negative = column(scores, 0) * calibrator.slope_negative_
    return _both(positive - negative + calibrator.intercept_)


@formula.register
def _(calibrator: IsotonicCalibrator, x: Expression, precision: Precision) -> Expression:
    del precision
    knots, values = calibrator.knots_, calibrator.values_
    score = _one_score(calibrator, x)
    if len(knots) == 1:
        p: Expression = score * 0.0 + float(values[0])
        return join([1.0 - p, p])
    ends = Lookup(
        score,
        knots[1:-1],
        "below",
        np.column_stack([knots[:-1], knots[1:], values[:-1], values[1:]]),
    )
    low, high, start, end = (column(ends, i) for i in range(4))
    share = (score.at_least(low).at_most(high) - low) / (high - low)
    p = (start + share * (end - start)).at_most(end)
    return join([1.0 - p, p])


@formula.register
def _(calibrator: HistogramCalibrator, x: Expression, precision: Precision) -> Expression:
    del precision
    edges, table = calibrator.bin_edges_[1:-1], calibrator.bin_proba_[:, None]
    p = Lookup(_one_score(calibrator, x), edges, "above", table)
    return join([1.0 - p, p])


@formula.register
def _(calibrator: OneVsRestCalibrator, x: Expression, precision: Precision) -> Expression:
    members = calibrator.calibrators_
    if calibrator.input_scale == "logit":
        _refuse_steps_of_logits(calibrator)
        rest = _rest_of_logits(x)
    else:
        x = _as_given(x)
        rest = _rest_of_proba(x)
    pairs = [join([column(rest, j), column(x, j)]) for j in range(len(members))]
    own = [
        column(formula(one, pair, precision), 1) for one, pair in zip(members, pairs, strict=True)
    ]
    proba = join(own)
    some = Choose(constant(0.0), RowSum(proba), proba, constant(1.0))
    return some / RowSum(some)


@formula.register
def _(calibrator: CalibratorCV, x: Expression, precision: Precision) -> Expression:
    total, *others = (formula(one, x, precision) for one in calibrator.calibrators_)
    for other in others:
        total = total + other
    return total / RowSum(total)


def _scores(calibrator: Any, x: Expression, precision: Precision) -> Expression:
    """What the linear map reads."""
    if calibrator.input_scale == "probability":
        return _log(x / RowSum(x), calibrator.clip_, precision)
    if calibrator._reads_raw_logits:
        return x
    return _floored_log_softmax(x, calibrator.clip_)


def _full(calibrator: Any, scores: Expression) -> Expression:
    """Softmax of a full linear map, with the smallest numbers to round that give it."""
    matrix, bias = calibrator.coef_, calibrator.intercept_
    return Softmax(Linear(scores, matrix - matrix.mean(axis=0), bias - bias.mean()))


def steps_inside(calibrator: Any) -> str | None:
    """The class of a map of steps that a fitted calibrator is made of; None if there is none."""
    members = getattr(calibrator, "calibrators_", None) or [
        getattr(calibrator, "calibrator_", None)
    ]
    if members[0] is not None:
        return next(filter(None, map(steps_inside, members)), None)
    steps = isinstance(calibrator, IsotonicCalibrator | HistogramCalibrator)
    return type(calibrator).__name__ if steps else None


def _refuse_steps_of_logits(calibrator: OneVsRestCalibrator) -> None:
    steps = steps_inside(calibrator)
    if steps is not None:
        raise ValueError(
            f"`calibrator` is a OneVsRestCalibrator of {steps} on "
            "logits: its steps lie at scores that are computed with exponentials, whose last digit "
            "differs between programs, so rows at a step would get another answer. Fit it with "
            "input_scale='probability', or save it with dircal.save."
        )


def _log(x: Expression, clip: float, precision: Precision) -> Expression:
    return x.at_least(max(precision.smallest, clip)).log()


def _floored_log_softmax(x: Expression, clip: float) -> Expression:
    scores = LogSoftmax(x)
    return scores.at_least(float(np.log(clip))) if clip > 0.0 else scores


def _as_given(x: Expression) -> Expression:
    """Rows divided by their sum where that is not one up to rounding."""
    total = RowSum(x, in_order=True)
    divisor = Choose(constant(ROUNDING), (total - 1.0).abs(), total, constant(1.0))
    return x / divisor


def _two_scores(calibrator: Any, x: Expression, precision: Precision) -> Expression:
    """Log-probabilities of the two classes."""
    if calibrator.input_scale == "logit":
        return _floored_log_softmax(x, calibrator.clip_)
    return _log(_as_given(x), calibrator.clip_, precision)


def _one_score(calibrator: AbstractBinaryCalibrator, x: Expression) -> Expression:
    """Probability of the positive class as given, or the log-odds."""
    if calibrator.input_scale == "logit":
        return column(x, 1) - column(x, 0)
    return column(_as_given(x), 1)


def _both(logit: Expression) -> Expression:
    return Softmax(join([logit - logit, logit]))


def _rest_of_proba(x: Expression) -> Expression:
    """As `core.rest_of_proba`."""
    total = RowSum(x, in_order=True)
    half = total * 0.5
    others = RowSum(Choose(half, x, constant(0.0), x), in_order=True)
    return Choose(half, x, others, total - x)


def _rest_of_logits(x: Expression) -> Expression:
    """As `core.rest_of_logits`."""
    top = RowMax(x)
    odds = (x - top).exp()
    total = RowSum(odds)
    half = total * 0.5
    small = Choose(half, odds, constant(-np.inf), x)
    next_top = RowMax(small)
    of_large = next_top + RowSum((small - next_top).exp()).log()
    of_others = top + Choose(half, odds, constant(1.0), total - odds).log()
    return Choose(half, odds, of_large, of_others)
