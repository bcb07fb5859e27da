"""Values that relplot and uncertainty-calibration gave once, where these are right.

``tests/golden/other_libraries.py`` says how they were made.
"""

import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from dircal._core.stats.smoothing import grid_cells, smoothed
from dircal.metrics import debiased_squared_error, smooth_ece

GOLDEN = Path(__file__).parent.parent / "golden"
spec = importlib.util.spec_from_file_location("other_libraries", GOLDEN / "other_libraries.py")
other_libraries = importlib.util.module_from_spec(spec)
spec.loader.exec_module(other_libraries)

CURVES = {name: (p, outcomes) for name, p, outcomes in other_libraries.curves()}
each_curve = pytest.mark.parametrize("curve", CURVES)


@pytest.fixture(scope="module")
def theirs():
    with (GOLDEN / "other_libraries.csv").open() as file:
        return {
            (row["quantity"], row["curve"]): float(row["value"]) for row in csv.DictReader(file)
        }


def two_classes(p):
    return {"y_prob": np.column_stack([1 - p, p]), "over": "classes", "label": 1}


def test_the_curves_are_those_of_the_test_vectors(vectors):
    p, outcomes = CURVES["class 2"]
    np.testing.assert_allclose(p, vectors.proba[:, 2])
    np.testing.assert_array_equal(outcomes, vectors.y == 2)


@each_curve
@pytest.mark.parametrize("width", other_libraries.BANDWIDTHS)
def test_smoothing_is_that_of_relplot(curve, width, theirs):
    p, outcomes = CURVES[curve]
    below, share = grid_cells(p, 4096)
    cells, residuals = below.astype(int), (outcomes - p) / len(p)
    grid = np.bincount(cells, residuals * (1 - share), minlength=4097)
    grid += np.bincount(cells + 1, residuals * share, minlength=4097)
    ours = np.abs(smoothed(grid, width)).sum()
    # relplot takes the mean of 200 to 500 points, both ends counted whole.
    assert ours == pytest.approx(theirs[f"relplot smECE_sigma {width}", curve], rel=0.012)


@each_curve
def test_smooth_errors_are_those_of_relplot(curve, theirs):
    p, outcomes = CURVES[curve]
    # relplot halves the bandwidth ten times.
    assert smooth_ece(outcomes.astype(int), **two_classes(p)) == pytest.approx(
        theirs["relplot smECE", curve], abs=1 / 1024
    )


@each_curve
def test_debiased_errors_agree_where_predictions_of_a_bin_are_equal(curve, theirs):
    p, outcomes = CURVES[curve]
    rounded = np.ceil(p * 20) / 20
    ours = debiased_squared_error(outcomes.astype(int), n_bins=20, **two_classes(rounded))
    expected = theirs["uncertainty-calibration, twentieths", curve]
    assert ours == pytest.approx(expected, abs=1e-12)


@each_curve
def test_debiased_errors_differ_by_the_spread_of_the_predictions(curve, theirs):
    p, outcomes = CURVES[curve]
    ours = debiased_squared_error(outcomes.astype(int), **two_classes(p))
    bins = np.ceil(p * 15).astype(int)
    theirs_less = 0.0
    for b in np.unique(bins):
        r, o = (outcomes - p)[bins == b], outcomes[bins == b]
        if len(r) > 1:
            theirs_less += len(r) / len(p) * (o.var() - r.var()) / (len(r) - 1)
    expected = theirs["uncertainty-calibration, 15 bins", curve] + theirs_less
    assert ours == pytest.approx(expected, abs=1e-12)
