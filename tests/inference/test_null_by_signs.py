import numpy as np
import pytest
from scipy.special import softmax

from dircal import calibration_test, confidence_interval


@pytest.fixture
def many_classes(use_limits):
    """Rows that count as many, of classes that count as many."""
    use_limits("ResamplingLimits", min_moment_rows=12_000, max_moment_sums=100)
    rng = np.random.default_rng(0)
    P = softmax(rng.normal(scale=3.0, size=(12_000, 20)), axis=1)
    return (np.log(P) + rng.gumbel(size=P.shape)).argmax(axis=1), P


def run(y, P, n_resamples=1000, **options):
    return calibration_test(
        y, P, statistic="classwise_ece", n_resamples=n_resamples, random_state=0, **options
    )


def test_as_labels_that_are_drawn(many_classes, use_limits):
    found = run(*many_classes)
    assert found.source == "multipliers"
    assert "from multipliers, no evidence" in repr(found)
    use_limits("ResamplingLimits", min_moment_rows=12_001)
    expected = run(*many_classes)
    assert expected.source == "draws"
    assert found.statistic == expected.statistic
    assert found.null_sample.mean() == pytest.approx(expected.null_sample.mean(), rel=0.02)
    assert found.null_sample.std() == pytest.approx(expected.null_sample.std(), rel=0.15)
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.1)


def test_some_rows_are_enough(many_classes, use_limits):
    expected = run(*many_classes).null_sample
    use_limits("ResamplingLimits", signed_rows=6000)
    found = run(*many_classes).null_sample
    assert (found != expected).all()
    assert found.mean() == pytest.approx(expected.mean(), rel=0.02)


def test_models_that_are_off_are_seen(many_classes):
    y, P = many_classes
    assert run(y, softmax(1.3 * np.log(P), axis=1)).pvalue == 0.0


def test_seeds_repeat(many_classes):
    first, second = (run(*many_classes, n_resamples=64).null_sample for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_bins_of_equal_mass(many_classes):
    assert run(*many_classes, n_resamples=64, strategy="mass").source == "multipliers"


def test_intervals(many_classes, use_limits):
    y, P = many_classes
    off = softmax(1.5 * np.log(P), axis=1)
    options = {"metric": "classwise_ece", "n_resamples": 1000, "random_state": 0}
    found = confidence_interval(y, off, **options)
    assert found.source == "multipliers"
    assert repr(found).endswith(", from multipliers>")
    use_limits("ResamplingLimits", min_moment_rows=12_001)
    expected = confidence_interval(y, off, **options)
    assert expected.source == "draws"
    width = expected.high - expected.low
    # Ends of 1000 draws err by some hundredths of the width.
    assert found.low == pytest.approx(expected.low, abs=0.15 * width)
    assert found.high == pytest.approx(expected.high, abs=0.15 * width)
