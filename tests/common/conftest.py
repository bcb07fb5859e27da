"""Every published calibrator, in every variant that changes its code path."""

import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

from dircal import OneVsRestCalibrator, calibrators

VARIANTS = {
    "BetaCalibrator": [{"slopes": "nonnegative"}],
    "DirichletCalibrator": [{"penalty": name} for name in ("l2", "l2_reference", "none")],
    "HistogramCalibrator": [{"strategy": "frequency"}, {"edges": "unit"}],
    "MatrixScaling": [{"penalty": "l2"}],
    "VectorScaling": [{"penalty": "l2"}],
}


def all_calibrators():
    """Name and instance of each; a new calibrator is here the moment it is published."""
    for name in calibrators.__all__:
        cls = getattr(calibrators, name)
        for options in [{}, *VARIANTS.get(name, [])]:
            yield "-".join([name, *options.values()]), cls(**options)


def is_binary(calibrator):
    return not get_tags(calibrator).classifier_tags.multi_class


def many_classes():
    """Those for any number of classes; binary ones through one-vs-rest."""
    for name, calibrator in all_calibrators():
        if is_binary(calibrator):
            yield pytest.param(OneVsRestCalibrator(calibrator), id=f"OneVsRest-{name}")
        else:
            yield pytest.param(calibrator, id=name)
    inner = calibrators.TemperatureScaling()
    yield pytest.param(OneVsRestCalibrator(inner), id="OneVsRest-TemperatureScaling")


def two_classes():
    """The binary ones themselves."""
    for name, calibrator in all_calibrators():
        if is_binary(calibrator):
            yield pytest.param(calibrator, id=name)


@pytest.fixture(params=many_classes())
def calibrator(request):
    """One of all calibrators, not fitted, for probabilities."""
    return clone(request.param)


@pytest.fixture(params=two_classes())
def binary(request):
    """One of the binary calibrators, not fitted, for probabilities."""
    return clone(request.param)


@pytest.fixture(scope="session")
def configure():
    """Sets parameters, those of the calibrator inside others where there is one."""

    def set_inner(calibrator, **parameters):
        inner = calibrator
        while getattr(inner, "calibrator", None) is not None:
            inner = inner.calibrator
        if parameters.get("input_scale") == "logit" and getattr(inner, "edges", "data") == "unit":
            inner.set_params(edges="data")  # the unit interval is for probabilities
        inner.set_params(**parameters)
        return calibrator

    return set_inner


@pytest.fixture(params=["probability", "logit"])
def scaled(request, calibrator, configure, make_problem):
    """A calibrator on one of the two scales, and a function that makes a problem for it."""
    return on_scale(request.param, calibrator, configure, make_problem)


@pytest.fixture(params=["probability", "logit"])
def scaled_binary(request, binary, configure, make_problem):
    """The same for a binary one."""
    return on_scale(request.param, binary, configure, make_problem)


def on_scale(scale, calibrator, configure, make_problem):
    configure(calibrator, input_scale=scale)

    def make(*args, **kwargs):
        problem = make_problem(*args, **kwargs)
        return (problem.logits if scale == "logit" else problem.proba), problem.y

    return calibrator, make
