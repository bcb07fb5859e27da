"""Another order of columns is found where there is one, and nowhere else."""

import time

import numpy as np
import pytest

from dircal._core.stats.column_order import better_order


def find(logits, y, *, is_probability=False):
    k = logits.shape[1]
    return better_order(lambda part: logits[part], y, k, is_probability=is_probability)


def sampled(rng, n, k, scale=2.0):
    """Logits whose softmax is right."""
    logits = rng.normal(scale=scale, size=(n, k))
    return logits, (logits + rng.gumbel(size=(n, k))).argmax(axis=1)


@pytest.mark.parametrize("k", [2, 3, 10, 40])
@pytest.mark.parametrize("sharpness", [0.01, 1.0, 100.0])
def test_any_permutation_is_found_whatever_the_temperature(k, sharpness):
    rng = np.random.default_rng(k)
    logits, y = sampled(rng, 100 * k, k)
    assert find(sharpness * logits, y) is None
    for order in (np.arange(k)[::-1], np.roll(np.arange(k), 1), np.r_[1, 0, 2:k]):
        found = find(sharpness * logits[:, order], y)
        assert found.columns[order].tolist() == np.argsort(order)[order].tolist()
        truth = float((logits.argmax(axis=1) == y).mean())
        assert found.better_accuracy == pytest.approx(truth, abs=0.03)
        assert found.accuracy == np.mean(logits[:, order].argmax(axis=1) == y)


def test_probabilities_with_zeros():
    rng = np.random.default_rng(0)
    logits, y = sampled(rng, 300, 4, scale=3.0)
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    proba = np.where(proba < 0.05, 0.0, proba)
    assert find(proba, y, is_probability=True) is None
    assert find(proba[:, [1, 0, 3, 2]], y, is_probability=True).columns.tolist() == [1, 0, 3, 2]
    masked = np.where(np.arange(4) == 2, -np.inf, logits)
    assert find(masked, y) is None


def no_better(rng, n, k):
    return rng.normal(size=(n, k)), rng.integers(0, k, n)


def too_fond_of_one(rng, n, k):
    """Nearly all rows have label 0 and are taken for label 1, as are those of label 1."""
    y = np.where(rng.random(n) < 0.9, 0, rng.integers(0, k, n))
    logits = rng.normal(size=(n, k)) + 2.0 * np.eye(k)[y]
    logits[:, 1] += 6.0
    return logits, y


def pairs_alike(rng, n, k):
    """Labels 0 and 1 look alike, and so do 2 and 3, and so on."""
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, k)) + 5.0 * np.eye(k)[y] + 5.0 * np.eye(k)[y ^ 1], y


def one_way(rng, n, k):
    """Every label is taken for the even one of its pair."""
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, k)) + 5.0 * np.eye(k)[y // 2 * 2], y


def wrong_twice_as_often_as_right(rng, n, k):
    """Of labels 0 and 1, two thirds of the rows are taken for the other."""
    y = rng.integers(0, k + 1, n)
    said = np.where((y < 2) & (rng.random(n) < 2 / 3), 1 - y, y)
    return rng.normal(size=(n, k + 1)) + 6.0 * np.eye(k + 1)[said], y


def many_classes_few_rows(rng, n, k):
    return sampled(rng, n, 10 * k, scale=0.5)


def always_the_same(rng, n, k):
    return np.zeros((n, k)), rng.integers(0, k, n)


CONFUSED = [
    no_better,
    too_fond_of_one,
    pairs_alike,
    one_way,
    wrong_twice_as_often_as_right,
    many_classes_few_rows,
    always_the_same,
]


@pytest.mark.parametrize("make", CONFUSED, ids=lambda make: make.__name__)
@pytest.mark.parametrize(("n", "k"), [(60, 4), (500, 10), (3000, 4)])
def test_confusion_of_classes_is_not_one_of_columns(make, n, k):
    rng = np.random.default_rng(n)
    assert [find(*make(rng, n, k)) for _ in range(20)] == [None] * 20


def test_cycles_without_evidence_are_not_named():
    rng = np.random.default_rng(0)
    logits, y = sampled(rng, 1500, 60, scale=1.0)
    order = np.r_[1, 0, 2:60]
    logits[:, :2] = 3.0 * logits[:, :2] + 3.0  # two large classes in a crowd of weak ones
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    found = find(logits[:, order], y)
    assert (found.columns != np.arange(60)).sum() <= 4
    assert found.columns[:2].tolist() == [1, 0]


def test_few_rows_and_rows_that_are_left_out():
    rng = np.random.default_rng(0)
    logits, y = sampled(rng, 200, 3)
    turned = logits[:, [1, 2, 0]]
    assert find(turned[:16], y[:16]) is None
    assert find(turned, np.full(200, -1)) is None
    assert find(turned, np.where(np.arange(200) < 150, y, -1)) is not None


def test_every_so_many_rows_tell_the_same(use_limits):
    rng = np.random.default_rng(0)
    logits, y = sampled(rng, 3000, 5)
    turned = logits[:, [1, 2, 0, 4, 3]]
    whole = find(turned, y)
    use_limits("OrderLimits", max_numbers=5 * 500, max_kept=5 * 400)
    use_limits("DataLimits", chunk_elements=5 * 7, min_chunk_rows=7)
    part = find(turned, y)
    assert part.columns.tolist() == whole.columns.tolist()
    assert part.accuracy == np.mean(turned[::6].argmax(axis=1) == y[::6])


def test_a_thousand_classes_cost_little():
    rng = np.random.default_rng(0)
    logits, y = sampled(rng, 4000, 1000, scale=4.0)
    began = time.process_time()
    assert find(logits, y) is None
    assert find(logits[:, ::-1], y) is not None
    assert time.process_time() - began < 3.0
