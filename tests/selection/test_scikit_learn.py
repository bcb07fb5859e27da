"""The cases of scikit-learn's `test_calibration.py`, written anew for `CalibratedClassifier`.

Its ``method="sigmoid" | "isotonic" | "temperature"`` are `PlattCalibrator`, `IsotonicCalibrator`
and `TemperatureScaling` here, ``ensemble=True | False`` the schemes "ensemble" and "out_of_fold".
Options that `fit` passes on, and metadata routing, are in `test_routing.py`. What differs on
purpose (the guide to `CalibratedClassifier` lists it, too):

- The classifier has to be given; scikit-learn takes a `LinearSVC` where it is not.
- What the classifier is asked for is decided by the calibrator's ``input_scale``; scikit-learn asks
  for `decision_function` where there is one.
- A number of folds is dealt at random with a fixed seed, and never more than there are rows of the
  largest class; scikit-learn deals in the order of the rows, and raises where a class has fewer
  rows than there are folds. A class with a single row is no error here.
- A class that a classifier has not seen is not given zero by force: its calibrator knows better.
- A `FrozenEstimator` always gets one calibrator, from all rows, also with the ensemble scheme.
- Tensors of other libraries are no rows here (array API).

Cases of `calibration_curve` and `CalibrationDisplay` have their like in `tests/plots`.
"""

import warnings

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction import DictVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from dircal import (
    CalibratedClassifier,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
)
from dircal.exceptions import SampleWeightWarning
from dircal.metrics import brier_score, log_loss

METHODS = {
    "sigmoid": PlattCalibrator,
    "isotonic": IsotonicCalibrator,
    "temperature": TemperatureScaling,
}
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
each_scheme = pytest.mark.parametrize("scheme", ["ensemble", "out_of_fold"])


@pytest.fixture(scope="module")
def data():
    return make_classification(200, n_features=6, random_state=42)


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(42).uniform(size=200)


@pytest.fixture(autouse=True)
def unfinished_fits_are_no_news():
    with warnings.catch_warnings():
        # Ours and those of the classifiers.
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def test_a_method_that_does_not_exist(data):
    with pytest.raises(ValueError, match=r"`calibrator` must be a calibrator of dircal"):
        CalibratedClassifier(LinearSVC(), "sigmoid").fit(*data)


def test_the_classifier_has_no_default():
    with pytest.raises(TypeError, match="estimator"):
        CalibratedClassifier()


@each_method
@each_scheme
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, csr_array])
def test_calibration_improves_the_brier_score_whatever_the_labels(
    data, weight, method, scheme, kind
):
    X, y = data[0] - data[0].min(), data[1]
    train, test = slice(0, 100), slice(100, 200)
    bayes = MultinomialNB().fit(X[train], y[train], sample_weight=weight[train])
    raw = brier_score(y[test], bayes.predict_proba(X[test]))
    model = CalibratedClassifier(bayes, method(), cv=5, scheme=scheme)

    def proba(labels):
        model.fit(kind(X[train]), labels[train], sample_weight=weight[train])
        return model.predict_proba(kind(X[test]))

    after = proba(y)
    assert brier_score(y[test], after) < raw
    for same_order in (y + 1, 2 * y - 1):
        assert_allclose(proba(same_order), after, atol=1e-12)
    # Folds are dealt by the order of labels, so the others are not those of before.
    assert brier_score(1 - y[test], proba(1 - y)) < raw


@each_scheme
def test_more_folds_than_rows_of_a_class(data, scheme):
    model = CalibratedClassifier(GaussianNB(), TemperatureScaling(), cv=201, scheme=scheme)
    model.fit(*data)
    assert len(model.estimators_) == (100 if scheme == "ensemble" else 1)


@each_scheme
def test_splitters(data, scheme):
    calibrator = PlattCalibrator(input_scale="logit")
    model = CalibratedClassifier(LinearSVC(), calibrator, cv=KFold(5), scheme=scheme).fit(*data)
    assert model.cv.n_splits == 5
    assert len(model.estimators_) == len(model.calibrators_) == (5 if scheme == "ensemble" else 1)


@pytest.mark.parametrize(
    ("cv", "single"),
    [
        (LeaveOneOut(), "200 of 200"),
        (KFold(101), "2 of 101"),
        ([(np.arange(1, 200), [0]), (np.arange(100), np.arange(100, 200))], "1 of 2"),
        (LeaveOneGroupOut(), "1 of 4"),
    ],
    ids=["LeaveOneOut", "KFold", "pairs", "LeaveOneGroupOut"],
)
def test_folds_of_one_row_cannot_calibrate(data, cv, single):
    groups = np.r_[0, np.arange(199) % 3 + 1] if isinstance(cv, LeaveOneGroupOut) else None
    message = rf"`cv` must keep back at least two rows.*{single} folds.*scheme='out_of_fold'"
    model = CalibratedClassifier(LogisticRegression(), TemperatureScaling(), cv=cv)
    with pytest.raises(ValueError, match=message):
        model.fit(*data, groups=groups)
    # One calibrator from all of them is another matter.
    model.set_params(scheme="out_of_fold").fit(*data, groups=groups)
    assert log_loss(data[1], model.predict_proba(data[0])) < 0.5


def test_a_number_of_folds_for_few_rows(data):
    X, y = data[0][:5], [0, 1, 0, 1, 0]
    model = CalibratedClassifier(LogisticRegression(), TemperatureScaling())
    with pytest.raises(ValueError, match=r"1 of 3 folds keep back one row"):
        model.fit(X, y)
    assert len(model.set_params(cv=2).fit(X, y).estimators_) == 2


@each_method
@each_scheme
def test_weights_matter(data, weight, method, scheme):
    X, y = data
    model = CalibratedClassifier(LinearSVC(), method(input_scale="logit"), scheme=scheme)
    weighted = model.fit(X[:100], y[:100], weight[:100]).predict_proba(X[100:])
    plain = model.fit(X[:100], y[:100]).predict_proba(X[100:])
    assert np.linalg.norm(weighted - plain) > 0.1


@pytest.mark.parametrize("kind", [list, np.asarray])
def test_weights_of_any_kind_arrive(data, kind):
    class Checks(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            assert sample_weight.shape == (len(X),)
            return super().fit(X, y, sample_weight)

    CalibratedClassifier(Checks(), TemperatureScaling()).fit(*data, kind(np.ones(200)))


def test_weights_that_do_not_arrive(data):
    class Without(LogisticRegression):
        def fit(self, X, y, **options):
            assert not options
            return super().fit(X, y)

    with pytest.warns(SampleWeightWarning, match="Without"):
        CalibratedClassifier(Without(), TemperatureScaling()).fit(*data, np.ones(200))


@each_method
@each_scheme
def test_twice_the_weight_is_twice_the_row(method, scheme):
    X, y = load_iris(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:100], y[:100]
    # Unshuffled folds of doubled rows hold the same rows.
    model = CalibratedClassifier(
        LogisticRegression(), method(), cv=StratifiedKFold(2), scheme=scheme
    )
    weighted = clone(model).fit(X, y, np.full(100, 2.0))
    doubled = clone(model).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    for one, other in zip(weighted.estimators_, doubled.estimators_, strict=True):
        assert_allclose(one.coef_, other.coef_, rtol=1e-6)
    assert_allclose(weighted.predict_proba(X), doubled.predict_proba(X), atol=1e-6)


# Processes take seconds to start: once is enough.
@pytest.mark.parametrize(
    ("scheme", "backend"),
    [("ensemble", "loky"), ("ensemble", "threading"), ("out_of_fold", "threading")],
)
def test_several_at_once_find_the_same(data, scheme, backend):
    X, y = data
    classifier = make_pipeline(StandardScaler(), LinearSVC(random_state=42))
    model = CalibratedClassifier(classifier, TemperatureScaling(input_scale="logit"), scheme=scheme)
    alone = clone(model).fit(X, y).predict_proba(X)
    with joblib.parallel_config(backend=backend):
        together = clone(model).set_params(n_jobs=2).fit(X, y).predict_proba(X)
    assert_allclose(together, alone, rtol=1e-12)


@each_method
@each_scheme
def test_many_classes(method, scheme):
    X, y = make_blobs(500, 100, centers=10, cluster_std=15.0, random_state=0)
    # Eight clusters are one class, so that a softmax of the scores is far from right.
    y = np.minimum(y, 2)
    machine = LinearSVC(random_state=7).fit(X[::2], y[::2])
    forest = RandomForestClassifier(30, random_state=42).fit(X[::2], y[::2])
    assert 0.65 < machine.score(X[1::2], y[1::2]) < 0.95
    for classifier, scale, raw in (
        (machine, "logit", softmax(machine.decision_function(X[1::2]), axis=1)),
        (forest, "probability", forest.predict_proba(X[1::2])),
    ):
        calibrator = method(input_scale=scale)
        if method is not TemperatureScaling:
            calibrator = OneVsRestCalibrator(calibrator)
        model = CalibratedClassifier(classifier, calibrator, cv=3, scheme=scheme)
        proba = model.fit(X[::2], y[::2]).predict_proba(X[1::2])
        assert_allclose(proba.sum(axis=1), 1.0)
        assert model.score(X[1::2], y[1::2]) > 0.95 * classifier.score(X[1::2], y[1::2])
        assert brier_score(y[1::2], proba) < 1.1 * brier_score(y[1::2], raw)


def test_a_row_that_every_class_gives_zero_is_shared_evenly():
    # One against the rest, a third is always wrong and two thirds are always right.
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    scores = np.array([np.eye(3)[a] * 2 / 3 + np.eye(3)[b] / 3 for a, b in pairs] * 5)
    y = [a for a, _ in pairs] * 5
    calibrator = OneVsRestCalibrator(IsotonicCalibrator())
    model = CalibratedClassifier(lambda X: X, calibrator, scheme="prefit").fit(scores, y)
    assert_allclose(model.predict_proba(scores)[:, :], np.eye(3)[y], atol=1e-12)
    assert_allclose(model.predict_proba(np.full((1, 3), 1 / 3)), 1 / 3)


@each_method
@each_scheme
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, csr_array])
def test_frozen_classifiers_are_ready(method, scheme, kind):
    X, y = make_classification(150, n_features=6, random_state=42)
    X, weight = X - X.min(), np.random.default_rng(42).uniform(size=150)
    bayes = MultinomialNB().fit(X[:50], y[:50], weight[:50])
    raw = brier_score(y[100:], bayes.predict_proba(X[100:]))
    frozen = CalibratedClassifier(FrozenEstimator(bayes), method(), scheme=scheme)
    ready = CalibratedClassifier(bayes, method(), scheme="prefit")
    for given in (weight[50:100], None):
        proba = frozen.fit(kind(X[50:100]), y[50:100], given).predict_proba(kind(X[100:]))
        assert_array_equal(frozen.predict(kind(X[100:])), proba.argmax(axis=1))
        assert brier_score(y[100:], proba) < raw
        assert len(frozen.calibrators_) == 1
        same = ready.fit(X[50:100], y[50:100], given).predict_proba(X[100:])
        assert_allclose(proba, same, atol=1e-9)


@each_method
def test_out_of_fold_is_a_cross_validated_prediction(data, method):
    X, y = data
    machine, folds = LinearSVC(random_state=7), StratifiedKFold(3)
    calibrator = method(input_scale="logit")
    model = CalibratedClassifier(machine, calibrator, cv=folds, scheme="out_of_fold").fit(X, y)
    unseen = cross_val_predict(machine, X, y, cv=folds, method="decision_function")
    by_hand = calibrator.fit(np.column_stack([np.zeros(200), unseen]), y)
    logits = np.column_stack([np.zeros(200), machine.fit(X, y).decision_function(X)])
    assert_allclose(model.predict_proba(X), by_hand.predict_proba(logits), rtol=1e-9)


def test_sigmoid_of_libsvm():
    # A and B as LibSVM finds them, to three places; ours has the other sign.
    decision, y = np.array([[5.0], [-4.0], [1.0]]), [1, -1, -1]
    model = CalibratedClassifier(
        lambda X: X, PlattCalibrator(input_scale="logit"), scheme="prefit"
    ).fit(decision, y)
    platt = model.calibrators_[0]
    assert_allclose([platt.slope_, platt.intercept_], [0.20261354, -0.65236315], atol=1e-3)
    expected = 1 / (1 + np.exp(-0.20261354 * decision[:, 0] + 0.65236315))
    assert_allclose(model.predict_proba(decision)[:, 1], expected, atol=1e-3)
    with pytest.raises(ValueError, match=r"`X`"):
        model.fit(np.tile(decision, 3), y)


def test_sigmoid_of_scores_of_any_size():
    rng = np.random.default_rng(0)
    decision, y = rng.uniform(-2, 2, size=(100, 1)), rng.integers(0, 2, 100)
    model = CalibratedClassifier(lambda X: X, PlattCalibrator(input_scale="logit"), scheme="prefit")
    small = model.fit(decision, y).predict_proba(decision)
    large = model.fit(1e4 * decision, y).predict_proba(1e4 * decision)
    assert_allclose(large, small, atol=1e-6)


@pytest.mark.parametrize("k", [2, 3, 5])
@each_scheme
def test_one_temperature_leaves_the_order_alone(k, scheme):
    X, y = make_classification(
        1000, 10, n_informative=10, n_redundant=0, n_classes=k, n_clusters_per_class=1,
        class_sep=2.0, random_state=42,
    )  # fmt: skip
    X_train, X_cal, y_train, y_cal = train_test_split(X, y, random_state=42)
    logistic = LogisticRegression(C=1e9, tol=1e-8, max_iter=500).fit(X_train, y_train)
    model = CalibratedClassifier(FrozenEstimator(logistic), TemperatureScaling(), scheme=scheme)
    model.fit(X_cal, y_cal)
    assert [one.temperature_ > 0 for one in model.calibrators_] == [True]
    raw, after = logistic.predict_proba(X_cal), model.predict_proba(X_cal)
    assert_array_equal(model.predict(X_cal), logistic.predict(X_cal))
    assert log_loss(y_cal, after) <= log_loss(y_cal, raw)
    if k == 2:
        raw, after = raw[:, 1], after[:, 1]
    area = roc_auc_score(y_cal, raw, multi_class="ovr")
    # Of two classes one temperature keeps the order of rows, too; of more, nearly.
    assert_allclose(
        roc_auc_score(y_cal, after, multi_class="ovr"), area, atol=0 if k == 2 else 1e-3
    )
    # It was trained by likelihood: on the rows of the training nothing is to gain.
    own = TemperatureScaling().fit(logistic.predict_proba(X_train), y_train)
    assert_allclose(own.temperature_, 1.0, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_score_for_each_row_in_a_column_or_not(dtype):
    decision = np.arange(10, dtype=dtype)
    y = [0, 1, 0, 0, 1, 0, 1, 1, 0, 1]
    calibrator = TemperatureScaling(input_scale="logit")
    flat = CalibratedClassifier(lambda X: X[:, 0], calibrator, scheme="prefit")
    column = CalibratedClassifier(lambda X: X, calibrator, scheme="prefit")
    X = decision[:, None]
    assert_array_equal(flat.fit(X, y).predict_proba(X), column.fit(X, y).predict_proba(X))


@each_method
@each_scheme
def test_holes_in_the_rows_are_the_business_of_the_classifier(method, scheme):
    X, y = make_classification(10, n_features=2, n_informative=2, n_redundant=0, random_state=42)
    X[0, 0] = np.nan
    classifier = make_pipeline(SimpleImputer(), RandomForestClassifier(1, random_state=0))
    model = CalibratedClassifier(classifier, method(), cv=2, scheme=scheme).fit(X, y)
    assert model.predict(X).shape == (10,)


@each_method
@each_scheme
def test_folds_of_one_class_still_give_probabilities(method, scheme):
    X = np.random.default_rng(0).normal(size=(10, 5))
    y = [1] * 5 + [0] * 5
    calibrator = method(input_scale="logit")
    model = CalibratedClassifier(LinearSVC(), calibrator, cv=KFold(3), scheme=scheme).fit(X, y)
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(axis=1), 1.0)


@each_scheme
def test_classifiers_that_have_not_seen_a_class(scheme):
    X = np.random.default_rng(0).normal(size=(12, 5))
    y = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    model = CalibratedClassifier(
        DecisionTreeClassifier(random_state=7),
        OneVsRestCalibrator(PlattCalibrator()),
        cv=KFold(3),
        scheme=scheme,
    ).fit(X, y)
    proba = model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba > 0).all()
    if scheme == "ensemble":
        assert [one.classes_.tolist() for one in model.estimators_] == [
            [1, 2, 3], [0, 1, 2, 3], [0, 1, 2],
        ]  # fmt: skip


@pytest.mark.parametrize("shape", [(15, 5, 2), (15, 5, 2, 6)])
def test_rows_with_several_dimensions(shape):
    class OfTensors(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def decision_function(self, X):
            return X.reshape(len(X), -1).sum(axis=1)

    X = np.random.default_rng(42).normal(size=shape)
    y = [1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0]
    model = CalibratedClassifier(OfTensors(), PlattCalibrator(input_scale="logit")).fit(X, y)
    assert model.predict_proba(X).shape == (15, 2)


def test_rows_that_are_dictionaries():
    X = [{"state": state, "age": age} for state, age in zip("NTVCB", "aacac", strict=True)]
    y = [1, 0, 1, 1, 0]
    pipeline = make_pipeline(DictVectorizer(), RandomForestClassifier(random_state=0)).fit(X, y)
    for scheme in ("prefit", "ensemble"):
        model = CalibratedClassifier(
            FrozenEstimator(pipeline), TemperatureScaling(), scheme=scheme
        ).fit(X, y)
        assert_array_equal(model.classes_, pipeline.classes_)
        assert not hasattr(model, "n_features_in_")
        assert model.predict(X).shape == (5,)
        assert model.predict_proba(X).shape == (5, 2)


def test_attributes():
    X, y = make_classification(10, n_features=5, random_state=7)
    calibrator = PlattCalibrator(input_scale="logit")
    model = CalibratedClassifier(LinearSVC(), calibrator, cv=2).fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.n_features_in_ == 5


def test_rows_of_another_width_than_the_frozen_classifier_knows():
    X, y = make_classification(10, n_features=5, random_state=7)
    frozen = FrozenEstimator(LinearSVC().fit(X, y))
    model = CalibratedClassifier(frozen, PlattCalibrator(input_scale="logit"))
    with pytest.raises(ValueError, match=r"X has 3 features, but LinearSVC is expecting 5"):
        model.fit(X[:, :3], y)


def test_votes_that_have_probabilities_only_when_asked_softly():
    X, y = make_classification(10, n_features=5, random_state=7)
    members = [(f"member{i}", LogisticRegression()) for i in range(3)]
    vote = VotingClassifier(members, voting="soft").fit(X, y)
    for model in (
        CalibratedClassifier(FrozenEstimator(vote), TemperatureScaling()),
        CalibratedClassifier(vote, TemperatureScaling()),
    ):
        assert model.fit(X, y).predict_proba(X).shape == (10, 2)


def test_decision_scores_of_a_hundred_thousand():
    y = np.repeat([1, 0], [134, 66])
    X = 1e5 * y[:, None] + np.random.default_rng(0).normal(size=(200, 1))
    machine = SGDClassifier(loss="squared_hinge", tol=1e-2, random_state=0)
    assert machine.fit(X, y).decision_function(X).max() > 1e4
    areas = [
        cross_val_score(
            CalibratedClassifier(machine, calibrator(input_scale="logit")), X, y, scoring="roc_auc"
        )
        for calibrator in (PlattCalibrator, IsotonicCalibrator)
    ]
    assert_allclose(*areas)


@each_method
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_in_single_precision(data, method, weighted):
    class Single(DummyClassifier):
        def predict_proba(self, X):
            return super().predict_proba(X).astype(np.float32)

    weight = np.ones(200) if weighted else None
    model = CalibratedClassifier(Single(), method()).fit(*data, weight)
    assert_allclose(model.predict_proba(data[0]).sum(axis=1), 1.0)
    frozen = FrozenEstimator(Single().fit(*data, weight))
    CalibratedClassifier(frozen, method()).fit(*data, weight)


def test_labels_that_are_words_in_a_list():
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = CalibratedClassifier(LogisticRegression()).fit(X, ["a"] * 10 + ["b"] * 10)
    assert model.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("estimator", [LogisticRegression(), FrozenEstimator(LinearSVC())])
def test_the_old_word_for_a_classifier_that_is_ready(data, estimator):
    message = r"`cv` must .*; got 'prefit'.*CalibratedClassifier\(estimator, scheme='prefit'\)"
    with pytest.raises(ValueError, match=message):
        CalibratedClassifier(estimator, cv="prefit").fit(*data)
