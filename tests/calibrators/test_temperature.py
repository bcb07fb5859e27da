import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal import TemperatureScaling
from dircal.exceptions import ConvergenceWarning


def test_test_vectors(vectors, expected):
    fit = TemperatureScaling().fit(vectors.proba, vectors.y)
    # The stored temperature is right to 3e-9; tests/core has it to all digits.
    assert fit.temperature_ == pytest.approx(expected["temp_scaling_t"], rel=1e-8)
    proba = fit.predict_proba(vectors.proba)
    loss = -np.log(proba[np.arange(240), vectors.y]).mean()
    assert loss == pytest.approx(expected["temp_scaling_logloss"], abs=1e-9)
    assert_allclose(fit.coef_, np.eye(4) / fit.temperature_)
    assert_allclose(fit.intercept_, 0.0)


def test_logits_and_probabilities_agree(vectors):
    from_proba = TemperatureScaling().fit(vectors.proba, vectors.y)
    from_logits = TemperatureScaling(input_scale="logit").fit(vectors.logits, vectors.y)
    assert from_logits.temperature_ == pytest.approx(from_proba.temperature_, rel=1e-10)


def test_decisions_do_not_change(make_problem):
    problem = make_problem(0, k=5)
    fit = TemperatureScaling().fit(problem.proba, problem.y)
    assert (fit.predict(problem.proba) == problem.proba.argmax(axis=1)).all()


@pytest.mark.parametrize("labels", [[10, 20, 30], [3, 2, 1], ["b", "c", "a"]])
def test_labels_other_than_positions(labels, make_problem):
    problem = make_problem(0, k=3)
    plain = TemperatureScaling().fit(problem.proba, problem.y)
    named = TemperatureScaling(classes=labels).fit(problem.proba, np.array(labels)[problem.y])
    assert named.temperature_ == pytest.approx(plain.temperature_, rel=1e-10)


def test_a_faultless_classifier_warns():
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    with pytest.warns(ConvergenceWarning, match="every one of them is classified correctly"):
        fit = TemperatureScaling().fit(proba, [0, 1])
    assert 0.0 < fit.temperature_ < 1.0


def test_scores_that_point_away_end_near_uniform():
    proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    with pytest.warns(ConvergenceWarning, match="the order of the columns"):
        fit = TemperatureScaling().fit(proba, [1, 0, 1])
    assert_allclose(fit.predict_proba(proba), 0.5, atol=1e-4)
    assert np.isfinite(fit.temperature_)


@pytest.mark.parametrize("n", range(5, 30))
def test_no_temperature_is_negative(n):
    # A mean of n times ln 2 may be below ln 2 by rounding: that is no row that is right.
    p = np.linspace(0.6, 0.9, n)
    with pytest.warns(ConvergenceWarning, match="the order of the columns"):
        fit = TemperatureScaling().fit(np.column_stack([1 - p, p]), [1] + [0] * (n - 1))
    assert fit.temperature_ > 0.0
