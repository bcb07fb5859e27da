import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedKFold

from dircal import (
    DirichletCalibrator,
    GenerativeParameters,
    IdentityCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    metrics,
)
from dircal.exceptions import ConvergenceWarning
from dircal.metrics import loss_decomposition

WORLD = GenerativeParameters(1.0 + np.eye(3) + np.tri(3) / 4, [0.2, 0.3, 0.5])


@pytest.mark.parametrize("loss", ["log_loss", "brier_score"])
def test_every_row_is_judged_by_a_map_of_other_rows(loss, make_problem):
    problem = make_problem(0, n=200, k=3)
    folds = list(KFold(4).split(problem.proba))
    found = loss_decomposition(problem.y, problem.proba, TemperatureScaling(), loss=loss, cv=folds)
    mapped = np.empty_like(problem.proba)
    for fitting, scoring in folds:
        one = TemperatureScaling().fit(problem.proba[fitting], problem.y[fitting])
        mapped[scoring] = one.predict_proba(problem.proba[scoring])
    measure = getattr(metrics, loss)
    assert found.total == pytest.approx(measure(problem.y, problem.proba))
    assert found.refinement == pytest.approx(measure(problem.y, mapped))
    assert found.calibration == pytest.approx(found.total - found.refinement)
    rows = [
        measure([y], p[None], classes=range(3)) - measure([y], q[None], classes=range(3))
        for y, p, q in zip(problem.y, problem.proba, mapped, strict=True)
    ]
    assert found.standard_error == pytest.approx(np.std(rows, ddof=1) / np.sqrt(200))
    assert found.n_samples == 200
    assert loss in repr(found)


def test_the_known_map_tells_how_much_there_is_to_gain():
    q, y = WORLD.sample(20_000, random_state=0)
    truth = metrics.log_loss(y, q) - metrics.log_loss(y, WORLD.predict_proba(q))
    found = loss_decomposition(y, q, DirichletCalibrator())
    assert found.calibration == pytest.approx(truth, abs=0.002)
    # Of what is calibrated already there is nothing to gain, only something to lose.
    again = loss_decomposition(y, WORLD.predict_proba(q), DirichletCalibrator())
    assert -0.002 < again.calibration < 0.001


def test_no_calibration_gains_nothing(make_problem):
    problem = make_problem(0)
    found = loss_decomposition(problem.y, problem.proba, IdentityCalibrator())
    assert found.calibration == pytest.approx(0, abs=1e-12)


def test_labels_columns_and_weights(make_problem):
    problem = make_problem(1, n=200, k=3)
    folds = list(KFold(4).split(problem.proba))
    expected = loss_decomposition(problem.y, problem.proba, TemperatureScaling(), cv=folds)
    names = np.array(["ant", "bee", "cat"])[problem.y]
    moved = loss_decomposition(
        names,
        problem.proba[:, [1, 2, 0]],
        TemperatureScaling(),
        cv=folds,
        classes=["bee", "cat", "ant"],
    )
    assert moved.calibration == pytest.approx(expected.calibration, abs=1e-9)
    twice = np.concatenate([np.arange(200), np.arange(200)])
    pairs = [(np.r_[a, a + 200], np.r_[b, b + 200]) for a, b in folds]
    copied = loss_decomposition(
        problem.y[twice], problem.proba[twice], TemperatureScaling(), cv=pairs
    )
    weighted = loss_decomposition(
        problem.y, problem.proba, TemperatureScaling(), cv=folds, sample_weight=np.full(200, 2)
    )
    assert weighted.calibration == pytest.approx(copied.calibration, abs=1e-9)
    assert weighted.standard_error == pytest.approx(copied.standard_error, abs=1e-9)


def test_complaints_of_the_folds_are_heard():
    P = np.repeat([[0.9, 0.1], [0.2, 0.8]], 20, axis=0)
    y = np.repeat([0, 1], 20)
    with pytest.warns(ConvergenceWarning):
        loss_decomposition(y, P, DirichletCalibrator(penalty="none"))


P3 = np.full((12, 3), 1 / 3)
Y3 = np.arange(12) % 3


@pytest.mark.parametrize(
    ("calibrator", "options", "message"),
    [
        (None, {}, r"`calibrator` must be a calibrator of dircal; got None"),
        (PlattCalibrator(), {}, r"`calibrator` is PlattCalibrator, which is for two.*OneVsRest"),
        (TemperatureScaling(input_scale="logit"), {}, r"input_scale='logit', but `y_prob` holds"),
        (TemperatureScaling(), {"loss": "hinge"}, r"`loss` must be one of 'log_loss', 'brier"),
        (TemperatureScaling(), {"cv": 1}, r"`cv` must be a whole number of at least 2; got 1"),
        (TemperatureScaling(), {"cv": RepeatedKFold(n_splits=3)}, r"`cv` must score no row twice"),
    ],
)
def test_bad_arguments(calibrator, options, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        loss_decomposition(Y3, P3, calibrator, **options)
