"""Every measure against known numbers and against its definition, written out row by row."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import metrics as sklearn_metrics

from dircal import metrics

# Sums of a few hundred terms in another order.
SAME = 1e-12


def bin_of(p, n_bins, binning):
    """Position of the bin of one probability, by comparing it with every edge."""
    if binning == "paper_table":
        return sum(p >= edge for edge in np.linspace(0, 1, n_bins)) - 1
    return max(0, sum(p > i / n_bins for i in range(n_bins)) - 1)


def naive_gaps(pairs, n_bins, binning):
    """Count, and gap between frequency and mean, of each bin with rows in it."""
    bins = {}
    for p, outcomes in pairs:
        bins.setdefault(bin_of(p, n_bins, binning), []).append((p, outcomes))
    for members in bins.values():
        mean, frequency = np.mean(members, axis=0)
        yield len(members), abs(frequency - mean)


def naive_ece(pairs, n_bins, binning):
    return sum(n * gap for n, gap in naive_gaps(pairs, n_bins, binning)) / len(pairs)


def confidence_pairs(y, P):
    return [(max(p), float(list(p).index(max(p)) == label)) for p, label in zip(P, y, strict=True)]


def class_pairs(y, P, j):
    return [(p[j], float(label == j)) for p, label in zip(P, y, strict=True)]


def naive_debiased(pairs, n_bins, binning):
    """Mean product of the residuals of two different rows of a bin, by trying all pairs."""
    bins = {}
    for p, outcomes in pairs:
        bins.setdefault(bin_of(p, n_bins, binning), []).append(outcomes - p)
    total = 0.0
    for r in bins.values():
        products = [a * b for i, a in enumerate(r) for j, b in enumerate(r) if i != j]
        total += len(r) * np.mean(products) if products else 0.0
    return total / len(pairs)


def naive_smooth(pairs):
    """The integral as a plain sum over a fine grid, the bandwidth by halving."""
    grid = (np.arange(20_000) + 0.5) / 20_000

    def error(width):
        field = 0.0
        for p, outcomes in pairs:
            for centre in [2 * j + side * p for j in (-2, -1, 0, 1, 2) for side in (-1, 1)]:
                density = np.exp(-0.5 * ((grid - centre) / width) ** 2) / np.sqrt(2 * np.pi)
                field = field + (outcomes - p) * density / width
        return np.abs(field).mean() / len(pairs)

    low, high = 1e-3, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if error(middle) > middle else (low, middle)
    return high


def naive(name, y, P, n_bins=15, binning="right_closed", **options):
    k, n = P.shape[1], len(y)
    if name == "accuracy":
        return np.mean([hit for _, hit in confidence_pairs(y, P)])
    if name == "error_rate":
        return 1 - np.mean([hit for _, hit in confidence_pairs(y, P)])
    if name == "log_loss":
        return np.mean([-np.log(max(p[label], 1e-15)) for p, label in zip(P, y, strict=True)])
    if name == "brier_score":
        cells = sum(
            (p[j] - (label == j)) ** 2 for p, label in zip(P, y, strict=True) for j in range(k)
        )
        return cells / (n * k if options.get("normalisation") == "classes" else n)
    if name == "confidence_ece":
        return naive_ece(confidence_pairs(y, P), n_bins, binning)
    if name == "class_ece":
        return naive_ece(class_pairs(y, P, options["label"]), n_bins, binning)
    if name == "classwise_ece":
        errors = [naive_ece(class_pairs(y, P, j), n_bins, binning) for j in range(k)]
        return np.sum(errors) if options.get("aggregate") == "sum" else np.mean(errors)
    if name in ("debiased_squared_error", "smooth_ece"):
        curves = [confidence_pairs(y, P)]
        if options.get("over") == "classes":
            label = options.get("label")
            curves = [class_pairs(y, P, j) for j in (range(k) if label is None else [label])]
        if name == "smooth_ece":
            return np.mean([naive_smooth(pairs) for pairs in curves])
        return np.mean([naive_debiased(pairs, n_bins, binning) for pairs in curves])
    pooled = [pair for j in range(k) for pair in class_pairs(y, P, j)]
    pairs = pooled if options.get("over") == "classes" else confidence_pairs(y, P)
    return max(gap for _, gap in naive_gaps(pairs, n_bins, binning))


CASES = [
    ("accuracy", {}),
    ("error_rate", {}),
    ("log_loss", {}),
    ("brier_score", {}),
    ("brier_score", {"normalisation": "classes"}),
    ("confidence_ece", {}),
    ("confidence_ece", {"n_bins": 7}),
    ("confidence_ece", {"binning": "paper_table"}),
    ("class_ece", {"label": 1}),
    ("class_ece", {"label": 0, "binning": "paper_table", "n_bins": 4}),
    ("classwise_ece", {}),
    ("classwise_ece", {"aggregate": "sum", "binning": "paper_table"}),
    ("debiased_squared_error", {}),
    ("debiased_squared_error", {"over": "classes", "n_bins": 6}),
    ("debiased_squared_error", {"over": "classes", "label": 2, "binning": "paper_table"}),
    ("maximum_calibration_error", {}),
    ("maximum_calibration_error", {"over": "classes", "n_bins": 10}),
]
IDS = ["-".join([name, *map(str, options.values())]) for name, options in CASES]


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
@pytest.mark.parametrize("seed", range(3))
def test_random_rows(name, options, seed, make_problem):
    problem = make_problem(seed, n=150, k=4)
    ours = getattr(metrics, name)(problem.y, problem.proba, **options)
    assert isinstance(ours, float)
    assert ours == pytest.approx(naive(name, problem.y, problem.proba, **options), abs=SAME)


@pytest.mark.parametrize("options", [{}, {"over": "classes"}, {"over": "classes", "label": 2}])
def test_smooth_error_is_the_integral(options, make_problem):
    problem = make_problem(3, n=12, k=3)
    ours = metrics.smooth_ece(problem.y, problem.proba, **options)
    # Of the plain sum, of the grid, and of halving.
    assert ours == pytest.approx(naive("smooth_ece", problem.y, problem.proba, **options), abs=2e-5)


# Rows of twentieths: ties, zeros, ones, and many values on the edges of 4, 5, 10 and 20 bins.
TWENTIETHS = hnp.arrays(
    np.int64, st.tuples(st.integers(3, 12), st.just(2)), elements=st.integers(0, 10)
)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
@given(TWENTIETHS, st.integers(0, 2**32 - 1))
def test_adversarial_rows(name, options, parts, seed):
    P = np.column_stack([parts, 20 - parts.sum(axis=1)]) / 20
    y = np.random.default_rng(seed).integers(0, 3, len(P))
    options = (
        {"n_bins": 20, **options}
        if "n_bins" in inspect.signature(getattr(metrics, name)).parameters
        else options
    )
    ours = getattr(metrics, name)(y, P, classes=[0, 1, 2], **options)
    assert ours == pytest.approx(naive(name, y, P, **options), abs=SAME)


PUBLISHED = {
    "accuracy": ("accuracy", {}),
    "logloss": ("log_loss", {}),
    "brier_mean_over_nk": ("brier_score", {"normalisation": "classes"}),
    "conf_ece_15": ("confidence_ece", {}),
    "mce_conf_15": ("maximum_calibration_error", {}),
    "mce_pooled_15": ("maximum_calibration_error", {"over": "classes"}),
    "cw_ece_sum_code14": ("classwise_ece", {"aggregate": "sum", "binning": "paper_table"}),
    "cw_ece_mean_code14": ("classwise_ece", {"binning": "paper_table"}),
    "cw_ece_sum_15": ("classwise_ece", {"aggregate": "sum"}),
    "cw_ece_mean_15": ("classwise_ece", {}),
    **{
        f"class_{j}_ece_code14": ("class_ece", {"label": j, "binning": "paper_table"})
        for j in range(4)
    },
    **{f"class_{j}_ece_15": ("class_ece", {"label": j}) for j in range(4)},
}


@pytest.mark.parametrize("quantity", PUBLISHED)
def test_known_answers(quantity, vectors, expected):
    name, options = PUBLISHED[quantity]
    ours = getattr(metrics, name)(vectors.y, vectors.proba, **options)
    assert ours == pytest.approx(expected[quantity], rel=1e-10)


def test_every_known_answer_is_tested(expected):
    first_fit = next(i for i, name in enumerate(expected) if name.startswith("dirichlet"))
    assert set(list(expected)[:first_fit]) == set(PUBLISHED)


@pytest.mark.parametrize(
    ("network", "error", "ece", "mce"),
    [("c10_resnet110", 6.44, 0.04750, 0.29580), ("c100_resnet110", 28.52, 0.18480, 0.39882)],
)
def test_printed_numbers_of_networks_of_the_paper(networks, network, error, ece, mce):
    with np.load(networks / f"top1_paper_{network}.npz") as data:
        confidence, correct = data["conf"], data["pred"] == data["labels"]
    assert round(100 * (1 - correct.mean()), 5) == error
    assert round(metrics.confidence_ece_from_confidence(correct, confidence), 5) == ece
    assert round(metrics.maximum_calibration_error_from_confidence(correct, confidence), 5) == mce
    table = metrics.confidence_bins_from_confidence(correct, confidence)
    assert round(100 * (1 - table.observed.sum() / table.count.sum()), 5) == error


@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_equal_to_scikit_learn(seed, k):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(k), 50).clip(1e-12)
    P /= P.sum(axis=1, keepdims=True)
    y, weight = rng.integers(0, k, 50), rng.random(50)
    labels = np.arange(k)
    theirs = sklearn_metrics.log_loss(y, P, labels=labels, sample_weight=weight)
    assert metrics.log_loss(y, P, classes=labels, sample_weight=weight) == pytest.approx(theirs)
    theirs = sklearn_metrics.brier_score_loss(
        y, P, labels=labels, sample_weight=weight, scale_by_half=False
    )
    assert metrics.brier_score(y, P, classes=labels, sample_weight=weight) == pytest.approx(theirs)
    theirs = sklearn_metrics.accuracy_score(y, P.argmax(axis=1), sample_weight=weight)
    assert metrics.accuracy(y, P, classes=labels, sample_weight=weight) == pytest.approx(theirs)


def test_equal_mass_bins_by_sorting(make_problem):
    problem = make_problem(0, n=200, k=3)
    pairs = sorted(confidence_pairs(problem.y, problem.proba))
    groups = [np.mean(pairs[i : i + 20], axis=0) for i in range(0, 200, 20)]
    expected = np.mean([abs(frequency - mean) for mean, frequency in groups])
    ours = metrics.confidence_ece(problem.y, problem.proba, n_bins=10, strategy="mass")
    assert ours == pytest.approx(expected, abs=SAME)
    largest = max(abs(frequency - mean) for mean, frequency in groups)
    ours = metrics.maximum_calibration_error(problem.y, problem.proba, n_bins=10, strategy="mass")
    assert ours == pytest.approx(largest, abs=SAME)
    pooled = sorted(pair for j in range(3) for pair in class_pairs(problem.y, problem.proba, j))
    groups = [np.mean(pooled[i : i + 60], axis=0) for i in range(0, 600, 60)]
    ours = metrics.maximum_calibration_error(
        problem.y, problem.proba, n_bins=10, strategy="mass", over="classes"
    )
    assert ours == pytest.approx(max(abs(f - m) for m, f in groups), abs=SAME)
