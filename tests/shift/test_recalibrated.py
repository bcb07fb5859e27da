"""The estimator behind `recalibrate`."""

from sklearn.base import clone

from dircal import TemperatureScaling
from dircal.shift import RecalibratedCalibrator


def test_one_that_is_not_fitted_is_fitted_first(make_problem):
    problem = make_problem(0, n=500)
    both = RecalibratedCalibrator(TemperatureScaling()).fit(problem.proba, problem.y)
    alone = TemperatureScaling().fit(problem.proba, problem.y)
    assert both.calibrator_.temperature_ == alone.temperature_
    assert not hasattr(clone(both), "classes_")
    assert not hasattr(both.calibrator, "classes_")
