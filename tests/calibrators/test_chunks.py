"""The same fit from one chunk or many, from memory or from a file larger than the memory cap."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal import DirichletCalibrator, MatrixScaling, TemperatureScaling, VectorScaling
from dircal._core.data import chunks as _rows

N, K = 3000, 4
CALIBRATORS = {
    "dirichlet": DirichletCalibrator(),
    "dirichlet-l2": DirichletCalibrator(penalty="l2"),
    "matrix": MatrixScaling(clip=1e-6),
    "vector": VectorScaling(),
    "temperature": TemperatureScaling(),
}
each_calibrator = pytest.mark.parametrize("calibrator", CALIBRATORS.values(), ids=CALIBRATORS)


def set_chunks(monkeypatch, rows):
    monkeypatch.setattr(_rows, "_CHUNK_ROWS_AT_LEAST", rows)
    monkeypatch.setattr(_rows, "_CHUNK_ELEMENTS", 1)


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
def test_one_seven_and_a_hundred_chunks(calibrator, make_problem, monkeypatch):
    problem = make_problem(0, n=N, k=K)
    losses, chosen = [], set()
    for n_chunks in (1, 7, 100):
        set_chunks(monkeypatch, -(-N // n_chunks))
        assert sum(1 for _ in _rows.row_slices((N, K))) == n_chunks
        fitted = calibrator.fit(problem.proba, problem.y)
        losses.append(objective(fitted, problem, N))
        chosen.add(fitted.clip_)
    assert_allclose(losses, losses[0], atol=1e-10)
    assert len(chosen) == 1


@each_calibrator
def test_a_memory_map_larger_than_the_cap(calibrator, make_problem, monkeypatch, tmp_path):
    problem = make_problem(1, n=N, k=K)
    in_memory = objective(calibrator.fit(problem.proba, problem.y), problem, N)
    np.save(tmp_path / "X.npy", problem.proba)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    monkeypatch.setattr(_rows, "_CACHE_BYTES", mapped.nbytes // 10)
    set_chunks(monkeypatch, 100)
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


def test_many_classes_from_a_memory_map(make_problem, monkeypatch, tmp_path):
    """Conjugate gradients read the file again for every product."""
    problem = make_problem(2, n=600, k=40)
    plain = DirichletCalibrator().fit(problem.proba, problem.y)
    np.save(tmp_path / "X.npy", problem.proba)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    monkeypatch.setattr(_rows, "_CACHE_BYTES", 1)
    streamed = DirichletCalibrator().fit(mapped, problem.y)
    assert_allclose(streamed.predict_proba(mapped), plain.predict_proba(problem.proba), atol=1e-7)
