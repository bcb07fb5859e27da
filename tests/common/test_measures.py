"""Laws that hold for every measure, and the one clear error for each way to get it wrong."""

import inspect
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

import dircal
from dircal import metrics
from dircal.exceptions import RowSumWarning

# Sums of a few hundred terms in another order.
SAME = 1e-12
TABLES = ("class_bins", "confidence_bins")
RESULTS = ("corp_reliability", "loss_decomposition")
# A new measure is here the moment it is published.
MEASURES = [
    name
    for name in metrics.__all__
    if name.islower() and name not in TABLES + RESULTS and not name.endswith("_from_confidence")
]
BINNED = [
    name for name in MEASURES if "n_bins" in inspect.signature(getattr(metrics, name)).parameters
]
# Weights are numbers of rows for these, so that their scale matters.
COUNTING = ("debiased_squared_error",)
OPTIONS = [{"strategy": "mass"}, {"binning": "paper_table"}, {"n_bins": 3}]


def measure_of(name, **options):
    """The measure as a function of (y_true, y_prob), for the class that sorts last."""
    function = getattr(metrics, name)

    def measure(y, P, **more):
        if name == "class_ece":
            label = np.unique(more.get("classes", y))[-1]
            return function(y, P, label, **options, **more)
        return function(y, P, **options, **more)

    measure.counting = name in COUNTING
    return measure


def all_measures():
    for name in MEASURES:
        yield pytest.param(measure_of(name), id=name)
        for options in OPTIONS if name in BINNED else []:
            label = "-".join([name, *map(str, options.values())])
            yield pytest.param(measure_of(name, **options), id=label)
    for name, options in [
        ("classwise_ece", {"aggregate": "sum"}),
        ("maximum_calibration_error", {"over": "classes"}),
        ("maximum_calibration_error", {"over": "classes", "strategy": "mass"}),
        ("brier_score", {"normalisation": "classes"}),
        ("smooth_ece", {"over": "classes"}),
        ("debiased_squared_error", {"over": "classes"}),
        ("debiased_squared_error", {"over": "classes", "strategy": "mass"}),
    ]:
        label = "-".join([name, *options.values()])
        yield pytest.param(measure_of(name, **options), id=label)


each_measure = pytest.mark.parametrize("measure", list(all_measures()))
each_name = pytest.mark.parametrize("name", [*MEASURES, *TABLES, *RESULTS])


@each_measure
def test_labels_may_be_called_anything(measure, make_problem):
    problem = make_problem(0, n=200, k=4)
    expected = measure(problem.y, problem.proba)
    assert isinstance(expected, float)
    assert measure(problem.y + 7, problem.proba) == expected
    assert measure(problem.y.astype(np.int8) - 100, problem.proba) == expected
    assert measure(problem.y * 10**9, problem.proba) == expected
    assert measure(problem.y.astype(np.uint64), problem.proba) == expected
    assert measure(problem.y.astype(float), problem.proba) == expected
    assert measure(np.array(["ant", "bee", "cat", "dog"])[problem.y], problem.proba) == expected


@each_measure
def test_order_of_rows_and_columns_does_not_matter(measure, make_problem):
    problem = make_problem(1, n=200, k=4)
    expected = measure(problem.y, problem.proba)
    rows = np.random.default_rng(0).permutation(200)
    assert measure(problem.y[rows], problem.proba[rows]) == pytest.approx(expected, abs=SAME)
    columns = [2, 0, 3, 1]
    moved = measure(problem.y, problem.proba[:, columns], classes=columns)
    assert moved == pytest.approx(expected, abs=SAME)
    for frame in (pd.DataFrame, pl.DataFrame):
        named = frame({str(j): problem.proba[:, j] for j in columns})
        assert measure(problem.y, named) == pytest.approx(expected, abs=SAME)


@each_measure
def test_weights_count_like_copies(measure, make_problem):
    problem = make_problem(2, n=150, k=3)
    weight = np.random.default_rng(0).integers(0, 4, 150)
    y, P = problem.y.repeat(weight), problem.proba.repeat(weight, axis=0)
    copied = measure(y, P)
    assert measure(problem.y, problem.proba, sample_weight=weight) == pytest.approx(
        copied, abs=SAME
    )
    if not measure.counting:
        shares = weight / weight.sum()
        assert measure(problem.y, problem.proba, sample_weight=shares) == pytest.approx(
            copied, abs=SAME
        )
    ones = np.ones(len(y))
    assert measure(y, P, sample_weight=ones) == pytest.approx(copied, abs=SAME)


@each_measure
def test_rows_of_weight_zero_may_hold_anything(measure, make_problem):
    problem = make_problem(3, n=100, k=3)
    P, y = problem.proba.copy(), problem.y.copy()
    expected = measure(y[10:], P[10:])
    P[:10], weight = np.nan, np.ones(100)
    weight[:10] = 0
    assert measure(y, P, sample_weight=weight) == pytest.approx(expected, abs=SAME)


@each_measure
def test_input_is_left_alone_and_may_be_of_any_float_type(measure, make_problem):
    problem = make_problem(4, n=100, k=3)
    P = problem.proba.astype(np.float32)
    P.setflags(write=False)
    single = measure(problem.y, P)
    assert single == pytest.approx(measure(problem.y, problem.proba), abs=0.05)
    assert measure(problem.y.tolist(), np.asfortranarray(P)) == single


@each_measure
def test_rows_off_one_are_renormalised(measure, make_problem):
    problem = make_problem(5, n=100, k=3)
    with pytest.warns(RowSumWarning, match="`y_prob` has rows that do not sum to one"):
        off = measure(problem.y, problem.proba * 1.005)
    assert off == pytest.approx(measure(problem.y, problem.proba), abs=1e-9)


@each_measure
def test_memory_maps_are_read_in_blocks(measure, make_problem, tmp_path):
    problem = make_problem(6, n=50_000, k=3)
    np.save(tmp_path / "proba.npy", problem.proba)
    mapped = np.load(tmp_path / "proba.npy", mmap_mode="r")
    expected = measure(problem.y, problem.proba)
    assert measure(problem.y, mapped) == expected


@each_measure
def test_one_observed_class_is_enough_when_classes_are_given(measure):
    P = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    value = measure(["b", "b"], P, classes=["a", "b", "c"])
    assert np.isfinite(value)
    with pytest.raises(ValueError, match=r"`y_true` holds only 1 class\(es\): \['b'\].*`classes="):
        measure(["b", "b"], P)


@each_measure
def test_perfect_predictions_are_perfect(measure):
    P = np.eye(3)[[0, 1, 2, 1]]
    assert measure([0, 1, 2, 1], P) in (0.0, 1.0)


GOOD = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6]])
Y = np.array([0, 1, 1, 0])


def changed(value):
    P = GOOD.copy()
    P[2, 1] = value
    return P


BAD = {
    "nan": ((Y, changed(np.nan), {}), r"`y_prob` must be finite; row 2, column 1 is nan"),
    "negative": ((Y, changed(-0.2), {}), r"`y_prob` must not be negative; row 2.*softmax first"),
    "row sum": (
        (Y, changed(0.9), {}),
        r"`y_prob` must have rows that sum to one; row 2 sums to 1.5",
    ),
    "empty": (([], np.empty((0, 2)), {}), r"`y_prob` is empty"),
    "one column of logits": (
        (Y, 3.0 * GOOD[:, :1], {}),
        r"`y_prob` is a single column .* must lie between 0 and 1; row .*softmax",
    ),
    "one dimension of logits": ((Y, -GOOD[:, 1], {}), r"`y_prob` is a single column .* must lie"),
    "short labels": ((Y[:3], GOOD, {}), r"`y_true` has 3 labels, but `y_prob` has 4 rows"),
    "no labels": ((None, GOOD, {}), r"`y_true` is None"),
    "missing label": (([0, 1, np.nan, 1], GOOD, {}), r"`y_true` holds NaN"),
    "stranger": (
        ([0, 1, 2, 1], GOOD, {"classes": [0, 1]}),
        r"`y_true` holds the label 2, which is not among `classes` \[0, 1\].*`y_prob`",
    ),
    "too many labels": (([0, 1, 2, 1], GOOD, {}), r"`y_prob` has 2 columns, but `y_true` holds 3"),
    "too few classes": ((Y, GOOD, {"classes": [0]}), r"`classes` has 1 labels.*`y_prob` has 2"),
    "weights": ((Y, GOOD, {"sample_weight": [1, 1, -1, 1]}), r"`sample_weight`.*row 2.*-1"),
    "no weight": ((Y, GOOD, {"sample_weight": [0] * 4}), r"`sample_weight` is zero"),
}


@each_name
@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_input(name, call, message):
    (y, P, options), function = call, getattr(metrics, name)
    more = {"label": 1} if name == "class_ece" else {}
    more |= {"calibrator": dircal.IdentityCalibrator()} if name == "loss_decomposition" else {}
    with pytest.raises(ValueError, match=f"(?s){message}"):
        function(y, P, **more, **options)


BAD_BINS = {
    "none": ({"n_bins": 0}, r"`n_bins` must be a whole number of at least 1; got 0"),
    "half": ({"n_bins": 2.5}, r"`n_bins` must be a whole number of at least 1; got 2.5"),
    "strategy": ({"strategy": "size"}, r"`strategy` must be one of 'width', 'mass'; got 'size'"),
    "binning": ({"binning": "left"}, r"`binning` must be one of 'right_closed', 'paper_table'"),
    "both": ({"strategy": "mass", "binning": "paper_table"}, r"`binning` is 'paper_table'.*'mass'"),
}


@pytest.mark.parametrize("name", [*BINNED, *TABLES, "calibration_test"])
@pytest.mark.parametrize(("options", "message"), BAD_BINS.values(), ids=BAD_BINS)
def test_bad_bins(name, options, message):
    function = getattr(dircal, name, None) or getattr(metrics, name)
    more = {"label": 1} if name == "class_ece" else {}
    with pytest.raises(ValueError, match=message):
        function(Y, GOOD, **more, **options)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "brier_score",
            {"normalisation": "k"},
            r"`normalisation` must be one of 'none', 'classes'",
        ),
        ("classwise_ece", {"aggregate": "max"}, r"`aggregate` must be one of 'mean', 'sum'"),
        ("maximum_calibration_error", {"over": "rows"}, r"`over` must be one of 'confidence'"),
        ("class_ece", {"label": 2}, r"`label` must be one of the classes \[0, 1\]; got 2"),
        ("smooth_ece", {"over": "rows"}, r"`over` must be one of 'confidence', 'classes'"),
        ("smooth_ece", {"label": 1}, r"`label` is 1, but `over` is 'confidence'"),
        ("smooth_ece", {"over": "classes", "label": 2}, r"`label` must be one of the classes"),
        ("debiased_squared_error", {"over": "rows"}, r"`over` must be one of 'confidence'"),
        ("debiased_squared_error", {"label": 0}, r"`label` is 0, but `over` is 'confidence'"),
        ("corp_reliability", {"over": "rows"}, r"`over` must be one of 'confidence', 'classes'"),
    ],
)
def test_bad_options(name, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)(Y, GOOD, **options)


FROM_CONFIDENCE = [name for name in metrics.__all__ if name.endswith("_from_confidence")]
BAD_CONFIDENCE = {
    "empty": (([], []), r"`confidence` must be one number for each row.*shape \(0,\)"),
    "matrix": ((Y, GOOD), r"`confidence` must be one number for each row.*shape \(4, 2\)"),
    "text": ((["a"], ["b"]), r"`confidence` must be one number"),
    "lengths": ((Y[:3], GOOD[:, 0]), r"`correct` has shape \(3,\), but `confidence` has \(4,\)"),
    "labels": (([0, 1, 2, 1], GOOD[:, 0]), r"`correct` must hold True and False.*\[0, 1, 2\]"),
    "nan": ((Y, changed(np.nan)[:, 1]), r"`confidence` must lie between 0 and 1; row 2 is nan"),
    "percent": ((Y, 100 * GOOD[:, 0]), r"`confidence` must lie between 0 and 1; row 0 is 90"),
}


@pytest.mark.parametrize("name", [*FROM_CONFIDENCE, "calibration_test_from_confidence"])
@pytest.mark.parametrize(("call", "message"), BAD_CONFIDENCE.values(), ids=BAD_CONFIDENCE)
def test_bad_confidence(name, call, message):
    function = getattr(dircal, name, None) or getattr(metrics, name)
    with pytest.raises(ValueError, match=message):
        function(*call)


@pytest.mark.parametrize("name", FROM_CONFIDENCE)
@pytest.mark.parametrize("options", [{}, {"strategy": "mass"}, {"binning": "paper_table"}])
def test_confidence_alone_is_enough(name, options, make_problem):
    problem = make_problem(7, n=300, k=4)
    correct = problem.proba.argmax(axis=1) == problem.y
    weight = np.random.default_rng(0).integers(0, 3, 300)
    whole = getattr(metrics, name.removesuffix("_from_confidence"))
    expected = whole(problem.y, problem.proba, sample_weight=weight, **options)
    ours = getattr(metrics, name)(
        correct, problem.proba.max(axis=1), sample_weight=weight, **options
    )
    if name.startswith("confidence_bins"):
        assert_allclose(ours.observed, expected.observed)
        assert_allclose(ours.predicted, expected.predicted)
    else:
        assert ours == pytest.approx(expected, abs=SAME)


def test_nothing_is_silently_nan(make_problem):
    problem = make_problem(8, n=20, k=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in BINNED:
            assert np.isfinite(measure_of(name, n_bins=1000)(problem.y, problem.proba))


def test_values_a_hair_above_one_are_one():
    P = np.array([[1.0000001, 0.0], [0.0, 1.0000001]], dtype=np.float32)
    assert P.max() > 1.0
    for name in MEASURES:
        assert measure_of(name)([0, 1], P) in (0.0, 1.0)
    table = metrics.confidence_bins_from_confidence([True, True], [1.00005, 0.5])
    assert table.predicted[0, -1] == 1.0


def test_seeds_are_fixed_by_default():
    """The same call returns the same number, wherever rows are drawn again."""
    import inspect

    import dircal

    rooms = [dircal, dircal.inference, dircal.decide, dircal.shift, dircal.plots]
    functions = {
        value
        for room in rooms
        for name in room.__all__
        for value in (getattr(room, name), *getattr(getattr(room, name), "__dict__", {}).values())
        if callable(getattr(value, "__func__", value))
    }
    seeds = {}
    for function in functions:
        try:
            parameters = inspect.signature(getattr(function, "__func__", function)).parameters
        except (TypeError, ValueError):
            continue
        if "random_state" in parameters:
            seeds[str(function)] = parameters["random_state"].default
    assert len(seeds) > 8
    assert {name for name, seed in seeds.items() if seed != 0} == set()
