"""Writes the golden files of the format; those that exist are never touched.

Run it when the version changes or there is a new example: python tests/io/golden.py
"""

import json
import warnings
from pathlib import Path

import numpy as np

import dircal
from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    MatrixScaling,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal.io._map_file import VERSION

FOLDER = Path(__file__).parent.parent / "data" / "saved"


def examples():
    """Calibrators that between them use every feature of the format."""
    words, k = np.array(["ant", "bee", "cicada"]), 3
    logit = {"input_scale": "logit"}
    yield "dirichlet", DirichletCalibrator(), words, k
    yield "dirichlet_logit", DirichletCalibrator(penalty="l2", lam=0.01, **logit), words, k
    yield "matrix", MatrixScaling(classes=["cicada", "ant", "bee"], **logit), words[[2, 0, 1]], k
    yield "vector", VectorScaling(clip=1e-6), np.array([7, -1, 3], dtype=np.int16), k
    yield "temperature", TemperatureScaling(), np.array([1.0, 2.0, 3.0]), k
    yield "temperature_25", TemperatureScaling(), np.arange(25), 25
    yield "dirichlet_25", DirichletCalibrator(), np.arange(25), 25
    yield "identity", IdentityCalibrator(), words.astype(object), k
    yield "beta", BetaCalibrator(), np.array([False, True]), 2
    yield "platt", PlattCalibrator(**logit), np.array([b"n", b"y"]), 2
    yield "isotonic", IsotonicCalibrator(), words, 2
    yield "histogram", HistogramCalibrator(n_bins=4), words, 2
    yield "one_vs_rest", OneVsRestCalibrator(IsotonicCalibrator()), words, k
    yield "one_vs_rest_beta", OneVsRestCalibrator(BetaCalibrator(**logit)), words, k
    grid = [{"lam": [1.0, 0.1]}, {"lam": np.array([0.01]), "max_iter": [50]}]
    yield "search", CalibratorCV(DirichletCalibrator(penalty="l2"), grid, cv=2), words, k
    yield "bayesian", BayesianDirichletCalibrator(), words, k
    yield "bayesian_fixed", BayesianDirichletCalibrator(prior="fixed", **logit), words, k
    yield "bayesian_26", BayesianDirichletCalibrator(), np.arange(26), 26
    yield "bayesian_curves", BayesianDirichletCalibrator(curves="learned"), words, k
    yield "bayesian_curves_26", BayesianDirichletCalibrator(**logit), np.arange(26), 26
    yield "auto", AutoCalibrator(cv=2), words, k


def rows_for(calibrator, labels, k):
    """Scores, labels and new scores, always the same."""
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=2.0, size=(40 * k, k))
    y = (0.5 * logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    X = logits if calibrator.input_scale == "logit" else proba
    return X, np.asarray(labels)[y], X[:5].round(6)


def write(folder):
    folder.mkdir(exist_ok=True)
    told = folder / "expected.txt"
    expected = json.loads(told.read_text()) if told.exists() else {}
    for name, calibrator, labels, k in examples():
        if (folder / f"{name}.json").exists():
            continue
        X, y, new = rows_for(calibrator, labels, k)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = calibrator.fit(X, y)
            expected[name] = {
                "X": new.tolist(),
                "proba": fitted.predict_proba(new).tolist(),
                "labels": [str(label) for label in fitted.predict(new)],
            }
        dircal.save(fitted, folder / f"{name}.json")
    told.write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    write(FOLDER / f"version-{VERSION}")
