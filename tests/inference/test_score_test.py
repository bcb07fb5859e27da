import numpy as np
import pytest
from scipy.special import softmax

from dircal import score_test

NAMES = np.array(["ant", "bee", "cat", "dog"])


def draw(seed, n=1500, k=4, sharp=2.0):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(k, sharp), n)
    return (np.log(P) + rng.gumbel(size=P.shape)).argmax(axis=1), P


def too_much_of(P, j, factor=1.7):
    Q = P.copy()
    Q[:, j] *= factor
    return Q / Q.sum(axis=1, keepdims=True)


def run(y, P, **options):
    return score_test(y, P, n_resamples=199, random_state=0, **options)


def test_calibrated_rows_pass():
    y, P = draw(0)
    found = run(y, P)
    assert found.pvalue > 0.05
    assert found.classes == {}
    assert found.pairs == {}
    assert found.freedom == 15
    assert found.family == "full"
    assert found.null_sample.shape == (199,)
    assert "no evidence against the identity" in repr(found)


def test_the_class_that_is_off_is_named():
    y, P = draw(1)
    found = run(NAMES[y], too_much_of(P, 2))
    assert found.pvalue == 1 / 200
    assert next(iter(found.classes)) == "cat"
    assert found.classes["cat"] < 1e-4
    assert "a map would help: 'cat'" in repr(found)


def test_the_pair_that_is_confused_is_named():
    _, P = draw(2, n=6000)
    log_p = np.log(P)
    log_p[:, 0] += 0.6 * (log_p[:, 3] - log_p[:, 3].mean())
    y = (log_p + np.random.default_rng(0).gumbel(size=P.shape)).argmax(axis=1)
    found = run(NAMES[y], P)
    assert next(iter(found.pairs)) == ("ant", "dog")
    assert "'ant' with 'dog'" in repr(found)


def test_the_pvalue_is_a_rank():
    y, P = draw(3)
    found = run(y, P)
    assert found.pvalue == (1 + np.sum(found.null_sample >= found.statistic)) / 200


def test_labels_and_columns_in_any_order():
    y, P = draw(4)
    Q = too_much_of(P, 1, 1.3)
    expected = run(NAMES[y], Q)
    order = [2, 0, 3, 1]
    moved = run(NAMES[y], Q[:, order], classes=NAMES[order])
    assert moved.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert moved.pvalue == expected.pvalue
    shifted = run(y + 3, Q)
    assert shifted.statistic == expected.statistic
    assert [NAMES[label - 3] for label in shifted.classes] == list(expected.classes)
    # Classes that sort otherwise: the same but for the order of the sums.
    renamed = run(np.array(["z", "y", "x", "w"])[y], Q[:, ::-1])
    assert renamed.statistic == pytest.approx(expected.statistic, rel=1e-6)
    assert renamed.pvalue == pytest.approx(expected.pvalue, abs=0.02)
    assert run(y, Q.astype(np.float32)).statistic == pytest.approx(expected.statistic, rel=1e-3)


def test_seeds_repeat():
    y, P = draw(5)
    again = [run(y, P).null_sample for _ in range(2)]
    np.testing.assert_array_equal(*again)
    other = score_test(y, P, n_resamples=199, random_state=1)
    assert (other.null_sample != again[0]).any()
    np.testing.assert_array_equal(
        run(y, P).null_sample,
        score_test(y, P, n_resamples=199, random_state=np.random.default_rng(0)).null_sample,
    )


def test_beyond_thirty_classes():
    y, P = draw(6, n=2000, k=31, sharp=1.0)
    assert run(y, P, classes=range(31)).family == "diagonal"
    found = run(y, too_much_of(P, 30, 3.0), classes=range(31))
    assert 30 in found.classes
    assert found.pairs == {}
    y, P = draw(6, n=500, k=30, sharp=1.0)
    assert run(y, P, classes=range(30)).family == "full"


def test_two_classes_have_no_pairs():
    y, P = draw(7, k=2)
    found = run(y, too_much_of(P, 1, 2.0))
    assert found.pvalue < 0.05
    assert found.pairs == {}
    assert found.freedom == 3


def test_zeros_ones_and_absent_classes():
    P = np.repeat([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], 40, axis=0)
    y = np.r_[np.zeros(40, int), np.arange(40) % 2]
    found = run(y, P, classes=[0, 1, 2])
    assert found.pvalue > 0.05
    # What was said to be impossible happened.
    y[0] = 2
    assert run(y, P).pvalue == 1 / 200


@pytest.mark.parametrize("scale", [50.0, 500.0, 5000.0])
@pytest.mark.parametrize("k", [2, 5, 12, 35])
@pytest.mark.parametrize("n", [1, 3, 60])
def test_sure_rows_that_are_right_pass_and_one_that_is_wrong_does_not(n, k, scale):
    P = softmax(np.random.default_rng(k).normal(scale=scale, size=(n, k)), axis=1)
    y = P.argmax(axis=1)
    assert score_test(y, P, n_resamples=100, random_state=0, classes=range(k)).pvalue > 0.05
    if scale == 5000.0:
        y[0] = P[0].argmin()
        found = score_test(y, P, n_resamples=100, random_state=0, classes=range(k))
        assert found.pvalue == 1 / 101


def test_alpha_decides_what_is_named():
    y, P = draw(8, n=600)
    Q = too_much_of(P, 2, 1.25)
    strict, easy = run(y, Q, alpha=1e-6), run(y, Q, alpha=0.5)
    assert strict.classes == {}
    assert 2 in easy.classes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 50}, r"`n_resamples` must be a whole number of at least 100; got 50"),
        ({"alpha": 0}, r"`alpha` must be a finite number above 0 and below 1; got 0"),
        ({"random_state": -1}, r"`random_state` must be a whole number of at least 0; got -1"),
        ({"classes": [0]}, r"`classes` has 1 labels"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        score_test([0, 1], [[0.9, 0.1], [0.2, 0.8]], **options)


def test_moments_of_many_rows(use_limits):
    y, P = draw(9, n=6000, k=3)
    by_labels = run(y, P)
    assert by_labels.source == "draws"
    use_limits("ResamplingLimits", min_moment_rows=6000)
    found = run(y, P)
    assert found.source == "moments"
    assert found.statistic == pytest.approx(by_labels.statistic, rel=1e-9)
    assert found.pvalue == pytest.approx(by_labels.pvalue, abs=0.1)
    assert "from moments, no evidence" in repr(found)
    off = run(NAMES[y], too_much_of(P, 2))
    assert off.source == "moments"
    assert next(iter(off.classes)) == "cat"
    assert off.pvalue == 1 / 200


def test_labels_are_drawn_for_models_that_are_nearly_always_sure(use_limits):
    rng = np.random.default_rng(0)
    P = softmax(rng.normal(scale=200.0, size=(6000, 3)), axis=1)
    y = P.argmax(axis=1)
    expected = run(y, P)
    use_limits("ResamplingLimits", min_moment_rows=6000)
    found = run(y, P)
    assert found.source == "draws"
    assert found.pvalue == expected.pvalue
