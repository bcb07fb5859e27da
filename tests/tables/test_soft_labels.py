"""Soft labels at the door: which column is which class, and what is neither one nor the other."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dircal import (
    BetaCalibrator,
    CalibratedClassifier,
    PlattCalibrator,
    TemperatureScaling,
    metrics,
)
from dircal.exceptions import ColumnOrderWarning, RowSumWarning
from dircal.tables import check_fit

P = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.4, 0.4, 0.2]])
COUNTS = np.array([[3, 1, 0], [0, 2, 2], [1, 0, 5], [0, 0, 0]])


def check(P, y, **options):
    known = {"sample_weight": None, "classes": None, "input_scale": "probability"}
    return check_fit(P, y, **known | options)


def test_counts_become_shares_and_weights():
    data = check(P, COUNTS)
    assert_array_equal(data.sample_weight, [4, 4, 6, 0])
    assert_allclose(data.targets[:3], COUNTS[:3] / COUNTS[:3].sum(axis=1, keepdims=True))
    assert_array_equal(data.labels[[0, 2]], [0, 2])


def test_probabilities_are_not_copied():
    Y = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    data = check(P, Y)
    assert data.targets is Y
    assert data.sample_weight is None


def test_rows_that_are_sure_are_labels():
    data = check(P, np.array([[1, 0, 0], [0, 0, 5], [0, 2, 0], [0, 0, 1]]))
    assert data.targets is None
    assert_array_equal(data.labels, [0, 2, 1, 2])
    assert_array_equal(data.sample_weight, [1, 5, 2, 1])


def test_sums_a_little_off_are_renormalised():
    Y = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.695], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    with pytest.warns(RowSumWarning, match=r"`y` has rows that do not sum to one \(row 1"):
        data = check(P, Y)
    assert_allclose(data.targets.sum(axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_columns(frame):
    named = frame({"b": COUNTS[:, 0], "a": COUNTS[:, 1], "c": COUNTS[:, 2]})
    data = check(P, named)
    assert_array_equal(data.classes, ["a", "b", "c"])
    assert_array_equal(data.column_classes, ["b", "a", "c"])
    assert_allclose(data.targets[0], [0.25, 0.75, 0.0])
    scores = frame({"p_c": P[:, 2], "p_b": P[:, 0], "p_a": P[:, 1]})
    matched = check(scores, named)
    assert_array_equal(matched.column_classes, ["c", "b", "a"])
    assert_allclose(matched.targets, data.targets)
    alone = check(scores, COUNTS[:, [2, 0, 1]])
    assert_array_equal(alone.classes, ["p_a", "p_b", "p_c"])
    assert_allclose(alone.targets, data.targets)


def test_names_that_are_numbers():
    named = pl.DataFrame({"2": P[:, 0], "0": P[:, 1], "1": P[:, 2]})
    assert check(named, COUNTS).column_classes.tolist() == [2, 0, 1]
    assert check(named.rename({"2": "02"}), COUNTS).column_classes.tolist() == ["02", "0", "1"]


def test_classes_say_which_column_is_which():
    data = check(P, COUNTS, classes=["z", "y", "x"])
    assert_array_equal(data.classes, ["x", "y", "z"])
    assert_allclose(data.targets[0], [0.0, 0.25, 0.75])
    frame = pd.DataFrame(COUNTS[:, ::-1], columns=["x", "y", "z"])
    assert_allclose(check(P, frame, classes=["z", "y", "x"]).targets, data.targets)
    with pytest.raises(ValueError, match="`y` must have distinct column names; got 'x' more"):
        check(P, pd.DataFrame(COUNTS, columns=["x", "y", "x"]))


def test_names_that_match_no_class():
    frame = pd.DataFrame(COUNTS, columns=["cat", "dog", "cow"])
    with pytest.raises(ValueError, match=r"`y` has columns named after labels"):
        check(P, frame, classes=["cat", "dog", "horse"])


def test_rows_of_weight_zero_may_hold_anything():
    Y = np.array([[0.5, 0.5, 0.0], [np.nan, -1.0, 7.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    data = check(P, Y, sample_weight=[1, 0, 1, 1])
    assert_array_equal(data.sample_weight, [1, 0, 1, 1])


def test_lists_of_lists():
    data = check([[0.4, 0.6], [0.9, 0.1]], [[1, 2], [3, 0]])
    assert_allclose(data.targets, [[1 / 3, 2 / 3], [1.0, 0.0]])
    assert_array_equal(data.sample_weight, [3, 3])


def test_the_number_of_rows():
    with pytest.raises(ValueError, match=r"`y` has 4 rows, but `X` has 3"):
        check(P[:3], COUNTS)


def test_measures_say_how_to_weigh_counts():
    with pytest.raises(ValueError, match=r"y_true / y_true.sum.*`sample_weight`"):
        metrics.log_loss(COUNTS[:3].astype(float), P[:3])


def test_one_column_of_scores():
    p, Y = P[:, 0], np.array([[1, 3], [2, 2], [0, 1], [4, 0]])
    one, two = PlattCalibrator().fit(p, Y), PlattCalibrator().fit(np.column_stack([1 - p, p]), Y)
    assert_allclose(one.predict_proba(p), two.predict_proba(np.column_stack([1 - p, p])))
    named = pd.DataFrame(Y[:, ::-1], columns=["yes", "no"])
    by_name = PlattCalibrator(classes=["no", "yes"]).fit(p, named)
    assert_allclose(by_name.predict_proba(p), one.predict_proba(p))


def test_scores_and_labels_that_are_swapped():
    with pytest.raises(ValueError, match="they look swapped"):
        BetaCalibrator().fit(np.array([0.0, 1.0, 1.0, 0.0]), P[:, :2])
    with pytest.raises(ValueError, match="they look swapped"):
        TemperatureScaling().fit([0, 1, 2, 1], P)


def test_a_better_order_is_told():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.full(3, 0.3), 400)
    counts = np.array([rng.multinomial(7, row) for row in scores])
    with pytest.warns(ColumnOrderWarning, match="fit another order"):
        check(scores, counts[:, [1, 2, 0]])


def test_a_classifier_learns_from_labels():
    with pytest.raises(ValueError, match=r"`y` must be one label for each row; got 3 columns"):
        CalibratedClassifier(TemperatureScaling(), TemperatureScaling()).fit(P, COUNTS)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_no_reason_to_warn(kind):
    torch = pytest.importorskip("torch")
    Y = torch.tensor([[0.4, 0.6, 0.0], [0.2, 0.3, 0.5], [0.9, 0.1, 0.0], [0.7, 0.1, 0.2]])
    data = check(P, Y.to(getattr(torch, kind)))
    assert_allclose(data.targets, Y, atol=2e-3)
    assert_allclose(data.targets.sum(axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_soft_labels_are_refused(kind):
    with pytest.raises(ValueError, match=r"`y` is a sparse .* with `y\.toarray\(\)`"):
        check(P, kind(COUNTS))


def test_soft_labels_that_cannot_be_read_are_called_what_they_are():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"`y` is a torch\.Tensor on the device 'meta'"):
        check(P, torch.empty(4, 3, device="meta"))
