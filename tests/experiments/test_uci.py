"""The experiment on UCI data: who is trained on which rows, and what has been run."""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from dircal import DirichletCalibrator
from dircal.metrics import log_loss

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "experiments" / "uci"


@pytest.fixture
def uci_modules(monkeypatch):
    """The scripts, with the committed datasets as their data."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("_data", "_methods", "_protocol", "naive_bayes"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import _data
    import _protocol

    monkeypatch.setattr(_data, "find_folder", lambda: ROOT / "tests" / "data")
    yield _data, _protocol
    for name in ("_data", "_methods", "_protocol", "naive_bayes"):
        sys.modules.pop(name, None)


def test_datasets_are_standardised_and_shuffled_once(uci_modules):
    data, _ = uci_modules
    iris = data.load("iris")
    assert iris.n_classes == 3
    assert_allclose(iris.X.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(iris.X.std(axis=0), 1.0)
    assert (np.diff(iris.y) != 0).sum() > 50
    assert_array_equal(data.load("iris").y, iris.y)


def test_test_folds_cover_all_rows_in_each_repetition(uci_modules):
    data, protocol = uci_modules
    iris = data.load("iris")
    cells = list(protocol.cells(iris, 2))
    assert [(cell.repetition, cell.fold) for cell in cells] == [
        (r, f) for r in range(2) for f in range(5)
    ]
    for repetition in range(2):
        tests = np.concatenate([c.test for c in cells if c.repetition == repetition])
        assert_array_equal(np.sort(tests), np.arange(150))
    assert not np.intersect1d(cells[0].train, cells[0].test).size


def test_the_inner_loop(uci_modules):
    data, protocol = uci_modules
    glass = data.load("glass")
    cell = next(protocol.cells(glass, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proba = protocol.probabilities(glass, GaussianNB(), cell)
        losses = protocol.log_losses(glass, GaussianNB(), cell)
    assert set(proba) == {"DirL2", "Beta", "FreqB", "Isot", "WidB", "TempS", "Uncal"}
    X, y = glass.X, glass.y
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X[cell.train], y[cell.train])
    uncalibrated, dirichlet = [], []
    strengths = [10.0**e for e in range(3, -8, -1)]
    for inside, outside in folds:
        trains, fits = cell.train[inside], cell.train[outside]
        model = GaussianNB().fit(X[trains], y[trains])
        uncalibrated.append(model.predict_proba(X[cell.test]))
        maps = [
            DirichletCalibrator(
                penalty="l2_reference", lam=lam, clip=np.finfo(float).tiny, classes=range(6)
            ).fit(model.predict_proba(X[fits]), y[fits])
            for lam in strengths
        ]
        on_training = [
            log_loss(y[trains], one.predict_proba(model.predict_proba(X[trains])), classes=range(6))
            for one in maps
        ]
        best = maps[int(np.argmin(on_training))]
        dirichlet.append(best.predict_proba(uncalibrated[-1]))
    assert_allclose(proba["Uncal"], np.mean(uncalibrated, axis=0), atol=1e-12)
    assert_allclose(proba["DirL2"], np.mean(dirichlet, axis=0), atol=1e-6)
    for name, value in losses.items():
        expected = log_loss(y[cell.test], proba[name], classes=range(6))
        assert value == pytest.approx(expected)
        assert_allclose(proba[name].sum(axis=1), 1.0, rtol=1e-9)


def test_the_committed_results_are_whole_and_agree_with_print():
    with (FOLDER / "expected" / "naive_bayes_logloss.csv").open() as file:
        printed = {
            (r["dataset"], r["calibrator"]): float(r["logloss"]) for r in csv.DictReader(file)
        }
    with (FOLDER / "results" / "naive_bayes.csv").open() as file:
        rows = {(r["dataset"], r["method"]): r for r in csv.DictReader(file)}
    assert set(rows) == set(printed)
    assert len(rows) == 20 * 7
    assert {row["repetitions"] for row in rows.values()} == {"5"}
    gaps = {key: abs(float(row["log_loss"]) - printed[key]) for key, row in rows.items()}

    def within(method, allowed):
        return sum(gap <= allowed for (_, m), gap in gaps.items() if m == method)

    relative = [gaps[key] / printed[key] for key in gaps if key[1] == "Uncal"]
    assert within("WidB", 0.03 + 0.005) >= 18
    assert sum(gap <= 0.08 for gap in relative) >= 19
    assert within("DirL2", 0.04 + 0.005) >= 16
