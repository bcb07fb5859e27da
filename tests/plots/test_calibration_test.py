"""The picture of the calibration test."""

import numpy as np
import pytest

from dircal import CalibrationTest, calibration_test
from dircal.plots import CalibrationTestDisplay


@pytest.mark.parametrize("statistic", ["confidence_ece", "classwise_ece"])
def test_it_shows_the_draws_and_the_observed_error(vectors, statistic):
    options = {"statistic": statistic, "n_resamples": 300, "random_state": 3, "n_bins": 10}
    display = CalibrationTestDisplay.from_predictions(vectors.y, vectors.proba, **options).plot()
    test = calibration_test(vectors.y, vectors.proba, **options)
    frame = display.to_frame()
    assert sum(frame["count"]) == 300
    assert frame["lower"][0] == test.null_sample.min()
    assert frame["upper"][-1] == test.null_sample.max()
    assert set(frame["observed"]) == {test.statistic}
    assert set(frame["pvalue"]) == {test.pvalue}
    assert [bar.get_height() for bar in display.bars_] == frame["count"]
    assert display.line_.get_xdata()[0] == test.statistic


def test_from_a_test(vectors):
    test = calibration_test(vectors.y, vectors.proba, n_resamples=100, random_state=0)
    display = CalibrationTestDisplay.from_test(test, n_bars=7)
    assert len(display.to_frame()["count"]) == 7
    assert display.plot().ax_.get_title(loc="left") == "p ≤ 0.01, 240 rows"
    with pytest.raises(ValueError, match="`test` must be the result of `calibration_test`; got 3"):
        CalibrationTestDisplay.from_test(3)
    with pytest.raises(ValueError, match="`n_bars` must be a whole number of at least 1"):
        CalibrationTestDisplay.from_test(test, n_bars=0)


def test_draws_that_are_all_alike():
    test = CalibrationTest(0.2, 0.0, np.zeros(50), "confidence_ece", 10)
    display = CalibrationTestDisplay.from_test(test).plot()
    assert max(display.to_frame()["count"]) == 50


def test_it_says_what_comes_from_moments():
    for source, told in (("draws", "50 draws"), ("moments", "50 draws from moments")):
        test = CalibrationTest(0.2, 0.0, np.arange(50.0), "classwise_ece", 10, source)
        display = CalibrationTestDisplay.from_test(test).plot()
        assert display.bars_.get_label() == f"calibrated model, {told}"
