"""The test of calibration: its statistic, its p-value, its words."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dircal import calibration_test, calibration_test_from_confidence, metrics

STATISTICS = ["confidence_ece", "classwise_ece"]


@pytest.fixture
def calibrated():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1.0, 0.5, 0.3], 800)
    return (rng.random((800, 1)) > P.cumsum(axis=1)).sum(axis=1).clip(max=2), P


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    "options", [{}, {"n_bins": 5}, {"strategy": "mass"}, {"binning": "paper_table"}]
)
def test_the_statistic_is_the_measure(statistic, options, calibrated):
    y, P = calibrated
    result = calibration_test(y, P, statistic=statistic, n_resamples=100, random_state=0, **options)
    expected = getattr(metrics, statistic)(y, P, **options)
    assert result.statistic == pytest.approx(expected, abs=1e-14)
    assert result.null_sample.shape == (100,)
    assert result.measure == statistic
    assert result.n_samples == 800


@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_pvalue_is_the_share_of_larger_errors(statistic, calibrated):
    y, P = calibrated
    result = calibration_test(y, P, statistic=statistic, n_resamples=500, random_state=0)
    assert result.pvalue == np.mean(result.null_sample > result.statistic)
    assert 0.001 < result.pvalue < 0.999


@pytest.mark.parametrize("statistic", STATISTICS)
def test_overconfidence_is_found(statistic, make_problem):
    problem = make_problem(0, n=500, k=4)
    result = calibration_test(problem.y, problem.proba, statistic=statistic, random_state=0)
    assert result.pvalue == 0.0
    assert len(result.null_sample) == 10_000


@pytest.mark.parametrize("statistic", STATISTICS)
def test_seeds_repeat(statistic, calibrated):
    y, P = calibrated

    def sample(random_state):
        return calibration_test(
            y, P, statistic=statistic, n_resamples=50, random_state=random_state
        ).null_sample

    assert_array_equal(sample(3), sample(3))
    assert_array_equal(sample(3), sample(np.random.default_rng(3)))
    assert (sample(3) != sample(4)).any()


@pytest.mark.parametrize("statistic", STATISTICS)
def test_ties_count_half(statistic):
    # Certain predictions that are right: every draw repeats the observed error.
    certain = calibration_test(
        [0, 1, 1], np.eye(2)[[0, 1, 1]], statistic=statistic, n_resamples=99, random_state=0
    )
    assert certain.statistic == 0.0
    assert certain.pvalue == 0.5
    # One row: the errors are 0.5 whichever class is drawn, up to rounding.
    single = calibration_test(
        [0], [[0.5, 0.5]], statistic=statistic, n_resamples=99, random_state=0, classes=[0, 1]
    )
    assert single.pvalue == 0.5


def test_equal_errors_that_are_summed_in_another_order_tie():
    # 10 rows of 0.7: 6 or 8 right are errors of 0.1 both, but not in the last digit.
    confidence = np.full(10, 0.7)
    six = calibration_test_from_confidence([1] * 6 + [0] * 4, confidence, random_state=0)
    eight = calibration_test_from_confidence([1] * 8 + [0] * 2, confidence, random_state=0)
    assert six.pvalue == eight.pvalue


@pytest.mark.parametrize("statistic", STATISTICS)
def test_labels_and_columns_may_be_named(statistic, calibrated):
    y, P = calibrated
    plain = calibration_test(y, P, statistic=statistic, n_resamples=50, random_state=0)
    words = np.array(["a", "b", "c"])
    named = calibration_test(
        words[y],
        P[:, [2, 0, 1]],
        statistic=statistic,
        n_resamples=50,
        random_state=0,
        classes=["c", "a", "b"],
    )
    assert named.statistic == pytest.approx(plain.statistic, abs=1e-14)
    assert named.pvalue == plain.pvalue


def test_confidence_alone_is_enough(make_problem):
    problem = make_problem(1, n=300, k=4, scale=1.0)
    whole = calibration_test(problem.y, problem.proba, n_resamples=200, random_state=0)
    correct = problem.proba.argmax(axis=1) == problem.y
    alone = calibration_test_from_confidence(
        correct, problem.proba.max(axis=1), n_resamples=200, random_state=0
    )
    assert alone.statistic == pytest.approx(whole.statistic)
    assert alone.pvalue == whole.pvalue


def test_zeros_ones_single_precision_and_many_classes():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(40, 0.02), 60).astype(np.float32)
    P[:5] = np.eye(40)[:5]
    y = P.argmax(axis=1)
    for statistic in STATISTICS:
        result = calibration_test(
            y, P, statistic=statistic, n_resamples=200, random_state=0, classes=range(40)
        )
        assert np.isfinite(result.null_sample).all()
        assert 0.0 <= result.pvalue <= 1.0


def test_the_words(calibrated, make_problem):
    y, P = calibrated
    text = repr(calibration_test(y, P, random_state=0))
    assert text.startswith("<CalibrationTest: confidence_ece 0.0")
    assert "on 800 rows" in text
    assert "a calibrated model would have about" in text
    assert "no evidence of miscalibration>" in text
    bad = make_problem(0, n=500, k=4)
    text = repr(calibration_test(bad.y, bad.proba, n_resamples=1000, random_state=0))
    assert "p-value ≤ 0.001, not calibrated>" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 0}, r"`n_resamples` must be a whole number of at least 1; got 0"),
        ({"statistic": "ece"}, r"`statistic` must be one of 'confidence_ece', 'classwise_ece'"),
        ({"random_state": -1}, r"`random_state` must be a whole number of at least 0; got -1"),
    ],
)
def test_bad_options(options, message, calibrated):
    y, P = calibrated
    with pytest.raises(ValueError, match=message):
        calibration_test(y, P, **options)


def test_bad_predictions(calibrated):
    y, P = calibrated
    with pytest.raises(ValueError, match=r"`y_true` has 799 labels, but `y_prob` has 800 rows"):
        calibration_test(y[1:], P)
    with pytest.raises(ValueError, match=r"`y_prob` must not be negative.*softmax"):
        calibration_test(y, np.log(P))


@pytest.mark.parametrize("top", [0.9999992, 1.0000001])
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("binning", ["right_closed", "paper_table"])
def test_certain_rows_in_single_precision_are_calibrated(top, statistic, binning):
    P = np.zeros((2000, 3), dtype=np.float32)
    y = np.arange(2000) % 3
    P[np.arange(2000), y] = top
    result = calibration_test(
        y, P, statistic=statistic, n_resamples=2000, random_state=0, binning=binning
    )
    assert result.pvalue > 0.4


@pytest.mark.parametrize("confidence", [1.00005, np.float32(1.0000001)])
def test_confidence_a_hair_above_one_is_certainty(confidence):
    result = calibration_test_from_confidence([True] * 100, np.full(100, confidence))
    assert result.statistic == 0.0
    assert result.pvalue == 0.5


def test_many_rows_have_moments_and_say_so(make_problem, use_limits):
    problem = make_problem(0, n=3000, k=4, scale=1.0)
    given = {"statistic": "classwise_ece", "n_resamples": 4000, "random_state": 0}
    drawn = calibration_test(problem.y, problem.proba, **given)
    use_limits("ResamplingLimits", min_moment_rows=3000)
    found = calibration_test(problem.y, problem.proba, **given)
    assert (drawn.source, found.source) == ("draws", "moments")
    assert found.statistic == drawn.statistic
    assert found.null_sample.mean() == pytest.approx(drawn.null_sample.mean(), rel=0.02)
    assert found.null_sample.std() == pytest.approx(drawn.null_sample.std(), rel=0.06)
    assert "from moments" in repr(found)
    assert "from moments" not in repr(drawn)
    # What is exact stays so, and too many cells have no covariance.
    assert calibration_test(problem.y, problem.proba).source == "draws"
    use_limits("ResamplingLimits", max_moment_sums=59)
    assert calibration_test(problem.y, problem.proba, **given).source == "multipliers"
