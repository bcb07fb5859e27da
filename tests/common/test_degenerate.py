"""Rows that say little or too much: one answer all the same, whatever their order."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.model_selection import KFold

from dircal import (
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    MatrixScaling,
    VectorScaling,
    load,
    save,
)
from dircal.exceptions import ConvergenceWarning, GridEdgeWarning
from dircal.metrics import log_loss


@pytest.fixture(autouse=True)
def endless_optima_are_no_news():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", GridEdgeWarning)
        yield


def hard_predictions(seed, n=60, k=4):
    """One-hot rows, as of a tree or a nearest neighbour, of which four in five are right."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    return np.eye(k)[np.where(rng.random(n) < 0.8, y, rng.integers(0, k, n))], y


@pytest.mark.parametrize("rows", ["constant", "hard"])
def test_the_order_of_rows_does_not_matter(calibrator, rows):
    rng = np.random.default_rng(0)
    if rows == "constant":
        X, y = np.tile([0.3, 0.5, 0.2], (40, 1)), np.r_[0, 1, 2, rng.integers(0, 3, 37)]
    else:
        X, y = hard_predictions(0, k=3)
    new = rng.dirichlet(np.ones(3), 20)
    expected = calibrator.fit(X, y).predict_proba(new)
    for _ in range(3):
        order = rng.permutation(len(y))
        assert_allclose(calibrator.fit(X[order], y[order]).predict_proba(new), expected, atol=2e-5)


def test_quasi_separated_scores_have_one_answer():
    p = np.r_[np.zeros(121), np.full(28, 1 / 7), 2 / 7]
    y = np.r_[np.zeros(121), [1] * 3, np.zeros(26)].astype(int)
    rng = np.random.default_rng(0)
    slopes = []
    for _ in range(20):
        order = rng.permutation(150)
        slopes.append(BetaCalibrator(clip=0.01).fit(p[order], y[order]).slope_positive_)
    assert_allclose(slopes, slopes[0], rtol=1e-5)


# With 27 classes there are too many parameters for a full Hessian.
@pytest.mark.parametrize(("k", "scale"), [(10, 1e-2), (27, 1e-4)])
def test_nearly_uniform_rows(k, scale):
    rng = np.random.default_rng(0)
    y = np.r_[np.arange(k), rng.integers(0, k, 400 - k)]
    logits = rng.normal(size=(400, k)) + 1.5 * np.eye(k)[y]
    P = softmax(scale * logits, axis=1)
    loss = {
        penalty: log_loss(y, DirichletCalibrator(penalty=penalty).fit(P, y).predict_proba(P))
        for penalty in ("none", "odir", "l2")
    }
    # The larger family fits at least as well, and no map is worse than saying nothing.
    assert loss["none"] <= loss["odir"] + 1e-6
    assert max(loss.values()) <= np.log(k) + 1e-9


@pytest.mark.parametrize("seed", [8, 9])
def test_a_search_scores_the_maps_that_a_fit_gives(seed):
    P, y = hard_predictions(seed, k=5)
    calibrator = MatrixScaling(classes=range(5))
    splits = list(KFold(3, shuffle=True, random_state=0).split(P))
    search = CalibratorCV(calibrator, {"lam": [1, 1e-3], "mu": [1, 1e-3]}, cv=splits).fit(P, y)
    for i, setting in enumerate(search.cv_results_["params"]):
        for fold, (fit, score) in enumerate(splits):
            alone = MatrixScaling(classes=range(5), **setting).fit(P[fit], y[fit])
            expected = -log_loss(y[score], alone.predict_proba(P[score]), classes=range(5))
            ours = search.cv_results_[f"split{fold}_test_score"][i]
            assert ours == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("size", [1e-30, 1e-50, 1e-150, 1e-300])
@pytest.mark.parametrize("kind", [DirichletCalibrator, MatrixScaling, VectorScaling])
def test_tiny_logits_are_fitted_in_silence_and_saved(kind, size, make_problem, tmp_path):
    problem = make_problem(0, n=60, k=3)
    logits = size * problem.logits
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrator = kind(input_scale="logit").fit(logits, problem.y)
        proba = calibrator.predict_proba(logits)
        save(calibrator, tmp_path / "map.json")
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_allclose(load(tmp_path / "map.json").predict_proba(logits), proba)
