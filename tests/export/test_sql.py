"""Queries, in DuckDB and in PostgreSQL where there is one."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import softmax

from dircal import (
    BayesianDirichletCalibrator,
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    MatrixScaling,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal.export import to_sql
from dircal.export._sql_dialects import DIALECTS

KINDS = {
    "identity": IdentityCalibrator(),
    "temperature": TemperatureScaling(),
    "temperature-logit": TemperatureScaling(input_scale="logit"),
    "vector-logit": VectorScaling(input_scale="logit"),
    "matrix-logit": MatrixScaling(input_scale="logit", penalty="l2"),
    "dirichlet": DirichletCalibrator(penalty="l2"),
    "bayesian": BayesianDirichletCalibrator(),
    "bayesian-logit": BayesianDirichletCalibrator(input_scale="logit"),
    "average": CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [1e-2, 1e-3]}, cv=2),
    "beta": OneVsRestCalibrator(BetaCalibrator()),
    "platt-logit": OneVsRestCalibrator(PlattCalibrator(input_scale="logit")),
    "isotonic": OneVsRestCalibrator(IsotonicCalibrator()),
    "histogram": OneVsRestCalibrator(HistogramCalibrator()),
}
pytestmark = pytest.mark.filterwarnings(
    "ignore::dircal.exceptions.ConvergenceWarning", "ignore::dircal.exceptions.GridEdgeWarning"
)


@pytest.fixture(params=["duckdb", "postgres"])
def database(request):
    """Name of a dialect, and what runs it."""
    return request.param, request.getfixturevalue(f"query_{request.param}")


def rows_of(scale, k, seed, n=60):
    """Rows of every size of probability, with zeros, one-hot rows and sums that are off."""
    rng = np.random.default_rng(seed)
    if scale == "logit":
        return np.vstack([rng.normal(scale=5, size=(n, k)), rng.uniform(-800, 800, (n, k))])
    small = softmax(rng.uniform(-700, 0, size=(n, k)), axis=1)
    zeros = rng.dirichlet(np.ones(k), size=n) * (rng.random((n, k)) < 0.5) + 1e-3 * np.eye(k)[0]
    coarse = rng.dirichlet(np.ones(k), size=n) * rng.uniform(0.9999, 1.0001, size=(n, 1))
    return np.vstack([np.eye(k), small, zeros / zeros.sum(axis=1, keepdims=True), coarse])


def names_of(k):
    """Names that only quotation marks make harmless."""
    hard = ["select", 'a "b"', "c's; DROP TABLE scores; --", "Größe", "%s {x}", "c1", "dircal_row"]
    return (hard + [f"p {i}" for i in range(k)])[:k]


def fit(calibrator, make_problem, k, **options):
    problem = make_problem(3, n=40 * k + 100, k=k)
    X = problem.logits if calibrator.input_scale == "logit" else problem.proba
    return calibrator.fit(X, problem.y)


@pytest.mark.parametrize("k", [2, 3, 17])
@pytest.mark.parametrize("kind", KINDS)
def test_queries_agree(kind, k, database, make_problem):
    dialect, query = database
    fitted = fit(KINDS[kind], make_problem, k)
    X, columns = rows_of(fitted.input_scale, k, seed=k), names_of(k)
    found = query(to_sql(fitted, table="scores", columns=columns, dialect=dialect), X, columns)
    assert_allclose(found, fitted.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", [4, 12])
@pytest.mark.parametrize(("clip", "bounded"), [(1e-15, True), (1e-300, False)])
def test_logits_that_are_bounded_need_no_maximum(clip, bounded, k, database, make_problem):
    dialect, query = database
    fitted = fit(DirichletCalibrator(penalty="l2", clip=clip), make_problem, k)
    code = to_sql(fitted, table="scores", columns=names_of(k), dialect=dialect)
    assert ("greatest(" not in code) == bounded
    X = rows_of("probability", k, seed=k)
    # Odds of the last class that are nearly zero, and nearly infinite.
    X[:2] = np.eye(k)[[0, k - 1]]
    assert_allclose(query(code, X, names_of(k)), fitted.predict_proba(X), rtol=0, atol=1e-12)


@given(k=st.integers(2, 30), seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(sorted(KINDS)))
def test_queries_agree_for_any_number_of_classes(k, seed, kind, make_problem, query_duckdb):
    rng = np.random.default_rng(seed)
    calibrator = KINDS[kind]
    fitted = fit(calibrator, make_problem, k)
    X = rows_of(fitted.input_scale, k, seed, n=int(rng.integers(1, 40)))
    columns = names_of(k)
    found = query_duckdb(to_sql(fitted, table="scores", columns=columns), X, columns)
    assert_allclose(found, fitted.predict_proba(X), rtol=0, atol=1e-12)


def test_bad_rows_are_null_and_masked_logits_are_not(database, make_problem):
    dialect, query = database
    good = [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.333, 0.333, 0.333]]
    bad = [
        [np.nan, 0.5, 0.5],
        [-0.1, 0.6, 0.5],
        [0.2, 0.3, 0.2],
        [0.0, 0.0, 0.0],
        [np.inf, 0.0, 0.0],
        [0.2, 0.3, 0.5],
    ]
    X = np.ma.array([*good, *bad])
    X[-1, 1] = np.ma.masked
    for kind in ("dirichlet", "isotonic", "bayesian", "identity"):
        fitted = fit(KINDS[kind], make_problem, 3)
        found = query(to_sql(fitted, table="scores", dialect=dialect), X, ["0", "1", "2"])
        with pytest.warns(match="do not sum to one"):
            assert_allclose(found[:3], fitted.predict_proba(good), rtol=0, atol=1e-12)
        assert np.isnan(found[3:]).all()


def test_bad_logits_are_null_and_masked_ones_are_zero(database, make_problem):
    dialect, query = database
    inf = np.inf
    good = [[0.2, -inf, 1.5], [-inf, -inf, 3.0], [1e-320, 1e-200, -1e-170], [1e90, -1e90, 0.0]]
    bad = [[np.nan, 0.5, 0.5], [inf, 0.0, 0.0], [-inf] * 3, [1e101, 0.0, 0.0], [0.2, 0.3, 0.5]]
    X = np.ma.array([*good, *bad])
    X[-1, 1] = np.ma.masked
    for kind in ("matrix-logit", "temperature-logit", "bayesian-logit", "platt-logit"):
        fitted = fit(KINDS[kind], make_problem, 3)
        found = query(to_sql(fitted, table="scores", dialect=dialect), X, ["0", "1", "2"])
        assert_allclose(found[:4], fitted.predict_proba(good), rtol=0, atol=1e-12)
        assert np.isnan(found[4:]).all()


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_one_column(scale, database, make_problem):
    dialect, query = database
    problem = make_problem(0, n=200, k=2)
    logits = problem.logits[:, 1] - problem.logits[:, 0]
    rows, bad = (logits, np.inf) if scale == "logit" else (problem.proba[:, 1], 1.02)
    fitted = PlattCalibrator(input_scale=scale).fit(rows, problem.y)
    X = np.r_[rows, 0.0, -np.inf if scale == "logit" else 1.0, bad].reshape(-1, 1)
    text = to_sql(fitted, table="scores", columns="p", names=["no", "yes"], dialect=dialect)
    found = query(text, X, ["p"])
    assert_allclose(found[:-1], fitted.predict_proba(X[:-1]), rtol=0, atol=1e-12)
    assert np.isnan(found[-1]).all()


def test_all_columns_of_the_table_come_first(make_problem):
    import duckdb

    fitted = fit(TemperatureScaling(), make_problem, 2)
    database = duckdb.connect()
    database.execute("CREATE SCHEMA dircal_1")
    database.execute(
        "CREATE TABLE dircal_1.dircal_1 AS SELECT 'x' AS c0, CAST(0.25 AS DECIMAL(3, 2)) AS a, "
        "7 AS dircal_2, CAST(0.75 AS REAL) AS b, [1, 2] AS c3"
    )
    query = to_sql(fitted, table=("dircal_1", "dircal_1"), columns=["a", "b"])
    database.execute(f"CREATE VIEW calibrated AS {query}")
    found = database.sql("SELECT * FROM calibrated")
    assert found.columns == ["c0", "a", "dircal_2", "b", "c3", "calibrated_0", "calibrated_1"]
    (row,) = found.fetchall()
    assert row[:5] == ("x", 0.25, 7, 0.75, [1, 2])
    assert_allclose(row[5:], fitted.predict_proba([[0.25, 0.75]])[0], rtol=1e-13)
    again = to_sql(fitted, table="calibrated", columns=["calibrated_0", "b"], names=["x", "y"])
    assert database.sql(again).columns[-4:] == ["calibrated_0", "calibrated_1", "x", "y"]
    database.close()


def test_a_column_may_be_called_as_a_part_of_the_query(database, make_problem):
    dialect, query = database
    fitted = fit(TemperatureScaling(), make_problem, 2)
    X, columns = rows_of("probability", 2, seed=0), ["dircal_table", "dircal_row"]
    found = query(to_sql(fitted, table="scores", columns=columns, dialect=dialect), X, columns)
    assert_allclose(found, fitted.predict_proba(X), rtol=0, atol=1e-12)


def test_labels_in_any_order_and_of_any_kind(make_problem, query_duckdb):
    problem = make_problem(0, n=200, k=3)
    labels = np.array(["z'", 'm"', "a; --\nDROP"])
    fitted = DirichletCalibrator(classes=labels).fit(problem.proba, labels[problem.y])
    query = to_sql(fitted, table="scores")
    found = query_duckdb(query, problem.proba, labels.tolist())
    assert_allclose(found, fitted.predict_proba(problem.proba), rtol=0, atol=1e-12)
    assert re.findall(r'AS "((?:[^"]|"")*)"', query) == [
        f"calibrated_{label}".replace('"', '""') for label in sorted(labels)
    ]


@pytest.mark.parametrize(
    ("dialect", "quoted"),
    [
        ("duckdb", '"a""`\\b\n"'),
        ("postgres", '"a""`\\b\n"'),
        ("spark", '`a"``\\b\n`'),
        ("bigquery", '`a"\\`\\\\b\\n`'),
    ],
)
def test_no_name_ends_before_its_quotation_mark(dialect, quoted):
    assert DIALECTS[dialect].name('a"`\\b\n') == quoted


def test_columns_are_named_as_in_the_frame_of_the_fit(make_problem):
    import pandas as pd

    problem = make_problem(0, n=100, k=2)
    frame = pd.DataFrame(problem.proba, columns=["p_a", "p_b"])
    fitted = TemperatureScaling().fit(frame, problem.y)
    assert '"p_a"' in to_sql(fitted, table="scores")


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark", "bigquery"])
def test_nothing_grows_with_the_square_of_the_classes_but_the_matrix(dialect, make_problem):
    """And every number has an exponent, without which databases compute in decimals."""
    sizes = {}
    for k in (10, 20):
        fitted = fit(DirichletCalibrator(penalty="l2"), make_problem, k)
        query = to_sql(fitted, table="scores", dialect=dialect)
        numbers = re.findall(r"(?<![\w.\"`])\d+\.\d+(?:e[-+]?\d+)?", query.partition("\n")[2])
        assert len(numbers) >= k * k
        assert all("e" in number for number in numbers)
        sizes[k] = len(query) - sum(map(len, numbers)) - 25 * k * k
    assert sizes[20] < 2.2 * sizes[10]


def test_it_is_written_to_a_file(make_problem, tmp_path):
    fitted = fit(TemperatureScaling(), make_problem, 3)
    query = to_sql(fitted, tmp_path / "map.sql", table="scores", dialect="spark")
    assert (tmp_path / "map.sql").read_text() == query
    assert "FROM `scores` AS" in query
    assert "CAST(dircal_table.`0` AS DOUBLE)" in query
    assert not query.rstrip().endswith(";")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": ""}, "`table` must be the name of a table"),
        ({"table": ("a", 3)}, "`table` must be the name of a table"),
        ({"table": None}, "`table` must be the name of a table.* got None"),
        ({"table": "t", "columns": ["a", "b"]}, r"`columns` must hold 3 different .*0, 1, 2"),
        ({"table": "t", "names": 5}, "`names` must hold names of columns; got 5"),
        ({"table": "t", "columns": ["a", "b", "a"]}, "`columns` must hold 3 different names"),
        (
            {"table": "t", "columns": ["a", "b", "A"]},
            "`columns` must hold 3 names that differ in more than capital letters",
        ),
        ({"table": "t", "columns": ["a", "b", 3]}, "`columns` must hold names of columns; got 3"),
        ({"table": "t", "names": ["a", "b", "b"]}, "`names` must hold 3 .* for each class"),
        ({"table": "t", "names": ["a", "b", "2"]}, "`names` has '2', which is one of the columns"),
        ({"table": "t", "names": ["a", "b", "c\0"]}, "`names` must hold names of columns"),
        ({"table": "a\ud800"}, "`table` must be the name of a table"),
        (
            {"table": "t", "columns": ["a", "b", "c\ud800"]},
            "`columns` must hold names of columns; got .* Pass text that UTF-8 can encode",
        ),
        ({"table": "t", "dialect": "mysql"}, "`dialect` must be one of"),
        (
            {"table": "t", "dialect": "postgres", "names": ["a", "b", "ä" * 32]},
            "at most 63 bytes .* Pass `names` of your own",
        ),
    ],
)
def test_bad_arguments(options, message, make_problem):
    fitted = fit(TemperatureScaling(), make_problem, 3)
    with pytest.raises(ValueError, match=message):
        to_sql(fitted, **options)


def test_labels_that_are_no_unicode_need_names(make_problem, tmp_path):
    problem = make_problem(0, n=200, k=3)
    labels = np.array(["x\ud800", "b", "c"], dtype=object)
    fitted = TemperatureScaling(classes=labels).fit(problem.proba, labels[problem.y])
    with pytest.raises(ValueError, match="`columns` must hold names of columns"):
        to_sql(fitted, tmp_path / "query.sql", table="t")
    with pytest.raises(ValueError, match="`names` must hold names of columns"):
        to_sql(fitted, tmp_path / "query.sql", table="t", columns=list("abc"))
    assert not list(tmp_path.iterdir())
    to_sql(fitted, tmp_path / "query.sql", table="t", columns=list("abc"), names=list("def"))


def test_too_many_classes(make_problem):
    problem = make_problem(0, n=500, k=401)
    fitted = TemperatureScaling(classes=range(401)).fit(problem.proba, problem.y)
    with pytest.raises(ValueError, match=r"reads 401 columns.* Use to_onnx, or to_spark"):
        to_sql(fitted, table="scores")


def test_very_many_classes(database, make_problem):
    dialect, query = database
    problem = make_problem(0, n=900, k=400)
    fitted = TemperatureScaling(classes=range(400)).fit(problem.proba, problem.y)
    columns = [f"p{i}" for i in range(400)]
    text = to_sql(fitted, table="scores", columns=columns, dialect=dialect)
    X = problem.proba[:20]
    assert_allclose(query(text, X, columns), fitted.predict_proba(X), rtol=0, atol=1e-12)
