"""A map as a query."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dircal._files import write_whole
from dircal._typing import FloatArray
from dircal._version import __version__
from dircal.export import _expression as expr
from dircal.export._expression import AbstractTarget, Expression, walk
from dircal.export._fitted import Fitted, check_fitted
from dircal.export._sql_dialects import DIALECTS, Dialect
from dircal.export._tables import FARTHEST_SUM, check_columns, check_names, is_name
from dircal.tables import LARGEST, check_option

__all__ = ["to_sql"]

# Beyond it databases refuse the query: sums are as deep as they are long, and a part of it may
# have 1664 columns in PostgreSQL.
_MOST_COLUMNS = 400
_PATTERNS = {
    "log": "ln({x})",
    "exp": "exp({x})",
    "guarded exp": "exp(greatest({x}, {least}))",
    "abs": "abs({x})",
    "add": "({x} + {y})",
    "sub": "({x} - {y})",
    "mul": "({x} * {y})",
    # Of two numbers that both depend on the row.
    "product": "({x} * {y})",
    "guarded product": "CASE WHEN abs({x}) < {nothing} OR abs({y}) < {nothing} THEN {zero} "
    "ELSE {x} * {y} END",
    "div": "({x} / {y})",
    # Half the time of greatest and least in DuckDB.
    "max": "CASE WHEN {x} > {y} THEN {x} ELSE {y} END",
    "min": "CASE WHEN {x} < {y} THEN {x} ELSE {y} END",
}
# PostgreSQL raises an error where an exponential or a product rounds to zero. This is a whole
# number above the logarithm of the smallest normal number, -708.4.
_LEAST_EXPONENT = -700.0
# Factors smaller than this are zero for all that comes after, where products must not round.
_NOTHING = 1e-150
# Differences of logits up to this are exponentiated as they are: half of what overflows, and the
# product of two such numbers does not underflow.
_FARTHEST = 350.0
# From so many terms on lists are faster, six times with a hundred.
_SHORTEST_LIST = 10
# Terms of a sum between parentheses: parsers take sums for trees as deep as they are long.
_TERMS = 32


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
    layers = _Layers(dialect)
    given = [
        layers.column(_Cell(f"CAST({prefix}_table.{dialect.name(name)} AS {dialect.number_type})"))
        for name in columns
    ]
    # One or NULL. What is multiplied by it stays as it is or becomes NULL, which takes a third of
    # the time of CASE.
    one = _Cell(dialect.number(1.0))
    condition = _condition(fitted, dialect, given)
    fine = layers.column(_fill("CASE WHEN {x} THEN {one} END", x=condition, one=one))
    read = (_readable(fitted, dialect, cell) for cell in given)
    inputs = (_fill("{x} * {fine}", x=cell, fine=fine) for cell in read)
    proba = layers.compute(fitted.expression(), inputs)
    known = (_fill("{x} * {fine}", x=cell, fine=fine) for cell in proba)
    results = list(zip(map(dialect.name, names), known, strict=True))
    query = layers.write(".".join(map(dialect.name, table)), prefix, results)
    # Not a comment to the end of the line: some tools join lines.
    return f"/* Calibrated by {fitted.name}, written by dircal {__version__}. */\n{query}\n"


def _condition(fitted: Fitted, dialect: Dialect, scores: list["_Cell"]) -> "_Cell":
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
    return _fill(" AND ".join(conditions), **cells)


def _readable(fitted: Fitted, dialect: Dialect, score: "_Cell") -> "_Cell":
    """A score that may be multiplied by."""
    if fitted.input_scale == "probability" or not dialect.refuses_underflow:
        return score
    nothing, zero = dialect.number(_NOTHING), dialect.number(0.0)
    return _fill(f"CASE WHEN abs({{x}}) < {nothing} THEN {zero} ELSE {{x}} END", x=score)


@dataclass(frozen=True)
class _Cell:
    """SQL of one number, and the columns that it reads, by their place in `Layers.columns`."""

    text: str
    reads: frozenset[int] = frozenset()
    plain: bool = False
    """Whether it is a name or a literal, which may be written any number of times."""


@dataclass
class _Column:
    name: str
    text: str
    level: int
    last_level: int = field(default=0)


class _Layers(AbstractTarget[tuple[_Cell, ...]]):
    """Columns of common table expressions; the value of an expression is a cell for each column.

    A cell that is used once is written where it is used. Any other becomes a column of the first
    layer that has all it reads below it, so nothing is written or computed twice.
    """

    def __init__(self, dialect: Dialect) -> None:
        super().__init__()
        self.dialect = dialect
        self.columns: list[_Column] = []
        self._inputs: tuple[_Cell, ...] = ()
        self._uses = Counter[int]()
        # What patterns may name beside their operands.
        numbers = {"least": _LEAST_EXPONENT, "nothing": _NOTHING, "zero": 0.0}
        self._constants = {key: self._number(value) for key, value in numbers.items()}

    def column(self, cell: _Cell) -> _Cell:
        """The cell as a column."""
        if cell.plain:
            return cell
        below = max((self.columns[i].level for i in cell.reads), default=0)
        for i in cell.reads:
            self.columns[i].last_level = max(self.columns[i].last_level, below + 1)
        place = len(self.columns)
        name = f"c{place}"
        self.columns.append(_Column(name, cell.text, below + 1))
        return _Cell(name, frozenset([place]), plain=True)

    def compute(self, expression: Expression, inputs: Iterable[_Cell]) -> tuple[_Cell, ...]:
        """What the expression makes of the inputs."""
        self._inputs = tuple(self.column(cell) for cell in inputs)
        self._uses = _count_uses(expression)
        return self.of(expression)

    def write(self, table: str, prefix: str, results: Sequence[tuple[str, _Cell]]) -> str:
        """The query: layers from the table upwards, then its own columns and the results."""
        for _, cell in results:
            for i in cell.reads:
                self.columns[i].last_level = len(self.columns) + 1
        dialect, row = self.dialect, f"{prefix}_row"
        source, found = f"{table} AS {prefix}_table", []
        carried = f"{dialect.whole_row.format(f'{prefix}_table')} AS {row}"
        n_levels = max(column.level for column in self.columns)
        for level in range(1, n_levels + 1):
            alive = [
                column.name for column in self.columns if column.level < level < column.last_level
            ]
            made = [
                f"{column.text} AS {column.name}"
                for column in self.columns
                if column.level == level
            ]
            lines = [carried, *([", ".join(alive)] if alive else []), *made]
            body = _select(lines, source, indent=4) + dialect.fence
            found.append(f"{prefix}_{level} {dialect.common_table} (\n{body}\n)")
            source, carried = f"{prefix}_{level}", row
        last = [f"{cell.text} AS {name}" for name, cell in results]
        everything = [dialect.all_fields.format(row), *last]
        return "WITH " + ",\n".join(found) + "\n" + _select(everything, source)

    def _make(self, e: Expression) -> tuple[_Cell, ...]:
        cells = self._cells(e)
        if self._uses[id(e)] > 1:
            return tuple(self.column(cell) for cell in cells)
        return cells

    def _cells(self, e: Expression) -> tuple[_Cell, ...]:
        match e:
            case expr.Input():
                return self._inputs
            case expr.Constant(values):
                return tuple(self._number(value) for value in values.tolist())
            case expr.Columns(x, indices):
                return tuple(self.of(x)[i] for i in indices)
            case expr.Join(parts):
                return tuple(self.of(part)[0] for part in parts)
            case expr.Unary(name, x):
                return self._each(self._pattern(name), e, x=x)
            case expr.Binary(name, x, y):
                pattern = self._pattern("product" if _is_product(e) else name)
                return self._each(pattern, e, x=x, y=y)
            case expr.Choose(low, high, yes, no):
                pattern = "CASE WHEN {low} < {high} THEN {yes} ELSE {no} END"
                return self._each(pattern, e, low=low, high=high, yes=yes, no=no)
            case expr.Linear(x, matrix, bias):
                return self._linear(x, matrix.values, bias.values)
            case expr.RowSum(x, in_order):
                terms = self.of(x)
                return (_of(terms, _sum([term.text for term in terms], in_order=in_order)),)
            case expr.RowMax(x):
                return (self._greatest(self.of(x)),)
            case expr.Softmax(expr.Linear() as x) if _largest_difference(x) <= _FARTHEST:
                return self._softmax_of_differences(x)
            case expr.Softmax(x):
                return self._softmax(self.of(x))
            case expr.Lookup():
                return self._lookup(e)
            case _:
                raise TypeError(f"{type(e).__name__} has no form in SQL")

    def _each(self, pattern: str, e: Expression, **operands: Expression) -> tuple[_Cell, ...]:
        """A cell of the ``pattern`` for each column; operands of one column are repeated."""
        given = {key: self.of(operand) for key, operand in operands.items()}
        columns = range(e.width)
        rows = ({key: cells[i % len(cells)] for key, cells in given.items()} for i in columns)
        return tuple(_fill(pattern, **row, **self._constants) for row in rows)

    def _number(self, value: float) -> _Cell:
        return _Cell(self.dialect.number(value), plain=True)

    def _pattern(self, name: str) -> str:
        guarded = f"guarded {name}" if self.dialect.refuses_underflow else name
        return _PATTERNS.get(guarded, _PATTERNS[name])

    def _linear(self, x: Expression, matrix: FloatArray, bias: FloatArray) -> tuple[_Cell, ...]:
        cells = self.of(x)
        rows = zip(matrix.tolist(), bias.tolist(), strict=True)
        if self.dialect.scalar_product is None or len(cells) < _SHORTEST_LIST:
            return tuple(self._weighted_sum(cells, row, b) for row, b in rows)
        listed = [cell.text for cell in cells]
        if _clip_of_log(x) is None:
            # Lists may not hold NULL; what comes out of such rows is not used.
            listed = [f"coalesce({text}, {self._constants['zero'].text})" for text in listed]
        vector = self.column(_of(cells, f"[{', '.join(listed)}]"))
        product = self.dialect.scalar_product
        number = self.dialect.number
        return tuple(
            _fill(f"({product} + {number(b)})", x=vector, y=_Cell(", ".join(map(number, row))))
            for row, b in rows
        )

    def _weighted_sum(self, cells: Sequence[_Cell], weights: list[float], bias: float) -> _Cell:
        least = _NOTHING if self.dialect.refuses_underflow else 0.0
        used = [(w, cell) for w, cell in zip(weights, cells, strict=True) if abs(w) > least]
        number = self.dialect.number
        terms = [number(bias), *(f"{number(w)} * {cell.text}" for w, cell in used)]
        return _of((cell for _, cell in used), _sum(terms))

    def _greatest(self, cells: Sequence[_Cell]) -> _Cell:
        if len(cells) == 1:
            return cells[0]
        return _of(cells, f"greatest({', '.join(cell.text for cell in cells)})")

    def _softmax(self, logits: Sequence[_Cell]) -> tuple[_Cell, ...]:
        top = self.column(self._greatest(logits))
        pattern = self._pattern("exp").replace("{x}", "{x} - {top}")
        odds = [self.column(_fill(pattern, x=x, top=top, **self._constants)) for x in logits]
        total = self.column(_of(odds, _sum([each.text for each in odds])))
        # Divided one by one, as ours are: bins that come after have edges at such numbers.
        return tuple(_fill("({x} / {total})", x=x, total=total) for x in odds)

    def _softmax_of_differences(self, x: expr.Linear) -> tuple[_Cell, ...]:
        """Odds against the last class: no maximum is needed, and one row less of the matrix."""
        matrix, bias = x.matrix.values, x.bias.values
        differences = self._linear(x.x, matrix[:-1] - matrix[-1], bias[:-1] - bias[-1])
        odds = [self.column(_fill("exp({x})", x=cell)) for cell in differences]
        one = self._number(1.0)
        total = _of([*odds, one], _sum([each.text for each in (*odds, one)]))
        # One division, since it takes as long as several products.
        part = self.column(_fill("{one} / {total}", one=one, total=total))
        return tuple(_fill("({x} * {part})", x=x, part=part) for x in (*odds, one))

    def _lookup(self, e: expr.Lookup) -> tuple[_Cell, ...]:
        """Binary search, as cases inside cases."""
        (score,) = self.of(e.x)
        below = "<" if e.at_edge == "above" else "<="
        edges = [f"{score.text} {below} {self.dialect.number(edge)}" for edge in e.edges.tolist()]
        return tuple(_Cell(self._cases(edges, values), score.reads) for values in e.table.T)

    def _cases(self, edges: list[str], values: FloatArray) -> str:
        if (values == values[0]).all():
            return self.dialect.number(values[0])
        middle = len(edges) // 2
        low = self._cases(edges[:middle], values[: middle + 1])
        high = self._cases(edges[middle + 1 :], values[middle + 1 :])
        return f"CASE WHEN {edges[middle]} THEN {low} ELSE {high} END"


def _fill(pattern: str, **parts: _Cell) -> _Cell:
    """A cell of SQL with other cells at the places of their names."""
    return _of(parts.values(), pattern.format(**{key: part.text for key, part in parts.items()}))


def _of(parts: Iterable[_Cell], text: str) -> _Cell:
    return _Cell(text, frozenset().union(*(part.reads for part in parts)))


def _select(columns: Sequence[str], source: str, indent: int = 0) -> str:
    space = " " * indent
    listed = f",\n{space}    ".join(columns)
    return f"{space}SELECT\n{space}    {listed}\n{space}FROM {source}"


def _sum(terms: list[str], *, in_order: bool = False) -> str:
    if in_order or len(terms) <= _TERMS:
        return f"({' + '.join(terms)})"
    return _sum([_sum(terms[i : i + _TERMS]) for i in range(0, len(terms), _TERMS)])


def _clip_of_log(x: Expression) -> float | None:
    """The least probability whose logarithm is taken, which is never NULL then; else None."""
    match x:
        case expr.Unary("log", expr.Binary("max", _, expr.Constant(clip))):
            return float(clip.min())
        case _:
            return None


def _largest_difference(x: expr.Linear) -> float:
    """How far logits can be apart that are linear in logarithms of probabilities; else infinite."""
    clip = _clip_of_log(x.x)
    if clip is None:
        return np.inf
    reach = np.abs(x.matrix.values).sum(axis=1) * abs(np.log(clip)) + np.abs(x.bias.values)
    return float(2.0 * reach.max())


def _is_product(e: expr.Binary) -> bool:
    return e.name == "mul" and not any(isinstance(x, expr.Constant) for x in e.operands)


def _count_uses(root: Expression) -> Counter[int]:
    """How often the columns of each expression are written, by its identity."""
    uses = Counter({id(root): 1})
    for e in walk(root):
        for operand in e.operands:
            uses[id(operand)] += _times_written(e, operand)
    return uses


def _times_written(e: Expression, operand: Expression) -> int:
    match e:
        case expr.Linear():
            return e.width
        case expr.Softmax() | expr.Lookup():
            return 2
        case expr.Binary(name) if name in ("max", "min") or _is_product(e):
            return 2
        case expr.Unary() | expr.Binary() | expr.Choose():
            return e.width if operand.width < e.width else 1
        case _:
            return 1
