import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from dircal import (
    AutoCalibrator,
    BetaCalibrator,
    DirichletCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    TemperatureScaling,
)
from dircal.export import to_keras


@pytest.fixture
def fitted(make_problem):
    problem = make_problem(0, n=300, k=3)
    return DirichletCalibrator(penalty="l2").fit(problem.proba, problem.y), problem


def numbers(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_the_last_layer_of_a_model_that_is_trained_and_saved(fitted, tmp_path):
    calibrator, _ = fitted
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(64, 5)).astype(np.float32), rng.integers(3, size=64)
    first = keras.layers.Dense(3, activation="softmax")
    layer = to_keras(calibrator)
    model = keras.Sequential([keras.Input((5,)), first, layer])
    assert not layer.weights
    assert model.output_shape == (None, 3)
    model.compile(loss="sparse_categorical_crossentropy")
    before = first.get_weights()[0].copy()
    model.fit(X, y, verbose=0)
    # What comes before is trained through the layer, which stays what it is.
    assert np.abs(first.get_weights()[0] - before).max() > 0.0
    assert np.isfinite(first.get_weights()[0]).all()
    expected = calibrator.predict_proba(numbers(first(X)))
    assert_allclose(model.predict(X, verbose=0), expected, rtol=0.0, atol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert_allclose(loaded.predict(X, verbose=0), expected, rtol=0.0, atol=1e-6)
    assert loaded.layers[-1].classes == [0, 1, 2]


def test_it_is_made_again_from_its_config(fitted):
    calibrator, problem = fitted
    layer = to_keras(calibrator, dtype="float32")
    again = type(layer).from_config(layer.get_config())
    assert again.compute_dtype == "float32"
    assert again.columns == layer.columns == [0, 1, 2]
    single = problem.proba.astype(np.float32)
    assert_allclose(numbers(again(single)), calibrator.predict_proba(single), rtol=0, atol=1e-5)


def test_a_file_is_read_by_a_process_that_registers_the_layer(fitted, tmp_path):
    calibrator, problem = fitted
    to_keras(calibrator, tmp_path / "map.keras")
    np.save(tmp_path / "rows.npy", problem.proba)
    code = (
        "import dircal.export, keras, numpy as np; dircal.export.register_keras(); "
        "layer = keras.models.load_model('map.keras').layers[-1]; "
        "np.save('proba.npy', keras.ops.convert_to_numpy(layer(np.load('rows.npy'))))"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    expected = calibrator.predict_proba(problem.proba)
    assert_allclose(np.load(tmp_path / "proba.npy"), expected, rtol=0.0, atol=1e-12)


def test_a_backend_without_double_precision(fitted, monkeypatch):
    calibrator, _ = fitted
    log = keras.ops.log
    # As JAX does by itself, unless it is told otherwise.
    monkeypatch.setattr("keras.ops.log", lambda x: keras.ops.cast(log(x), "float32"))
    told = r"`dtype` is 'float64', and Keras computes in float32 .* JAX_ENABLE_X64"
    with pytest.raises(ValueError, match=told):
        to_keras(calibrator)
    to_keras(calibrator, dtype="float32")


def test_masked_classes(make_problem):
    problem = make_problem(0, n=300, k=3)
    calibrator = TemperatureScaling(input_scale="logit").fit(problem.logits, problem.y)
    masked = problem.logits.copy()
    masked[:50, 0] = -np.inf
    found = numbers(to_keras(calibrator)(masked))
    assert not found[:50, 0].any()
    assert_allclose(found, calibrator.predict_proba(masked), rtol=0.0, atol=1e-12)


def test_what_cannot_be(fitted, make_problem):
    calibrator, problem = fitted
    with pytest.raises(ValueError, match="`dtype` must be one of"):
        to_keras(calibrator, dtype="float16")
    isotonic = OneVsRestCalibrator(IsotonicCalibrator()).fit(problem.proba, problem.y)
    with pytest.raises(ValueError, match=r"'float32' cannot hold .* Use dtype='float64'"):
        to_keras(isotonic, dtype="float32")


@pytest.mark.parametrize(
    "calibrator", [AutoCalibrator(), OneVsRestCalibrator(BetaCalibrator())], ids=type
)
def test_gradients_are_finite_also_at_zeros(calibrator, make_problem):
    problem = make_problem(0, n=300, k=3)
    layer = to_keras(calibrator.fit(problem.proba, problem.y))
    zeros = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    rows = torch.tensor(np.vstack([problem.proba, zeros]), requires_grad=True)
    layer(rows)[:, 0].sum().backward()
    assert torch.isfinite(rows.grad).all()


def test_a_backend_that_is_not_there(fitted, monkeypatch):
    calibrator, _ = fitted

    def refuse(name):
        raise ModuleNotFoundError("No module named 'tensorflow'", name="tensorflow")

    monkeypatch.setattr("dircal.export._keras.need", refuse)
    with pytest.raises(ModuleNotFoundError, match=r"its backend tensorflow is not.*KERAS_BACKEND"):
        to_keras(calibrator)
