"""The choice among calibrators: which, why, and what may go wrong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.model_selection import KFold

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    CalibratedClassifier,
    CalibratorCV,
    DirichletCalibrator,
    IdentityCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal.exceptions import ConvergenceWarning
from dircal.metrics import log_loss

ALL = [
    "IdentityCalibrator",
    "TemperatureScaling",
    "VectorScaling",
    "BayesianDirichletCalibrator",
]


@pytest.fixture
def calibrated():
    """Probabilities that are right, and labels drawn from them."""
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(4), size=2000)
    return q, (q.cumsum(axis=1) > rng.random((2000, 1))).argmax(axis=1)


def test_what_is_right_stays(calibrated):
    q, y = calibrated
    auto = AutoCalibrator().fit(q, y)
    assert auto.choice_ == "IdentityCalibrator"
    assert_allclose(auto.predict_proba(q), q, rtol=1e-12)
    assert auto.probability_of_harm_ == 0.0
    for explanation in (auto.explain(), auto.explain(q)):
        assert explanation.sentences() == [str(explanation)]
        assert str(explanation).startswith("Nothing needed correcting")
    with pytest.raises(ValueError, match="the choice was IdentityCalibrator"):
        auto.canonical_parameters()


def test_one_temperature_is_found(calibrated):
    q, y = calibrated
    sharp = q**2 / (q**2).sum(axis=1, keepdims=True)
    auto = AutoCalibrator().fit(sharp, y)
    assert auto.choice_ == "TemperatureScaling"
    assert abs(auto.calibrator_.temperature_ - 2.0) < 0.2
    assert auto.probability_of_harm_ < 1e-6


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
def test_confused_classes_take_the_full_map(calibrated):
    q, y = calibrated
    turned = AutoCalibrator().fit(q[:, [1, 0, 2, 3]], y)
    assert turned.choice_ == "BayesianDirichletCalibrator"
    assert turned.probability_of_harm_ < 1e-6


def test_the_table_is_what_the_choice_was_made_by(calibrated):
    q, y = calibrated
    auto = AutoCalibrator(cv=4).fit(q, y)
    table = auto.table_
    assert table["calibrator"] == ALL
    best = int(np.argmin(table["log_loss"]))
    assert table["difference"][best] == 0.0
    assert_allclose(table["difference"], np.array(table["log_loss"]) - min(table["log_loss"]))
    assert_allclose(table["log_loss"][0], log_loss(y, q), rtol=1e-10)
    assert all(0.0 <= harm <= 1.0 for harm in table["harm"])
    within = np.array(table["difference"]) <= 0.5 * np.array(table["standard_error"])
    assert auto.choice_ == ALL[int(np.argmax(within | (np.arange(4) == best)))]


def test_losses_are_those_of_folds_that_were_not_fitted(calibrated):
    q, y = calibrated
    folds = [(np.arange(1000), np.arange(1000, 2000)), (np.arange(1000, 2000), np.arange(1000))]
    auto = AutoCalibrator(calibrators=[TemperatureScaling()], cv=folds).fit(q, y)
    by_hand = [
        log_loss(y[score], TemperatureScaling().fit(q[fit], y[fit]).predict_proba(q[score]))
        for fit, score in folds
    ]
    assert_allclose(auto.table_["log_loss"], [np.mean(by_hand)], rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_are_scored_again_are_no_new_rows(weighted, calibrated):
    q, y = calibrated
    weight = np.linspace(0.5, 1.5, 300) if weighted else None
    folds = list(KFold(3, shuffle=True, random_state=0).split(q[:300]))
    candidates = [IdentityCalibrator(), TemperatureScaling()]
    once, often = (
        AutoCalibrator(calibrators=candidates, cv=cv).fit(q[:300], y[:300], weight).table_
        for cv in (folds, 10 * folds)
    )
    for column in ("log_loss", "difference", "standard_error", "harm"):
        assert_allclose(often[column], once[column], rtol=1e-9, atol=1e-15)


def test_the_order_of_the_list_decides_between_equals(calibrated):
    q, y = calibrated
    one, other = TemperatureScaling(clip=1e-12), TemperatureScaling(clip=1e-13)
    auto = AutoCalibrator(calibrators=[one, other]).fit(q, y)
    assert auto.calibrator_.clip == 1e-12
    assert auto.choice_ == repr(one)


def test_logits(make_problem):
    problem = make_problem(0, n=1000, k=3)
    auto = AutoCalibrator(input_scale="logit").fit(problem.logits, problem.y)
    assert auto.calibrator_.input_scale == "logit"
    assert log_loss(problem.y, auto.predict_proba(problem.logits)) < log_loss(
        problem.y, problem.proba
    )


def test_it_is_the_default_of_a_calibrated_classifier(make_problem):
    from sklearn.naive_bayes import GaussianNB

    problem = make_problem(0, n=200, k=3)
    model = CalibratedClassifier(GaussianNB()).fit(problem.logits, problem.y)
    assert all(isinstance(each, AutoCalibrator) for each in model.calibrators_)


def test_the_map_can_be_asked(make_problem):
    problem = make_problem(0, n=1000, k=3)
    auto = AutoCalibrator().fit(problem.proba, problem.y)
    assert auto.choice_ != "IdentityCalibrator"
    assert str(auto.explain()) == str(auto.calibrator_.explain())
    with pytest.raises(ValueError, match=r"`curves` must be 'none'.*Calibrator\(curves='none'\)"):
        auto.linear_parameters()
    linear = BayesianDirichletCalibrator(curves="none")
    auto = AutoCalibrator(calibrators=[linear]).fit(problem.proba, problem.y)
    assert_array_equal(auto.linear_parameters().W, auto.calibrator_.linear_parameters().W)
    same = AutoCalibrator(calibrators=[IdentityCalibrator()]).fit(problem.proba, problem.y)
    with pytest.raises(ValueError, match=r"`calibrators` must lead to a linear map.*Identity"):
        same.linear_parameters()
    # There was nothing to choose from.
    assert str(same.explain()).startswith("Nothing is corrected")


@pytest.mark.parametrize(
    ("calibrators", "message"),
    [
        ("all", r"`calibrators` must be a list.*'all'"),
        ([], r"`calibrators` must hold at least one"),
        ([TemperatureScaling], r"must be a calibrator of dircal; got the class Temperature"),
        ([VectorScaling(input_scale="logit")], r"`calibrators` must all read.*'logit'"),
        ([VectorScaling(classes=[0, 1, 2])], r"`calibrators` must leave `classes`"),
        ([PlattCalibrator()], r"3 columns.*PlattCalibrator.*OneVsRestCalibrator"),
    ],
)
def test_bad_calibrators(calibrators, message, make_problem):
    problem = make_problem(0, n=60, k=3)
    with pytest.raises(ValueError, match=message):
        AutoCalibrator(calibrators=calibrators).fit(problem.proba, problem.y)


def test_given_calibrators_are_left_alone(make_problem):
    problem = make_problem(0, n=100, k=3)
    given = [DirichletCalibrator(), BayesianDirichletCalibrator()]
    auto = AutoCalibrator(calibrators=given).fit(problem.proba, problem.y)
    assert not any(hasattr(each, "classes_") for each in given)
    assert auto.choice_ in {"DirichletCalibrator", "BayesianDirichletCalibrator"}


def boosted(seed, n):
    """Scores as of boosted trees: two classes never mistaken, two confused, all far too sure."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    logits = rng.normal(size=(n, 4)) + np.where(y < 2, 1.0, 6.0)[:, None] * np.eye(4)[y]
    logits[:, 2:] -= np.where(y < 2, 6.0, 0.0)[:, None]
    logits[:, 0] += 1.5
    return softmax(2.5 * logits, axis=1), y


@pytest.mark.parametrize("seed", [0, 3, 4, 8])
def test_a_map_without_a_finite_optimum_is_left_out(seed):
    P, y = boosted(seed, 100)
    with pytest.warns(ConvergenceWarning, match="no finite optimum"):
        VectorScaling().fit(P, y)
    auto = AutoCalibrator().fit(P, y)
    assert auto.choice_ == "BayesianDirichletCalibrator"
    assert auto.table_["left_out"] == [False, False, True, False]
    new, truth = boosted(1000 + seed, 2000)
    assert log_loss(truth, auto.predict_proba(new)) < log_loss(truth, new)


def test_the_only_candidate_is_taken_all_the_same():
    P, y = boosted(0, 100)
    with pytest.warns(ConvergenceWarning, match="no finite optimum"):
        auto = AutoCalibrator(calibrators=[VectorScaling()]).fit(P, y)
    assert auto.choice_ == "VectorScaling"
    assert auto.table_["left_out"] == [False]


def test_members_without_a_finite_optimum_count_too():
    P, y = boosted(0, 100)
    within = CalibratorCV(VectorScaling(), {"max_iter": [50]}, cv=3)
    auto = AutoCalibrator(calibrators=[IdentityCalibrator(), within]).fit(P, y)
    assert auto.choice_ == "IdentityCalibrator"
    assert auto.table_["left_out"] == [False, True]


@pytest.mark.parametrize("kind", [AutoCalibrator, CalibratorCV])
def test_it_is_said_that_folds_go_by_row_number(kind):
    """Weights are no copies there, and the order of rows counts."""
    words = " ".join(kind.__doc__.split())
    assert "Folds are dealt by row number" in words
    assert "rows in another order" in words
