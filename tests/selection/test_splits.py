"""Folds: which rows are in which, whoever decides."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, PredefinedSplit
from sklearn.naive_bayes import GaussianNB

from dircal import CalibratedClassifier, CalibratorCV, IdentityCalibrator, TemperatureScaling
from dircal.selection._splits import deal_evenly, deal_within_classes, make_splits

LABELS = np.array([0, 1, 0, 1, 0, 1, 0, 1])
USED = np.array([1, 2, 4, 5, 7])


def lists(splits):
    return [(one.tolist(), other.tolist()) for one, other in splits]


@pytest.mark.parametrize("deal", [deal_evenly, deal_within_classes])
def test_splitters_count_all_rows(deal):
    splits = make_splits(PredefinedSplit([0, 0, 0, 0, 1, 1, 1, 1]), LABELS, USED, deal)
    assert lists(splits) == [([4, 5, 7], [1, 2]), ([1, 2], [4, 5, 7])]
    groups = np.array(["a", "a", "b", "b", "a", "a", "b", "b"])
    splits = make_splits(GroupKFold(2), LABELS, USED, deal, groups)
    assert sorted(lists(splits)) == [([1, 4, 5], [2, 7]), ([2, 7], [1, 4, 5])]


@pytest.mark.parametrize("deal", [deal_evenly, deal_within_classes])
def test_numbers_of_folds_deal_only_the_rows_that_are_used(deal):
    splits = make_splits(2, LABELS, USED, deal)
    alone = make_splits(2, LABELS[USED], np.arange(5), deal)
    assert lists(splits) == lists([(USED[one], USED[other]) for one, other in alone])


def test_folds_of_a_splitter_that_lose_all_their_rows_are_left_out():
    splits = make_splits(LeaveOneOut(), LABELS, USED, deal_evenly)
    assert [other.tolist() for _, other in splits] == [[1], [2], [4], [5], [7]]
    with pytest.raises(ValueError, match=r"`cv`.*KFold.*no fold.*rows of positive weight"):
        make_splits(KFold(2), LABELS, np.array([0, 1]), deal_evenly)


@pytest.mark.parametrize(
    ("labels", "n_folds"), [([0, 0, 1, 1], 2), ([0, 1, 2, 3], 3), ([0, 0, 0, 1], 3)]
)
@pytest.mark.parametrize("grouped", [False, True])
def test_classes_smaller_than_the_number_of_folds(labels, n_folds, grouped):
    groups = np.arange(4) if grouped else None
    splits = make_splits(3, np.array(labels), np.arange(4), deal_within_classes, groups)
    assert len(splits) == n_folds
    assert_array_equal(np.sort(np.concatenate([other for _, other in splits])), np.arange(4))


def test_fewer_groups_than_folds():
    groups = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert len(make_splits(3, LABELS, np.arange(8), deal_within_classes, groups)) == 2
    with pytest.raises(ValueError, match=r"`groups` holds only one group"):
        make_splits(3, LABELS, np.arange(8), deal_within_classes, np.zeros(8))


def test_four_rows_calibrate_a_classifier():
    X = np.array([[0.0], [1.0], [2.0], [0.5]])
    model = CalibratedClassifier(GaussianNB(), IdentityCalibrator()).fit(X, [0, 0, 1, 1])
    assert len(model.estimators_) == 2


def test_generators_are_read_once(make_problem):
    problem = make_problem(0, n=60, k=3)
    pairs = (pair for pair in KFold(2).split(problem.proba))
    search = CalibratorCV(TemperatureScaling(), {"max_iter": [50]}, cv=pairs)
    search.fit(problem.proba, problem.y)
    with pytest.raises(ValueError, match=r"`cv`.*generator.*used up.*Pass a list"):
        search.fit(problem.proba, problem.y)


def test_splitters_that_need_groups(make_problem):
    problem = make_problem(0, n=60, k=3)
    search = CalibratorCV(TemperatureScaling(), {"max_iter": [50]}, cv=GroupKFold(3))
    with pytest.raises(ValueError, match=r"`cv` is GroupKFold.*needs groups.*cv=list\(.*groups\)"):
        search.fit(problem.proba, problem.y)
    model = CalibratedClassifier(GaussianNB(), TemperatureScaling(), cv=GroupKFold(3))
    with pytest.raises(ValueError, match=r"`cv` is GroupKFold.*Pass `groups` to `fit`"):
        model.fit(problem.proba, problem.y)


def test_pairs_decide_about_groups_themselves(make_problem):
    problem = make_problem(0, n=60, k=3)
    pairs = list(KFold(3).split(problem.proba))
    model = CalibratedClassifier(GaussianNB(), TemperatureScaling(), cv=pairs)
    with pytest.raises(ValueError, match=r"`groups` .*`cv` holds pairs.*Leave out `groups`"):
        model.fit(problem.proba, problem.y, groups=np.arange(60) % 6)


@pytest.mark.parametrize("half", [[0, 1, 2, 3], np.arange(8) < 4], ids=["numbers", "truths"])
def test_splitters_may_give_lists_and_truth_values(half):
    class Halves:
        def split(self, X, y=None, groups=None):
            yield half, [4, 5, 6, 7]

    splits = make_splits(Halves(), LABELS, USED, deal_evenly)
    assert lists(splits) == [([1, 2], [4, 5, 7])]
