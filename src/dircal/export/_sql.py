"""A map as a query."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from dircal._files import write_whole
from dircal._version import __version__
from dircal.export._fitted import Fitted, check_fitted
from dircal.export._sql_dialects import DIALECTS, Dialect
from dircal.export._sql_layers import NOTHING, Cell, Layers, fill
from dircal.export._tables import FARTHEST_SUM, check_columns, check_names, is_name
from dircal.tables import LARGEST, check_option

__all__ = ["to_sql"]

# Beyond it databases refuse the query: sums are as deep as they are long, and a part of it may
# have 1664 columns in PostgreSQL.
_MOST_COLUMNS = 400


def to_sql(
    calibrator: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    table: str | Sequence[str],
    columns: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
    dialect: Literal["duckdb", "postgres", "spark", "bigquery"] = "duckdb",
) -> str:
    """Make a query of a fitted calibrator: a table in, the same with calibrated probabilities out.

    Parameters
    ----------
    calibrator : calibrator
        A fitted calibrator. A `CalibratedClassifier` cannot be exported, and neither can isotonic
        or histogram calibration of logits, one class against the rest; the error says why.
    path : str or path, optional
        Where to write the query; None writes nothing.
    table : str or sequence of str
        Name of the table, as it is, without quotation marks; several names for a table inside a
        schema, such as ``("sales", "scores")``.
    columns : sequence of str, optional
        Column of the table with each score, in the order of the columns of the fit. None takes
        the names of the data frame of the fit, or else the labels.
    names : sequence of str, optional
        Name of each column that is added, in the order of ``classes_``. None puts ``calibrated_``
        before the label.
    dialect : {"duckdb", "postgres", "spark", "bigquery"}, default="duckdb"
        Whose SQL it is: DuckDB, PostgreSQL 12 or later, Spark SQL, BigQuery.

    Returns
    -------
    query : str
        A SELECT without a semicolon, so that it can stand in a view or inside another query. It
        gives all columns of the table, then the probabilities in the order of ``classes_``.

    See Also
    --------
    to_spark : Several times faster in Spark, where Python and `dircal` are installed.
    to_onnx : For programs rather than databases.

    Notes
    -----
    It agrees with `predict_proba` to 1e-12 times one plus the largest logit, in double precision
    whatever the type of the columns. A row that `predict_proba` refuses (a NULL, NaN, a
    negative probability, a sum that misses one by more than a hundredth) gets NULL for every
    class: a query cannot raise an error for one row. Masked logits are negative infinity, not NULL.

    The query is a chain of common table expressions over single rows, with no join and no
    aggregate: it is as parallel as the database makes it. The row of the table is carried through
    as one value, so its columns may have any names, those of ``names`` excepted, and
    ``dircal_table`` where that is no score. All identifiers are quoted.

    DuckDB is tested with every calibrator, PostgreSQL with most of them; Spark SQL 4 was tried by
    hand. The dialect of BigQuery follows its documentation, and was never run.

    When not to use it: above some hundred classes; a matrix for 100 classes is a query of 400
    kilobytes, and more than 400 columns are refused.

    Examples
    --------
    >>> import duckdb
    >>> from dircal import TemperatureScaling
    >>> from dircal.export import to_sql
    >>> calibrator = TemperatureScaling().fit(
    ...     [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["no", "yes", "yes"]
    ... )
    >>> query = to_sql(calibrator, table="scores", columns=["p_no", "p_yes"])
    >>> database = duckdb.connect()
    >>> _ = database.sql("CREATE TABLE scores AS SELECT 7 AS id, 0.5 AS p_no, 0.5 AS p_yes")
    >>> found = database.sql(query)
    >>> found.columns
    ['id', 'p_no', 'p_yes', 'calibrated_no', 'calibrated_yes']
    >>> [[round(float(value), 6) for value in row] for row in found.fetchall()]
    [[7.0, 0.5, 0.5, 0.5, 0.5]]
    >>> database.close()
    """
    check_option("dialect", dialect, tuple(DIALECTS))
    parts = _check_table(table)
    fitted = check_fitted(calibrator)
    if len(fitted.columns) > _MOST_COLUMNS:
        raise ValueError(
            f"`calibrator` reads {len(fitted.columns)} columns, and databases refuse queries for "
            f"more than {_MOST_COLUMNS}. Use to_onnx, or to_spark."
        )
    inside = check_columns(columns, calibrator, fitted)
    outside = check_names(names, inside, fitted)
    code = _write(fitted, DIALECTS[dialect], parts, inside, outside)
    if path is not None:
        write_whole(path, code.encode())
    return code


def _check_table(table: str | Sequence[str]) -> list[str]:
    parts: list[Any] = list(table) if isinstance(table, list | tuple) else [table]
    if not parts or not all(map(is_name, parts)):
        raise ValueError(
            f"`table` must be the name of a table, or the names that lead to it; got {table!r}. "
            "Pass for example 'scores' or ('sales', 'scores')."
        )
    return parts


def _write(
    fitted: Fitted, dialect: Dialect, table: list[str], columns: list[str], names: list[str]
) -> str:
    for name in names:
        if dialect.longest_name is not None and len(name.encode()) > dialect.longest_name:
            raise ValueError(
                f"`names` has {name!r}, and a name has at most {dialect.longest_name} bytes in "
                "this database, which would cut it off. Pass `names` of your own."
            )
    # Parts of the query hide tables of the same name, and columns hide them.
    prefix = "dircal"
    while any(name.lower().startswith(f"{prefix}_") for name in [*table, *columns]):
        prefix += "_"
    layers = Layers(dialect)
    given = [
        layers.column(Cell(f"CAST({prefix}_table.{dialect.name(name)} AS {dialect.number_type})"))
        for name in columns
    ]
    # One or NULL. What is multiplied by it stays as it is or becomes NULL, which takes a third of
    # the time of CASE.
    one = Cell(dialect.number(1.0))
    condition = _condition(fitted, dialect, given)
    fine = layers.column(fill("CASE WHEN {x} THEN {one} END", x=condition, one=one))
    read = (_readable(fitted, dialect, cell) for cell in given)
    inputs = (fill("{x} * {fine}", x=cell, fine=fine) for cell in read)
    proba = layers.compute(fitted.expression(), inputs)
    known = (fill("{x} * {fine}", x=cell, fine=fine) for cell in proba)
    results = list(zip(map(dialect.name, names), known, strict=True))
    query = layers.write(".".join(map(dialect.name, table)), prefix, results)
    # Not a comment to the end of the line: some tools join lines.
    return f"/* Calibrated by {fitted.name}, written by dircal {__version__}. */\n{query}\n"


def _condition(fitted: Fitted, dialect: Dialect, scores: list[Cell]) -> Cell:
    """Whether `predict_proba` takes a row; not true where a score is missing or no number.

    No number is larger than all others here, and neither larger nor smaller in BigQuery.
    """
    cells = {f"x{i}": cell for i, cell in enumerate(scores)}
    each = [f"{{{name}}}" for name in cells]
    if fitted.input_scale == "logit":
        largest = dialect.number(LARGEST)
        conditions = [f"{x} <= {largest}" for x in each]
        # A single logit may be masked: the other class is left.
        if len(each) > 1:
            conditions.append(f"greatest({', '.join(each)}) >= {dialect.number(-LARGEST)}")
    else:
        zero, one, far = map(dialect.number, (0.0, 1.0, FARTHEST_SUM))
        conditions = [f"{x} >= {zero}" for x in each]
        total = " + ".join(each)
        if len(each) > 1:
            conditions.append(f"abs({total} - {one}) <= {far}")
        else:
            conditions.append(f"{total} <= {one} + {far}")
    return fill(" AND ".join(conditions), **cells)


def _readable(fitted: Fitted, dialect: Dialect, score: Cell) -> Cell:
    """A score that may be multiplied by."""
    if fitted.input_scale == "probability" or not dialect.refuses_underflow:
        return score
    nothing, zero = dialect.number(NOTHING), dialect.number(0.0)
    return fill(f"CASE WHEN abs({{x}}) < {nothing} THEN {zero} ELSE {{x}} END", x=score)
