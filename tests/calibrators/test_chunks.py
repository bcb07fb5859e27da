"""The same fit from one chunk or many, from memory or from a file larger than the memory cap."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from dircal import (
    DirichletCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from dircal._core.data import chunks
from dircal.calibrators import _binary

N, K = 3000, 4
CALIBRATORS = {
    "dirichlet": DirichletCalibrator(),
    "dirichlet-l2": DirichletCalibrator(penalty="l2"),
    "matrix": MatrixScaling(clip=1e-6),
    "vector": VectorScaling(),
    "temperature": TemperatureScaling(),
}
each_calibrator = pytest.mark.parametrize("calibrator", CALIBRATORS.values(), ids=CALIBRATORS)


def set_chunks(use_limits, rows):
    use_limits("DataLimits", min_chunk_rows=rows, chunk_elements=1)


def objective(calibrator, problem, n):
    """Mean loss plus penalty, up to what is the same for all fits."""
    proba = calibrator.predict_proba(problem.proba)
    loss = -np.log(proba[np.arange(n), problem.y]).mean()
    if isinstance(calibrator, VectorScaling | TemperatureScaling):
        return loss
    W, b = calibrator.coef_, calibrator.intercept_
    if calibrator.penalty == "l2":
        return loss + 1e-3 * ((W**2).sum() + (b**2).sum())
    off = (W**2).sum() - (W.diagonal() ** 2).sum()
    return loss + K * (K - 1) / n * off + K / n * (b**2).sum()


@each_calibrator
def test_one_seven_and_a_hundred_chunks(calibrator, make_problem, use_limits):
    problem = make_problem(0, n=N, k=K)
    losses, chosen = [], set()
    for n_chunks in (1, 7, 100):
        set_chunks(use_limits, -(-N // n_chunks))
        assert sum(1 for _ in chunks.row_slices((N, K))) == n_chunks
        fitted = calibrator.fit(problem.proba, problem.y)
        losses.append(objective(fitted, problem, N))
        chosen.add(fitted.clip_)
    assert_allclose(losses, losses[0], atol=1e-10)
    assert len(chosen) == 1


@each_calibrator
def test_a_memory_map_larger_than_the_cap(
    calibrator, make_problem, monkeypatch, use_limits, tmp_path
):
    problem = make_problem(1, n=N, k=K)
    in_memory = objective(calibrator.fit(problem.proba, problem.y), problem, N)
    np.save(tmp_path / "X.npy", problem.proba)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    use_limits("DataLimits", cache_bytes=mapped.nbytes // 10)
    set_chunks(use_limits, 100)
    read = []
    original = np.memmap.__getitem__

    def spy(array, index):
        part = original(array, index)
        read.append(getattr(part, "size", 0))
        return part

    monkeypatch.setattr(np.memmap, "__getitem__", spy)
    fitted = calibrator.fit(mapped, problem.y)
    assert objective(fitted, problem, N) == pytest.approx(in_memory, abs=1e-10)
    proba = fitted.predict_proba(mapped)
    assert_allclose(proba, fitted.predict_proba(problem.proba), rtol=1e-12)
    assert max(read) == 100 * K  # never more than a chunk at a time


def test_many_classes_from_a_memory_map(make_problem, use_limits, tmp_path):
    """Conjugate gradients read the file again for every product."""
    problem = make_problem(2, n=600, k=40)
    plain = DirichletCalibrator().fit(problem.proba, problem.y)
    np.save(tmp_path / "X.npy", problem.proba)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    use_limits("DataLimits", cache_bytes=1)
    streamed = DirichletCalibrator().fit(mapped, problem.y)
    assert_allclose(streamed.predict_proba(mapped), plain.predict_proba(problem.proba), atol=1e-7)


CURVES = {
    "isotonic": IsotonicCalibrator(),
    "isotonic-logit": IsotonicCalibrator(input_scale="logit"),
    "histogram": HistogramCalibrator(),
    "histogram-logit": HistogramCalibrator(input_scale="logit"),
    "histogram-unit": HistogramCalibrator(edges="unit"),
    "histogram-frequency": HistogramCalibrator(strategy="frequency"),
}
each_curve = pytest.mark.parametrize("calibrator", CURVES.values(), ids=CURVES)


@each_curve
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_curves_of_many_rows_are_the_same(
    calibrator, weights, make_problem, monkeypatch, use_limits
):
    """Sums over rows instead of rows: as many rows as it takes are few here."""
    problem = make_problem(2, n=N, k=2)
    X = problem.logits if calibrator.input_scale == "logit" else problem.proba
    rng = np.random.default_rng(0)
    real = rng.random(N)
    given = {"none": None, "whole": np.floor(4.0 * real), "real": real}[weights]
    expected = clone(calibrator).fit(X, problem.y, given)
    monkeypatch.setattr(_binary, "_MOST_GATHERED", N - 1)
    set_chunks(use_limits, 100)
    found = clone(calibrator).fit(X, problem.y, given)
    assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-12)
    for name in ("bin_counts_", "knots_", "bin_edges_"):
        assert_allclose(getattr(found, name, 0.0), getattr(expected, name, 0.0), rtol=1e-12)


@each_curve
def test_curves_of_more_scores_than_are_kept(calibrator, make_problem, monkeypatch, use_limits):
    problem = make_problem(3, n=40_000, k=2)
    X = problem.logits if calibrator.input_scale == "logit" else problem.proba
    expected = clone(calibrator).fit(X, problem.y)
    monkeypatch.setattr(_binary, "_MOST_GATHERED", 1000)
    use_limits("ResamplingLimits", max_score_cells=500)
    found = clone(calibrator).fit(X, problem.y)
    ours, theirs = (
        np.mean((each.predict_proba(X)[:, 1] - problem.y) ** 2) for each in (found, expected)
    )
    assert ours == pytest.approx(theirs, rel=0.005)
