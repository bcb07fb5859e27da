"""What else than rows and labels a fit is given, and whom it reaches.

With ``enable_metadata_routing`` these are the cases that scikit-learn holds its own meta-estimators
to (`test_metaestimators_metadata_routing.py`), written anew for `CalibratedClassifier`. Where it
differs on purpose:

- A number of folds takes `groups`: it is dealt as a `StratifiedGroupKFold`, which requests them by
  default, and so does the model. Scikit-learn's ``cv=3`` does not know groups.
- Weights that reach the calibrators alone are never dropped without a word: also with routing, a
  classifier that knows no weights is warned about.
- Scorers are no part of a `CalibratedClassifier`, and it transforms nothing: these cases do not
  apply.
"""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import MetadataRouter

from dircal import CalibratedClassifier, TemperatureScaling
from dircal.exceptions import SampleWeightWarning

N = 120
SCHEMES = ("ensemble", "out_of_fold")


@pytest.fixture(scope="module")
def data():
    return make_classification(
        N, n_features=6, n_informative=4, n_classes=3, flip_y=0.2, random_state=0
    )


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(0).uniform(0.1, 3, N)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Takes(ClassifierMixin, BaseEstimator):
    """A classifier that keeps what it was given, and knows a kind of metadata of its own."""

    def fit(self, X, y, sample_weight=None, extra=None):
        self.given_ = {"sample_weight": sample_weight, "extra": extra}
        self.n_rows_ = len(y)
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


class TakesNothing(ClassifierMixin, BaseEstimator):
    """A classifier whose `fit` knows rows and labels only."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


class Splitter(KFold):
    """Folds that also want something of their own, and remember what they were asked with."""

    __metadata_request__split = {"groups": None}  # noqa: RUF012

    def split(self, X, y=None, groups=None, extra=None):
        self.asked = X, y, groups, extra
        return super().split(X, y)


def model_of(estimator, **options):
    return CalibratedClassifier(estimator, TemperatureScaling(), **options)


# Without routing, as most users are.


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "classifier",
    [
        KNeighborsClassifier(20),
        make_pipeline(StandardScaler(), KNeighborsClassifier(20)),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
        OneVsRestClassifier(GaussianNB()),
        TakesNothing(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_weights_that_the_classifier_does_not_get_are_told(data, weight, scheme, classifier):
    model = model_of(classifier, scheme=scheme)
    name = type(classifier).__name__
    with pytest.warns(SampleWeightWarning, match=rf"`sample_weight`.*calibrators.*{name}") as told:
        model.fit(*data, weight)
    assert len(told) == 1
    assert told[0].filename == __file__
    # The calibrators have them; where there are none, there is nothing to tell.
    plain = clone(model).fit(*data)
    assert not np.allclose(plain.predict_proba(data[0]), model.predict_proba(data[0]))


def test_weights_that_arrive_are_no_news(data, weight):
    for classifier in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        model_of(classifier).fit(*data, weight)


def test_prefit_classifiers_need_no_weights(data, weight):
    ready = KNeighborsClassifier(20).fit(*data)
    model_of(ready, scheme="prefit").fit(*data, weight)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", [list, np.asarray])
def test_what_is_for_the_classifier_reaches_it_row_by_row(data, weight, scheme, kind):
    X, y = data
    model = model_of(Takes(), scheme=scheme).fit(X, y, extra=kind(range(N)))
    for classifier in model.estimators_:
        assert classifier.given_["sample_weight"] is None
        assert len(classifier.given_["extra"]) == classifier.n_rows_
    splits = list(KFold(3).split(X))
    model = model_of(Takes(), cv=splits).fit(X, y, extra=kind(range(N)))
    for (train, _), classifier in zip(splits, model.estimators_, strict=True):
        assert_array_equal(classifier.given_["extra"], train)


@pytest.mark.parametrize("extra", ["a" * N, 7, np.ones(N + 1), {"one": 1}, None])
def test_what_is_not_for_rows_is_passed_as_it_is(data, extra):
    model = model_of(Takes()).fit(*data, extra=extra)
    assert all(one.given_["extra"] is extra for one in model.estimators_)


def test_weights_of_a_step_may_differ_from_those_of_the_calibrators(data, weight):
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = model_of(pipeline).fit(*data, logisticregression__sample_weight=weight)
    both = clone(model).fit(*data, weight)
    for one, other in zip(model.estimators_, both.estimators_, strict=True):
        assert_array_equal(one[-1].coef_, other[-1].coef_)
    assert not np.allclose(model.predict_proba(data[0]), both.predict_proba(data[0]), rtol=1e-6)


def test_what_nobody_takes_is_refused(data):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'weights'"):
        model_of(GaussianNB()).fit(*data, weights=np.ones(N))
    ready = model_of(GaussianNB().fit(*data), scheme="prefit")
    with pytest.raises(TypeError, match=r"`fit` got weights, but .*nothing is trained"):
        ready.fit(*data, weights=np.ones(N))


def test_splitters_see_the_rows_themselves(data):
    X, y = data
    splitter = Splitter(3)
    model_of(GaussianNB(), cv=splitter).fit(X, y)
    assert splitter.asked[0] is X
    assert_array_equal(splitter.asked[1], y)


# With routing.


@pytest.mark.usefixtures("routing")
def test_nothing_is_requested_until_someone_asks():
    router = model_of(Takes()).get_metadata_routing()
    assert isinstance(router, MetadataRouter)
    parts = dict(router)
    assert set(parts) == {"$self_request", "estimator", "splitter"}
    assert parts["estimator"].router.fit.requests == {"sample_weight": None, "extra": None}
    assert parts["$self_request"].router.fit.requests == {"sample_weight": None}
    # A number of folds deals groups, as their splitters do.
    assert parts["splitter"].router.split.requests == {"groups": True}
    of_pairs = model_of(Takes(), cv=[(range(60), range(60, N))]).get_metadata_routing()
    assert dict(of_pairs)["splitter"].router.split.requests == {}


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["sample_weight", "extra"])
def test_metadata_that_nobody_decided_on_is_an_error(data, weight, scheme, name):
    message = rf"\[{name}\] are passed but are not explicitly set .* Takes\.fit"
    with pytest.raises(UnsetMetadataPassedError, match=message):
        model_of(Takes(), scheme=scheme).fit(*data, **{name: weight})


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["sample_weight", "extra"])
@pytest.mark.parametrize("alias", [True, "other"])
def test_requested_metadata_arrive(data, weight, scheme, name, alias):
    X, y = data
    splits = list(KFold(3).split(X))
    model = model_of(Takes().set_fit_request(**{name: alias}), scheme=scheme, cv=splits)
    model.fit(X, y, **{name if alias is True else alias: weight})
    rows = [train for train, _ in splits] if scheme == "ensemble" else [np.arange(N)]
    for train, classifier in zip(rows, model.estimators_, strict=True):
        assert_array_equal(classifier.given_[name], weight[train])
        assert [key for key, value in classifier.given_.items() if value is not None] == [name]


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_weights_that_are_refused_stay_with_the_calibrators(data, weight, scheme):
    X, y = data
    model = model_of(Takes().set_fit_request(sample_weight=False), scheme=scheme)
    model.fit(X, y, weight)
    assert all(one.given_["sample_weight"] is None for one in model.estimators_)
    # The classifiers of both are the same, their calibrators are not.
    plain = clone(model).fit(X, y)
    assert not np.allclose(plain.predict_proba(X), model.predict_proba(X))
    logistic = LogisticRegression().set_fit_request(sample_weight=False)
    refused = model_of(make_pipeline(StandardScaler(), logistic), scheme=scheme)
    refused.set_params(
        estimator__standardscaler=StandardScaler().set_fit_request(sample_weight=False)
    )
    refused.fit(X, y, weight)
    coef = [one[-1].coef_ for one in clone(refused).fit(X, y).estimators_]
    assert_array_equal([one[-1].coef_ for one in refused.estimators_], coef)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_weights_reach_a_step_of_a_pipeline(data, weight, scheme):
    X, y = data
    logistic = LogisticRegression().set_fit_request(sample_weight=True)
    model = model_of(make_pipeline(logistic), scheme=scheme).fit(X, y, weight)
    alone = model_of(LogisticRegression().set_fit_request(sample_weight=True), scheme=scheme)
    assert_allclose(model.predict_proba(X), alone.fit(X, y, weight).predict_proba(X))
    with sklearn.config_context(enable_metadata_routing=False):
        expected = model_of(LogisticRegression(), scheme=scheme).fit(X, y, weight)
    assert_allclose(model.predict_proba(X), expected.predict_proba(X))


@pytest.mark.usefixtures("routing")
def test_weights_reach_a_classifier_inside_a_search(data, weight):
    X, y = data
    logistic = LogisticRegression().set_fit_request(sample_weight=True)
    logistic.set_score_request(sample_weight=False)
    model = model_of(GridSearchCV(logistic, {"C": [1.0]}, cv=2)).fit(X, y, weight)
    expected = model_of(logistic).fit(X, y, weight)
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-6)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_classifiers_that_take_nothing_work(data, weight, scheme):
    model = model_of(TakesNothing(), scheme=scheme)
    model.fit(*data)
    with pytest.warns(SampleWeightWarning, match="TakesNothing"):
        model.fit(*data, weight)
    with pytest.raises(TypeError, match=r"unexpected argument.*extra"):
        model.fit(*data, extra=weight)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_splitters_get_what_they_request(data, scheme):
    X, y = data
    splitter = Splitter(3).set_split_request(groups=True, extra=True)
    classifier = Takes().set_fit_request(extra=False)
    groups, extra = np.arange(N) % 10, np.arange(N)
    model_of(classifier, cv=splitter, scheme=scheme).fit(X, y, groups=groups, extra=extra)
    assert_array_equal(splitter.asked[2], groups)
    assert_array_equal(splitter.asked[3], extra)
    with pytest.raises(TypeError, match=r"unexpected argument.*groups"):
        model_of(classifier, cv=KFold(3)).fit(X, y, groups=groups)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("cv", [2, GroupKFold(2), StratifiedGroupKFold(2)], ids=repr)
def test_groups_come_through_a_cross_validation(data, cv):
    X, y = data
    groups = np.arange(N) % 10
    numbered = np.column_stack([X, groups])
    outer = GroupKFold(2)
    result = cross_validate(
        model_of(Takes(), cv=cv),
        numbered,
        y,
        params={"groups": groups},
        cv=outer,
        return_estimator=True,
        return_indices=True,
    )
    for model, rows in zip(result["estimator"], result["indices"]["train"], strict=True):
        expected = model_of(Takes(), cv=cv).fit(numbered[rows], y[rows], groups=groups[rows])
        assert_array_equal(model.predict_proba(numbered), expected.predict_proba(numbered))


@pytest.mark.usefixtures("routing")
def test_weights_come_through_a_search(data, weight):
    X, y = data
    model = model_of(LogisticRegression().set_fit_request(sample_weight=True))
    model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(model, {"cv": [2]}, cv=2).fit(X, y, sample_weight=weight)
    expected = clone(model).set_params(cv=2).fit(X, y, weight)
    assert_allclose(search.predict_proba(X), expected.predict_proba(X))


@pytest.mark.usefixtures("routing")
def test_prefit_classifiers_and_functions_request_nothing(data, weight):
    ready = Takes().fit(*data)
    for one in (ready, ready.predict_proba):
        model = model_of(one, scheme="prefit")
        assert set(dict(model.get_metadata_routing())) == {"$self_request"}
        model.fit(*data, weight)


@pytest.mark.usefixtures("routing")
def test_nothing_changes_without_metadata(data):
    X, y = data
    with_routing = model_of(GaussianNB()).fit(X, y).predict_proba(X)
    with sklearn.config_context(enable_metadata_routing=False):
        assert_array_equal(model_of(GaussianNB()).fit(X, y).predict_proba(X), with_routing)
