import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from dircal import (
    BayesianDirichletCalibrator,
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    MatrixScaling,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
    io,
)
from dircal._core.data.array_source import ArraySource
from dircal.exceptions import ConvergenceWarning
from dircal.explain import _record


@pytest.mark.parametrize(
    "cls", [DirichletCalibrator, TemperatureScaling, VectorScaling, MatrixScaling]
)
def test_parameters_of_a_calibrator_are_its_map(cls, make_problem):
    problem = make_problem(0, n=400, k=3)
    names = np.array(["c", "a", "b"])
    fit = cls(classes=names, clip=1e-12).fit(problem.proba, names[problem.y])
    assert problem.proba.min() > 1e-12
    ordered = problem.proba[:, np.argsort(names)]  # the parameters follow classes_
    proba = fit.predict_proba(problem.proba)
    for parameters in (
        fit.linear_parameters(),
        fit.canonical_parameters(),
        fit.generative_parameters(),
    ):
        assert_allclose(parameters.predict_proba(ordered), proba, rtol=1e-9)
    assert_array_equal(fit.linear_parameters().W, fit.coef_)
    points = fit.interpretation_points(eps=0.1)
    assert_allclose(points.images[-1], fit.canonical_parameters().c, rtol=1e-12)
    assert_allclose(points.points[0], [0.1, 0.45, 0.45])
    assert_allclose(fit.interpretation_points().points[0], [0.01, 0.495, 0.495])


def test_parameters_follow_logits_read_through_a_log_softmax(make_problem):
    problem = make_problem(0, n=400, k=3)
    for cls in (DirichletCalibrator, TemperatureScaling):
        fit = cls(input_scale="logit").fit(problem.logits, problem.y)
        assert_allclose(
            fit.generative_parameters().predict_proba(problem.proba),
            fit.predict_proba(problem.logits),
            rtol=1e-9,
        )


@pytest.mark.parametrize("cls", [MatrixScaling, VectorScaling])
@pytest.mark.parametrize(
    "name",
    ["linear_parameters", "canonical_parameters", "generative_parameters", "interpretation_points"],
)
def test_maps_of_raw_logits_have_no_such_parameters(cls, name, make_problem):
    problem = make_problem(0, n=400, k=3)
    fit = cls(input_scale="logit").fit(problem.logits, problem.y)
    message = rf"`input_scale`.*{cls.__name__} reads.*'logit'.*DirichletCalibrator"
    with pytest.raises(ValueError, match=message):
        getattr(fit, name)()


@pytest.mark.parametrize(
    "name",
    ["linear_parameters", "canonical_parameters", "generative_parameters", "interpretation_points"],
)
def test_parameters_need_a_fit(name):
    with pytest.raises(NotFittedError, match="DirichletCalibrator"):
        getattr(DirichletCalibrator(), name)()


@pytest.fixture
def counted(monkeypatch):
    """How often effects are measured."""
    calls = []
    original = _record.measure_effects

    def measure(*args):
        calls.append(1)
        return original(*args)

    monkeypatch.setattr(_record, "measure_effects", measure)
    return calls


def test_a_fit_leaves_its_explanation_for_later(make_problem, counted):
    problem = make_problem(0, n=400, k=3)
    fit = DirichletCalibrator().fit(problem.proba, problem.y)
    fit.predict_proba(problem.proba)
    assert not counted
    first = fit.explain()
    assert len(counted) == 1
    assert not fit.fit_.record.has_rows
    assert fit.explain() == first
    assert len(counted) == 1
    assert first.n_rows == 400


def test_rows_stay_behind_when_a_calibrator_travels(make_problem, counted):
    problem = make_problem(0, n=400, k=3)
    fit = DirichletCalibrator().fit(problem.proba, problem.y)
    content = pickle.dumps(fit)
    assert len(counted) == 1
    assert len(content) < problem.proba.nbytes / 2
    assert pickle.loads(content).explain() == fit.explain()
    again = fit.fit(problem.proba[:200], problem.y[:200])
    assert again.explain().n_rows == 200


def test_folds_refer_to_the_rows_and_do_not_copy_them(make_problem):
    problem = make_problem(0, n=400, k=3)
    search = CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [1.0, 1e-2, 1e-4]})
    search.fit(problem.proba, problem.y)
    for member in search.calibrators_:
        assert member.fit_.record._rows.rows.source.inputs is problem.proba
        assert member.explain().n_rows == 320


@pytest.mark.parametrize("k", [3, 30])
def test_the_history_of_a_fit(k, make_problem):
    problem = make_problem(0, n=400, k=k)
    fit = DirichletCalibrator().fit(problem.proba, problem.y)
    assert len(fit.history_) == fit.n_iter_ > 1
    losses = [step.loss for step in fit.history_]
    assert losses == sorted(losses, reverse=True)
    assert fit.history_[-1].predicted_decrease <= fit.tol
    assert all(step.step_length == 1.0 for step in fit.history_[:-1])
    passes = [step.n_passes for step in fit.history_]
    assert passes == sorted(passes)


def test_what_is_read_off_the_map_cannot_be_set(make_problem):
    problem = make_problem(0, n=100, k=3)
    fit = DirichletCalibrator().fit(problem.proba, problem.y)
    with pytest.raises(AttributeError):
        fit.coef_ = np.eye(3)
    with pytest.raises(ValueError, match="read-only"):
        fit.coef_[0, 0] = 2.0
    with pytest.raises(AttributeError, match="not fitted"):
        DirichletCalibrator().coef_  # noqa: B018


@pytest.mark.parametrize("spoil", ["reversed", "nan", "negative"])
def test_rows_that_changed_since_the_fit_are_not_explained(spoil, make_problem):
    problem = make_problem(0, n=400, k=3)
    X = problem.proba.copy()
    fit = DirichletCalibrator().fit(X, problem.y)
    X[:] = {"reversed": X[:, ::-1].copy(), "nan": np.nan, "negative": -1.0}[spoil]
    content = pickle.dumps(fit)
    with pytest.raises(ValueError, match=r"`X` is needed here.*explain\(X\)"):
        fit.explain()
    explained = pickle.loads(content).explain(problem.proba)
    assert explained.comparison.loss_uncalibrated is None
    assert "with the best temperature" in str(explained)


def test_parameters_that_are_set_after_the_fit_change_nothing(make_problem):
    problem = make_problem(0, n=400, k=3)
    fit = DirichletCalibrator().fit(problem.proba, problem.y)
    expected, told = fit.predict_proba(problem.proba), str(fit.explain(problem.proba))
    fit.set_params(input_scale="logit")
    assert_array_equal(fit.predict_proba(problem.proba), expected)
    assert str(fit.explain(problem.proba)) == told
    with pytest.raises(ValueError, match="does not read input_scale='logit'"):
        io.to_bytes(fit)


def test_what_explaining_folds_can_be_sent_elsewhere(make_problem, monkeypatch):
    problem = make_problem(0, n=400, k=3)
    original = ArraySource.fold
    monkeypatch.setattr(
        ArraySource, "fold", lambda self, f: original(self, pickle.loads(pickle.dumps(f)))
    )
    for calibrator in (DirichletCalibrator(), BayesianDirichletCalibrator()):
        fit = calibrator.fit(problem.proba, problem.y)
        assert fit.explain().n_rows == 400
        assert fit.explain(problem.proba).n_rows == 400


def test_two_threads_may_ask_at_once(make_problem):
    problem = make_problem(0, n=2000, k=3)
    fit = DirichletCalibrator().fit(problem.proba, problem.y)
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda _: (str(fit.explain()), len(pickle.dumps(fit))), range(8)))
    assert len(set(told)) == 1


def test_members_that_nobody_asks_keep_no_rows(make_problem):
    problem = make_problem(0, n=400, k=3)
    fit = OneVsRestCalibrator(VectorScaling()).fit(problem.proba, problem.y)
    assert not any(member.fit_.record.has_rows for member in fit.calibrators_)
    with pytest.raises(ValueError, match="Pass rows to explain the map on"):
        fit.calibrators_[0].explain()


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
@pytest.mark.parametrize(
    "calibrator",
    [BayesianDirichletCalibrator(), BetaCalibrator(slopes="nonnegative"), PlattCalibrator()],
    ids=lambda calibrator: type(calibrator).__name__,
)
def test_every_history_has_all_steps(calibrator, make_problem):
    problem = make_problem(0, n=400, k=2)
    away = 1 - problem.y  # so that slopes would be negative
    fit = calibrator.fit(problem.proba, away)
    assert len(fit.history_) == fit.n_iter_ > 0


def test_the_temperature_that_is_told_is_the_fitted_one():
    y = np.arange(40) % 4
    right = np.where(np.eye(4)[y] == 1, 0.9, 0.1 / 3)
    with pytest.warns(ConvergenceWarning):
        fit = TemperatureScaling().fit(right, y)
    assert fit.explain().comparison.temperature == pytest.approx(fit.temperature_)
