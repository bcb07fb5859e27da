import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dircal.cli._app import app as command_line

ANIMALS = np.array(["ant", "bee", "cow"])


@pytest.fixture(scope="session")
def app():
    """The command line of ``dircal``."""
    return command_line


@pytest.fixture
def run(tmp_path, monkeypatch) -> Callable[..., Result]:
    """Runs a command line in an empty folder; no traceback, whatever happens."""
    monkeypatch.chdir(tmp_path)

    def run_(*arguments: object, code: int = 0) -> Result:
        result = CliRunner().invoke(command_line, [str(one) for one in arguments])
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        if code == 2:
            assert len(result.stderr.strip().splitlines()) == 1 or "Usage:" in result.stderr
        return result

    return run_


@pytest.fixture
def animals(make_problem):
    """Probabilities of three animals, and what they are."""
    problem = make_problem(1, n=300)
    return problem.proba, ANIMALS[problem.y]


@pytest.fixture
def write_csv(animals, tmp_path):
    """Writes the animals as CSV: a number, their name, a column for each."""

    def write(name: str = "p.csv", *, columns=ANIMALS, scores=None, labels=None) -> Path:
        proba, y = animals
        scores = proba if scores is None else scores
        labels = y if labels is None else labels
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["id", "y", *columns])
        rows = zip(range(len(labels)), labels.tolist(), scores.tolist(), strict=True)
        writer.writerows([i, label, *row] for i, label, row in rows)
        (tmp_path / name).write_text(text.getvalue(), encoding="utf-8")
        return tmp_path / name

    return write


@pytest.fixture
def fitted(run, write_csv):
    """A map of the animals, made by the command."""
    write_csv()
    run("fit", "p.csv", "--label", "y", "--calibrator", "dirichlet", "-o", "map.json")
    return "map.json"


@pytest.fixture
def lake(animals, tmp_path):
    """Two Parquet files in a folder, the second without an ant."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    proba, y = animals
    order = np.argsort(y == "ant", kind="stable")[::-1]
    for i, rows in enumerate((order[:200], order[200:])):
        columns = {"id": rows, "y": y[rows], **dict(zip(ANIMALS, proba[rows].T, strict=True))}
        (tmp_path / "lake").mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), tmp_path / "lake" / f"{i}.parquet", row_group_size=64)
    return tmp_path / "lake"
