"""How often `shift_report` names a kind of shift, with a shift and without."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax

from dircal import GenerativeParameters, VectorScaling
from dircal.shift import shift_report

ALPHA = np.ones((3, 3)) + 1.5 * np.eye(3)
OLD = [0.5, 0.3, 0.2]
# Rows of the fit, and of the old and the new rows.
SIZES = [(300, 300), (500, 1000)]
N_SETS, N_SETS_OF_SHIFTS = 300, 100


def sample(n, seed, frequencies=OLD, alpha=ALPHA):
    return GenerativeParameters(alpha, frequencies).sample(n, seed)


def heavy_tails(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=OLD)
    # Student's t with two degrees of freedom has no variance.
    return softmax(rng.standard_t(2.0, (n, 3)) + 1.5 * np.eye(3)[y], axis=1), y


def sharper(n, seed):
    X, y = sample(n, seed)
    return softmax(1.3 * np.log(X), axis=1), y


def confused(n, seed):
    """A quarter of the second class is labelled as the third one."""
    X, y = sample(n, seed)
    return X, np.where((y == 1) & (np.random.default_rng([seed, 1]).random(n) < 0.25), 2, y)


def with_offset(n, seed):
    X, y = sample(n, seed)
    X = X * [1.5, 1.0, 1.0]
    return X / X.sum(axis=1, keepdims=True), y


def harder(n, seed):
    return sample(n, seed, alpha=np.ones((3, 3)) + np.eye(3))


def of_other_frequencies(n, seed):
    return sample(n, seed, [0.3, 0.35, 0.35])


def tilted(n, seed):
    X, y = sample(4 * n, seed)
    weight = np.minimum((X[:, 0] / X[:, 1]) ** 0.4, 50.0)
    rows = np.random.default_rng([seed, 1]).choice(len(X), n, p=weight / weight.sum())
    return X[rows], y[rows]


SHIFTS = {
    "sharper scores": (sharper, "concept"),
    "confused classes": (confused, "concept"),
    "sensor offset": (with_offset, "concept"),
    "harder rows": (harder, "concept"),
    "other frequencies": (of_other_frequencies, "label"),
    "covariate tilt": (tilted, "covariate"),
}
SAME = {
    "three classes": sample,
    "heavy tails": heavy_tails,
    "imbalance 1:100": lambda n, seed: sample(n, seed, [0.6, 0.39, 0.01]),
}


def former_kind(report):
    """The kind before: a rejection on new rows, unless one on old rows came without a change."""
    p, part = report.pvalues, report.level / 3.0
    as_before = p["calibration_before"] < part and p["change"] >= report.level
    if p["calibration"] >= part or as_before:
        differ = min(p["confidence"], p["frequencies"]) < part
        return "covariate" if differ else "none"
    explained = p["calibration_after_label_shift"] >= part
    return "label" if explained and p["frequencies"] < part else "concept"


def kinds_of(draw_old, draw_new, n_fit, n, n_sets):
    """Kinds (2, n_sets) before and now."""
    found = []
    for seed in range(n_sets):
        with warnings.catch_warnings():
            # Five rows of a class may be separable.
            warnings.simplefilter("ignore")
            fitted = VectorScaling(classes=range(3)).fit(*draw_old(n_fit, seed))
        rows = *draw_old(n, 20_000 + seed), *draw_new(n, 40_000 + seed)
        report = shift_report(fitted, *rows, n_resamples=199)
        found.append((former_kind(report), report.kind))
    return np.array(found).T


@pytest.mark.parametrize("world", SAME)
@pytest.mark.parametrize(("n_fit", "n"), SIZES)
def test_unchanged_rows(world, n_fit, n, record):
    before, now = kinds_of(SAME[world], SAME[world], n_fit, n, N_SETS)
    rate = np.mean(now != "none")
    limit = 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / N_SETS)
    record(
        f"kind is not none on unchanged rows, {world}, {n_fit} rows of the fit, {n} old and {n} "
        f"new rows, {N_SETS} sets",
        f"{rate:.1%} ({np.mean(before != 'none'):.1%} before)",
        f"at most 5% plus 3 standard errors, {limit:.1%}",
    )
    assert rate < limit


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize(("n_fit", "n"), SIZES)
def test_power(shift, n_fit, n, record):
    draw, kind = SHIFTS[shift]
    before, now = kinds_of(sample, draw, n_fit, n, N_SETS_OF_SHIFTS)
    record(
        f"{shift}, {n_fit} rows of the fit, {n} old and {n} new rows, {N_SETS_OF_SHIFTS} sets",
        f"not none {np.mean(now != 'none'):.0%} ({np.mean(before != 'none'):.0%} before), "
        f"{kind} {np.mean(now == kind):.0%} ({np.mean(before == kind):.0%} before)",
        "reported",
    )
