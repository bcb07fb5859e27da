"""Problems with known answers, and where the data are."""

import csv
import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from scipy.special import softmax

import dircal

settings.register_profile("dircal", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("dircal")

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Problem:
    """Logits (n, k), their softmax, and labels 0..k-1."""

    logits: np.ndarray
    proba: np.ndarray
    y: np.ndarray


@pytest.fixture(scope="session")
def vectors() -> Problem:
    """The test vectors of the paper's protocol: 240 rows, 4 classes, made of sines."""
    i, j = np.arange(240)[:, None], np.arange(4)
    z = 2 * np.sin(1.3 * i + 2.1 * j) + 0.7 * np.cos(0.37 * i * (j + 1))
    t = 43758.5453 * np.sin(12.9898 * (i + 1) + 78.233 * (j + 1))
    u = (t - np.floor(t)).clip(1e-6, 1 - 1e-6)
    y = (0.6 * z + 0.4 * (j == 1) - np.log(-np.log(u))).argmax(axis=1)
    return Problem(z, softmax(z, axis=1), y)


@pytest.fixture(scope="session")
def expected() -> dict[str, float]:
    """Numbers that belong to the test vectors, by name."""
    with (HERE / "data" / "test_vectors.csv").open() as file:
        return {row["quantity"]: float(row["value"]) for row in csv.DictReader(file)}


@pytest.fixture
def plain_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """No library for data frames: tables are dicts of lists, which are easily compared."""
    monkeypatch.setattr("dircal._frames._LIBRARIES", ())


@pytest.fixture(scope="session")
def make_problem() -> Callable[..., Problem]:
    """Overconfident logits with a class bias: labels follow half the logits plus the bias."""

    def make(seed: int = 0, *, n: int = 300, k: int = 3, scale: float = 3.0) -> Problem:
        rng = np.random.default_rng(seed)
        logits = rng.normal(scale=scale, size=(n, k))
        bias = rng.normal(scale=0.5, size=k)
        y = (0.5 * logits + bias + rng.gumbel(size=(n, k))).argmax(axis=1)
        y[:k] = np.arange(k)[: len(y)]
        return Problem(logits, softmax(logits, axis=1), y)

    return make


@pytest.fixture(scope="session")
def uci() -> Callable[[str], tuple[np.ndarray, np.ndarray]]:
    """Reads a committed UCI dataset: standardised features and labels."""

    def read(name: str) -> tuple[np.ndarray, np.ndarray]:
        table = np.loadtxt(HERE / "data" / f"{name}.csv.gz", delimiter=",", skiprows=1)
        X, y = table[:, :-1], table[:, -1].astype(int)
        return (X - X.mean(axis=0)) / X.std(axis=0).clip(min=1e-12), y

    return read


@pytest.fixture(scope="session")
def networks() -> Path:
    """Folder with the outputs of real networks; skips where nobody has named one that exists."""
    given = os.environ.get("DIRCAL_DATA")
    if not given or not (folder := Path(given) / "networks").is_dir():
        pytest.skip("the outputs of real networks are not on this machine (set DIRCAL_DATA)")
    return folder


@pytest.fixture(scope="session")
def query_duckdb() -> Callable[..., np.ndarray]:
    """Runs a query on a table ``scores`` in DuckDB: one column for each of ``columns``.

    It returns what the query adds to the table; NULL becomes NaN.
    """
    import duckdb
    import pyarrow as pa

    def run(query: str, X: np.ndarray, columns: list[str]) -> np.ndarray:
        # NumPy's NaN stays NaN; rows are missing where the array is masked.
        arrays = [
            pa.array(np.ma.getdata(column), mask=np.ma.getmaskarray(column)) for column in X.T
        ]
        numbers = pa.array(range(len(X)))
        table = pa.table([numbers, *arrays], names=["row number", *columns])
        with duckdb.connect(config={"threads": 1}) as database:
            database.register("given", table)
            database.execute("CREATE TABLE scores AS SELECT * FROM given")
            found = database.execute(f'SELECT * FROM ({query}) ORDER BY "row number"').fetchall()
        return np.array(found, dtype=float)[:, 1 + len(columns) :]

    return run


@pytest.fixture(scope="session")
def limits() -> dict[str, ContextVar[Any]]:
    """Variables of limits by the name of their class."""
    package = Path(dircal.__file__).parent
    parts = (
        path.relative_to(package.parent).with_suffix("").parts
        for path in package.rglob("*limits.py")
    )
    modules = [importlib.import_module(".".join(names)) for names in parts]
    found = [
        value for one in modules for value in vars(one).values() if isinstance(value, ContextVar)
    ]
    return {variable.name: variable for variable in found}


@pytest.fixture
def use_limits(limits: dict[str, ContextVar[Any]]) -> Iterator[Callable[..., None]]:
    """Replaces fields of limits until the test ends: ``use_limits("OptimLimits", armijo=0.5)``."""
    with ExitStack() as stack:

        def use(name: str, **fields: Any) -> None:
            variable = limits[name]
            token = variable.set(replace(variable.get(), **fields))
            stack.callback(variable.reset, token)

        yield use
