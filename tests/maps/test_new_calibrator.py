"""A calibrator made of known steps is one file: everything else finds it by its steps."""

from dataclasses import dataclass

import numpy as np
import onnxruntime
import pytest
import torch
from numpy.testing import assert_allclose

import dircal
from dircal import calibrators, export
from dircal.calibrators import AbstractCalibrator, AbstractScoreMethod, Fit
from dircal.io import _registry, _types
from dircal.maps import Diagonal, LogProbability, Normalise, Softmax


@dataclass(frozen=True)
class ShareDetails:
    n_rows: int


@dataclass(frozen=True, eq=False, kw_only=True)
class ShareMethod(AbstractScoreMethod):
    """Multiplies probabilities by how much more often a class occurs than it is predicted."""

    name = "ShareCalibrator"
    details = ShareDetails

    def learn(self, rows) -> Fit:
        k = len(rows.classes)
        shares = np.bincount(rows.labels, minlength=k) / len(rows.labels)
        gain = np.log(shares) - np.log(rows.inputs.mean(axis=0))
        steps = (Normalise(), LogProbability(1e-12), Diagonal(np.ones(k), gain), Softmax())
        details = ShareDetails(len(rows.labels))
        return Fit.from_steps(rows, self.input_scale, steps, details=details)


class ShareCalibrator(AbstractCalibrator):
    """A calibrator of its own, made of known steps."""

    n_rows_: int

    method_class = ShareMethod

    def __init__(self, *, input_scale="probability", classes=None) -> None:
        self.input_scale = input_scale
        self.classes = classes


def forget():
    """Clear the caches of known classes."""
    for module in (_registry, _types):
        for name in module.__all__:
            getattr(getattr(module, name), "cache_clear", lambda: None)()


@pytest.fixture
def fitted(make_problem, monkeypatch):
    monkeypatch.setattr(calibrators, "ShareCalibrator", ShareCalibrator, raising=False)
    monkeypatch.setattr(calibrators, "__all__", [*calibrators.__all__, "ShareCalibrator"])
    forget()
    problem = make_problem(0, n=300, k=3)
    yield ShareCalibrator().fit(problem.proba, problem.y), problem.proba
    forget()


def test_it_is_saved_and_loaded(fitted, tmp_path):
    calibrator, X = fitted
    dircal.save(calibrator, tmp_path / "map.json")
    loaded = dircal.load(tmp_path / "map.json")
    assert type(loaded) is ShareCalibrator
    assert loaded.map_ == calibrator.map_
    assert loaded.n_rows_ == 300
    assert_allclose(loaded.predict_proba(X), calibrator.predict_proba(X), rtol=0)


def test_it_is_exported(fitted):
    calibrator, X = fitted
    expected = calibrator.predict_proba(X)
    model = export.to_onnx(calibrator, dtype="float64").SerializeToString()
    (proba,) = onnxruntime.InferenceSession(model).run(None, {"scores": X})
    assert_allclose(proba, expected, atol=1e-12)
    module: dict = {}
    exec(export.to_python(calibrator), module)
    assert_allclose(module["predict_proba"](X.tolist()), expected, atol=1e-12)
    layer = export.to_torch(calibrator)
    assert_allclose(layer(torch.tensor(X)).detach().numpy(), expected, atol=1e-12)
    assert export.from_torch(layer).map_ == calibrator.map_
