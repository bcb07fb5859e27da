import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from dircal import DirichletCalibrator, TemperatureScaling
from dircal.exceptions import ConvergenceWarning
from dircal.maps import Affine, Scale, Softmax

TINY = np.finfo(float).tiny


def log_loss(calibrator, X, y):
    return -np.log(calibrator.predict_proba(X)[np.arange(len(y)), y]).mean()


def squares(calibrator):
    return (calibrator.coef_**2).sum() + (calibrator.intercept_**2).sum()


def test_l2_test_vectors(vectors, expected):
    fit = DirichletCalibrator(penalty="l2", lam=0.01).fit(vectors.proba, vectors.y)
    loss = log_loss(fit, vectors.proba, vectors.y)
    name = "dirichlet_L2_symmetric_lam0.01"
    assert loss == pytest.approx(expected[f"{name}_logloss"], abs=1e-9)
    assert loss + 0.01 * squares(fit) == pytest.approx(expected[f"{name}_objective"], abs=1e-9)
    assert_allclose(fit.coef_.sum(axis=0), 0.0, atol=1e-9)


def test_l2_reference_test_vectors(vectors, expected):
    fit = DirichletCalibrator(penalty="l2_reference", lam=0.01).fit(vectors.proba, vectors.y)
    loss = log_loss(fit, vectors.proba, vectors.y)
    name = "dirichlet_L2_refrow_lam0.01"
    assert loss == pytest.approx(expected[f"{name}_logloss"], abs=1e-9)
    assert loss + 0.01 * squares(fit) == pytest.approx(expected[f"{name}_objective"], abs=1e-9)
    for i in range(4):
        for j in range(4):
            value = expected[f"{name}_W_minus_last_row[{i},{j}]"]
            assert fit.coef_[i, j] == pytest.approx(value, abs=1e-8)
        value = expected[f"{name}_W_minus_last_row[{i},b]"]
        assert fit.intercept_[i] == pytest.approx(value, abs=1e-8)


def test_odir_test_vectors(vectors, expected):
    # Sum units 0.1 and 0.2 are k (k - 1) * 0.1 and k * 0.2 in the paper's formula.
    fit = DirichletCalibrator(penalty="odir", lam=1.2, mu=0.8).fit(vectors.proba, vectors.y)
    loss = log_loss(fit, vectors.proba, vectors.y)
    off = (fit.coef_**2).sum() - (fit.coef_.diagonal() ** 2).sum()
    objective = loss + 0.1 * off + 0.2 * (fit.intercept_**2).sum()
    name = "dir_odir_lam0.1_mu0.2"
    assert loss == pytest.approx(expected[f"{name}_sumunits_logloss"], abs=1e-9)
    assert objective == pytest.approx(expected[f"{name}_sumunits_objective"], abs=1e-9)
    for i in range(4):
        for j in range(4):
            assert fit.coef_[i, j] == pytest.approx(expected[f"{name}_W[{i},{j}]"], abs=1e-8)
        assert fit.intercept_[i] == pytest.approx(expected[f"{name}_W[{i},b]"], abs=1e-8)
    canonical = fit.canonical_parameters()
    for i in range(4):
        assert canonical.c[i] == pytest.approx(expected[f"dir_odir_c[{i}]"], abs=1e-8)
        for j in range(4):
            assert canonical.A[i, j] == pytest.approx(expected[f"dir_odir_A[{i},{j}]"], abs=1e-8)


def test_unpenalised_test_vectors(vectors, expected):
    fit = DirichletCalibrator(penalty="none").fit(vectors.proba, vectors.y)
    loss = log_loss(fit, vectors.proba, vectors.y)
    assert loss == pytest.approx(expected["dirichlet_unregularised_logloss"], abs=1e-9)


def test_default_strengths_of_l2(vectors):
    for penalty in ("l2", "l2_reference"):
        default = DirichletCalibrator(penalty=penalty).fit(vectors.proba, vectors.y)
        written = DirichletCalibrator(penalty=penalty, lam=1e-3).fit(vectors.proba, vectors.y)
        assert_allclose(default.coef_, written.coef_, rtol=1e-10)
        assert default.strengths_ == written.strengths_ == {"lam": 1e-3}


class TestLearnedStrengths:
    def test_the_map_is_the_optimum_of_the_formula(self, vectors):
        fit = DirichletCalibrator().fit(vectors.proba, vectors.y)
        k, strengths = 4, fit.strengths_
        # Two fits tell the slope a: with it the gradient of the penalised loss is zero.
        scores = np.log(vectors.proba.clip(fit.clip_))
        proba = fit.predict_proba(vectors.proba)
        residual = (proba - np.eye(k)[vectors.y]) / len(vectors.y)
        of_matrix, of_intercepts = residual.T @ scores, residual.sum(axis=0)
        off = ~np.eye(k, dtype=bool)
        weight = 2.0 * strengths["lam"] / (k * (k - 1))
        assert_allclose(of_matrix[off], -weight * fit.coef_[off], atol=1e-6)
        assert_allclose(of_intercepts, -2.0 * strengths["mu"] / k * fit.intercept_, atol=1e-6)
        slopes = fit.coef_.diagonal() + of_matrix.diagonal() * k / (2.0 * strengths["nu"])
        assert_allclose(slopes, slopes[0], rtol=1e-4)

    def test_evidence_is_largest_there(self, make_problem):
        # Labels of a Dirichlet map whose strengths are known.
        rng = np.random.default_rng(0)
        q, k = rng.dirichlet(np.ones(4), size=20_000), 4
        W = np.eye(k) + rng.normal(scale=0.3, size=(k, k)) * ~np.eye(k, dtype=bool)
        logits = np.log(q) @ W.T + rng.normal(scale=0.5, size=k)
        y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        strengths = DirichletCalibrator().fit(q, y).strengths_
        # A precision of 1 / 0.3**2 is a weight of half of it over n.
        precision = 2.0 * len(q) * strengths["lam"] / (k * (k - 1))
        assert 0.5 < np.sqrt(1.0 / precision) / np.std(W[~np.eye(k, dtype=bool)]) < 2.0

    def test_weights_count_as_copies(self, vectors):
        heavy = DirichletCalibrator().fit(vectors.proba, vectors.y, np.full(len(vectors.y), 3.0))
        copies = DirichletCalibrator().fit(np.tile(vectors.proba, (3, 1)), np.tile(vectors.y, 3))
        plain = DirichletCalibrator().fit(vectors.proba, vectors.y)
        assert_allclose(heavy.coef_, copies.coef_, atol=1e-6)
        assert np.abs(heavy.coef_ - plain.coef_).max() > 1e-2

    def test_one_that_is_given_stays(self, vectors):
        fit = DirichletCalibrator(lam=3.0).fit(vectors.proba, vectors.y)
        assert fit.strengths_["lam"] == 3.0
        other = DirichletCalibrator(mu=0.7).fit(vectors.proba, vectors.y)
        assert other.strengths_["mu"] == 0.7
        assert other.strengths_["lam"] != fit.strengths_["lam"]
        assert (
            type(DirichletCalibrator(lam=3).fit(vectors.proba, vectors.y).strengths_["lam"])
            is float
        )
        huge = DirichletCalibrator(lam=1e300).fit(vectors.proba, vectors.y)
        assert np.isfinite(huge.strengths_["mu"])
        both = DirichletCalibrator(lam=3.0, mu=0.7).fit(vectors.proba, vectors.y)
        assert both.strengths_ == {"lam": 3.0, "mu": 0.7}

    @pytest.mark.parametrize("k", [3, 30])
    def test_few_rows_give_the_temperature_map(self, k, make_problem):
        problem = make_problem(3, n=2050, k=k)
        X, y = problem.proba[2000:], problem.y[2000:]
        fit = DirichletCalibrator(classes=range(k)).fit(X, y)
        scaling = TemperatureScaling(classes=range(k)).fit(X, y)
        new, truth = problem.proba[:2000], problem.y[:2000]
        assert log_loss(fit, new, truth) < 1.03 * log_loss(scaling, new, truth)

    @pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
    def test_scores_that_point_away_can_be_used(self):
        rng = np.random.default_rng(0)
        q = rng.dirichlet(np.ones(3), size=600)
        y = (1.0 / q).argmax(axis=1)
        fit = DirichletCalibrator().fit(q, y)
        assert log_loss(fit, q, y) < 0.5

    @pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
    @pytest.mark.parametrize("size", [1e-2, 2e-5])
    def test_scores_that_hardly_differ_can_be_used(self, size):
        rng = np.random.default_rng(0)
        sure = rng.normal(size=(1000, 3))
        y = (2.0 * sure[:, [1, 2, 0]] + rng.gumbel(size=sure.shape)).argmax(axis=1)
        flat = softmax(size * sure, axis=1)
        usual = softmax(sure, axis=1)
        loss = log_loss(DirichletCalibrator().fit(flat, y), flat, y)
        assert loss < 1.05 * log_loss(DirichletCalibrator().fit(usual, y), usual, y)

    def test_uniform_rows_and_huge_logits(self):
        y = np.array([0, 1, 2, 0, 1, 0])
        fit = DirichletCalibrator().fit(np.full((6, 3), 1 / 3), y)
        assert_allclose(fit.predict_proba(np.full((1, 3), 1 / 3)).sum(), 1.0)
        logits = 1e4 * np.eye(3)[y]
        fit = DirichletCalibrator(input_scale="logit").fit(logits, y)
        assert np.isfinite(fit.coef_).all()


def test_two_classes_are_beta_calibration(vectors, expected):
    # Class 0 against the rest: logit = a ln p - b ln(1 - p) + c, without constraints.
    p = vectors.proba[:, 0]
    X, y = np.column_stack([1 - p, p]), vectors.y == 0
    fit = DirichletCalibrator(penalty="none").fit(X, y)
    (w00, w01), (w10, w11) = fit.coef_
    assert w11 - w01 == pytest.approx(expected["ovr_beta_class0_a"], abs=1e-7)
    assert w00 - w10 == pytest.approx(expected["ovr_beta_class0_b"], abs=1e-7)
    intercept = fit.intercept_[1] - fit.intercept_[0]
    assert intercept == pytest.approx(expected["ovr_beta_class0_c"], abs=1e-7)
    loss = log_loss(fit, X, y.astype(int))
    assert loss == pytest.approx(expected["ovr_beta_class0_logloss"], abs=1e-9)


def test_temperature_scaling_lies_in_the_family(vectors):
    temperature = TemperatureScaling().fit(vectors.proba, vectors.y)
    affine = Affine(np.eye(4) / temperature.temperature_, np.zeros(4))
    dirichlet = temperature.map_.before(Scale).then(affine, Softmax())
    assert_allclose(dirichlet(vectors.proba), temperature.predict_proba(vectors.proba), rtol=1e-12)


def test_strong_odir_tends_to_a_diagonal_map_without_intercepts(vectors):
    fit = DirichletCalibrator(lam=1e9, mu=1e9).fit(vectors.proba, vectors.y)
    assert_allclose(fit.coef_ - np.diag(fit.coef_.diagonal()), 0.0, atol=1e-6)
    assert_allclose(fit.intercept_, 0.0, atol=1e-6)
    assert np.ptp(fit.coef_.diagonal()) > 0.1


def test_same_optimum_as_logistic_regression(make_problem):
    problem = make_problem(7, n=800, k=5)
    lam = 1e-3
    ours = DirichletCalibrator(penalty="l2", lam=lam, clip=TINY).fit(problem.proba, problem.y)
    X = np.column_stack([np.log(problem.proba), np.ones(800)])
    theirs = LogisticRegression(
        C=1 / (2 * 800 * lam), fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(X, problem.y)
    assert_allclose(np.column_stack([ours.coef_, ours.intercept_]), theirs.coef_, atol=1e-5)


def test_class_order_matters_to_l2_reference_only(vectors):
    order = np.array([3, 0, 2, 1])
    turned = np.argsort(order)[vectors.y]
    for penalty, same in [("l2", True), ("odir", True), ("none", True), ("l2_reference", False)]:
        calibrator = DirichletCalibrator(penalty=penalty, lam=None if penalty == "none" else 0.1)
        plain = calibrator.fit(vectors.proba, vectors.y).predict_proba(vectors.proba)
        permuted = calibrator.fit(vectors.proba[:, order], turned)
        permuted = permuted.predict_proba(vectors.proba[:, order])
        assert np.allclose(permuted, plain[:, order], atol=1e-7) is same, penalty


@pytest.mark.parametrize("name", ["iris", "glass", "balance-scale", "car", "vehicle"])
def test_real_naive_bayes_gets_better_on_new_rows(name, uci):
    X, y = uci(name)
    order = np.random.default_rng(0).permutation(len(y))
    train, fit, test = np.array_split(order, 3)
    model = GaussianNB().fit(X[train], y[train])
    calibrator = DirichletCalibrator(penalty="l2", classes=model.classes_)
    calibrator.fit(model.predict_proba(X[fit]), y[fit])
    before = model.predict_proba(X[test]).clip(1e-15)
    before = -np.log(before[np.arange(len(test)), y[test]]).mean()
    after = log_loss(calibrator, model.predict_proba(X[test]), y[test])
    assert after < before + 0.1
    if name in ("glass", "car", "vehicle"):  # where naive Bayes is plainly wrong
        assert after < 0.75 * before


def test_pitfall_of_exact_zeros(uci):
    """The floor of the paper and a small lambda: the authors' code stays at the identity here."""
    X, y = uci("car")
    model = GaussianNB().fit(X[::2], y[::2])
    proba = model.predict_proba(X[1::2])
    assert (proba == 0).any()
    fit = DirichletCalibrator(penalty="l2", lam=1e-7, clip=TINY).fit(proba, y[1::2])
    loss = log_loss(fit, proba, y[1::2])
    identity = -np.log(proba.clip(TINY)[np.arange(len(proba)), y[1::2]]).mean()
    assert loss < 0.5 < identity


def test_optimum_at_infinity_warns_and_says_what_to_do():
    proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
    with pytest.warns(ConvergenceWarning, match=r"no finite optimum.*penalty='l2'"):
        fit = DirichletCalibrator(lam=1.0, mu=1.0).fit(proba, [0, 0, 1, 1])
    assert np.isfinite(fit.coef_).all()
    DirichletCalibrator().fit(proba, [0, 0, 1, 1])  # strengths that are learned hold it
    DirichletCalibrator(penalty="l2").fit(proba, [0, 0, 1, 1])  # does not


def test_iteration_limit_warns_and_says_what_to_do(vectors):
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 1 iterations.*`max_iter`"):
        DirichletCalibrator(max_iter=1).fit(vectors.proba, vectors.y)


def test_loose_tolerance_stops_earlier(vectors):
    loose = DirichletCalibrator(tol=1e-2).fit(vectors.proba, vectors.y)
    tight = DirichletCalibrator().fit(vectors.proba, vectors.y)
    assert loose.n_iter_ < tight.n_iter_


def test_clip_is_used_in_fit_and_prediction(make_problem):
    problem = make_problem(1, n=400, k=3, scale=8.0)
    coarse = DirichletCalibrator(clip=0.05).fit(problem.proba, problem.y)
    assert coarse.clip_ == 0.05
    lifted = problem.proba.clip(0.05)
    naive = np.log(lifted) @ coarse.coef_.T + coarse.intercept_
    naive = np.exp(naive) / np.exp(naive).sum(axis=1, keepdims=True)
    assert_allclose(coarse.predict_proba(problem.proba), naive, rtol=1e-10)
    fine = DirichletCalibrator(clip=1e-12).fit(problem.proba, problem.y)
    assert np.abs(fine.coef_ - coarse.coef_).max() > 1e-3


def test_logits_are_read_through_a_log_softmax(make_problem):
    problem = make_problem(2, n=300, k=3)
    from_logits = DirichletCalibrator(input_scale="logit").fit(problem.logits, problem.y)
    from_proba = DirichletCalibrator(clip=TINY).fit(problem.proba, problem.y)
    assert_allclose(from_logits.coef_, from_proba.coef_, atol=1e-8)
    assert from_logits.clip_ == 0.0
    imitated = DirichletCalibrator(input_scale="logit", clip=1e-3).fit(problem.logits, problem.y)
    again = DirichletCalibrator(clip=1e-3).fit(problem.proba, problem.y)
    assert_allclose(imitated.coef_, again.coef_, atol=1e-8)


def test_real_network(networks):
    """A CIFAR-10 network in single precision: fit on half, better on the other half."""
    data = np.load(networks / "cifar10_resnet18_devmotion.npz")
    order = np.random.default_rng(0).permutation(len(data["labels"]))
    fit, test = np.array_split(order, 2)
    X, y = data["probs"], data["labels"]
    dirichlet = DirichletCalibrator().fit(X[fit], y[fit])
    temperature = TemperatureScaling().fit(X[fit], y[fit])
    before = -np.log(X[test, y[test]].clip(1e-15)).mean()
    assert log_loss(dirichlet, X[test], y[test]) < log_loss(temperature, X[test], y[test]) < before


def test_real_zeros(networks):
    """Newsgroup texts, three quarters exact zeros: the floor of the paper is ruinous."""
    data = np.load(networks / "20news_cleanlab_cv_half1.npz")
    order = np.random.default_rng(0).permutation(len(data["labels"]))
    fit, test = np.array_split(order, 2)
    X, y = data["probs"], data["labels"]
    learned = TemperatureScaling().fit(X[fit], y[fit])
    paper = TemperatureScaling(clip=TINY).fit(X[fit], y[fit])
    assert log_loss(learned, X[test], y[test]) < 0.35
    assert log_loss(paper, X[test], y[test]) > 1.4


@pytest.mark.parametrize("seed", [0, 6, 7, 12])
def test_a_distant_optimum_is_reached_without_a_warning(seed):
    """Long steps towards it are no separation; linear programming says that there is none."""
    rng = np.random.default_rng(seed)
    y = np.r_[:9, rng.integers(0, 9, 51)]
    logits = 12.0 * (rng.normal(size=(60, 9)) + 2.0 * np.eye(9)[y])
    calibrator = DirichletCalibrator(input_scale="logit", lam=0.5, mu=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        calibrator.fit(logits, y)
    scores = log_softmax(logits, axis=1)
    residual = calibrator.predict_proba(logits) - np.eye(9)[y]
    gradient = residual.T @ scores / 60 + 2.0 * 0.5 / 72 * calibrator.coef_ * (1.0 - np.eye(9))
    assert np.abs(gradient).max() < 1e-6
