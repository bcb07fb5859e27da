import decimal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dircal.cli.tables import Change, open_table

HALF = Change([1, 2], None, lambda chunk, numbers: numbers / 2, lambda n: None)


@pytest.fixture
def table():
    return pa.table(
        {
            "id": ["x", None, "z"],
            "a": pa.array([1.0, 2.0, 3.0]),
            "b": pa.array([1, 2, 3], pa.int8()),
            "tags": [[1], [], [2, 3]],
            "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
        }
    ).replace_schema_metadata({"mine": "kept"})


def test_other_columns_stay_as_they_are(tmp_path, table):
    pq.write_table(table, tmp_path / "p.parquet", compression={"id": "GZIP", "a": "ZSTD"})
    with open_table(tmp_path / "p.parquet") as opened:
        opened.rewrite(tmp_path / "out", HALF)
    found = pq.read_table(tmp_path / "out")
    assert found.column_names == table.column_names
    for name in ("id", "tags", "kind"):
        assert found[name].equals(table[name])
    assert found["a"].to_pylist() == [0.5, 1.0, 1.5]
    assert found["b"].to_pylist() == [0.5, 1.0, 1.5]
    assert found.schema.metadata[b"mine"] == b"kept"
    parts = pq.ParquetFile(tmp_path / "out").metadata.row_group(0)
    assert parts.column(0).compression == "GZIP"
    assert parts.column(1).compression == "ZSTD"


def test_single_precision_stays_single(tmp_path):
    table = pa.table({"i": [1], "a": pa.array([1], pa.float32()), "b": pa.array([1], pa.float32())})
    pq.write_table(table, tmp_path / "p.parquet")
    with open_table(tmp_path / "p.parquet") as opened:
        opened.rewrite(tmp_path / "out", HALF)
    assert pq.read_table(tmp_path / "out").schema.equals(table.schema)


def test_row_groups_are_filled(tmp_path, monkeypatch):
    monkeypatch.setattr("dircal.cli.tables._parquet._GROUP_ROWS", 600)
    monkeypatch.setattr("dircal.cli.tables._parquet.as_many_rows", lambda n: 256)
    table = pa.table({"i": np.arange(2000), "a": np.ones(2000), "b": np.ones(2000)})
    pq.write_table(table, tmp_path / "p.parquet")
    with open_table(tmp_path / "p.parquet") as opened:
        opened.rewrite(tmp_path / "out", HALF)
    found = pq.ParquetFile(tmp_path / "out")
    assert found.metadata.num_row_groups == 3
    assert found.read()["i"].equals(table["i"])


def test_what_is_no_number_or_label(tmp_path):
    table = pa.table(
        {
            "text": ["a"],
            "gap": pa.array([None], pa.float64()),
            "exact": [decimal.Decimal("0.5")],
            "list": [[1]],
            "long": ["x" * 20_000],
        }
    )
    pq.write_table(table, tmp_path / "p.parquet")
    with open_table(tmp_path / "p.parquet") as opened:
        (chunk,) = opened.chunks(range(5))
        assert chunk.numbers([2]).tolist() == [[0.5]]
        with pytest.raises(ValueError, match="column 'text' holds string, not numbers"):
            chunk.numbers([0])
        with pytest.raises(ValueError, match="row 0, column 'gap' is empty"):
            chunk.numbers([1])
        with pytest.raises(ValueError, match="column 'list' holds list"):
            chunk.values(3)
        with pytest.raises(ValueError, match="column 'long' holds a label of 20,000 characters"):
            chunk.values(4)


@given(cut=st.integers(0, 900), content=st.binary(max_size=50))
def test_damaged_files_are_refused(tmp_path_factory, cut, content):
    folder = tmp_path_factory.mktemp("parquet")
    path = folder / "p.parquet"
    pq.write_table(pa.table({"i": [1, 2], "a": [0.5, 0.5], "b": [0.5, 0.5]}), path)
    path.write_bytes(path.read_bytes()[:cut] + content + path.read_bytes()[cut + len(content) :])
    try:
        with open_table(path) as opened:
            opened.rewrite(folder / "out", HALF)
    except (ValueError, OSError) as error:
        assert str(error)  # noqa: PT017 - what is not damaged enough passes


DAMAGES = """
import random, sys
from pathlib import Path
from dircal.cli.tables import Change, open_table

path, chance, n_refused = Path(sys.argv[1]), random.Random(20), 0
half = Change([1, 2], None, lambda chunk, numbers: numbers / 2, lambda n: None)
whole = path.read_bytes()
foot = len(whole) - int.from_bytes(whole[-8:-4], "little") - 8
for i in range(500):
    content = bytearray(whole)
    # What a file says of itself stands at its end.
    for _ in range(chance.choice([1, 1, 2])):
        content[chance.randrange(foot, len(whole))] = chance.randrange(256)
    path.write_bytes(content)
    target = path.with_name("out")
    try:
        with open_table(path) as opened:
            opened.rewrite(target, half)
    except ValueError as error:
        n_refused += 1
    target.unlink(missing_ok=True)
print(n_refused)
"""


def test_damage_does_not_end_the_process(tmp_path):
    """Not this one at least: pyarrow ends those that ask in the wrong order."""
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"i": ["x", "y"], "a": [0.5, 0.5], "b": [0.5, 0.5]}), path)
    command = [sys.executable, "-W", "ignore", "-c", DAMAGES, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


def test_empty_files_and_empty_groups(tmp_path):
    path = tmp_path / "p.parquet"
    rows = pa.table({"i": ["x"], "a": [1.0], "b": [0.5]})
    pq.write_table(rows.slice(0, 0), path)
    with open_table(path) as opened:
        opened.rewrite(tmp_path / "empty", HALF)
    assert pq.read_table(tmp_path / "empty").num_rows == 0
    with pq.ParquetWriter(path, rows.schema, compression="zstd") as writer:
        writer.write_table(rows.slice(0, 0))
        writer.write_table(rows)
    with open_table(path) as opened:
        opened.rewrite(tmp_path / "out", HALF)
    assert pq.read_table(tmp_path / "out")["a"].to_pylist() == [0.5]
    assert pq.ParquetFile(tmp_path / "out").metadata.row_group(0).column(1).compression == "ZSTD"


def test_two_columns_of_one_name(tmp_path):
    table = pa.table([["x"], [1.0], [2.0]], names=["i", "a", "a"])
    pq.write_table(table, tmp_path / "p.parquet")
    with open_table(tmp_path / "p.parquet") as opened:
        (chunk,) = opened.chunks([1])
        with pytest.raises(ValueError, match="several columns are called 'a'"):
            chunk.numbers([1])


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("dircal.cli.tables.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'dircal\[parquet\]'"):
        open_table(tmp_path / "p.parquet")
