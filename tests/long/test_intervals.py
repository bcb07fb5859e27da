"""Intervals hold the truth as often as they say, and unbiased estimators have no bias."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from dircal import metrics
from dircal.inference._chosen_measure import check_measure
from dircal.inference._resampling import difference_of, draw_by_source, range_of, sources_of
from dircal.metrics import Predictions

N, N_SETS = 1000, 2000
# Errors take longer, and nothing is promised about them but that they hold their estimate.
N_SETS_OF_ERRORS = 150
N_RESAMPLES = 1000
LEVEL = 0.95
# Three standard errors around 95 % of 2000 sets.
ALLOWED = (0.935, 0.965)
# Spread of the logits by number of classes, for an accuracy of about 0.6 and 0.9.
SPREADS = {(3, "0.6"): 1.05, (3, "0.9"): 5.5, (10, "0.6"): 2.5, (10, "0.9"): 10.5}
LOSSES = ("log_loss", "brier_score", "accuracy")
ERRORS = ("confidence_ece", "classwise_ece", "smooth_ece")


def draw(k, spread, n, rng):
    """True probabilities, and their logarithms."""
    log_truth = log_softmax(rng.normal(scale=spread, size=(n, k)), axis=1)
    return np.exp(log_truth), log_truth


def true_values(k, spread, slope):
    """What the measures would be on endlessly many rows: labels replaced by their chances."""
    rng = np.random.default_rng([k, 1])
    truth, log_truth = draw(k, spread, 2_000_000 // k, rng)
    said = softmax(slope * log_truth, axis=1)
    top = said.argmax(axis=1)
    rows = np.arange(len(said))
    hits = truth[rows, top]
    values = {
        "log_loss": -(truth * np.log(said.clip(1e-15))).sum(axis=1).mean(),
        "brier_score": ((said**2).sum(axis=1) - 2 * (truth * said).sum(axis=1) + 1).mean(),
        "accuracy": hits.mean(),
        "confidence_ece": gap(said[rows, top], hits),
        "classwise_ece": np.mean([gap(said[:, j], truth[:, j]) for j in range(k)]),
    }
    if slope == 1.0:
        values["smooth_ece"] = 0.0
    return values


def gap(said, truth):
    bins = np.ceil(said * 15).astype(int)
    return np.abs(np.bincount(bins, truth - said)).sum() / len(said)


def draw_all(names, y, predictions, rng):
    """What `confidence_interval` and `paired_comparison` do, for several measures at once."""
    chosen, classes = [check_measure(name) for name in names], range(predictions[0].shape[1])
    several = [Predictions.check(y, said, None, classes).hold() for said in predictions]
    values = [[measure.value(one) for measure in chosen] for one in several]
    seed, sources = int(rng.integers(2**63)), sources_of(chosen, several)
    return values, draw_by_source(chosen, several, values, N_RESAMPLES, seed, sources)


CASES = [(k, accuracy, 1.0) for k, accuracy in SPREADS] + [(3, "0.6", 1.5), (10, "0.9", 1.5)]


@pytest.mark.parametrize(("k", "accuracy", "slope"), CASES)
def test_intervals_hold_the_truth(k, accuracy, slope, record):
    spread = SPREADS[k, accuracy]
    truth = true_values(k, spread, slope)
    measures = [*LOSSES, *ERRORS]
    held = dict.fromkeys(measures, 0)
    estimates_held = dict.fromkeys(measures, 0)
    for seed in range(N_SETS):
        rng = np.random.default_rng([seed, k])
        chances, log_truth = draw(k, spread, N, rng)
        y = (log_truth + rng.gumbel(size=chances.shape)).argmax(axis=1)
        said = softmax(slope * log_truth, axis=1)
        names = measures if seed < N_SETS_OF_ERRORS else LOSSES
        estimates, [draws] = draw_all(names, y, [said], rng)
        for name, estimate, drawn in zip(names, estimates[0], draws, strict=True):
            found = range_of(drawn.own, estimate, LEVEL)
            held[name] += found.low <= truth.get(name, np.nan) <= found.high
            estimates_held[name] += found.low <= estimate <= found.high
    kind = "calibrated" if slope == 1.0 else "logits times 1.5"
    for name in measures:
        if name not in truth:
            continue
        n_sets = N_SETS if name in LOSSES else N_SETS_OF_ERRORS
        seen = held[name] / n_sets
        # A few rows decide the log-loss of an overconfident model, and bins are biased.
        promised = name in LOSSES and (slope == 1.0 or name != "log_loss")
        record(
            f"95 % interval of {name} holds the truth {truth[name]:.3f}, {kind}, k = {k}, "
            f"accuracy {truth['accuracy']:.2f}, n = {N}, {n_sets} sets",
            f"{seen:.1%}",
            f"{ALLOWED[0]:.1%} to {ALLOWED[1]:.1%}" if promised else "reported",
        )
        if promised:
            assert ALLOWED[0] <= seen <= ALLOWED[1], name
        if name in ERRORS:
            record(
                f"95 % interval of {name} holds the estimate, {kind}, k = {k}, "
                f"accuracy {truth['accuracy']:.2f}",
                f"{estimates_held[name] / n_sets:.1%}",
                "100.0%",
            )
            assert estimates_held[name] == n_sets


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("over", ["confidence", "classes"])
def test_the_debiased_error_of_calibrated_models_is_zero_on_average(k, over, record):
    values = []
    for seed in range(N_SETS):
        rng = np.random.default_rng([seed, k, 2])
        chances, log_truth = draw(k, SPREADS[k, "0.6"], N, rng)
        y = (log_truth + rng.gumbel(size=chances.shape)).argmax(axis=1)
        values.append(metrics.debiased_squared_error(y, chances, over=over, classes=range(k)))
    mean, error = np.mean(values), np.std(values) / np.sqrt(N_SETS)
    record(
        f"mean debiased squared error over the {over} of calibrated models, k = {k}, n = {N}, "
        f"{N_SETS} sets",
        f"{mean:.1e}",
        f"0 ± {2 * error:.1e}",
    )
    assert abs(mean) <= 2 * error


@pytest.mark.parametrize("k", [3, 10])
def test_predictions_that_are_alike_are_told_apart_one_time_in_twenty(k, record):
    """Both miss the truth by as much, in other directions."""
    names = [*LOSSES, "confidence_ece", "classwise_ece"]
    n_sets, rejected = 1000, dict.fromkeys(names, 0)
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, k, 3])
        chances, log_truth = draw(k, SPREADS[k, "0.6"], N, rng)
        y = (log_truth + rng.gumbel(size=chances.shape)).argmax(axis=1)
        both = [
            softmax(log_truth + rng.normal(scale=0.5, size=chances.shape), axis=1) for _ in "ab"
        ]
        _, drawn = draw_all(names, y, both, rng)
        for name, first, other in zip(names, *drawn, strict=True):
            rejected[name] += difference_of(other, first, LEVEL).pvalue < 1 - LEVEL
    for name in names:
        # Three standard errors of 1000 sets; for errors the more careful of two ways counts.
        least = 0.029 if name in LOSSES else 0.0
        record(
            f"5 % test of two predictions alike in {name}, k = {k}, n = {N}, {n_sets} sets",
            f"{rejected[name] / n_sets:.1%}",
            f"{least:.1%} to 7.1%",
        )
        assert least <= rejected[name] / n_sets <= 0.071, name
