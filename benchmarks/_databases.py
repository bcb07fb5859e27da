"""Maps as queries in DuckDB."""

import duckdb
import numpy as np
import pyarrow as pa
from _timing import Row, race

from dircal import DirichletCalibrator
from dircal.export import to_sql

__all__ = ["queries_against_predict"]

# 0.3 of our rows in the same time with 10 classes; nothing is promised for more.
_TARGETS = {10: 1 / 0.3, 100: None}


def queries_against_predict() -> list[Row]:
    """Dirichlet calibration of a table in DuckDB on one thread, all probabilities added up."""
    return [_row(k, n, _TARGETS[k]) for k, n in ((10, 200_000), (100, 20_000))]


def _row(k: int, n: int, target: float | None) -> Row:
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(k), size=n)
    y = (X[:5000] * rng.exponential(size=(5000, k))).argmax(axis=1)
    calibrator = DirichletCalibrator(penalty="l2", clip=1e-15, classes=range(k)).fit(X[:5000], y)
    columns = [f"p{i}" for i in range(k)]
    query = to_sql(calibrator, table="scores", columns=columns)
    sums = ", ".join(f"sum(calibrated_{i})" for i in range(k))
    with duckdb.connect(config={"threads": 1}) as database:
        database.register("given", pa.table(list(X.T), names=columns))
        database.execute("CREATE TABLE scores AS SELECT * FROM given")
        times = race(
            lambda: database.execute(f"SELECT {sums} FROM ({query})").fetchall(),
            lambda: calibrator.predict_proba(X),
        )
    return Row(
        name=f"SQL in DuckDB, k={k}",
        data=f"generated, n={n}",
        unit="s",
        ours=times.ours,
        yardstick="predict_proba",
        theirs=times.theirs,
        target=target,
        note=f"{n / times.ours:.2g} rows a second",
    )
