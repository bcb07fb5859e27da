"""A fitted map is a value: it can be called, compared, pickled and printed, and never changes."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, log_softmax, softmax

from dircal import DirichletCalibrator, IdentityCalibrator
from dircal.maps import (
    STEPS,
    AbstractStep,
    Affine,
    CalibrationMap,
    Columns,
    Complement,
    Diagonal,
    Interpolation,
    LogOdds,
    LogProbability,
    LogSoftmax,
    Lookup,
    Masked,
    MaskedAsLeast,
    MeanOfMaps,
    Normalise,
    OneVsRest,
    Scale,
    Sigmoid,
    Softmax,
    UniformMixture,
    WithCurves,
    ZeroLogit,
    column_steps,
    mean_of_maps,
)

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(3), size=7).T
Z = RNG.normal(scale=3.0, size=(3, 7))
W, B = RNG.normal(size=(3, 3)), RNG.normal(size=3)
SIGMOID = CalibrationMap(2, (LogOdds(), Sigmoid()))
SOFTMAX = CalibrationMap(3, (Softmax(),))
C = RNG.normal(size=(3, 4))


def bent(coefficients, z):
    """Curves with hinges at -1 and 2."""
    s = log_softmax(z, axis=0)
    p = np.exp(s)
    entropy = -(p * s).sum(axis=0) / np.log(3)
    x = s - np.log1p(-p)
    statistics = [(s - s.max(axis=0)) ** 2 / 10, entropy * s]
    statistics += [np.log1p(np.exp(x - knot)) for knot in (-1.0, 2.0)]
    return sum(c[:, None] * f for c, f in zip(coefficients.T, statistics, strict=True))


# Each step, a block, and what a line of NumPy makes of it.
CASES = {
    "columns": (Columns((2, 0, 1)), P, P[[2, 0, 1]]),
    "one column": (Columns((1,)), P, P[1:2]),
    "complement": (Complement(), np.array([[0.25, 1.0 + 1e-9]]), [[0.75, 0.0], [0.25, 1.0]]),
    "zero logit": (ZeroLogit(), Z[:1], np.vstack([np.zeros(7), Z[0]])),
    "normalise": (Normalise(), 3.0 * P, P),
    "normalise beyond": (
        Normalise(1e-3),
        P * [[1.0005, 1.1, 1, 1, 1, 1, 1]],
        P * [[1.0005, 1, 1, 1, 1, 1, 1]],
    ),
    "log": (LogProbability(0.1), P, np.log(np.maximum(P, 0.1))),
    "log of zero": (LogProbability(), np.array([[0.0], [1.0]]), [[-708.39641853], [0.0]]),
    "masked as least": (
        MaskedAsLeast(),
        np.array([[1.0, -np.inf, 0.0], [-np.inf, -np.inf, 5.0], [-3.0, 2.0, -9.0]]),
        [[1.0, 2.0, 0.0], [-3.0, 2.0, 5.0], [-3.0, 2.0, -9.0]],
    ),
    "log-softmax": (LogSoftmax(), Z, log_softmax(Z, axis=0)),
    "log-softmax with a clip": (
        LogSoftmax(0.05),
        Z,
        np.maximum(log_softmax(Z, axis=0), np.log(0.05)),
    ),
    "mixture": (
        UniformMixture(0.5, 0.1, normalised=True),
        Z,
        np.log(0.9 * softmax(0.5 * Z, axis=0) + 0.1 / 3),
    ),
    "scale": (Scale(0.5), Z, 0.5 * Z),
    "diagonal": (Diagonal(W[0], B), Z, W[0][:, None] * Z + B[:, None]),
    "affine": (Affine(W, B), Z, W @ Z + B[:, None]),
    "softmax": (Softmax(), Z, softmax(Z, axis=0)),
    "log-odds": (LogOdds(), Z[:2], Z[1:2] - Z[:1]),
    "sigmoid": (Sigmoid(), Z[:1], np.vstack([expit(-Z[0]), expit(Z[0])])),
    "interpolation": (
        Interpolation([0.0, 1.0, 3.0], [0.1, 0.2, 0.8]),
        np.array([[-1.0, 0.5, 2.0, 9.0]]),
        [[0.1, 0.15, 0.5, 0.8]],
    ),
    "lookup": (Lookup([0.5, 0.5], [0.1, 0.2, 0.9]), np.array([[0.4, 0.5, 7.0]]), [[0.1, 0.9, 0.9]]),
    "one-vs-rest": (OneVsRest((SIGMOID,) * 3, "logit"), Z, softmax(Z, axis=0)),
    "mean": (
        MeanOfMaps((SOFTMAX, CalibrationMap(3, (Scale(2.0), Softmax())))),
        Z,
        (softmax(Z, axis=0) + softmax(2 * Z, axis=0)) / 2,
    ),
    "curves": (
        WithCurves(CalibrationMap(3, (Affine(W, B),)), C, [-1.0, 2.0]),
        Z,
        W @ Z + B[:, None] + bent(C, Z),
    ),
    "shared curves": (
        WithCurves(CalibrationMap(3, (Diagonal(W[0], B),)), C[:1], [-1.0, 2.0]),
        Z,
        W[0][:, None] * Z + B[:, None] + bent(C[:1], Z),
    ),
}
each_case = pytest.mark.parametrize(("step", "block", "expected"), CASES.values(), ids=CASES)


def test_every_step_is_here():
    assert {type(step).__name__ for step, _, _ in CASES.values()} == set(STEPS)


@each_case
def test_steps_are_their_formulas(step, block, expected):
    found = step.apply(np.array(block))
    assert found.shape == (step.n_out(len(block)), block.shape[1])
    assert_allclose(found, expected, rtol=1e-9, atol=1e-15)


def test_rows_that_sum_to_one_up_to_the_tolerance_stay_as_they_are():
    step, block, _ = CASES["normalise beyond"]
    found = step.apply(block.copy())
    assert_array_equal(found[:, 0], block[:, 0])
    assert_allclose(found[:, 1], P[:, 1])


@each_case
def test_steps_are_values(step, block, expected):
    del block, expected
    again = pickle.loads(pickle.dumps(step))
    assert again == step == copy.deepcopy(step)
    assert hash(again) == hash(step)
    assert type(step).__name__ in repr(step)
    assert step != Columns((0, 1, 2, 3))
    for value in vars(again).values():
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[...] = 0.0


def test_other_numbers_are_another_step():
    assert Scale(0.5) != Scale(0.6)
    assert Affine(W, B) != Affine(W, B + 1e-12)
    assert Affine(W, B) != Diagonal(W[0], B)
    assert CalibrationMap(4, (Softmax(),)) != SOFTMAX


def test_minus_zero_is_zero():
    assert hash(Affine(-np.zeros((2, 2)), B[:2])) == hash(Affine(np.zeros((2, 2)), B[:2]))


def test_what_goes_in_shows_in_the_steps(make_problem):
    assert CalibrationMap(3, (Columns((2, 0, 1)), Normalise(), Softmax())).input_scale == (
        "probability"
    )
    assert CalibrationMap(1, (Complement(),)).input_scale == "probability"
    for steps in ((Softmax(),), (Affine(W, B), Softmax()), (OneVsRest((SIGMOID,) * 3, "logit"),)):
        assert CalibrationMap(3, steps).input_scale == "logit"
    mean = MeanOfMaps((CalibrationMap(3, (Normalise(),)),) * 2)
    assert CalibrationMap(3, (mean,)).input_scale == "probability"


def test_the_arrays_of_a_step_are_its_own():
    matrix = W.copy()
    step = Affine(matrix, B)
    matrix[0, 0] = 99.0
    assert_array_equal(step.matrix, W)


MISFITS = {
    "places": (Columns((0, 3)), 3, "places among 3 columns"),
    "no places": (Columns(()), 3, "places among 3 columns"),
    "two into one": (Complement(), 2, "it reads 1 row"),
    "three into two": (LogOdds(), 3, "it reads 2 row"),
    "tolerance": (Normalise(-1.0), 3, "`tolerance` must lie between 0 and 1"),
    "clip": (LogProbability(1.0), 3, "`clip` must lie between 0 and 1"),
    "clip of logits": (LogSoftmax(-0.1), 3, "`clip` must lie between 0 and 1"),
    "slope": (Scale(-0.5), 3, "`slope` must be above 0; got -0.5"),
    "slope of a mixture": (UniformMixture(0.0, 0.1, True), 3, "`slope` must be above 0"),
    "weight": (UniformMixture(1.0, 1.0, True), 3, "`uniform_weight` must lie between 0 and 1"),
    "slopes": (Diagonal([1.0, 2.0], [0.0, 0.0]), 3, "must have length 3"),
    "matrix": (Affine(W, B), 2, "`matrix` must have 2 columns"),
    "intercepts": (Affine(W, B[:2]), 3, "one entry for each row"),
    "huge matrix": (Affine(1e306 * W, B), 3, "`matrix` must hold finite numbers of at most 1e"),
    "huge intercept": (Diagonal(B, 1e306 + B), 3, "`intercepts` must hold finite numbers"),
    "huge slope": (Scale(1e306), 3, "`slope` must hold finite numbers"),
    "huge slope of a mixture": (UniformMixture(1e306, 0.1, True), 3, "`slope` must hold finite"),
    "knots": (Interpolation([1.0, 1.0], [0.0, 1.0]), 1, "`knots` must be increasing"),
    "falling": (Interpolation([0.0, 1.0], [1.0, 0.0]), 1, "never fall"),
    "lengths": (Interpolation([0.0, 1.0], [1.0]), 1, "as many numbers"),
    "edges": (Lookup([1.0, 0.0], [0.1, 0.2, 0.3]), 1, "`edges` must be sorted"),
    "values": (Lookup([0.5], [0.1, 1.5]), 1, "`values` must lie between 0 and 1"),
    "scale": (OneVsRest((SIGMOID,) * 3, "odds"), 3, "`scale` must be"),
    "too few members": (OneVsRest((SIGMOID,) * 2, "logit"), 3, "it reads 2 row"),
    "members of other columns": (OneVsRest((SOFTMAX,) * 3, "logit"), 3, "it reads 2 row"),
    "no members": (MeanOfMaps(()), 3, "at least one map"),
    "coefficients": (
        WithCurves(CalibrationMap(3, (Scale(1.0),)), C[:2], [-1.0, 2.0]),
        3,
        r"`coefficients` must have shape \(1, 4\) or \(3, 4\) with 2 knots; got \(2, 4\)",
    ),
    "hinges": (
        WithCurves(CalibrationMap(3, (Scale(1.0),)), C, [-1.0]),
        3,
        r"`coefficients` must have shape \(1, 3\) or \(3, 3\) with 1 knots; got \(3, 4\)",
    ),
    "curves of no linear map": (WithCurves(SOFTMAX, C, [-1.0, 2.0]), 3, "a linear one"),
    "curves of other columns": (
        WithCurves(CalibrationMap(2, (Scale(1.0),)), C, [-1.0, 2.0]),
        3,
        "it reads 3 row",
    ),
    "curves of one column": (
        WithCurves(CalibrationMap(1, (Scale(1.0),)), C[:1], [-1.0, 2.0]),
        1,
        "two classes or more",
    ),
    "one member too wide": (
        MeanOfMaps((SOFTMAX, CalibrationMap(3, (Columns((0, 1)),)), SOFTMAX)),
        3,
        "it reads 3 row",
    ),
}


@pytest.mark.parametrize(("step", "n_in", "message"), MISFITS.values(), ids=MISFITS)
def test_steps_that_do_not_fit_say_so(step, n_in, message):
    with pytest.raises(ValueError, match=message):
        step.n_out(n_in)
    with pytest.raises(ValueError, match=f"step 0, {type(step).__name__}: "):
        CalibrationMap(n_in, (step,)).n_classes  # noqa: B018


class TestMap:
    @pytest.fixture
    def fitted(self, make_problem):
        problem = make_problem(0, n=200, k=3)
        return DirichletCalibrator().fit(problem.proba, problem.y), problem.proba

    def test_it_is_what_predicts(self, fitted):
        calibrator, X = fitted
        assert_array_equal(calibrator.map_(X), calibrator.predict_proba(X))
        assert_array_equal(calibrator.map_(X.tolist()), calibrator.predict_proba(X))
        assert_array_equal(calibrator.map_.read(X).T, calibrator.predict_proba(X))

    def test_it_prints_its_steps(self, fitted):
        told = repr(fitted[0].map_)
        assert told.startswith("Normalise() > LogProbability(clip=")
        assert told.endswith(" > Softmax()")
        assert "Affine(matrix=<3 x 3>" in told

    def test_it_is_pickled_and_compared(self, fitted):
        calibrator, X = fitted
        again = pickle.loads(pickle.dumps(calibrator.map_))
        assert again == calibrator.map_
        assert hash(again) == hash(calibrator.map_)
        assert_array_equal(again(X), calibrator.map_(X))
        assert again != IdentityCalibrator().fit(X, np.arange(len(X)) % 3).map_

    def test_parts_of_it(self, fitted):
        calibrator, X = fitted
        scores = calibrator.map_.before(Affine)
        assert_allclose(scores(X), np.log(np.maximum(X, calibrator.clip_)), atol=1e-14)
        assert scores.then(*calibrator.map_.steps[-2:]) == calibrator.map_
        assert calibrator.map_.find(Scale) is None
        assert_array_equal(calibrator.map_.find(Affine).matrix, calibrator.coef_)
        assert calibrator.map_.clip == calibrator.clip_

    def test_columns_in_another_order(self, fitted):
        calibrator, X = fitted
        order = [2, 0, 1]
        turned = calibrator.map_.with_columns(np.argsort(order).tolist())
        assert_allclose(turned(X[:, order]), calibrator.map_(X), rtol=1e-14)
        assert calibrator.map_.with_columns([0, 1, 2]) is calibrator.map_

    def test_one_column_that_speaks_of_the_other_class(self):
        one = CalibrationMap(1, (Complement(),))
        assert_allclose(one.with_columns([1, 0])([[0.25]]), [[0.25, 0.75]])

    @pytest.mark.parametrize("X", [np.ones((2, 4)), np.ones(3), [[1.0, 2.0]]])
    def test_rows_of_another_length(self, fitted, X):
        with pytest.raises(ValueError, match="rows of 3 numbers; got shape"):
            fitted[0].map_(X)


def test_the_mean_does_once_what_all_maps_begin_with():
    def chain(slope):
        return CalibrationMap(3, (Normalise(), LogProbability(1e-6), Scale(slope), Softmax()))

    whole = mean_of_maps([chain(1.0), chain(2.0)])
    assert [type(step).__name__ for step in whole.steps] == [
        "Normalise",
        "LogProbability",
        "MeanOfMaps",
    ]
    assert_allclose(whole(P.T), (chain(1.0)(P.T) + chain(2.0)(P.T)) / 2, rtol=1e-12)
    assert mean_of_maps([chain(1.0)]) == chain(1.0)


def test_columns_come_in_the_order_of_the_labels():
    assert column_steps(np.array(["a", "b"]), 2, "probability") == ()
    assert column_steps(np.array(["b", "a"]), 2, "probability") == (Columns((1, 0)),)
    assert column_steps(np.array([0, 1]), 1, "probability") == (Complement(),)
    assert column_steps(np.array([1, 0]), 1, "logit") == (ZeroLogit(), Columns((1, 0)))


def test_masked_classes_are_read_as_zeros_unless_a_step_says_otherwise():
    rows = np.array([[1.0, -np.inf, 0.0], [0.5, 2.0, -1.0]])
    deep = CalibrationMap(3, (Columns((2, 0, 1)), LogSoftmax()))
    assert_allclose(deep.read(rows)[:, 0], [-np.log1p(np.e), -np.log1p(1 / np.e), -708.70968], 1e-6)
    least = CalibrationMap(3, (Columns((2, 0, 1)), MaskedAsLeast()))
    assert_array_equal(least.read(rows), [[0.0, -1.0], [1.0, 0.5], [0.0, 2.0]])


def test_masked_logits_are_filled():
    block = np.array([[0.0, 3.0], [-np.inf, -1.0], [-7.0, -np.inf]])
    zeros, least = Masked(CalibrationMap(3, ())), MaskedAsLeast()
    deep = -708.3964185322641
    assert_allclose(zeros.apply(block), [[0.0, 3.0], [deep, -1.0], [-7.0, 3.0 + deep]], rtol=1e-15)
    assert_array_equal(least.apply(block), [[0.0, 3.0], [-7.0, -1.0], [-7.0, -1.0]])
    for step in (zeros, least, Masked(CalibrationMap(3, (least,)))):
        assert_array_equal(step.apply(np.eye(3)), np.eye(3))


@dataclass(frozen=True, eq=False)
class Fixed(AbstractStep):
    """Probabilities that do not depend on the logits."""

    gives_proba = True

    proba: np.ndarray

    def apply(self, block):
        assert np.isfinite(block).all()
        return self.proba.copy()

    def n_out(self, n_in):
        return n_in


def test_what_is_left_of_masked_classes_sums_to_one():
    proba = np.array([[0.2, 0.0, 0.3], [0.5, 1.0, 0.3], [0.3, 0.0, 0.4]])
    step = Masked(CalibrationMap(3, (Fixed(proba),)))
    logits = np.zeros((3, 3))
    logits[1, :2] = -np.inf
    assert_allclose(step.apply(logits).T, [[0.4, 0, 0.6], [0.5, 0, 0.5], [0.3, 0.3, 0.4]])


def test_masks_are_a_step_around_those_after_the_columns():
    columns, steps = Columns((2, 0, 1)), (MaskedAsLeast(), Affine(W, B), Softmax())
    masked = Masked(CalibrationMap(3, steps))
    whole = CalibrationMap(3, (columns, *steps)).with_masks
    assert whole == CalibrationMap(3, (columns, masked))
    assert whole.n_classes == masked.n_out(3) == 3
    probabilities = CalibrationMap(3, (Normalise(),))
    assert probabilities.with_masks is probabilities


def test_masked_classes_get_nothing():
    """Also where the map would give them everything."""
    rows = np.array([[1.0, -np.inf, 0.0], [0.5, 2.0, -1.0], [-np.inf, 3.0, -np.inf]])
    for last in ((Softmax(),), (OneVsRest((SIGMOID,) * 3, "logit"),)):
        whole = CalibrationMap(3, last)
        expected = np.array([softmax([1.0, -np.inf, 0.0]), softmax(rows[1]), [0.0, 1.0, 0.0]])
        assert_allclose(whole(rows), expected, rtol=1e-12)
    upside_down = CalibrationMap(3, (Affine(-2.0 * np.eye(3), np.zeros(3)), Softmax()))
    assert_array_equal(upside_down(rows)[0], [0.5, 0.0, 0.5])
    part = CalibrationMap(3, (Scale(2.0),))
    assert_allclose(part(rows)[0], [2.0, 2.0 - 2 * 708.3964185, 0.0])
    one = CalibrationMap(1, (ZeroLogit(), Columns((1, 0)), LogSoftmax(), Softmax()))
    assert_allclose(one(np.array([[-np.inf], [0.0]])), [[0.0, 1.0], [0.5, 0.5]])
