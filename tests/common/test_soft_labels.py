"""Laws of soft labels, for every calibrator: hard labels are a special case of them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from dircal import CalibratorCV, DirichletCalibrator
from dircal.calibrators import IsotonicCalibrator, TemperatureScaling
from dircal.shift import GroupedCalibrator, recalibrate

# As in the laws of hard labels.
SAME = 1e-6


def draw_counts(y, k, seed=0, n_annotators=4):
    """Counts (n, k) of annotators, some of whom take another class; 0 to 4 a row."""
    rng = np.random.default_rng(seed)
    chances = np.full((len(y), k), 0.4 / k)
    chances[np.arange(len(y)), y] += 0.6
    return np.array(
        [rng.multinomial(rng.integers(0, n_annotators + 1), row) for row in chances], dtype=np.int64
    )


def repeat_rows(X, counts):
    """A row for each annotator, with one label."""
    rows, labels = np.nonzero(counts)
    times = counts[rows, labels]
    return np.repeat(X[rows], times, axis=0), np.repeat(labels, times)


def test_one_hot_rows_are_labels(either):
    calibrator, make = either
    X, y = make(0, n=300, k=3)
    hard = clone(calibrator).fit(X, y).predict_proba(X)
    for dtype in (np.int64, np.float64, bool):
        soft = clone(calibrator).fit(X, np.eye(3)[y].astype(dtype))
        assert_array_equal(soft.predict_proba(X), hard)


def test_counts_equal_repeated_rows(either):
    calibrator, make = either
    X, y = make(2, n=300, k=3)
    counts = draw_counts(y, 3)
    soft = clone(calibrator).fit(X, counts)
    repeated = clone(calibrator).fit(*repeat_rows(X, counts))
    assert_allclose(soft.predict_proba(X), repeated.predict_proba(X), atol=SAME)


def test_weights_multiply_counts(either):
    calibrator, make = either
    X, y = make(3, n=300, k=3)
    counts, weight = draw_counts(y, 3), np.random.default_rng(1).integers(0, 3, len(y))
    weighted = clone(calibrator).fit(X, counts, sample_weight=weight)
    multiplied = clone(calibrator).fit(X, counts * weight[:, None])
    assert_allclose(weighted.predict_proba(X), multiplied.predict_proba(X), atol=SAME)


def test_probabilities_are_counts_of_one_annotator(either):
    calibrator, make = either
    X, y = make(4, n=300, k=3)
    counts = draw_counts(y, 3) + 1.0
    sums = counts.sum(axis=1)
    shares = counts / sums[:, None]
    plain = clone(calibrator).fit(X, shares, sample_weight=sums).predict_proba(X)
    told = clone(calibrator).fit(X, counts, counts=True).predict_proba(X)
    assert_allclose(plain, told, atol=SAME)
    once = clone(calibrator).fit(X, shares).predict_proba(X)
    alike = clone(calibrator).fit(X, shares, counts=True).predict_proba(X)
    assert_allclose(once, alike, atol=SAME)


def test_relabelling_permutes_soft_labels(either):
    calibrator, make = either
    X, y = make(1, n=300, k=4)
    counts = draw_counts(y, 4)
    order = np.array([2, 0, 3, 1])
    if getattr(calibrator, "penalty", None) == "l2_reference":
        order = np.array([2, 0, 1, 3])  # its penalty depends on which class is last, by design
    plain = clone(calibrator).fit(X, counts).predict_proba(X)
    permuted = clone(calibrator).fit(X[:, order], counts[:, order])
    assert_allclose(permuted.predict_proba(X[:, order]), plain[:, order], atol=SAME)


@pytest.mark.representatives
def test_labels_of_columns(calibrator, configure, make_problem):
    problem = make_problem(6, n=200, k=3)
    counts = draw_counts(problem.y, 3)
    plain = clone(calibrator).fit(problem.proba, counts)
    assert_array_equal(plain.classes_, [0, 1, 2])
    expected = plain.predict_proba(problem.proba)
    names = ["b", "a", "c"]
    named = configure(clone(calibrator), classes=names).fit(problem.proba, counts)
    assert_array_equal(named.classes_, ["a", "b", "c"])
    assert_allclose(named.predict_proba(problem.proba), expected[:, [1, 0, 2]], atol=SAME)
    frame = pd.DataFrame(counts, columns=names)
    by_frame = clone(calibrator).fit(problem.proba, frame)
    assert_allclose(by_frame.predict_proba(problem.proba), expected[:, [1, 0, 2]], atol=SAME)


@pytest.mark.representatives
def test_frames_are_matched_by_name(calibrator, make_problem):
    problem = make_problem(6, n=200, k=3)
    names = ["b", "a", "c"]
    proba = pd.DataFrame(problem.proba, columns=[f"p_{name}" for name in names])
    counts = pd.DataFrame(draw_counts(problem.y, 3), columns=names)
    plain = clone(calibrator).fit(proba, counts).predict_proba(proba)
    moved = clone(calibrator).fit(proba, counts[["a", "b", "c"]]).predict_proba(proba)
    assert_allclose(moved, plain, atol=SAME)


@pytest.mark.representatives
def test_rows_without_annotators_may_hold_anything(either):
    calibrator, make = either
    X, y = make(7, n=200, k=3)
    counts = draw_counts(y, 3) + 1
    counts[150:] = 0
    spoilt = X.copy()
    spoilt[150:] = np.nan
    dropped = clone(calibrator).fit(spoilt, counts).predict_proba(X)
    assert_allclose(
        dropped, clone(calibrator).fit(X[:150], counts[:150]).predict_proba(X), atol=SAME
    )


BAD = {
    "sum": ([[0.5, 0.2, 0.2]], {}, r"`y`.*rows must sum to one; row 0 sums to 0.9"),
    "counts as floats": ([[5.0, 2.0, 0.0]], {}, r"row 0 sums to 7\. .*counts=True"),
    "negative": ([[1.2, -0.2, 0.0]], {}, r"`y` must not be negative; row 0, column 1 is -0.2"),
    "negative counts": ([[3, -1, 0]], {}, r"`y` must not be negative; row 0, column 1 is -1"),
    "NaN": ([[np.nan, 0.5, 0.5]], {}, r"`y` must be finite; row 0, column 0 is nan"),
    "infinite": ([[np.inf, 0.0, 0.0]], {"counts": True}, r"`y` must be finite; row 0, column 0"),
    "columns": ([[0.5, 0.5]], {}, r"`y` has 2 columns, but `X` has 3"),
    "multilabel": ([[1, 1, 0]], {}, r"`y` holds only 0 and 1, and row 0 sums to 2.*multilabel"),
    "multilabel floats": ([[1.0, 1.0, 0.0]], {}, r"row 0 sums to 2\..*multilabel"),
    "no label": ([[0, 0, 0]], {}, r"`y` holds only 0 and 1, and row 0 sums to 0"),
    "nobody": ([[0, 0, 0]], {"counts": True}, r"`y` is zero in every row"),
    "texts": ([["a", "b", "c"]], {}, r"`y` has 3 columns of type <U1.*Soft labels are numbers"),
}


@pytest.mark.representatives
@pytest.mark.parametrize(("row", "options", "message"), BAD.values(), ids=BAD)
def test_bad_soft_labels(row, options, message, calibrator, make_problem):
    problem = make_problem(0, n=20, k=3)
    with pytest.raises(ValueError, match=message):
        calibrator.fit(problem.proba, np.array(row * 20), **options)


@pytest.mark.representatives
def test_counts_need_columns(calibrator, make_problem):
    problem = make_problem(0, n=20, k=3)
    with pytest.raises(ValueError, match=r"`counts` is True, but `y` is one label for each row"):
        calibrator.fit(problem.proba, problem.y, counts=True)


def test_two_columns_of_one(binary, make_problem):
    problem = make_problem(5, n=300, k=2)
    counts = draw_counts(problem.y, 2)
    two = clone(binary).fit(problem.proba, counts).predict_proba(problem.proba)
    one = clone(binary).fit(problem.proba[:, 1], counts).predict_proba(problem.proba[:, 1])
    repeated = clone(binary).fit(*repeat_rows(problem.proba, counts))
    assert_allclose(one, two, atol=SAME)
    assert_allclose(repeated.predict_proba(problem.proba), two, atol=SAME)


def test_folds_keep_the_annotators_of_a_row_together(make_problem):
    problem = make_problem(5, n=120, k=3)
    counts = draw_counts(problem.y, 3) + 1
    X, y = repeat_rows(problem.proba, counts)
    rows = np.repeat(np.nonzero(counts)[0], counts[np.nonzero(counts)])
    halves = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    apart = [tuple(np.flatnonzero(np.isin(rows, part)) for part in pair) for pair in halves]
    grid = {"lam": [1.0, 1e-2]}
    soft = CalibratorCV(DirichletCalibrator(penalty="l2"), grid, cv=halves)
    hard = CalibratorCV(DirichletCalibrator(penalty="l2"), grid, cv=apart)
    soft.fit(problem.proba, counts)
    hard.fit(X, y)
    assert_allclose(
        soft.cv_results_["mean_test_score"], hard.cv_results_["mean_test_score"], rtol=1e-6
    )
    assert_allclose(soft.predict_proba(problem.proba), hard.predict_proba(problem.proba), atol=SAME)


def test_groups_take_counts(make_problem):
    problem = make_problem(8, n=240, k=3)
    counts = draw_counts(problem.y, 3) + 1
    groups = np.repeat(["a", "b", "c"], 80)
    X, y = repeat_rows(problem.proba, counts)
    places = np.repeat(np.nonzero(counts)[0], counts[np.nonzero(counts)])
    soft = GroupedCalibrator(TemperatureScaling()).fit(problem.proba, counts, groups=groups)
    hard = GroupedCalibrator(TemperatureScaling()).fit(X, y, groups=groups[places])
    assert_allclose(
        soft.predict_proba(problem.proba, groups=groups),
        hard.predict_proba(problem.proba, groups=groups),
        atol=SAME,
    )


def test_recalibration_takes_counts(make_problem):
    problem, old = make_problem(8, n=240, k=3), make_problem(9, n=240, k=3)
    counts = draw_counts(problem.y, 3) + 1
    fitted = TemperatureScaling().fit(old.proba, old.y)
    soft = recalibrate(fitted, problem.proba, counts)
    hard = recalibrate(fitted, *repeat_rows(problem.proba, counts))
    assert_allclose(soft.predict_proba(problem.proba), hard.predict_proba(problem.proba), atol=SAME)


@pytest.mark.representatives
def test_a_masked_class_that_may_be_the_label(calibrator, configure, make_problem):
    configure(calibrator, input_scale="logit")
    problem = make_problem(3, n=100, k=3)
    logits, counts = problem.logits.copy(), draw_counts(problem.y, 3) + 1
    logits[4, 1] = -np.inf
    with pytest.raises(ValueError, match=r"`y` holds 1 for row 4, where `X` masks this class"):
        calibrator.fit(logits, counts)
    counts[4, 1] = 0
    assert calibrator.fit(logits, counts).predict_proba(logits)[4, 1] == 0.0


def test_many_rows_of_a_curve(monkeypatch, make_problem):
    problem = make_problem(5, n=300, k=2)
    counts = draw_counts(problem.y, 2)
    few = IsotonicCalibrator().fit(problem.proba, counts).predict_proba(problem.proba)
    monkeypatch.setattr("dircal.calibrators._binary._MOST_GATHERED", 100)
    many = IsotonicCalibrator().fit(problem.proba, counts).predict_proba(problem.proba)
    assert_allclose(many, few, atol=SAME)
