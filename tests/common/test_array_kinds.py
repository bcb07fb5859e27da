"""Arrays of other libraries go in, and the same kind comes out."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from dircal import (
    CalibratedClassifier,
    GenerativeParameters,
    TemperatureScaling,
    VectorScaling,
    metrics,
)
from dircal.decide import CostTable, best_actions, expected_cost, realised_cost, rejection_rule
from dircal.llm import LabelCalibrator
from dircal.plots import BeforeAfterDisplay, ConfusionChangeDisplay
from dircal.shift import GroupedCalibrator, PriorShift, recalibrate
from dircal.tables import as_array

# The first is always there, and the strictest; JAX, which is large, where it happens to be.
LIBRARIES = ("array_api_strict", "torch", "jax.numpy")


def importable(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


FOUND = {name: library for name in LIBRARIES if (library := importable(name)) is not None}
# JAX has single precision unless it is told otherwise.
EXACT = {"array_api_strict": 0.0, "torch": 0.0, "jax.numpy": 1e-6}


@pytest.fixture(params=FOUND, ids=FOUND)
def library(request):
    """One of the libraries, how it makes arrays, and how exact they are."""
    found = FOUND[request.param]
    return SimpleNamespace(asarray=found.asarray, atol=EXACT[request.param])


def assert_same_kind(result, given, expected, atol):
    assert type(result) is type(given)
    assert result.device == given.device
    assert result.shape == expected.shape
    # Double precision, as from NumPy, where the library has it.
    wide = as_array(result).dtype
    assert wide == (np.float32 if atol else np.float64)
    np.testing.assert_allclose(as_array(result), expected, rtol=0.0, atol=atol)


@pytest.mark.representatives
def test_the_kind_of_the_scores_is_that_of_probabilities(calibrator, library, make_problem):
    problem = make_problem(0, n=150, k=3)
    proba = problem.proba.astype(np.float32)  # what every library can hold
    plain = clone(calibrator).fit(proba, problem.y)
    X, y = library.asarray(proba), library.asarray(problem.y)
    fitted = calibrator.fit(X, y, library.asarray(np.ones(150, np.float32)))
    weighted = clone(calibrator).fit(proba, problem.y, np.ones(150))
    assert_same_kind(fitted.predict_proba(X), X, weighted.predict_proba(proba), library.atol)
    assert_same_kind(plain.predict_proba(X), X, plain.predict_proba(proba), library.atol)
    # Labels stay what they are: they may be texts, which these libraries do not have.
    assert type(fitted.predict(X)) is np.ndarray
    assert_array_equal(fitted.predict(X), weighted.predict(proba))
    assert_array_equal(fitted.classes_, plain.classes_)
    # What is of NumPy stays so, whatever the fit was given.
    assert type(fitted.predict_proba(proba)) is np.ndarray
    assert type(fitted.predict_proba(proba.tolist())) is np.ndarray


@pytest.mark.representatives
def test_one_column(binary, library, make_problem):
    problem = make_problem(0, n=150, k=2)
    column = problem.proba[:, 1].astype(np.float32)
    plain = clone(binary).fit(column, problem.y)
    X = library.asarray(column)
    fitted = binary.fit(X, problem.y.tolist())
    assert_same_kind(fitted.predict_proba(X), X, plain.predict_proba(column), library.atol)


def test_maps_around_others(library, make_problem):
    problem = make_problem(0, n=300, k=3)
    proba, y = problem.proba.astype(np.float32), problem.y
    X = library.asarray(proba)
    names = np.repeat(["a", "b"], 150)
    grouped = GroupedCalibrator(TemperatureScaling()).fit(X, y, groups=names)
    again = GroupedCalibrator(TemperatureScaling()).fit(proba, y, groups=names)
    expected = again.predict_proba(proba, groups=names)
    assert_same_kind(grouped.predict_proba(X, groups=names), X, expected, library.atol)
    assert_array_equal(grouped.predict(X, groups=names), again.predict(proba, groups=names))
    base = VectorScaling().fit(proba, y)
    moved, same = (PriorShift(base).adapt(one, X_old=one, y_old=y) for one in (X, proba))
    assert_same_kind(moved.predict_proba(X), X, same.predict_proba(proba), library.atol)
    moved, same = (recalibrate(base, one, y) for one in (X, proba))
    assert_same_kind(moved.predict_proba(X), X, same.predict_proba(proba), library.atol)
    moved, same = (LabelCalibrator().fit(one, y, unlabelled=one) for one in (X, proba))
    assert_same_kind(moved.predict_proba(X), X, same.predict_proba(proba), library.atol)
    model = CalibratedClassifier(lambda rows: rows, TemperatureScaling(), scheme="prefit")
    model.fit(proba, y)
    assert_same_kind(model.predict_proba(X), X, model.predict_proba(proba), library.atol)
    assert_array_equal(model.predict(X), model.predict(proba))
    world = GenerativeParameters(
        [[3.0, 0.5, 0.5], [0.5, 3.0, 0.5], [0.5, 0.5, 3.0]], np.ones(3) / 3
    )
    assert_same_kind(world.predict_proba(X), X, world.predict_proba(proba), library.atol)


def test_measures_and_decisions(library, make_problem):
    problem = make_problem(0, n=300, k=3)
    proba, y = problem.proba.astype(np.float32), problem.y
    X, labels = library.asarray(proba), library.asarray(y)
    for given in (labels, y, y.tolist()):
        assert metrics.log_loss(given, X) == metrics.log_loss(y, proba)
        assert metrics.classwise_ece(given, X) == metrics.classwise_ece(y, proba)
    assert metrics.log_loss(labels, proba) == metrics.log_loss(y, proba)
    costs = CostTable.of_errors(range(3)).with_question(0.2)
    found, plain = best_actions(X, costs), best_actions(proba, costs)
    assert_array_equal(found.actions, plain.actions)
    assert_same_kind(found.expected_cost, X, plain.expected_cost, library.atol)
    assert_same_kind(found.margin, X, plain.margin, library.atol)
    assert repr(found) == repr(plain)
    assert expected_cost(X, costs) == expected_cost(proba, costs)
    assert realised_cost(labels, X, costs) == realised_cost(y, proba, costs)
    rule = rejection_rule(labels, X, max_risk=0.4)
    assert rule == rejection_rule(y, proba, max_risk=0.4)
    kept = rule.keeps(X)
    assert type(kept) is type(X)
    assert_array_equal(as_array(kept), rule.keeps(proba))


def test_pictures_of_maps(library, make_problem):
    problem = make_problem(0, n=200, k=3)
    proba, y = problem.proba.astype(np.float32), problem.y
    fitted = TemperatureScaling().fit(proba, y)
    X = library.asarray(proba)
    for make in (
        lambda one: BeforeAfterDisplay.from_calibrators({"scaled": fitted}, one, y),
        lambda one: ConfusionChangeDisplay.from_calibrator(fitted, one, y),
    ):
        assert make(X).to_frame().equals(make(proba).to_frame())
