from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import f1_score

from dircal import calibration_test, confidence_interval, metrics
from dircal.exceptions import SmallSampleWarning
from dircal.metrics import (
    class_ece,
    classwise_ece,
    confidence_ece,
    corp_reliability,
    debiased_squared_error,
    maximum_calibration_error,
    smooth_ece,
)

# Small problems keep these tests fast; one test is about the warning.
pytestmark = pytest.mark.filterwarnings("ignore::dircal.exceptions.SmallSampleWarning")

MEANS = ["accuracy", "error_rate", "log_loss", "brier_score"]
GAPS = ["confidence_ece", "classwise_ece", "smooth_ece"]


def interval(metric, y, P, **options):
    return confidence_interval(y, P, metric, n_resamples=400, random_state=0, **options)


def by_weights(measure):
    """The same measure as somebody else's function, which is called for every draw."""

    def wrapped(y_true, y_prob, *, sample_weight=None, classes=None):
        return measure(y_true, y_prob, sample_weight=sample_weight, classes=classes)

    return wrapped


ALL = [
    *MEANS,
    *GAPS,
    "debiased_squared_error",
    partial(class_ece, label=1),
    partial(classwise_ece, aggregate="sum", n_bins=5),
    partial(confidence_ece, strategy="mass"),
    partial(smooth_ece, over="classes"),
    partial(smooth_ece, over="classes", label=2),
    partial(debiased_squared_error, over="classes"),
    partial(metrics.brier_score, normalisation="classes"),
]


def name_of(metric):
    if isinstance(metric, str):
        return metric
    return "-".join([metric.func.__name__, *map(str, metric.keywords.values())])


@pytest.mark.parametrize("metric", ALL, ids=name_of)
def test_intervals_hold_their_estimate(metric, make_problem):
    problem = make_problem(0, n=300, k=3)
    found = interval(metric, problem.y, problem.proba)
    function = getattr(metrics, metric) if isinstance(metric, str) else metric
    assert found.estimate == function(problem.y, problem.proba)
    assert found.low <= found.estimate <= found.high
    assert found.low <= found.corrected <= found.high
    assert found.low < found.high
    assert found.n_samples == 300
    narrow = interval(metric, problem.y, problem.proba, level=0.5)
    assert narrow.high - narrow.low < found.high - found.low


@pytest.mark.parametrize("metric", MEANS)
def test_means_have_the_spread_of_the_central_limit(metric, make_problem):
    problem = make_problem(1, n=2000, k=3)
    found = confidence_interval(problem.y, problem.proba, metric, n_resamples=4000, random_state=0)
    truth = np.eye(3)[problem.y]
    correct = problem.proba.argmax(axis=1) == problem.y
    rows = {
        "accuracy": correct,
        "error_rate": ~correct,
        "log_loss": -np.log((problem.proba * truth).sum(axis=1)),
        "brier_score": ((problem.proba - truth) ** 2).sum(axis=1),
    }[metric]
    assert found.estimate == pytest.approx(rows.mean())
    width = 2 * 1.96 * np.std(rows) / np.sqrt(2000)
    assert (found.high - found.low) / width == pytest.approx(1, abs=0.08)
    assert found.corrected == found.estimate


@pytest.mark.parametrize("metric", MEANS)
def test_sums_are_as_good_as_calling_the_measure_for_every_draw(metric, make_problem):
    problem = make_problem(2, n=200, k=3)
    fast = interval(metric, problem.y, problem.proba)
    slow = interval(by_weights(getattr(metrics, metric)), problem.y, problem.proba)
    width = fast.high - fast.low
    assert slow.estimate == fast.estimate
    assert slow.low == pytest.approx(fast.low, abs=0.2 * width)
    assert slow.high == pytest.approx(fast.high, abs=0.2 * width)


def test_errors_are_corrected_for_chance():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1.0, 1.0, 1.0], 1000)
    y = (np.log(P) + rng.gumbel(size=P.shape)).argmax(axis=1)
    for metric in GAPS:
        found = interval(metric, y, P)
        assert found.low == 0.0, metric
        assert found.corrected < 0.7 * found.estimate
        assert "without bias" in repr(found)


def test_true_errors_are_seen(make_problem):
    problem = make_problem(3, n=2000, k=3)
    for metric in GAPS:
        assert interval(metric, problem.y, problem.proba).low > 0.02, metric


@pytest.mark.parametrize("metric", ["log_loss", "classwise_ece", "smooth_ece"])
def test_seeds_repeat_and_labels_may_be_called_anything(metric, make_problem):
    problem = make_problem(4, n=200, k=3)
    expected = interval(metric, problem.y, problem.proba)
    assert interval(metric, problem.y, problem.proba) == expected
    assert interval(metric, problem.y + 5, problem.proba) == expected
    names = np.array(["ant", "bee", "cat"])[problem.y]
    assert interval(metric, names, problem.proba) == expected
    moved = interval(metric, names, problem.proba[:, [2, 0, 1]], classes=["cat", "ant", "bee"])
    assert moved.low == pytest.approx(expected.low, abs=1e-9)
    assert moved.high == pytest.approx(expected.high, abs=1e-9)
    single = interval(metric, problem.y, problem.proba.astype(np.float32))
    assert single.high == pytest.approx(expected.high, abs=0.02)
    other = confidence_interval(problem.y, problem.proba, metric, n_resamples=400, random_state=1)
    assert other != expected


@pytest.mark.parametrize("metric", [*MEANS, *GAPS, "debiased_squared_error"])
def test_certainty_has_an_interval_of_one_point(metric):
    P = np.eye(3)[[0, 1, 2, 1, 0]]
    found = interval(metric, [0, 1, 2, 1, 0], P)
    assert found.low == found.high == found.estimate


def test_an_absent_class_is_fine():
    P = np.random.default_rng(0).dirichlet([1, 1, 1], 50)
    found = interval("classwise_ece", np.arange(50) % 2, P, classes=[0, 1, 2])
    assert found.low <= found.estimate <= found.high
    own = by_weights(metrics.classwise_ece)
    assert np.isfinite(interval(own, np.arange(50) % 2, P, classes=[0, 1, 2]).high)


def test_a_function_of_your_own():
    def macro_error(y_true, y_prob, *, sample_weight=None, classes=None):
        labels = np.asarray(list(classes))
        predicted = labels[np.asarray(y_prob).argmax(axis=1)]
        return 1 - f1_score(y_true, predicted, average="macro", sample_weight=sample_weight)

    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], 300)
    y = (np.log(P) + rng.gumbel(size=P.shape)).argmax(axis=1)
    found = interval(macro_error, y, P, classes=[0, 1, 2])
    assert found.low < found.estimate < found.high
    assert found.measure == "macro_error"
    assert 0.05 < found.high - found.low < 0.2


Y, GOOD = [0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6]]


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        (
            "maximum_calibration_error",
            {},
            r"has no interval. It is the largest of many gaps, mostly.*few",
        ),
        (maximum_calibration_error, {}, r"Use 'confidence_ece' or 'classwise_ece'"),
        ("ece", {}, r"`metric` must be a measure of dircal.metrics.*got 'ece'"),
        ("BinTable", {}, r"`metric` must be a measure of dircal.metrics.*got 'BinTable'"),
        (f1_score, {}, r"`metric` must be a measure.*sample_weight=None, classes=None"),
        ("confidence_ece_from_confidence", {}, r"`metric` must be a measure of dircal.metrics"),
        (corp_reliability, {}, r"`metric` is corp_reliability, which gives no number"),
        (class_ece, {}, r"`metric` is class_ece, which needs label"),
        (partial(class_ece, label=7), {}, r"`label` must be one of the classes \[0, 1\]; got 7"),
        (partial(confidence_ece, n_bins=0), {}, r"`n_bins` must be a whole number"),
        (partial(confidence_ece, bins=3), {}, r"`metric` has the option 'bins', but confidence_ec"),
        (partial(confidence_ece, classes=[0, 1]), {}, r"`classes` is an argument of its own"),
        (partial(confidence_ece, Y), {}, r"`metric` is a partial with the positional arguments"),
        ("log_loss", {"level": 1.0}, r"`level` must be a finite number above 0 and below 1"),
        ("log_loss", {"n_resamples": 10}, r"`n_resamples` must be a whole number of at least 100"),
        ("log_loss", {"random_state": "a"}, r"`random_state` must be a whole number"),
        ("log_loss", {"classes": [0, 2]}, r"`y_true` holds the label 1"),
    ],
)
def test_bad_arguments(metric, options, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        confidence_interval(Y, GOOD, metric, **options)


def test_a_measure_of_ones_own_may_have_an_absent_class():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.dirichlet([1, 1, 1], 60), columns=["c", "a", "b"])
    y = np.array(["a", "b"] * 30)
    mine = interval(by_weights(metrics.brier_score), y, frame)
    assert mine.estimate == interval("brier_score", y, frame).estimate


def test_a_measure_that_is_no_number_is_refused():
    def broken(y_true, y_prob, *, sample_weight=None, classes=None):
        return float("nan")

    with pytest.raises(ValueError, match="`metric` is broken, which gives nan"):
        interval(broken, [0, 1, 0], np.full((3, 2), 0.5))


def test_more_confidence_never_makes_a_narrower_interval():
    y, P = [0] * 99 + [1], np.tile([0.999999, 0.000001], (100, 1))
    highs = [interval("log_loss", y, P, level=level).high for level in (0.9, 0.999, 1 - 1e-10)]
    assert highs == sorted(highs)


def test_the_measure_comes_last():
    with pytest.raises(ValueError, match=r"got an array of shape \(3, 2\)\. The labels come first"):
        confidence_interval("log_loss", [0, 1, 1], [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])


@pytest.mark.parametrize("metric", ["log_loss", "brier_score", "confidence_ece", "classwise_ece"])
def test_many_rows_have_moments_and_say_so(metric, make_problem, use_limits):
    problem = make_problem(0, n=3000, k=4)
    given = {"n_resamples": 4000, "random_state": 0}
    drawn = confidence_interval(problem.y, problem.proba, metric, **given)
    use_limits("ResamplingLimits", min_moment_rows=3000)
    found = confidence_interval(problem.y, problem.proba, metric, **given)
    assert (drawn.source, found.source) == ("draws", "moments")
    assert found.estimate == drawn.estimate
    length = drawn.high - drawn.low
    assert found.low == pytest.approx(drawn.low, abs=0.06 * length)
    assert found.high == pytest.approx(drawn.high, abs=0.06 * length)
    assert "from moments" in repr(found)
    assert "from moments" not in repr(drawn)


@pytest.mark.parametrize("seed", range(5))
def test_intervals_of_few_rows_contain_zero_unless_the_test_rejects(seed):
    """Confident predictions of ten classes: most bins are without an event."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(10, 0.03), size=200)
    y = (p.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1).clip(max=9)
    options = {"random_state": 0, "n_resamples": 300, "classes": range(10)}
    with pytest.warns(SmallSampleWarning, match="at least 100 rows per class, 1,000 in all"):
        found = confidence_interval(y, p, "classwise_ece", **options)
    assert calibration_test(y, p, statistic="classwise_ece", **options).pvalue > 0.05
    assert found.low == 0.0
    assert found.corrected < 0.6 * found.estimate
    with pytest.warns(SmallSampleWarning):
        total = confidence_interval(y, p, partial(classwise_ece, aggregate="sum"), **options)
    assert_allclose([total.low, total.high], [10 * found.low, 10 * found.high], rtol=1e-5)
    one = confidence_interval(y, p, partial(metrics.class_ece, label=3), **options)
    assert one.low <= one.corrected <= one.high
