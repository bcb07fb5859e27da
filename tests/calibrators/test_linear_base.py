import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from dircal import DirichletCalibrator, MatrixScaling, TemperatureScaling, VectorScaling


@pytest.mark.parametrize(
    "cls", [DirichletCalibrator, TemperatureScaling, VectorScaling, MatrixScaling]
)
def test_parameters_of_a_calibrator_are_its_map(cls, make_problem):
    problem = make_problem(0, n=400, k=3)
    names = np.array(["c", "a", "b"])
    fit = cls(classes=names, clip=1e-12).fit(problem.proba, names[problem.y])
    assert problem.proba.min() > 1e-12
    ordered = problem.proba[:, np.argsort(names)]  # the parameters follow classes_
    proba = fit.predict_proba(problem.proba)
    for parameters in (
        fit.linear_parameters(),
        fit.canonical_parameters(),
        fit.generative_parameters(),
    ):
        assert_allclose(parameters.predict_proba(ordered), proba, rtol=1e-9)
    assert_array_equal(fit.linear_parameters().W, fit.coef_)
    points = fit.interpretation_points(eps=0.1)
    assert_allclose(points.images[-1], fit.canonical_parameters().c, rtol=1e-12)
    assert_allclose(points.points[0], [0.1, 0.45, 0.45])
    assert_allclose(fit.interpretation_points().points[0], [0.01, 0.495, 0.495])


def test_parameters_follow_logits_read_through_a_log_softmax(make_problem):
    problem = make_problem(0, n=400, k=3)
    for cls in (DirichletCalibrator, TemperatureScaling):
        fit = cls(input_scale="logit").fit(problem.logits, problem.y)
        assert_allclose(
            fit.generative_parameters().predict_proba(problem.proba),
            fit.predict_proba(problem.logits),
            rtol=1e-9,
        )


@pytest.mark.parametrize("cls", [MatrixScaling, VectorScaling])
@pytest.mark.parametrize(
    "name",
    ["linear_parameters", "canonical_parameters", "generative_parameters", "interpretation_points"],
)
def test_maps_of_raw_logits_have_no_such_parameters(cls, name, make_problem):
    problem = make_problem(0, n=400, k=3)
    fit = cls(input_scale="logit").fit(problem.logits, problem.y)
    message = rf"`input_scale`.*{cls.__name__} reads.*'logit'.*DirichletCalibrator"
    with pytest.raises(ValueError, match=message):
        getattr(fit, name)()


@pytest.mark.parametrize(
    "name",
    ["linear_parameters", "canonical_parameters", "generative_parameters", "interpretation_points"],
)
def test_parameters_need_a_fit(name):
    with pytest.raises(NotFittedError, match="DirichletCalibrator"):
        getattr(DirichletCalibrator(), name)()
