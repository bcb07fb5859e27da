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

MAPS = ["identity", "temperature", "vector", "full", "curved"]
BY_FOLDS = [
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


@pytest.mark.parametrize(("cv", "name"), [(None, "identity"), (5, "IdentityCalibrator")])
def test_what_is_right_stays(cv, name, calibrated):
    q, y = calibrated
    auto = AutoCalibrator(cv=cv).fit(q, y)
    assert auto.choice_ == name
    assert_allclose(auto.predict_proba(q), q, rtol=1e-12)
    assert auto.probability_of_harm_ == 0.0
    for explanation in (auto.explain(), auto.explain(q)):
        assert explanation.sentences() == [str(explanation)]
        assert str(explanation).startswith("Nothing needed correcting")
    with pytest.raises(ValueError, match=f"the choice was {name}"):
        auto.canonical_parameters()


@pytest.mark.parametrize(("cv", "name"), [(None, "temperature"), (5, "TemperatureScaling")])
def test_one_temperature_is_found(cv, name, calibrated):
    q, y = calibrated
    sharp = q**2 / (q**2).sum(axis=1, keepdims=True)
    auto = AutoCalibrator(cv=cv).fit(sharp, y)
    assert auto.choice_ == name
    assert isinstance(auto.calibrator_, TemperatureScaling)
    assert abs(auto.calibrator_.temperature_ - 2.0) < 0.2
    assert auto.probability_of_harm_ < 1e-6


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
@pytest.mark.parametrize(("cv", "names"), [(None, MAPS[3:]), (5, BY_FOLDS[3:])])
def test_confused_classes_take_the_full_map(cv, names, calibrated):
    q, y = calibrated
    turned = AutoCalibrator(cv=cv).fit(q[:, [1, 0, 2, 3]], y)
    assert turned.choice_ in names
    assert turned.probability_of_harm_ < 1e-6


class TestByEvidence:
    def test_the_table_is_what_the_average_was_made_by(self, calibrated):
        q, y = calibrated
        table = AutoCalibrator().fit(q[:150], y[:150]).table_
        assert table["calibrator"] == MAPS
        prior = np.array([15.0, 3.0, 3.0, 3.0, 90.0]) / 114.0
        scores = np.array(table["log_evidence"]) + np.log(prior)
        probability = np.exp(scores - scores.max())
        assert_allclose(table["probability"], probability / probability.sum(), rtol=1e-9)
        left_out = np.array(table["probability"]) * 20.0 < max(table["probability"])
        alone = table["probability"][0] > 0.5
        assert table["left_out"] == ([False, *4 * [True]] if alone else left_out.tolist())
        assert_allclose(table["log_loss"][0], log_loss(y[:150], q[:150]), rtol=1e-12)
        assert_allclose(table["difference"], np.array(table["log_loss"]) - min(table["log_loss"]))
        assert table["standard_error"][int(np.argmin(table["log_loss"]))] == 0.0
        assert table["harm"][0] == 0.0
        assert all(0.0 <= harm <= 1.0 for harm in table["harm"])

    def test_evidence_of_a_temperature_is_an_integral(self, calibrated):
        q, y = calibrated[0][:300] ** 1.5, calibrated[1][:300]
        q /= q.sum(axis=1, keepdims=True)
        table = AutoCalibrator().fit(q, y).table_
        # Between identity and temperature the other maps play no part: 300 likelihoods by hand,
        # times the logistic density of the logarithm of the slope, summed.
        scale = np.log(2.0) / np.log(3.0)
        u = np.linspace(-3.0, 2.0, 301)
        tempered = [softmax(np.exp(each) * np.log(q), axis=1) for each in u]
        likelihood = np.array([-300 * log_loss(y, proba) for proba in tempered])
        prior = 1.0 / (4.0 * scale * np.cosh(u / (2.0 * scale)) ** 2)
        integral = np.log(np.trapezoid(np.exp(likelihood - likelihood.max()) * prior, u))
        assert_allclose(table["log_evidence"][0], -300 * log_loss(y, q), atol=1e-6)
        # Laplace's approximation, and a mixture with the uniform of a tenth of a row.
        assert_allclose(table["log_evidence"][1], integral + likelihood.max(), atol=0.1)

    def test_the_average_lies_between_the_maps(self, calibrated):
        q, y = calibrated[0][:80] ** 2.0, calibrated[1][:80]
        q /= q.sum(axis=1, keepdims=True)
        auto = AutoCalibrator().fit(q, y)
        assert isinstance(auto.calibrator_, BayesianDirichletCalibrator)
        probability = np.array(auto.table_["probability"])
        assert (probability > 0.03).sum() >= 3
        alone = BayesianDirichletCalibrator().fit(q, y)
        # Only one of them has curves.
        kept = np.where(auto.table_["left_out"], 0.0, probability)
        share = kept[-1] / kept.sum()
        assert_allclose(auto.calibrator_.curve_coef_, share * alone.curve_coef_, rtol=1e-6)

    def test_without_curves_in_the_window_there_are_none(self, calibrated):
        q, y = calibrated
        # One class is favoured by a constant, which needs no curve.
        odds = q * np.array([4.0, 1.0, 1.0, 1.0])
        auto = AutoCalibrator().fit(odds / odds.sum(axis=1, keepdims=True), y)
        if auto.table_["left_out"][-1]:
            assert auto.calibrator_.curves == "none"
            assert_allclose(auto.calibrator_.curve_coef_, 0.0)
            assert auto.linear_parameters().W.shape == (4, 4)
        assert auto.probability_of_harm_ < 1e-3

    def test_the_identity_has_a_part_where_it_does_not_stand_alone(self):
        rng = np.random.default_rng(2)
        q = rng.dirichlet(np.ones(3), size=60)
        y = (q.cumsum(axis=1) > rng.random((60, 1))).argmax(axis=1)
        auto = AutoCalibrator().fit(q, y)
        probability = auto.table_["probability"][0]
        assert 0.2 < probability < 0.5
        assert not auto.table_["left_out"][0]
        assert auto.choice_ != "identity"
        # Where the identity is right, every change does harm.
        assert auto.probability_of_harm_ > probability
        alone = BayesianDirichletCalibrator().fit(q, y).predict_proba(q)
        changed, of_curved = (np.abs(each - q).mean() for each in (auto.predict_proba(q), alone))
        assert changed < of_curved

    def test_exact_zeros_are_no_reason_for_the_identity(self):
        """They never were the true class in these rows, and may be so in the next."""
        rng = np.random.default_rng(0)
        truth = rng.dirichlet(np.full(4, 0.7), size=400)
        votes = np.array([rng.multinomial(30, row) for row in truth]) / 30.0
        y = np.array([rng.choice(4, p=row) for row in votes])
        auto = AutoCalibrator().fit(votes, y)
        assert (votes == 0.0).any()
        assert not isinstance(auto.calibrator_, IdentityCalibrator)
        assert (auto.predict_proba(votes) > 0.0).all()

    def test_a_true_class_of_probability_zero_is_on_the_account_of_the_identity(self):
        """Clip and mixture are part of all other maps, and not of doing nothing."""
        rng = np.random.default_rng(0)
        q = rng.dirichlet(np.ones(3), size=300)
        y = (q.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
        q[0] = np.roll([0.0, 0.5, 0.5], y[0])
        auto = AutoCalibrator().fit(q, y)
        by_hand = -np.log(np.maximum(q[np.arange(300), y], np.finfo(float).tiny)).mean()
        assert_allclose(auto.table_["log_loss"][0], by_hand, rtol=1e-9)
        assert min(auto.table_["log_loss"][1:]) < by_hand - 1.0
        # One row in which it was all is no proof, as its standard error says.
        assert 0.05 < auto.probability_of_harm_ < 0.2

    def test_rows_that_hardly_differ(self):
        """All maps read the same scores, so that none of them has a handicap."""
        rng = np.random.default_rng(0)
        sure = rng.normal(size=(400, 3))
        y = (2.0 * sure + rng.gumbel(size=sure.shape)).argmax(axis=1)
        flat = softmax(1e-6 * sure, axis=1)
        auto = AutoCalibrator().fit(flat, y)
        usual = AutoCalibrator().fit(softmax(sure, axis=1), y)
        # Which slopes are probable is another question for a temperature of one in a million.
        place = auto.table_["calibrator"].index("vector")
        of_slope = [each.table_["log_evidence"][1] for each in (auto, usual)]
        of_vector = [each.table_["log_evidence"][place] for each in (auto, usual)]
        gained = np.array(of_vector) - of_slope
        assert abs(gained[0] - gained[1]) < 1.0
        low, high = auto.calibrator_.predict_interval(flat[:20])
        low_of_usual, high_of_usual = usual.calibrator_.predict_interval(softmax(sure[:20], axis=1))
        assert_allclose(high - low, high_of_usual - low_of_usual, rtol=0.5)

    def test_few_rows_of_a_calibrated_classifier(self):
        """Most fits change nothing; the others predict the harm that they may do."""
        harmed, predicted = [], []
        for seed in range(40):
            rng = np.random.default_rng(seed)
            q = rng.dirichlet(np.full(3, 0.5), size=3060)
            y = (q.cumsum(axis=1) > rng.random((3060, 1))).argmax(axis=1)
            auto = AutoCalibrator(classes=range(3)).fit(q[:60], y[:60])
            harmed.append(log_loss(y[60:], auto.predict_proba(q[60:])) > log_loss(y[60:], q[60:]))
            if auto.choice_ == "identity":
                assert auto.probability_of_harm_ == 0.0
            else:
                predicted.append(auto.probability_of_harm_)
        assert np.mean(harmed) < 0.4
        assert np.mean(predicted) > 0.2

    def test_many_classes_have_no_full_matrix(self, make_problem):
        problem = make_problem(0, n=450, k=401)
        auto = AutoCalibrator(classes=range(401)).fit(problem.proba, problem.y)
        assert auto.table_["calibrator"] == ["identity", "temperature", "vector", "curved"]

    @pytest.mark.filterwarnings("ignore::dircal.exceptions.SmallSampleWarning")
    @pytest.mark.parametrize("k", [4, 30])
    def test_intervals_of_the_average(self, k, make_problem):
        problem = make_problem(1, n=300, k=k)
        auto = AutoCalibrator(classes=range(k)).fit(problem.proba, problem.y)
        inside = auto.calibrator_
        assert isinstance(inside, BayesianDirichletCalibrator)
        lower, upper = inside.predict_interval(problem.proba)
        proba = auto.predict_proba(problem.proba)
        assert (lower <= proba).all()
        assert (proba <= upper).all()
        assert (upper - lower).max() > 1e-3


def test_folds_fill_the_same_table(calibrated):
    q, y = calibrated
    auto = AutoCalibrator(cv=4).fit(q, y)
    table = auto.table_
    assert table["calibrator"] == BY_FOLDS
    best = int(np.argmin(table["log_loss"]))
    assert table["difference"][best] == 0.0
    assert_allclose(table["difference"], np.array(table["log_loss"]) - min(table["log_loss"]))
    assert_allclose(table["log_loss"][0], log_loss(y, q), rtol=1e-10)
    assert all(0.0 <= harm <= 1.0 for harm in table["harm"])
    within = np.array(table["difference"]) <= 0.5 * np.array(table["standard_error"])
    assert auto.choice_ == BY_FOLDS[int(np.argmax(within | (np.arange(4) == best)))]


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
    auto = AutoCalibrator(cv=5).fit(P, y)
    assert auto.choice_ == "BayesianDirichletCalibrator"
    assert auto.table_["left_out"] == [False, False, True, False]
    new, truth = boosted(1000 + seed, 2000)
    for calibrator in (auto, AutoCalibrator().fit(P, y)):
        assert log_loss(truth, calibrator.predict_proba(new)) < log_loss(truth, new)


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


def test_zeros_with_a_rare_class_do_not_flatten_the_map():
    # 25 votes for each row; about 5 % of the rows are positive.
    rng = np.random.default_rng(1)
    truth = rng.beta(0.3, 5.0, size=20_400)
    votes = rng.binomial(25, truth) / 25
    q, y = np.column_stack([1.0 - votes, votes]), (rng.random(20_400) < truth).astype(int)
    auto = AutoCalibrator().fit(q[:400], y[:400])
    temperature = TemperatureScaling().fit(q[:400], y[:400])
    assert (votes[:400] == 0.0).sum() > 100
    after = auto.predict_proba([[0.96, 0.04], [0.76, 0.24], [0.4, 0.6]])[:, 1]
    assert after[1] > 2.0 * after[0]
    assert after[2] > 2.0 * after[1]
    ours, theirs = (log_loss(y[400:], each.predict_proba(q[400:])) for each in (auto, temperature))
    assert ours < 1.02 * theirs
