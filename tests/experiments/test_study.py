"""The study of the temperature family: gains, likelihood ratios, verdicts and attributes."""

import numpy as np
import pytest
from experiments.neural._networks import Network, Part, catalogued
from experiments.study._gains import (
    Gain,
    Losses,
    difference_of,
    gain_of,
    mean_gain,
    percent,
)
from experiments.study._likelihood import ratio_tests
from experiments.study._maps import Scores, can_be_fitted, scores_of
from experiments.study._networks import NOT_KNOWN, attributes_of
from experiments.study._study import verdict_of
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax
from scipy.stats import sem

from dircal import TemperatureScaling


def losses(seed, n=4000, factor=0.9, y=None):
    rng = np.random.default_rng(seed)
    reference = rng.exponential(1.0, n)
    labels = np.arange(n) % 3 if y is None else y
    return Losses(reference, factor * reference + rng.normal(0, 0.2, n), labels)


class TestGains:
    def test_a_gain_is_a_part_of_the_loss(self):
        own = Losses(np.array([1.0, 3.0]), np.array([0.5, 2.5]), np.zeros(2, dtype=int))
        assert own.gain == pytest.approx(0.25)

    def test_influences_say_what_leaving_a_row_out_does(self):
        own = losses(0, n=500)
        without = [
            1 - np.delete(own.map, i).mean() / np.delete(own.reference, i).mean()
            for i in range(500)
        ]
        # A row that is left out moves the gain by its influence over n, the other way.
        assert_allclose(own.gain - np.array(without), own.influences / 500, rtol=0.05, atol=1e-5)
        assert own.influences.mean() == pytest.approx(0.0, abs=1e-12)

    def test_intervals_are_those_of_the_bootstrap(self):
        own = losses(1)
        rng = np.random.default_rng(0)
        drawn = []
        for _ in range(2000):
            rows = rng.integers(0, 4000, 4000)
            drawn.append(1 - own.map[rows].mean() / own.reference[rows].mean())
        low, high = np.quantile(drawn, [0.025, 0.975])
        found = gain_of([own])
        assert_allclose([found.low, found.high], [low, high], atol=0.1 * (high - low))

    def test_networks_on_the_same_rows_are_averaged_row_by_row(self):
        own = losses(2)
        assert gain_of([own, own]) == pytest.approx(gain_of([own]))
        # The same losses on other rows are independent: shorter by the square root of two.
        other = Losses(own.reference, own.map, own.y[::-1].copy())
        alone, both = gain_of([own]), gain_of([own, other])
        assert both.high - both.low == pytest.approx((alone.high - alone.low) / np.sqrt(2))

    def test_a_network_does_not_differ_from_itself(self):
        own = losses(3)
        found = difference_of(own, own)
        assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)

    def test_differences_hold_the_true_one(self):
        y = np.arange(4000) % 3
        found = [difference_of(losses(s, y=y, factor=0.8), losses(s + 500, y=y)) for s in range(99)]
        assert sum(gain.low <= 0.1 <= gain.high for gain in found) >= 88

    def test_means_have_the_interval_of_student(self):
        found = mean_gain([0.1, 0.2, 0.6])
        assert found.value == pytest.approx(0.3)
        assert found.high - found.value == pytest.approx(4.302653 * sem([0.1, 0.2, 0.6]), rel=1e-6)

    @pytest.mark.parametrize(
        ("part", "told"),
        [(0.1, "+10.00"), (-0.00016, "-0.02"), (3e-5, "+0.003"), (-2e-6, "-0.0002"), (0.0, "0")],
    )
    def test_what_is_not_zero_is_not_told_as_zero(self, part, told):
        assert percent(part) == told

    def test_of_one_value_nothing_is_known(self):
        assert mean_gain([0.1]).holds_zero


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.001, 0.2, "outside"),
        (-0.01, 0.009, "near"),
        (-0.01, 0.02, "open"),
        (-0.2, -0.001, "worse"),
    ],
)
def test_verdicts(low, high, verdict):
    assert verdict_of(Gain((low + high) / 2, low, high)) == verdict


def drawn(seed, n, bent=0.0, k=3):
    """Scores that one temperature calibrates, or with a slope of its own for the first class."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (n, k))
    true = 0.6 * logits
    true[:, 0] += bent * logits[:, 0]
    y = (true + rng.gumbel(size=true.shape)).argmax(axis=1)
    scores = log_softmax(logits, axis=1)
    return Scores(scores, y, scores[:5], y[:5])


class TestLikelihood:
    def test_nested_maps_have_their_degrees_of_freedom(self):
        first, second = ratio_tests(drawn(0, 600), draws=3)
        assert (first.smaller, first.larger, first.freedom) == ("temperature", "vector", 4)
        assert (second.smaller, second.larger, second.freedom) == ("vector", "full", 3)
        assert first.ratio > 0
        assert second.ratio > 0

    def test_a_temperature_is_kept_where_it_is_true(self):
        found = [ratio_tests(drawn(seed, 500), draws=10)[0] for seed in range(20)]
        assert np.mean([test.ratio for test in found]) == pytest.approx(4.0, abs=2.0)
        assert np.mean([test.expected for test in found]) == pytest.approx(4.0, abs=1.0)
        assert sum(test.pvalue < 0.05 for test in found) <= 4

    def test_a_slope_of_one_class_is_found(self):
        assert ratio_tests(drawn(0, 2000, bent=0.6), draws=5)[0].pvalue < 1e-6

    def test_few_rows_are_not_tested(self):
        assert ratio_tests(drawn(0, 99), draws=3) == []
        # Enough for 5 parameters of the vector, not for 8 of the full map.
        assert [test.larger for test in ratio_tests(drawn(0, 120), draws=3)] == ["vector"]

    def test_with_two_classes_vector_and_full_are_one(self):
        assert [test.larger for test in ratio_tests(drawn(0, 400, k=2), draws=3)] == ["vector"]


class TestScores:
    def test_those_of_logits_are_their_log_softmax(self):
        logits = np.random.default_rng(0).normal(0, 2, (40, 3))
        part = Part(softmax(logits, axis=1), logits, np.arange(40) % 3)
        found = scores_of(Network("a", part, part, divided_here=False))
        assert_allclose(found.fit, log_softmax(logits, axis=1))

    def test_zeros_get_the_floor_of_temperature_scaling(self):
        own = drawn(0, 300)
        proba = np.exp(own.fit)
        proba[0] = [0.0, 0.5, 0.5]
        part = Part(proba, None, own.fit_y)
        found = scores_of(Network("a", part, part, divided_here=False))
        assert np.isfinite(found.fit).all()
        assert_allclose(np.exp(found.fit).sum(axis=1), 1.0)
        floor = TemperatureScaling(classes=range(3)).fit(proba, own.fit_y).clip_
        assert floor > 0
        assert_allclose(found.fit, log_softmax(np.log(np.maximum(proba, floor)), axis=1))

    def test_vector_scaling_needs_rows_of_every_class(self):
        assert not can_be_fitted("vector", drawn(0, 14))
        assert can_be_fitted("vector", drawn(0, 15))
        assert can_be_fitted("curved", drawn(0, 14))


class TestAttributes:
    def test_every_network_of_the_catalogue_is_described(self):
        assert all(attributes_of(name).recipe != NOT_KNOWN for name in catalogued())

    def test_of_a_file_of_a_user_nothing_is_known(self):
        assert set(attributes_of("mine")) == {NOT_KNOWN}
