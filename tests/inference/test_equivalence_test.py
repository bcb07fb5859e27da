import numpy as np
import pytest

from dircal import confidence_interval, equivalence_test

METRICS = ["log_loss", "error_rate", "confidence_ece", "classwise_ece", "smooth_ece"]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([0.6, 0.6, 0.6], 5000)
    return (np.log(P) + rng.gumbel(size=P.shape)).argmax(axis=1), P


def run(metric, y, P, margin, **options):
    return equivalence_test(y, P, metric, margin=margin, n_resamples=400, random_state=0, **options)


@pytest.mark.parametrize("metric", METRICS)
def test_the_bound_decides(metric, rows):
    y, P = rows
    bound = run(metric, y, P, 1.0).upper
    wide, tight = run(metric, y, P, 1.05 * bound), run(metric, y, P, 0.95 * bound)
    assert wide.below
    assert wide.pvalue < 0.05
    assert "; below the margin" in repr(wide)
    assert not tight.below
    assert tight.pvalue > 0.05
    assert "not shown to be below" in repr(tight)
    # One side of 95 % is an end of the interval of 90 %.
    both = confidence_interval(y, P, metric, level=0.9, n_resamples=400, random_state=0)
    assert wide.upper == pytest.approx(both.high, rel=1e-6)


def test_what_is_measured_above_the_margin_is_never_below():
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.ones(10), 300)
    y = (np.log(P) + rng.gumbel(size=P.shape)).argmax(axis=1)
    # Almost all of this error is chance.
    found = run("classwise_ece", y, P, 0.01, classes=range(10))
    assert found.estimate > 0.01
    assert not found.below
    assert found.pvalue == 1.0


def test_more_rows_make_it_easier(rows):
    y, P = rows
    few = run("confidence_ece", y[:300], P[:300], 0.03)
    many = run("confidence_ece", y, P, 0.03)
    assert not few.below
    assert many.below


def test_higher_confidence_has_a_higher_bound(rows):
    y, P = rows
    assert run("log_loss", y, P, 1.0, level=0.99).upper > run("log_loss", y, P, 1.0).upper


def test_it_seldom_passes_where_the_error_is_the_margin():
    """Of 100 sets whose error equals the margin about 5 pass; 13 are four standard errors off."""
    passed = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        y = (rng.random(500) < 0.3).astype(int)  # said 0.2, happens 0.3
        P = np.tile([0.8, 0.2], (500, 1))
        passed += run("confidence_ece", y, P, 0.1, classes=[0, 1]).below
    assert passed <= 13


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        ("accuracy", {"margin": 0.1}, r"`metric` is accuracy, which is better when higher"),
        ("log_loss", {"margin": 0.0}, r"`margin` must be a finite number above 0; got 0.0"),
        ("maximum_calibration_error", {"margin": 0.1}, r"which has no interval"),
        ("log_loss", {"margin": 0.1, "level": 0}, r"`level` must be a finite number"),
    ],
)
def test_bad_arguments(metric, options, message):
    with pytest.raises(ValueError, match=message):
        equivalence_test([0, 1], [[0.9, 0.1], [0.2, 0.8]], metric, **options)


def test_no_p_value_is_zero():
    y = np.arange(60) % 3
    for metric in ("confidence_ece", "smooth_ece", "error_rate"):
        found = equivalence_test(y, np.eye(3)[y], metric, margin=0.01, n_resamples=200)
        assert 0.0 < found.pvalue <= 0.0025
