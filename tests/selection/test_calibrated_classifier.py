"""A classifier with its calibrator: who is trained on which rows, and what goes between them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneGroupOut,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from dircal import (
    AutoCalibrator,
    CalibratedClassifier,
    CalibratorCV,
    DirichletCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    MatrixScaling,
    OneVsRestCalibrator,
    TemperatureScaling,
    VectorScaling,
    calibrators,
)
from dircal.exceptions import ConvergenceWarning
from dircal.metrics import log_loss

SCHEMES = ("ensemble", "out_of_fold")
ALL = {name: getattr(calibrators, name)() for name in calibrators.__all__}
# Those for two classes stand for themselves, and for any number with one-vs-rest around them.
MULTICLASS = {
    name: one if get_tags(one).classifier_tags.multi_class else OneVsRestCalibrator(one)
    for name, one in ALL.items()
}


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        400, n_features=6, n_informative=4, n_classes=3, flip_y=0.2, random_state=0
    )
    return X, np.array(["ant", "bee", "cat"])[y]


@pytest.fixture(autouse=True)
def endless_optima_are_no_news():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def test_the_ensemble_is_the_inner_loop_of_the_paper(data):
    X, y = data
    splits = list(StratifiedKFold(3, shuffle=True, random_state=7).split(X, y))
    calibrator = DirichletCalibrator(penalty="l2")
    model = CalibratedClassifier(GaussianNB(), calibrator, cv=splits).fit(X, y)
    members = []
    for train, keep in splits:
        classifier = GaussianNB().fit(X[train], y[train])
        fitted = clone(calibrator).fit(classifier.predict_proba(X[keep]), y[keep])
        members.append(fitted.predict_proba(classifier.predict_proba(X)))
    assert_allclose(model.predict_proba(X), np.mean(members, axis=0), atol=1e-12)
    assert len(model.estimators_) == len(model.calibrators_) == 3
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


def test_out_of_fold_is_one_classifier_and_one_map(data):
    X, y = data
    splits = list(StratifiedKFold(4, shuffle=True, random_state=7).split(X, y))
    model = CalibratedClassifier(
        GaussianNB(), TemperatureScaling(), cv=splits, scheme="out_of_fold"
    ).fit(X, y)
    scores, labels = [], []
    for train, keep in splits:
        scores.append(GaussianNB().fit(X[train], y[train]).predict_proba(X[keep]))
        labels.append(y[keep])
    fitted = TemperatureScaling().fit(np.concatenate(scores), np.concatenate(labels))
    expected = fitted.predict_proba(GaussianNB().fit(X, y).predict_proba(X))
    assert_allclose(model.predict_proba(X), expected, rtol=1e-9)


def test_prefit_leaves_the_classifier_alone(data):
    X, y = data
    classifier = GaussianNB().fit(X[:200], y[:200])
    state = pickle.dumps(classifier)
    model = CalibratedClassifier(classifier, TemperatureScaling(), scheme="prefit")
    model.fit(X[200:], y[200:])
    assert model.estimators_[0] is classifier
    assert pickle.dumps(classifier) == state
    fitted = TemperatureScaling().fit(classifier.predict_proba(X[200:]), y[200:])
    expected = fitted.predict_proba(classifier.predict_proba(X))
    assert_allclose(model.predict_proba(X), expected, rtol=1e-12)


class Booster:
    """Like the boosters whose `predict` gives probabilities."""

    def __init__(self, classifier):
        self.classifier = classifier

    def predict(self, X):
        return self.classifier.predict_proba(X)


def test_prefit_functions_and_boosters(data):
    X, y = data
    classifier = GaussianNB().fit(X[:200], y[:200])
    expected = CalibratedClassifier(classifier, TemperatureScaling(), scheme="prefit").fit(X, y)
    for prefit in (lambda X: classifier.predict_proba(X), Booster(classifier)):
        model = CalibratedClassifier(prefit, TemperatureScaling(), scheme="prefit").fit(X, y)
        assert_allclose(model.predict_proba(X), expected.predict_proba(X))
        assert model.classes_.tolist() == ["ant", "bee", "cat"]


def test_prefit_functions_of_one_column_and_of_logits(data):
    X, y = data
    X, y = X[y != "cat"], y[y != "cat"]
    logistic = LogisticRegression().fit(X, y)
    one_column = CalibratedClassifier(
        lambda X: logistic.predict_proba(X)[:, 1], TemperatureScaling(), scheme="prefit"
    ).fit(X, y)
    two_columns = CalibratedClassifier(logistic, TemperatureScaling(), scheme="prefit").fit(X, y)
    assert_allclose(one_column.predict_proba(X), two_columns.predict_proba(X), rtol=1e-9)
    logits = CalibratedClassifier(
        logistic.decision_function, TemperatureScaling(input_scale="logit"), scheme="prefit"
    ).fit(X, y)
    assert_allclose(logits.predict_proba(X), two_columns.predict_proba(X), rtol=1e-6)


def test_prefit_functions_may_need_to_be_told_their_classes(data):
    X, y = data
    classifier = GaussianNB().fit(X, y)

    def backwards(X):
        return classifier.predict_proba(X)[:, ::-1]

    told = TemperatureScaling(classes=["cat", "bee", "ant"])
    rows = y != "bee"
    model = CalibratedClassifier(backwards, told, scheme="prefit").fit(X[rows], y[rows])
    plain = CalibratedClassifier(classifier, TemperatureScaling(), scheme="prefit")
    plain.fit(X[rows], y[rows])
    assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-9)


def test_decision_scores_where_the_calibrator_reads_logits(data):
    X, y = data
    calibrator = MatrixScaling(input_scale="logit")
    splits = list(KFold(2).split(X))
    model = CalibratedClassifier(LinearSVC(), calibrator, cv=splits).fit(X, y)
    members = []
    for train, keep in splits:
        machine = LinearSVC().fit(X[train], y[train])
        fitted = clone(calibrator).fit(machine.decision_function(X[keep]), y[keep])
        members.append(fitted.predict_proba(machine.decision_function(X)))
    assert_allclose(model.predict_proba(X), np.mean(members, axis=0), atol=1e-9)
    two = CalibratedClassifier(LinearSVC(), TemperatureScaling(input_scale="logit"))
    two.fit(X[y != "cat"], y[y != "cat"])
    assert two.predict_proba(X).shape == (400, 2)


READ_AS_LOGITS = {
    "default": (None, AutoCalibrator(input_scale="logit")),
    "plain": (TemperatureScaling(), TemperatureScaling(input_scale="logit")),
    "held": (
        OneVsRestCalibrator(IsotonicCalibrator()),
        OneVsRestCalibrator(IsotonicCalibrator(input_scale="logit")),
    ),
    "search": (
        CalibratorCV(VectorScaling(penalty="l2"), {"lam": [0.01]}, cv=2),
        CalibratorCV(VectorScaling(penalty="l2", input_scale="logit"), {"lam": [0.01]}, cv=2),
    ),
    "candidates": (
        AutoCalibrator(calibrators=[TemperatureScaling(), VectorScaling()]),
        AutoCalibrator(
            calibrators=[
                TemperatureScaling(input_scale="logit"),
                VectorScaling(input_scale="logit"),
            ],
            input_scale="logit",
        ),
    ),
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("given", "meant"), READ_AS_LOGITS.values(), ids=READ_AS_LOGITS)
def test_decision_scores_need_no_word_where_there_is_nothing_else(data, scheme, given, meant):
    X, y = data
    before = None if given is None else repr(given)
    machine = LinearSVC().fit(X, y)
    models = [
        CalibratedClassifier(machine, one, cv=2, scheme=scheme).fit(X, y) for one in (given, meant)
    ]
    assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    assert models[0].calibrators_[0].input_scale == "logit"
    # What was given stays as it is.
    assert before is None or repr(given) == before
    # Where there are probabilities, they are meant.
    both = CalibratedClassifier(LogisticRegression(), given, cv=2).fit(X, y)
    assert both.calibrators_[0].input_scale == "probability"


def test_decision_scores_of_a_pipeline_and_in_a_grid(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), LinearSVC())
    model = CalibratedClassifier(pipeline, cv=2)
    grid = {"estimator__linearsvc__C": [0.1, 1.0], "cv": [2, 3]}
    found = GridSearchCV(model, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    assert set(found.best_params_) == set(grid)


def test_parameters_of_a_calibrator_that_is_not_named(data):
    model = CalibratedClassifier(GaussianNB())
    with pytest.raises(ValueError, match=r"`calibrator__lam` is set, but `calibrator` is None"):
        model.set_params(calibrator__lam=1.0)
    model.set_params(calibrator=DirichletCalibrator(), calibrator__lam=1.0)
    assert model.calibrator.lam == 1.0


class Boosted(ClassifierMixin, BaseEstimator):
    """Takes rows to watch while it is trained, as boosters do."""

    def fit(self, X, y, sample_weight=None, *, eval_set=None, callbacks=None, verbose=True):
        self.seen_ = len(X), eval_set, callbacks, verbose
        self.inner_ = GaussianNB().fit(X, y, sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_options_of_fit_reach_the_classifier(data, n_jobs):
    X, y = data
    watched = [(X[:10], y[:10])]
    model = CalibratedClassifier(Boosted(), TemperatureScaling(), cv=2, n_jobs=n_jobs)
    model.fit(X, y, eval_set=watched, callbacks=[], verbose=False)
    for booster in model.estimators_:
        n_rows, eval_set, callbacks, verbose = booster.seen_
        assert n_rows == 200
        assert_array_equal(eval_set[0][0], X[:10])
        assert (callbacks, verbose) == ([], False)


def test_rows_and_labels_that_are_swapped(data):
    X, y = data
    with pytest.raises(ValueError, match=r"`X` and `y` are swapped"):
        CalibratedClassifier(GaussianNB()).fit(y, X)


@pytest.mark.parametrize(
    ("name", "ours"), [("sigmoid", "PlattCalibrator"), ("temperature", "TemperatureScaling")]
)
def test_methods_of_scikit_learn_are_translated(data, name, ours):
    with pytest.raises(ValueError, match=f"got '{name}'. Pass {ours}"):
        CalibratedClassifier(GaussianNB(), name).fit(*data)


def test_the_missing_method_is_named(data):
    X, y = data
    with pytest.raises(ValueError, match=r"predict_proba.*input_scale='probability'; Ridge"):
        CalibratedClassifier(Ridge(), TemperatureScaling(), scheme="prefit").fit(X, y)
    with pytest.raises(ValueError, match=r"decision_function.*'logit'; GaussianNB"):
        CalibratedClassifier(GaussianNB(), TemperatureScaling(input_scale="logit")).fit(X, y)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_a_fold_that_lacks_a_class_still_works(data, scheme, scale):
    X, y = data
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    calibrator = DirichletCalibrator(input_scale=scale)
    # Unshuffled folds of sorted rows: each lacks a class in training or in calibration.
    model = CalibratedClassifier(LogisticRegression(), calibrator, cv=KFold(3), scheme=scheme)
    proba = model.fit(X, y).predict_proba(X)
    assert proba.shape == (400, 3)
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


def test_a_class_with_one_row(data):
    X, y = data
    y = np.where(np.arange(400) == 17, "dog", y)
    model = CalibratedClassifier(GaussianNB(), DirichletCalibrator(penalty="l2")).fit(X, y)
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    assert model.predict_proba(X).shape == (400, 4)


def test_classes_that_the_calibrator_was_told_of(data):
    X, y = data
    told = DirichletCalibrator(penalty="l2", classes=["dog", "cat", "bee", "ant"])
    model = CalibratedClassifier(GaussianNB(), told).fit(X, y)
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    proba = model.predict_proba(X)
    assert proba.shape == (400, 4)
    assert proba[:, 3].max() < 0.05
    strange = CalibratedClassifier(GaussianNB(), DirichletCalibrator(classes=[0, 1, 2]))
    with pytest.raises(ValueError, match=r"label 'ant', which is not among `classes` \[0, 1, 2\]"):
        strange.fit(X, y)


def test_folds_that_warn_alike_warn_once():
    X = np.repeat(np.eye(3), 20, axis=0) + 0.01 * np.arange(60)[:, None]
    y = np.repeat(np.arange(3), 20)
    model = CalibratedClassifier(GaussianNB(), DirichletCalibrator(penalty="none"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert [w.category for w in caught] == [ConvergenceWarning]


class Remembers(ClassifierMixin, BaseEstimator):
    """A classifier that keeps what it was trained on."""

    def fit(self, X, y, sample_weight=None):
        self.rows_, self.weight_ = X[:, 0].astype(int), sample_weight
        self.inner_ = GaussianNB().fit(X[:, 1:], y, sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X[:, 1:])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_weights_reach_both_and_zeros_drop_out(data, scheme):
    X, y = data
    numbered = np.column_stack([np.arange(400), X])
    weight = np.random.default_rng(0).integers(0, 3, 400).astype(float)
    model = CalibratedClassifier(Remembers(), TemperatureScaling(), scheme=scheme)
    model.fit(numbered, y, weight)
    for classifier in model.estimators_:
        assert (weight[classifier.rows_] > 0).all()
        assert_array_equal(classifier.weight_, weight[classifier.rows_])
    used = weight > 0
    again = clone(model).fit(numbered[used], y[used], weight[used])
    assert_array_equal(model.predict_proba(numbered), again.predict_proba(numbered))
    plain = clone(model).fit(numbered, y)
    assert not np.allclose(plain.predict_proba(numbered), model.predict_proba(numbered))


def test_weights_reach_the_last_step_of_a_pipeline(data):
    X, y = data
    weight = np.random.default_rng(0).uniform(0, 2, 400)
    plain = CalibratedClassifier(GaussianNB(), TemperatureScaling()).fit(X, y, weight)
    for pipeline in (make_pipeline(GaussianNB()), make_pipeline(make_pipeline(GaussianNB()))):
        model = CalibratedClassifier(pipeline, TemperatureScaling()).fit(X, y, weight)
        assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("cv", [3, LeaveOneGroupOut()])
def test_groups_stay_together(data, cv):
    X, y = data
    groups = np.arange(400) % 10
    numbered = np.column_stack([np.arange(400), X])
    model = CalibratedClassifier(Remembers(), TemperatureScaling(), cv=cv)
    model.fit(numbered, y, groups=groups)
    assert len(model.estimators_) == (3 if cv == 3 else 10)
    for classifier in model.estimators_:
        seen = np.unique(groups[classifier.rows_])
        assert np.isin(groups[classifier.rows_], seen).all()
        kept = np.setdiff1d(np.arange(400), classifier.rows_)
        assert not np.isin(groups[kept], seen).any()


def test_rows_of_any_kind(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = CalibratedClassifier(GaussianNB()).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.n_features_in_ == 6
    array = CalibratedClassifier(GaussianNB()).fit(X, y)
    assert_array_equal(model.predict_proba(frame), array.predict_proba(X))
    texts = ["good fun", "bad", "good", "bad bad", "fun good", "so bad"] * 5
    words = make_pipeline(CountVectorizer(), MultinomialNB())
    model = CalibratedClassifier(words, TemperatureScaling()).fit(texts, [1, 0, 1, 0, 1, 0] * 5)
    assert model.predict(["good", "bad"]).tolist() == [1, 0]


@pytest.mark.parametrize("calibrator", MULTICLASS.values(), ids=MULTICLASS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_calibrator_helps_or_does_little_harm(calibrator, scheme):
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0)
    model = CalibratedClassifier(tree, calibrator, scheme=scheme)
    model.fit(X[::2], y[::2])
    raw = tree.fit(X[::2], y[::2]).predict_proba(X[1::2])
    after = log_loss(y[1::2], model.predict_proba(X[1::2]))
    assert after <= log_loss(y[1::2], raw) + 1e-9


def test_default_calibrator_search_inside_and_cross_validation(data):
    X, y = data
    model = CalibratedClassifier(RandomForestClassifier(10, random_state=0)).fit(X, y)
    assert isinstance(model.calibrators_[0], AutoCalibrator)
    search = CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [1e3, 0.1, 0.01, 1e-9]})
    model = CalibratedClassifier(GaussianNB(), search, cv=2)
    assert cross_val_score(model, X, y, cv=2, scoring="neg_log_loss").shape == (2,)
    assert model.get_params()["calibrator__calibrator__penalty"] == "l2"


def test_clone_pickle_repeat_and_not_fitted(data):
    X, y = data
    model = CalibratedClassifier(GaussianNB(), VectorScaling())
    with pytest.raises(NotFittedError):
        model.predict(X)
    once = model.fit(X, y).predict_proba(X)
    assert_array_equal(clone(model).fit(X, y).predict_proba(X), once)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), once)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheme": "cv"}, r"`scheme` must be one of 'ensemble', 'out_of_fold', 'prefit'"),
        ({"cv": 1}, r"`cv` must be a whole number of at least 2; got 1"),
        ({"n_jobs": 0}, r"`n_jobs` must be None or a whole number other than 0; got 0"),
        ({"n_jobs": "all"}, r"`n_jobs` must be None or a whole number .*; got 'all'.*-1"),
        ({"calibrator": "isotonic"}, r"`calibrator` must be a calibrator of dircal; got 'isot"),
    ],
)
def test_bad_parameters(data, options, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        CalibratedClassifier(GaussianNB()).set_params(**options).fit(X, y)


def test_bad_rows(data):
    X, y = data
    model = CalibratedClassifier(GaussianNB(), IdentityCalibrator())
    with pytest.raises(ValueError, match=r"`y` holds only one class: \['ant'\]"):
        model.fit(X[y == "ant"], y[y == "ant"])
    with pytest.raises(ValueError, match=r"`sample_weight` must be finite and not negative"):
        model.fit(X, y, np.full(400, -1.0))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        model.fit(X[:10], y)
    function = CalibratedClassifier(lambda X: X, TemperatureScaling(), scheme="prefit")
    with pytest.raises(ValueError, match=r"`X` must not be negative"):
        function.fit(X[:, :3], y)


# One that is computed, one for two classes alone, and one that holds another: which calibrator it
# is shows in scores alone, and those are under test_every_calibrator_helps_or_does_little_harm.
@pytest.mark.parametrize(
    "calibrator",
    [TemperatureScaling(), ALL["IsotonicCalibrator"], MULTICLASS["IsotonicCalibrator"]],
    ids=repr,
)
def test_scikit_learn_has_nothing_to_complain_about(calibrator):
    model = CalibratedClassifier(GaussianNB(), calibrator)
    # Before scikit-learn 1.7 the check did not let copies of a row fall into the same fold.
    old = "check_sample_weight_equivalence_on_dense_data"
    expected = {old: "folds by row number"} if sklearn.__version__ < "1.7" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            model, expected_failed_checks=expected, on_skip=None, on_fail=None
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) >= 40


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_a_classifier_of_one_class_speaks_of_that_class(scale):
    class Single(GaussianNB):
        def decision_function(self, X):
            return self.predict_proba(X)

    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.r_[np.zeros(20, dtype=int), np.arange(20) % 2]
    model = CalibratedClassifier(
        Single(), IdentityCalibrator(input_scale=scale), cv=[(np.arange(20), np.arange(20, 40))]
    ).fit(X, y)
    # The classifier has only ever seen the first class.
    assert_allclose(model.predict_proba(X), [[1.0, 0.0]] * 40, atol=1e-12)


def test_prefit_functions_that_give_frames_go_by_name(data):
    X, y = data
    classifier = GaussianNB().fit(X, y)

    def frame(X):
        table = pd.DataFrame(classifier.predict_proba(X), columns=classifier.classes_)
        return table[["cat", "ant", "bee"]]

    plain = CalibratedClassifier(classifier, TemperatureScaling(), scheme="prefit").fit(X, y)
    named = CalibratedClassifier(frame, TemperatureScaling(), scheme="prefit").fit(X, y)
    assert_allclose(named.predict_proba(X), plain.predict_proba(X), rtol=1e-9)


def test_prefit_classifiers_of_other_labels(data):
    X, y = data
    numbers = np.searchsorted(["ant", "bee", "cat"], y)
    for trained, asked in ((numbers, y), (y, numbers), (numbers, y.astype(object))):
        classifier = GaussianNB().fit(X, trained)
        model = CalibratedClassifier(classifier, TemperatureScaling(), scheme="prefit")
        with pytest.raises(ValueError, match=r"`estimator` has `classes_` .*`y` holds.*kind"):
            model.fit(X, asked)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("classifier", [None, GaussianNB, np.tanh, "nb"], ids=repr)
def test_what_cannot_be_trained(data, scheme, classifier):
    model = CalibratedClassifier(classifier, TemperatureScaling(), scheme=scheme)
    with pytest.raises(ValueError, match=r"(?s)`estimator` must .*; got .*scheme='prefit'"):
        model.fit(*data)


def test_scores_that_are_not_finite_are_the_fault_of_the_classifier(data):
    X, y = data

    class Broken(GaussianNB):
        def predict_proba(self, X):
            return super().predict_proba(X) * np.nan

    message = r"`estimator` gave scores that are not finite: row 0, column 0 is nan"
    with pytest.raises(ValueError, match=message):
        CalibratedClassifier(Broken(), TemperatureScaling()).fit(X, y)
