"""Every published calibrator, in every variant that changes its code path."""

import pytest
from sklearn.base import clone

from dircal import calibrators

VARIANTS = {
    "DirichletCalibrator": [{"penalty": name} for name in ("l2", "l2_reference", "none")],
    "MatrixScaling": [{"penalty": "l2"}],
    "VectorScaling": [{"penalty": "l2"}],
}


def all_calibrators():
    """Name and instance of each; a new calibrator is here the moment it is published."""
    for name in calibrators.__all__:
        cls = getattr(calibrators, name)
        for options in [{}, *VARIANTS.get(name, [])]:
            label = "-".join([name, *options.values()])
            yield pytest.param(cls(**options), id=label)


@pytest.fixture(params=all_calibrators())
def calibrator(request):
    """One of all calibrators, not fitted, for probabilities."""
    return clone(request.param)


@pytest.fixture(params=["probability", "logit"])
def scaled(request, calibrator, make_problem):
    """A calibrator on one of the two scales, and a function that makes a problem for it."""
    scale = request.param
    calibrator.set_params(input_scale=scale)

    def make(*args, **kwargs):
        problem = make_problem(*args, **kwargs)
        return (problem.logits if scale == "logit" else problem.proba), problem.y

    return calibrator, make
