import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from dircal import DirichletCalibrator, IsotonicCalibrator, OneVsRestCalibrator, PlattCalibrator
from dircal.export import to_spark


def batch_of(X, **others):
    columns = {f"p{i}": column for i, column in enumerate(np.asarray(X).T)}
    return pa.RecordBatch.from_pydict({**others, **columns})


def added(batch, k):
    return np.column_stack([column.to_numpy(False) for column in batch.columns[-k:]])


@pytest.mark.parametrize(
    "calibrator",
    [
        DirichletCalibrator(),
        DirichletCalibrator(input_scale="logit"),
        # Queries and ONNX cannot do this one.
        OneVsRestCalibrator(IsotonicCalibrator(input_scale="logit")),
    ],
    ids=["dirichlet", "dirichlet-logit", "isotonic-logit"],
)
def test_batches_agree(calibrator, make_problem):
    problem = make_problem(0, n=300, k=3)
    X = problem.logits if calibrator.input_scale == "logit" else problem.proba
    calibrator.fit(X, problem.y)
    function = to_spark(calibrator, columns=["p0", "p1", "p2"], names=["a", "b", "c"])
    function = pickle.loads(pickle.dumps(function))
    batches = [batch_of(part, text=["x"] * len(part)) for part in (X[:100], X[100:], X[:0])]
    found = list(function(iter(batches)))
    assert function.names == ("a", "b", "c")
    assert found[0].schema.names == ["text", "p0", "p1", "p2", "a", "b", "c"]
    assert found[0].slice(0, 5).select(["text", "p0"]) == batches[0].slice(0, 5).select(
        ["text", "p0"]
    )
    assert [len(batch) for batch in found] == [100, 200, 0]
    together = np.vstack([added(batch, 3) for batch in found])
    assert_array_equal(together, calibrator.predict_proba(X))


def test_bad_rows_are_null(make_problem):
    problem = make_problem(0, n=200, k=2)
    calibrator = DirichletCalibrator().fit(problem.proba, problem.y)
    rows = [[0.2, 0.8], [None, 1.0], [np.nan, 1.0], [-0.1, 1.1], [0.4, 0.4], [np.inf, 0.0]]
    function = to_spark(calibrator, columns=["p0", "p1"])
    (found,) = function([batch_of(rows)])
    proba = calibrator.predict_proba(rows[:1])[0]
    assert found.column("calibrated_0").to_pylist() == [proba[0], *[None] * 5]
    assert found.column("calibrated_1").to_pylist() == [proba[1], *[None] * 5]


def test_bad_logits_are_null(make_problem):
    problem = make_problem(0, n=200, k=2)
    calibrator = DirichletCalibrator(input_scale="logit").fit(problem.logits, problem.y)
    inf = np.inf
    rows = [[0.2, -inf], [-inf, -inf], [np.nan, 1.0], [inf, 0.0], [1e101, 0.0]]
    (found,) = to_spark(calibrator, columns=["p0", "p1"])([batch_of(rows)])
    assert found.column("calibrated_0").to_pylist() == [1.0, *[None] * 4]


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_one_column_of_any_type(scale, make_problem):
    problem = make_problem(0, n=200, k=2)
    calibrator = PlattCalibrator(input_scale=scale).fit(problem.proba[:, 1], problem.y)
    function = to_spark(calibrator, columns="p")
    bad = Decimal("1.25") if scale == "probability" else None
    given = [Decimal("0.25"), Decimal("0.00"), bad]
    (found,) = function([pa.RecordBatch.from_pydict({"p": pa.array(given)})])
    expected = calibrator.predict_proba([0.25, 0.0])
    assert_array_equal(added(found, 2)[:2], expected)
    assert found.column("calibrated_0").to_pylist()[2] is None


def test_a_column_that_is_not_there(make_problem):
    problem = make_problem(0, n=200, k=2)
    calibrator = DirichletCalibrator().fit(problem.proba, problem.y)
    with pytest.raises(ValueError, match=r"`columns` has '1', and the table has \['0', 'p1'\]"):
        next(to_spark(calibrator)([pa.RecordBatch.from_pydict({"0": [0.5], "p1": [0.5]})]))
    with pytest.raises(ValueError, match="`names` has 'P0', which is one of the columns"):
        to_spark(calibrator, columns=["p0", "p1"], names=["P0", "x"])


def test_a_name_that_the_table_has_already(make_problem):
    problem = make_problem(0, n=200, k=2)
    calibrator = DirichletCalibrator().fit(problem.proba, problem.y)
    function = to_spark(calibrator, columns=["p0", "p1"])
    # Spark does not tell capital letters from small ones.
    batch = batch_of(problem.proba[:3], Calibrated_1=[1, 2, 3])
    with pytest.raises(ValueError, match=r"`names` has 'calibrated_1', which the table has al"):
        next(function([batch]))


@pytest.mark.parametrize("column", [["0.5", "much"], [{"x": 0.5}, None]], ids=["text", "struct"])
def test_a_column_without_numbers_is_named(column, make_problem):
    problem = make_problem(0, n=200, k=2)
    function = to_spark(DirichletCalibrator().fit(problem.proba, problem.y), columns=["p0", "p1"])
    batch = pa.RecordBatch.from_pydict({"p0": [0.5, 0.5], "p1": column})
    with pytest.raises(ValueError, match=r"`columns` has 'p1', whose values are no numbers \("):
        next(function([batch]))


def test_large_whole_numbers_are_logits(make_problem):
    problem = make_problem(0, n=200, k=2)
    calibrator = DirichletCalibrator(input_scale="logit").fit(problem.logits, problem.y)
    rows = [[2**60 + 1, 0]]
    (found,) = to_spark(calibrator, columns=["p0", "p1"])([batch_of(rows)])
    assert_array_equal(added(found, 2), calibrator.predict_proba(np.array(rows, float)))
