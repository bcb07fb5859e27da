"""Histograms of chosen hyperparameters."""

import numpy as np
import pytest

from dircal import CalibratorCV, DirichletCalibrator
from dircal.plots import HyperparameterDisplay


def test_values_are_counted_and_the_grid_is_shown():
    display = HyperparameterDisplay.from_values(
        {"lam": [1e-3, 1e-7, 1e-3], "mu": [1.0]}, grid=[1e-7, 1e-5, 1e-3, 1.0]
    )
    assert display.to_frame() == {
        "name": ["lam"] * 4 + ["mu"] * 4,
        "value": [1e-7, 1e-5, 1e-3, 1.0] * 2,
        "count": [1, 0, 2, 0, 0, 0, 0, 1],
    }
    display.plot()
    assert len(display.axes_) == 2
    assert [bar.get_height() for bar in display.bars_[0]] == [1, 0, 2, 0]
    labels = [label.get_text() for label in display.axes_[0].get_xticklabels()]
    assert labels == ["1e-7", "1e-5", "0.001", "1"]
    assert display.axes_[1].get_title(loc="left") == "mu"


def test_counts_from_elsewhere():
    counts = {"bins": {20: 3, 5: 7.5, 10: 1}}
    display = HyperparameterDisplay.from_counts(counts)
    assert display.to_frame()["value"] == [5.0, 10.0, 20.0]
    assert display.to_frame()["count"] == [7.5, 1, 3]


def test_what_searches_chose(make_problem):
    searches = []
    for seed in range(3):
        problem = make_problem(seed)
        search = CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [10.0, 1e-2, 1e-9]}, cv=3)
        searches.append(search.fit(problem.proba, problem.y))
    chosen = [search.best_params_["lam"] for search in searches]
    display = HyperparameterDisplay.from_values({"lam": chosen})
    assert sum(display.to_frame()["count"]) == 3


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"lam": {1.0: -1}}, "`counts` must not be negative; 'lam' holds -1"),
        ({"lam": [1, 2]}, "a dict from values to counts; got list"),
        ({"lam": {np.inf: 1}}, "NaN or infinity"),
    ],
)
def test_what_makes_no_sense(counts, message):
    with pytest.raises(ValueError, match=message):
        HyperparameterDisplay.from_counts(counts)


def test_nothing_is_chosen_half_a_time():
    display = HyperparameterDisplay.from_values({"lam": [1.0, 10.0]}).plot()
    ticks = display.ax_.get_yticks()
    assert (ticks == ticks.round()).all()
