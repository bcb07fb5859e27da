"""Every step as an expression: the same as its `apply`, written out.

A new step is one more function with ``@lower.register``; targets that are written from expressions
need nothing. What is refused is said where it is lowered, so that it holds for every calibrator.
"""

from dataclasses import replace
from functools import singledispatch

import numpy as np

from dircal import maps
from dircal._core.data.simplex import TINY
from dircal._core.model.statistics import GAP_SCALE
from dircal.export._expression import (
    Binary,
    Choose,
    Columns,
    Expression,
    Linear,
    Lookup,
    RowMax,
    RowSum,
    Softmax,
    column,
    constant,
    join,
    parameter,
)

__all__ = ["if_masked", "lower", "lower_map", "lower_with_logits"]

# Only minus infinity is less.
_LOWEST = float(np.finfo(np.float64).min)


def lower_map(chain: maps.CalibrationMap, x: Expression) -> Expression:
    """What the map makes of the columns ``x``."""
    for step in chain.steps:
        x = lower(step, x)
    return x


def lower_with_logits(chain: maps.CalibrationMap, x: Expression) -> tuple[Expression, Expression]:
    """The probabilities of the map, and logits of which they are the softmax."""
    *others, last = chain.steps
    for step in others:
        x = lower(step, x)
    if isinstance(last, maps.Masked):
        proba, logits = lower_with_logits(last.inner, _fill(last, x))
        return _drop(proba, x), if_masked(x, constant(-np.inf), logits)
    proba = lower(last, x)
    return proba, proba.x if isinstance(proba, Softmax) else proba.at_least(TINY).log()


def if_masked(given: Expression, yes: Expression, no: Expression) -> Expression:
    """``yes`` for the classes that the logits ``given`` mask, and ``no`` for the others."""
    return Choose(given, constant(_LOWEST), yes, no)


@singledispatch
def lower(step: maps.AbstractStep, x: Expression) -> Expression:
    """What the step makes of the columns ``x``."""
    del x
    raise ValueError(
        f"`calibrator` has the step {type(step).__name__}, which has no formula to export. Save it "
        "with dircal.save, or fit a calibrator that has one."
    )


@lower.register
def _(step: maps.Columns, x: Expression) -> Expression:
    return Columns(x, step.order)


@lower.register
def _(step: maps.Complement, x: Expression) -> Expression:
    del step
    p = Choose(constant(1.0), x, constant(1.0), x)
    return join([1.0 - p, p])


@lower.register
def _(step: maps.ZeroLogit, x: Expression) -> Expression:
    del step
    # Zero, also for an infinite logit.
    return join([Choose(x, x, x, constant(0.0)), x])


@lower.register
def _(step: maps.MaskedAsLeast, x: Expression) -> Expression:
    del step
    least = RowMax(if_masked(x, constant(-np.inf), x * -1.0)) * -1.0
    return if_masked(x, least, x)


@lower.register
def _(step: maps.Masked, x: Expression) -> Expression:
    return _drop(lower_map(step.inner, _fill(step, x)), x)


@lower.register
def _(step: maps.Normalise, x: Expression) -> Expression:
    if step.tolerance == 0.0:
        return x / RowSum(x)
    total = RowSum(x, in_order=True)
    off = (total - 1.0).abs()
    return x / Choose(constant(step.tolerance), off, total, constant(1.0))


@lower.register
def _(step: maps.LogProbability, x: Expression) -> Expression:
    return x.at_least(max(TINY, step.clip)).log()


@lower.register
def _(step: maps.LogSoftmax, x: Expression) -> Expression:
    # Written out: the evaluator that comes with ONNX takes the logarithm of a computed softmax.
    below = x - RowMax(x)
    scores = below - RowSum(below.exp()).log()
    return scores.at_least(float(np.log(step.clip))) if step.clip > 0.0 else scores


@lower.register
def _(step: maps.UniformMixture, x: Expression) -> Expression:
    tempered = x * step.slope
    top = RowMax(tempered)
    below = tempered - top
    total = RowSum(below.exp()).log()
    sharp = below - total + float(np.log1p(-step.uniform_weight))
    uniform = float(np.log(step.uniform_weight / x.width))
    # The logarithm of a sum of two exponentials, taken around the larger.
    mixed = sharp.at_least(uniform) + (((sharp - uniform).abs() * -1.0).exp() + 1.0).log()
    return mixed if step.normalised else mixed + top + total


@lower.register
def _(step: maps.Scale, x: Expression) -> Expression:
    return x * parameter(step, "slope")


@lower.register
def _(step: maps.Diagonal, x: Expression) -> Expression:
    return x * parameter(step, "slopes") + parameter(step, "intercepts")


@lower.register
def _(step: maps.Affine, x: Expression) -> Expression:
    return Linear(x, parameter(step, "matrix"), parameter(step, "intercepts"))


@lower.register
def _(step: maps.WithCurves, x: Expression) -> Expression:
    gap = x - RowMax(x)
    log_total = RowSum(gap.exp()).log()
    scores = gap - log_total
    entropy = RowSum(scores.exp() * scores) * (-1.0 / np.log(x.width))
    log_odds = x - _rest_of_logits(x)
    statistics = [gap * gap * (1.0 / GAP_SCALE), scores * entropy]
    statistics += [_softplus(log_odds - float(knot)) for knot in step.knots]
    logits = lower_map(step.linear, x)
    for i, statistic in enumerate(statistics):
        logits = logits + statistic * parameter(step, "coefficients", i)
    return logits


@lower.register
def _(step: maps.Softmax, x: Expression) -> Expression:
    del step
    return Softmax(_centred(x))


@lower.register
def _(step: maps.LogOdds, x: Expression) -> Expression:
    del step
    return column(x, 1) - column(x, 0)


@lower.register
def _(step: maps.Sigmoid, x: Expression) -> Expression:
    del step
    return Softmax(join([x - x, x]))


@lower.register
def _(step: maps.Interpolation, x: Expression) -> Expression:
    _check_exact(step, x)
    knots, values = step.knots, step.values
    if len(knots) == 1:
        return Lookup(x, knots[1:], "below", values[:, None])
    table = np.column_stack([knots[:-1], knots[1:], values[:-1], values[1:]])
    ends = Lookup(x, knots[1:-1], "below", table)
    low, high, start, end = (column(ends, i) for i in range(4))
    share = (x.at_least(low).at_most(high) - low) / (high - low)
    return (start + share * (end - start)).at_most(end)


@lower.register
def _(step: maps.Lookup, x: Expression) -> Expression:
    _check_exact(step, x)
    return Lookup(x, step.edges, "above", step.values[:, None])


@lower.register
def _(step: maps.OneVsRest, x: Expression) -> Expression:
    rest = _rest_of_logits(x) if step.scale == "logit" else _rest_of_proba(x)
    pairs = (join([column(rest, j), column(x, j)]) for j in range(x.width))
    both = zip(step.members, pairs, strict=True)
    proba = join([column(lower_map(member, pair), 1) for member, pair in both])
    some = Choose(constant(0.0), RowSum(proba), proba, constant(1.0))
    return some / RowSum(some)


@lower.register
def _(step: maps.MeanOfMaps, x: Expression) -> Expression:
    total, *others = (lower_map(member, x) for member in step.members)
    for other in others:
        total = total + other
    return total / RowSum(total)


def _fill(step: maps.Masked, x: Expression) -> Expression:
    """Finite logits of masked classes, if the map inside needs them."""
    return if_masked(x, RowMax(x) + float(np.log(TINY)), x) if step.fills else x


def _drop(proba: Expression, x: Expression) -> Expression:
    """Probabilities without the masked classes of ``x``; NaN in a row with no other class."""
    proba = if_masked(x, constant(0.0), proba)
    left = if_masked(x, constant(0.0), constant(1.0))
    some = Choose(constant(0.0), RowSum(proba), proba, left)
    return some / RowSum(some)


def _check_exact(step: maps.AbstractStep, x: Expression) -> None:
    """Refuse a curve with edges of scores that no two programs compute alike."""
    if not x.exact:
        raise ValueError(
            f"`calibrator` has the step {type(step).__name__} of scores that are computed with "
            "exponentials, whose last digit differs between programs, so rows at an edge of the "
            "curve would get another answer. Fit it with input_scale='probability', or save it "
            "with dircal.save."
        )


def _centred(x: Expression) -> Expression:
    """Logits without what a linear map gives to all: it changes nothing, and can be rounded."""
    if isinstance(x, Linear):
        matrix, bias = x.matrix.values, x.bias.values
        return Linear(
            x.x,
            replace(x.matrix, values=matrix - matrix.mean(axis=0)),
            replace(x.bias, values=bias - bias.mean()),
        )
    if isinstance(x, Binary) and x.name == "add":
        return _centred(x.x) + _centred(x.y)
    return x


def _softplus(x: Expression) -> Expression:
    """Ln(1 + exp x), around the larger of the two."""
    return x.at_least(0.0) + ((x.abs() * -1.0).exp() + 1.0).log()


def _rest_of_proba(x: Expression) -> Expression:
    """As `rest_of_proba` of the core."""
    total = RowSum(x, in_order=True)
    half = total * 0.5
    others = RowSum(Choose(half, x, constant(0.0), x), in_order=True)
    return Choose(half, x, others, total - x)


def _rest_of_logits(x: Expression) -> Expression:
    """As `rest_of_logits` of the core."""
    top = RowMax(x)
    odds = (x - top).exp()
    total = RowSum(odds)
    half = total * 0.5
    small = Choose(half, odds, constant(-np.inf), x)
    next_top = RowMax(small)
    of_large = next_top + RowSum((small - next_top).exp()).log()
    of_others = top + Choose(half, odds, constant(1.0), total - odds).log()
    return Choose(half, odds, of_large, of_others)
