"""Searching hyperparameters: what is fitted where, what is chosen, what is told."""

import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

from dircal import (
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    MatrixScaling,
    OneVsRestCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal.calibrators import AbstractCalibrator, AbstractMethod, Fit
from dircal.exceptions import GridEdgeWarning
from dircal.maps import Normalise
from dircal.metrics import log_loss

GRID = {"lam": [1.0, 0.1, 0.01, 1e-3, 1e-4]}


@pytest.fixture
def search():
    return CalibratorCV(DirichletCalibrator(penalty="l2"), GRID, cv=4)


@pytest.fixture(autouse=True)
def edges_are_no_news():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        yield


def naive_search(calibrator, settings, splits, X, y, weight=None):
    """Every setting on every fold, from scratch."""
    losses = np.empty((len(settings), len(splits)))
    for i, setting in enumerate(settings):
        for f, (fit, score) in enumerate(splits):
            w = None if weight is None else weight[fit]
            fitted = clone(calibrator).set_params(**setting, classes=np.arange(X.shape[1]))
            proba = fitted.fit(X[fit], y[fit], w).predict_proba(X[score])
            w = None if weight is None else weight[score]
            losses[i, f] = log_loss(y[score], proba, sample_weight=w, classes=range(X.shape[1]))
    return losses


CASES = {
    "l2": (DirichletCalibrator(penalty="l2"), GRID),
    "l2_reference": (DirichletCalibrator(penalty="l2_reference"), GRID),
    "odir": (DirichletCalibrator(), {"lam": [100.0, 1.0, 0.01], "mu": [10.0, 0.1, 1e-3]}),
    "odir, a default": (DirichletCalibrator(), {"lam": [None, 1.0], "mu": [None]}),
    "matrix": (MatrixScaling(input_scale="logit"), {"lam": [10.0, 0.1], "mu": [0.1]}),
    "vector": (VectorScaling(penalty="l2"), GRID),
    "penalties": (DirichletCalibrator(lam=0.01), {"penalty": ["l2", "l2_reference"]}),
    "floors": (TemperatureScaling(), {"clip": [1e-3, 1e-6, "learned"]}),
    "list": (DirichletCalibrator(), [{"penalty": ["l2"], "lam": [0.1]}, {"penalty": ["odir"]}]),
}


@pytest.mark.parametrize(("calibrator", "grid"), CASES.values(), ids=CASES)
def test_scores_are_those_of_separate_fits(calibrator, grid, make_problem):
    problem = make_problem(0, n=240, k=3)
    X = problem.logits if calibrator.input_scale == "logit" else problem.proba
    splits = list(KFold(3).split(X))
    search = CalibratorCV(calibrator, grid, cv=splits).fit(X, problem.y)
    expected = naive_search(calibrator, search.cv_results_["params"], splits, X, problem.y)
    for fold in range(3):
        # The search stops a little short of the optimum of each setting.
        ours = -search.cv_results_[f"split{fold}_test_score"]
        assert_allclose(ours, expected[:, fold], rtol=1e-5)
    best = expected.mean(axis=1).argmin()
    assert search.best_index_ == best
    assert search.best_params_ == search.cv_results_["params"][best]
    members = [
        clone(calibrator).set_params(**search.best_params_).fit(X[fit], problem.y[fit])
        for fit, _ in splits
    ]
    average = np.mean([one.predict_proba(X) for one in members], axis=0)
    assert_allclose(search.predict_proba(X), average, atol=1e-9)


def test_refit_is_one_map_on_all_rows(search, make_problem):
    problem = make_problem(1, n=200, k=3)
    search.set_params(combine="refit").fit(problem.proba, problem.y)
    alone = DirichletCalibrator(penalty="l2", **search.best_params_).fit(problem.proba, problem.y)
    assert len(search.calibrators_) == 1
    assert_allclose(search.predict_proba(problem.proba), alone.predict_proba(problem.proba))
    assert_allclose(search.linear_parameters().W, alone.coef_)
    assert search.explain().sentences() == alone.explain().sentences()
    assert search.canonical_parameters().A.shape == (3, 3)
    assert search.generative_parameters().alpha.shape == (3, 3)
    assert search.interpretation_points(0.05).points.shape == (4, 3)


def test_an_average_has_no_parameters(search, make_problem):
    problem = make_problem(1, n=200, k=3)
    search.fit(problem.proba, problem.y)
    assert len(search.calibrators_) == search.n_splits_ == 4
    for method in (
        "linear_parameters",
        "canonical_parameters",
        "generative_parameters",
        "interpretation_points",
        "explain",
    ):
        with pytest.raises(ValueError, match=r"average of 4 maps.*`calibrators_\[0\]`"):
            getattr(search, method)()
    assert search.calibrators_[0].linear_parameters().W.shape == (3, 3)


def test_results_look_like_those_of_scikit_learn(search, make_problem):
    problem = make_problem(2, n=200, k=3)
    splits = list(StratifiedKFold(4).split(problem.proba, problem.y))
    search.set_params(cv=splits).fit(problem.proba, problem.y)
    theirs = GridSearchCV(
        DirichletCalibrator(penalty="l2"), GRID, cv=splits, scoring="neg_log_loss"
    ).fit(problem.proba, problem.y)
    ours = search.cv_results_
    wanted = set(theirs.cv_results_) - {"mean_score_time", "std_score_time"}
    assert wanted <= set(ours)
    assert_allclose(ours["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-5)
    assert_allclose(ours["std_test_score"], theirs.cv_results_["std_test_score"], rtol=1e-3)
    assert_array_equal(ours["rank_test_score"], theirs.cv_results_["rank_test_score"])
    assert_array_equal(ours["param_lam"].data, theirs.cv_results_["param_lam"].data)
    assert search.best_params_ == theirs.best_params_
    frame = pd.DataFrame(ours)
    assert len(frame) == 5
    assert (frame["mean_fit_time"] > 0).all()


def test_grids_may_lack_values(make_problem):
    problem = make_problem(2, n=100, k=3)
    grid = [{"penalty": ["l2"], "lam": [0.1]}, {"penalty": ["none"]}]
    search = CalibratorCV(DirichletCalibrator(), grid, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(problem.proba, problem.y)
    assert search.cv_results_["param_lam"].mask.tolist() == [False, True]


def test_ties_go_to_the_first_of_the_grid(make_problem):
    problem = make_problem(2, n=60, k=3)
    search = CalibratorCV(TemperatureScaling(), {"max_iter": [70, 50, 60]}, cv=2)
    assert search.fit(problem.proba, problem.y).best_params_ == {"max_iter": 70}


def test_one_pair_fits_on_one_part_and_chooses_on_the_other(make_problem):
    problem = make_problem(3, n=300, k=3)
    fit, score = np.arange(200), np.arange(200, 300)
    search = CalibratorCV(DirichletCalibrator(penalty="l2"), GRID, cv=[(fit, score)])
    search.fit(problem.proba, problem.y)
    alone = DirichletCalibrator(penalty="l2", **search.best_params_)
    alone.fit(problem.proba[fit], problem.y[fit])
    assert_allclose(search.predict_proba(problem.proba), alone.predict_proba(problem.proba))
    assert_allclose(search.linear_parameters().W, alone.coef_)
    masks = [(np.arange(300) < 200, np.arange(300) >= 200)]
    again = clone(search).set_params(cv=masks).fit(problem.proba, problem.y)
    assert again.best_params_ == search.best_params_


def test_folds_are_the_same_each_time_and_ignore_labels(search, make_problem):
    problem = make_problem(4, n=150, k=3)
    one = search.fit(problem.proba, problem.y).predict_proba(problem.proba)
    two = clone(search).fit(problem.proba, problem.y).predict_proba(problem.proba)
    assert_array_equal(one, two)
    columns = [2, 0, 1]
    moved = clone(search).fit(problem.proba[:, columns], np.array([1, 2, 0])[problem.y])
    assert_allclose(moved.predict_proba(problem.proba[:, columns])[:, [1, 2, 0]], one, atol=1e-6)


def test_rows_of_weight_zero_change_nothing(search, make_problem):
    problem = make_problem(5, n=200, k=3)
    weight = np.random.default_rng(0).uniform(0.5, 2, 200)
    weight[::7] = 0.0
    X = problem.proba.copy()
    X[::7] = np.nan
    kept = weight > 0
    whole = search.fit(X, problem.y, weight)
    part = clone(search).fit(X[kept], problem.y[kept], weight[kept])
    assert whole.best_params_ == part.best_params_
    assert_array_equal(whole.predict_proba(X[kept]), part.predict_proba(X[kept]))
    halves = [(np.arange(100), np.arange(100, 200))]
    clone(search).set_params(cv=halves).fit(X, problem.y, weight)


def test_weights_count_in_fit_and_score(make_problem):
    problem = make_problem(6, n=200, k=3)
    weight = np.random.default_rng(0).uniform(0, 5, 200)
    splits = list(KFold(2).split(problem.proba))
    calibrator = DirichletCalibrator(penalty="l2")
    search = CalibratorCV(calibrator, GRID, cv=splits).fit(problem.proba, problem.y, weight)
    settings = search.cv_results_["params"]
    expected = naive_search(calibrator, settings, splits, problem.proba, problem.y, weight)
    assert_allclose(-search.cv_results_["mean_test_score"], expected.mean(axis=1), rtol=1e-5)


def test_classes_that_folds_or_labels_lack(make_problem):
    problem = make_problem(7, n=60, k=4)
    y = np.where(problem.y == 3, 0, problem.y)
    y[0] = 2
    calibrator = DirichletCalibrator(penalty="l2", classes=["a", "b", "c", "d"])
    names = np.array(["a", "b", "c", "d"])
    search = CalibratorCV(calibrator, GRID, cv=5).fit(problem.proba, names[y])
    assert search.classes_.tolist() == ["a", "b", "c", "d"]
    proba = search.predict_proba(problem.proba)
    assert proba.shape == (60, 4)
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert set(search.predict(problem.proba)) <= set(names)


def test_data_frames_by_name(search, make_problem):
    problem = make_problem(8, n=120, k=3)
    names = np.array(["x", "y", "z"])
    frame = pd.DataFrame(problem.proba, columns=names)
    search.fit(frame, names[problem.y])
    plain = search.predict_proba(frame)
    assert_array_equal(search.predict_proba(frame[["z", "x", "y"]]), plain)
    assert search.feature_names_in_.tolist() == ["x", "y", "z"]


def test_scale_and_classes_are_those_inside():
    inner = TemperatureScaling(input_scale="logit", classes=[1, 2])
    search = CalibratorCV(inner, {"max_iter": [5, 10]})
    assert search.input_scale == "logit"
    assert search.classes == [1, 2]


def test_the_edge_of_the_grid_is_told(make_problem):
    problem = make_problem(9, n=400, k=3)
    narrow = CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [10.0, 1.0]}, cv=2)
    message = r"chose lam=1, the smallest of its values.*Extend the grid"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.warns(GridEdgeWarning, match=message):
            narrow.fit(problem.proba, problem.y)
        # One value is no search, and words have no edge.
        CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [1.0]}, cv=2).fit(
            problem.proba, problem.y
        )
        CalibratorCV(DirichletCalibrator(lam=1.0), {"penalty": ["l2", "odir"]}, cv=2).fit(
            problem.proba, problem.y
        )


def test_clone_pickle_and_not_fitted(search, make_problem):
    problem = make_problem(1, n=100, k=3)
    with pytest.raises(NotFittedError):
        search.predict_proba(problem.proba)
    with pytest.raises(NotFittedError):
        search.explain()
    fitted = search.fit(problem.proba, problem.y)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict_proba(problem.proba), fitted.predict_proba(problem.proba))


def test_paper_grids():
    q = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    y = np.arange(60) % 3
    uci = CalibratorCV(DirichletCalibrator(penalty="l2_reference"), "paper_uci", cv=2).fit(q, y)
    assert [s["lam"] for s in uci.cv_results_["params"]] == pytest.approx(
        [1e3, 1e2, 1e1, 1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]
    )
    neural = CalibratorCV(DirichletCalibrator(), "paper_neural", cv=2)
    settings = neural.method().settings(10)
    assert len(settings) == 36 * 12
    assert {s["lam"] / 90 for s in settings} >= {1e-5, 1e6}
    assert min(s["lam"] for s in settings) == pytest.approx(90 * 0.25e-5)
    assert max(s["mu"] for s in settings) == pytest.approx(10 * 1e6)
    assert len(neural.method().settings(100)) == 27 * 9
    l2 = CalibratorCV(DirichletCalibrator(penalty="l2"), "paper_neural")
    assert len(l2.method().settings(10)) == 36
    with pytest.raises(ValueError, match=r"`param_grid` 'paper_neural' has no values for Temp"):
        CalibratorCV(TemperatureScaling(), "paper_neural").fit(q, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibrator": "dirichlet"}, r"`calibrator` must be a calibrator of dircal; got 'dir"),
        ({"calibrator": DirichletCalibrator}, r"got the class DirichletCalibrator"),
        ({"param_grid": "paper"}, r"`param_grid` must be one of 'paper_uci', 'paper_neural'"),
        ({"param_grid": {"lambda": [1]}}, r"`param_grid` has 'lambda', but Dirichlet.*lam, "),
        ({"param_grid": {"lam": 1.0}}, r"`param_grid` must be a dict of lists"),
        ({"param_grid": {"classes": [[0, 1, 2]]}}, r"`param_grid` has 'classes', which.*`X` holds"),
        ({"param_grid": {"input_scale": ["logit"]}}, r"has 'input_scale'.*on the calibrator"),
        ({"param_grid": []}, r"`param_grid` has no values"),
        ({"param_grid": {"lam": [-1.0]}}, r"`lam` must be a finite number at least 0; got -1"),
        ({"cv": 1}, r"`cv` must be a whole number of at least 2; got 1"),
        ({"cv": "five"}, r"`cv` must be a number of folds.*got 'five'"),
        ({"cv": []}, r"`cv` must hold pairs.*it has no pairs"),
        ({"cv": [1, 2]}, r"`cv` must hold pairs \(rows to fit, rows to score\); got 1"),
        ({"cv": [([0, 1], [99])]}, r"`cv` must hold numbers of rows below 40"),
        ({"cv": [([0, 1], [])]}, r"pair 0 has no rows to fit or to score"),
        ({"combine": "mean"}, r"`combine` must be one of 'average', 'refit'; got 'mean'"),
    ],
)
def test_bad_parameters(search, options, message, make_problem):
    problem = make_problem(0, n=40, k=3)
    with pytest.raises(ValueError, match=message):
        search.set_params(**options).fit(problem.proba, problem.y)


def test_fewer_rows_than_folds_and_a_single_one():
    q = np.array([[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]])
    search = CalibratorCV(DirichletCalibrator(penalty="l2"), GRID, cv=5).fit(q, [0, 1, 1])
    assert search.n_splits_ == 3
    single = CalibratorCV(IdentityCalibrator(classes=[0, 1]), [{}]).fit(q[:1], [0])
    assert_allclose(single.predict_proba(q), q)


def test_a_failed_fit_loses_nothing(search, make_problem):
    problem = make_problem(0, n=100, k=3)
    before = search.fit(problem.proba, problem.y).predict_proba(problem.proba)
    with pytest.raises(ValueError, match="sum to one"):
        search.fit(problem.logits**2 + 5, problem.y)
    assert_array_equal(search.predict_proba(problem.proba), before)


def test_what_rows_hold_is_no_matter_of_choice_however_deep(make_problem):
    problem = make_problem(0, n=40, k=3)
    inner = OneVsRestCalibrator(IsotonicCalibrator())
    grid = {"calibrator__input_scale": ["probability", "logit"]}
    with pytest.raises(ValueError, match=r"`param_grid` has 'calibrator__input_scale', which"):
        CalibratorCV(inner, grid, cv=2).fit(problem.proba, problem.y)


@dataclass(frozen=True, eq=False)
class EdgesMethod(AbstractMethod):
    edges: list
    name, input_scale, classes = "WithEdges", "probability", None

    def check(self):
        pass

    def learn(self, rows):
        return Fit.from_steps(rows, "probability", (Normalise(),))


class WithEdges(AbstractCalibrator):
    """A calibrator with a parameter that is a list, and changes nothing."""

    method_class, input_scale = EdgesMethod, "probability"

    def __init__(self, edges=()):
        self.edges = edges


@pytest.mark.parametrize("values", [[[0.1, 0.2], [0.3, 0.4]], [[0.1], [0.3, 0.4]], [[1], 2]])
def test_parameters_that_are_lists(values, make_problem):
    problem = make_problem(0, n=40, k=3)
    search = CalibratorCV(WithEdges(), {"edges": values}, cv=2).fit(problem.proba, problem.y)
    assert search.cv_results_["param_edges"].shape == (2,)
    assert search.cv_results_["param_edges"].tolist() == values
    assert search.best_params_ == {"edges": values[0]}


def test_two_processes_find_the_same(search, make_problem):
    problem = make_problem(4, n=200)
    one = clone(search).fit(problem.proba, problem.y)
    two = clone(search).set_params(n_jobs=2).fit(problem.proba, problem.y)
    assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert_array_equal(one.predict_proba(problem.proba), two.predict_proba(problem.proba))
    with pytest.raises(ValueError, match="`n_jobs` must be None or a whole number"):
        clone(search).set_params(n_jobs=0).fit(problem.proba, problem.y)


@pytest.mark.parametrize(
    ("calibrator", "names", "n_settings"),
    [
        (DirichletCalibrator(), ["lam", "mu"], 32),
        (DirichletCalibrator(penalty="l2"), ["lam"], 11),
        (MatrixScaling(), ["lam", "mu"], 32),
        (VectorScaling(), ["lam", "penalty"], 9),
        (OneVsRestCalibrator(HistogramCalibrator()), ["calibrator__n_bins"], 6),
        (OneVsRestCalibrator(BetaCalibrator()), ["calibrator__slopes"], 2),
    ],
    ids=repr,
)
def test_a_grid_for_whoever_names_none(calibrator, names, n_settings, make_problem):
    problem = make_problem(5, n=150)
    search = CalibratorCV(calibrator, cv=2).fit(problem.proba, problem.y)
    assert sorted(search.best_params_) == names
    assert len(search.cv_results_["params"]) == n_settings
    assert len({str(one) for one in search.cv_results_["params"]}) == n_settings


@pytest.mark.parametrize("calibrator", [TemperatureScaling(), IdentityCalibrator()], ids=repr)
def test_nothing_to_try(calibrator, make_problem):
    problem = make_problem(5, n=150)
    with pytest.raises(ValueError, match=f"{type(calibrator).__name__} has nothing that is worth"):
        CalibratorCV(calibrator).fit(problem.proba, problem.y)


def test_the_default_strengths_go_beyond_those_that_are_learned(make_problem):
    for seed, k in [(0, 3), (1, 5), (2, 10)]:
        problem = make_problem(seed, n=600, k=k)
        learned = DirichletCalibrator().fit(problem.proba, problem.y).strengths_
        search = CalibratorCV(DirichletCalibrator(), cv=2).fit(problem.proba, problem.y)
        for name in ("lam", "mu"):
            tried = [one[name] for one in search.cv_results_["params"]]
            assert min(tried) < learned[name] < max(tried)
