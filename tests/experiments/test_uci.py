"""The experiment on UCI data: who is trained on which rows, and what has been run."""

import warnings

import numpy as np
import pytest
from experiments._shared.files import read_json, write_whole
from experiments.uci._calibrate import MEASURES, calibrate
from experiments.uci._classifiers import CLASSIFIERS, SammeR
from experiments.uci._data import MissingDatasetError, load
from experiments.uci._files import Cache, read_predictions
from experiments.uci._grid import Cell
from experiments.uci._methods import METHODS
from experiments.uci._predict import predict
from experiments.uci._splits import inner_splits, outer_split
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from dircal import DirichletCalibrator, calibration_test
from dircal.metrics import classwise_ece, log_loss


class TestRows:
    def test_datasets_are_standardised_and_shuffled_once(self):
        iris = load("iris")
        assert iris.n_classes == 3
        assert_allclose(iris.X.mean(axis=0), 0.0, atol=1e-12)
        assert_allclose(iris.X.std(axis=0), 1.0)
        assert (np.diff(iris.y) != 0).sum() > 50
        assert_array_equal(load("iris").y, iris.y)

    def test_a_missing_dataset_is_named(self, monkeypatch, tmp_path):
        monkeypatch.setenv("DIRCAL_DATA", str(tmp_path))
        with pytest.raises(MissingDatasetError, match=r"no shuttle\.csv\.gz in .*Set DIRCAL_DATA"):
            load.__wrapped__("shuttle")
        monkeypatch.delenv("DIRCAL_DATA")
        with pytest.raises(MissingDatasetError, match=r"in [^ ]*data\. Set DIRCAL_DATA"):
            load.__wrapped__("shuttle")

    def test_test_folds_cover_all_rows_in_each_repetition(self):
        iris = load("iris")
        for repetition in range(2):
            splits = [outer_split(iris, repetition, fold) for fold in range(5)]
            assert_array_equal(
                np.sort(np.concatenate([test for _, test in splits])), np.arange(150)
            )
            for train, test in splits:
                assert not np.intersect1d(train, test).size
        assert not np.array_equal(outer_split(iris, 0, 0)[1], outer_split(iris, 1, 0)[1])

    def test_inner_splits_divide_the_training_rows(self):
        glass = load("glass")
        train, _ = outer_split(glass, 1, 2)
        splits = list(inner_splits(glass, 1, 2))
        assert_array_equal(np.sort(np.concatenate([s.fits for s in splits])), np.sort(train))
        for split in splits:
            both = np.concatenate([split.trains, split.fits])
            assert_array_equal(np.sort(both), np.sort(train))
            assert len(split.trains) == pytest.approx(2 * len(split.fits), abs=6)


class TestClassifiers:
    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_all_of_them_do_small_classes(self, name):
        glass = load("glass")
        split = next(inner_splits(glass, 0, 0))
        model = clone(CLASSIFIERS[name])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            proba = model.fit(glass.X[split.trains], glass.y[split.trains]).predict_proba(glass.X)
        assert proba.shape == (214, 6)
        assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-6)
        assert (proba.argmax(axis=1) == glass.y).mean() > 0.35

    def test_samme_r_is_its_formula(self):
        car = load("car")
        X, y, k = car.X[:300], car.y[:300], car.n_classes
        weight, logs = np.full(300, 1 / 300), []
        random = np.random.RandomState(42)
        for _ in range(4):
            seed = random.randint(np.iinfo(np.int32).max)
            tree = DecisionTreeClassifier(max_depth=1, random_state=seed).fit(X, y, weight)
            log = np.log(np.clip(tree.predict_proba(X), 2.220446049250313e-16, None))
            logs.append(log)
            coding = np.where(np.arange(k) == y[:, None], 1.0, -1.0 / (k - 1))
            weight = weight * np.exp(-(k - 1) / k * (coding * log).sum(axis=1))
            weight /= weight.sum()
        expected = softmax(np.mean(logs, axis=0), axis=1)
        found = SammeR(4, random_state=42).fit(X, y).predict_proba(X)
        assert_allclose(found, expected, rtol=1e-9)

    @pytest.mark.parametrize("name", ["vehicle", "glass"])
    def test_quadratic_discriminant_is_its_formula(self, name):
        data = load(name)
        split = next(inner_splits(data, 0, 0))
        X, y = data.X[split.trains], data.y[split.trains]
        log_joint = [
            np.log((y == j).mean())
            + multivariate_normal.logpdf(
                data.X, X[y == j].mean(axis=0), 0.9 * np.cov(X[y == j].T) + 0.1 * np.eye(X.shape[1])
            )
            for j in range(data.n_classes)
        ]
        found = clone(CLASSIFIERS["qda"]).fit(X, y).predict_proba(data.X)
        assert_allclose(found, softmax(np.array(log_joint).T, axis=1), atol=1e-9)


@pytest.fixture(scope="module")
def glass_cell(tmp_path_factory):
    """Naive Bayes on the first test fold of glass, run."""
    cache, cell = Cache(tmp_path_factory.mktemp("cache")), Cell("glass", "nbayes", 0, 0)
    predict(cache, cell)
    calibrate(cache, cell, tuple(METHODS))
    return cache, cell


class TestOneCell:
    def test_predictions_are_those_of_the_three_classifiers(self, glass_cell):
        cache, cell = glass_cell
        glass = load("glass")
        proba, seconds = read_predictions(cache.predictions(cell))
        assert seconds >= 0
        train, _ = outer_split(glass, 0, 0)
        X, y = glass.X[train], glass.y[train]
        folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
        for found, (inside, _) in zip(proba, folds, strict=True):
            model = GaussianNB().fit(X[inside], y[inside])
            assert_array_equal(found, model.predict_proba(glass.X))

    def test_dirichlet_is_chosen_on_the_rows_that_trained_the_classifier(self, glass_cell):
        cache, cell = glass_cell
        glass = load("glass")
        proba, _ = read_predictions(cache.predictions(cell))
        _, test = outer_split(glass, 0, 0)
        total, chosen = 0.0, []
        for scores, (trains, fits) in zip(proba, inner_splits(glass, 0, 0), strict=True):
            best = (np.inf, None, None)
            for lam in 10.0 ** np.arange(3, -8, -1):
                one = DirichletCalibrator(
                    penalty="l2_reference", lam=lam, clip=np.finfo(float).tiny, classes=range(6)
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    one.fit(scores[fits], glass.y[fits])
                loss = log_loss(
                    glass.y[trains], one.predict_proba(scores[trains]), classes=range(6)
                )
                best = min(best, (loss, -lam, one), key=lambda found: found[0])
            total = total + best[2].predict_proba(scores[test]) / 3
            chosen.append(-best[1])
        outcome = read_json(cache.outcome(cell, "DirL2"))
        assert [float(text) for text in outcome["chosen"].split(";")] == pytest.approx(chosen)
        measures = outcome["measures"]
        expected = log_loss(glass.y[test], total, classes=range(6))
        assert measures["log-loss"] == pytest.approx(expected, abs=1e-6)

    def test_measures_are_those_of_the_tables(self, glass_cell):
        cache, cell = glass_cell
        glass = load("glass")
        proba, _ = read_predictions(cache.predictions(cell))
        _, test = outer_split(glass, 0, 0)
        mean, y = proba[:, test].mean(axis=0), glass.y[test]
        measures = read_json(cache.outcome(cell, "Uncal"))["measures"]
        assert tuple(measures) == MEASURES
        options = {"classes": range(6), "binning": "paper_table"}
        assert measures["cw-ECE"] == pytest.approx(classwise_ece(y, mean, **options))
        brier = ((mean - np.eye(6)[y]) ** 2).mean()
        assert measures["Brier"] == pytest.approx(brier)
        test_ = calibration_test(
            y, mean, statistic="classwise_ece", n_resamples=1000, random_state=0, **options
        )
        assert measures["p-cw-ECE"] == test_.pvalue

    def test_legacy_temperature_stays_at_one_where_there_are_zeros(self, glass_cell):
        cache, cell = glass_cell
        found = {
            name: read_json(cache.outcome(cell, name))["measures"]
            for name in ("Uncal", "TempS", "TempS-2019")
        }
        proba, _ = read_predictions(cache.predictions(cell))
        assert (proba == 0).any()
        assert found["TempS-2019"] == found["Uncal"]
        assert found["TempS"]["log-loss"] < found["Uncal"]["log-loss"]

    def test_finished_methods_are_not_run_again(self, glass_cell):
        cache, cell = glass_cell
        before = cache.outcome(cell, "Beta").stat().st_mtime_ns
        calibrate(cache, cell, tuple(METHODS))
        assert cache.outcome(cell, "Beta").stat().st_mtime_ns == before

    def test_a_classifier_that_fails_leaves_its_reason(self, tmp_path, monkeypatch):
        class Broken:
            def get_params(self, deep=False):
                return {}

            def fit(self, X, y):
                raise ArithmeticError("rank\nis zero")

        monkeypatch.setitem(CLASSIFIERS, "nbayes", Broken())
        cache, cell = Cache(tmp_path), Cell("iris", "nbayes", 0, 0)
        predict(cache, cell)
        calibrate(cache, cell, tuple(METHODS))
        assert read_json(cache.no_predictions(cell)) == {"reason": "ArithmeticError: rank is zero"}
        assert not cache.outcome(cell, "Uncal").exists()

    def test_a_method_that_fails_does_not_stop_the_others(self, tmp_path, monkeypatch):
        def broken(given):
            raise FloatingPointError("lost")

        monkeypatch.setitem(METHODS, "Isot", broken)
        cache, cell = Cache(tmp_path), Cell("iris", "nbayes", 0, 0)
        predict(cache, cell)
        calibrate(cache, cell, ("Isot", "Uncal"))
        assert read_json(cache.no_outcome(cell, "Isot"))["reason"] == "FloatingPointError: lost"
        assert cache.outcome(cell, "Uncal").exists()


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    path = tmp_path / "a" / "b.json"
    write_whole(path, b"old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in path.parent.iterdir()] == ["b.json"]
