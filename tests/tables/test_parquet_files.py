"""Parquet files: what is written, and every damage with the name of its file."""

import decimal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dircal import TemperatureScaling, scan
from dircal.tables import TableLimits

A, B = [0.75, 0.5, 1.0], [0.25, 0.5, 0.0]


@pytest.fixture(scope="module")
def fitted():
    """A map of the columns a and b."""
    return TemperatureScaling().fit([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]], ["a", "b", "b"])


@pytest.fixture
def table():
    return pa.table(
        {
            "id": ["x", None, "z"],
            "a": pa.array(A),
            "b": pa.array(np.array(B, np.float16)),
            "tags": [[1], [], [2, 3]],
            "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
        }
    ).replace_schema_metadata({"mine": "kept"})


def test_other_columns_are_unchanged(tmp_path, table, fitted):
    pq.write_table(table, tmp_path / "p.parquet", compression={"id": "GZIP", "a": "ZSTD"})
    assert fitted.predict_proba(scan(tmp_path / "p.parquet")).write(tmp_path / "out") == 3
    found = pq.read_table(tmp_path / "out")
    assert found.column_names == table.column_names
    for name in ("id", "tags", "kind"):
        assert found[name].equals(table[name])
    expected = fitted.predict_proba(np.transpose([A, B]))
    np.testing.assert_array_equal(np.transpose([found["a"], found["b"]]), expected)
    assert found.schema.field("b").type == pa.float64()
    assert found.schema.metadata[b"mine"] == b"kept"
    parts = pq.ParquetFile(tmp_path / "out").metadata.row_group(0)
    assert parts.column(0).compression == "GZIP"
    assert parts.column(1).compression == "ZSTD"


def test_added_columns_keep_the_scores(tmp_path, table, fitted):
    pq.write_table(table, tmp_path / "p.parquet")
    calibrated = fitted.predict_proba(scan(tmp_path / "p.parquet"))
    calibrated.write(tmp_path / "out", prefix="new_")
    found = pq.read_table(tmp_path / "out")
    assert found.column_names == [*table.column_names, "new_a", "new_b"]
    assert found["a"].equals(table["a"])
    expected = fitted.predict_proba(np.transpose([A, B]))
    np.testing.assert_array_equal(np.transpose([found["new_a"], found["new_b"]]), expected)


def test_a_map_is_not_applied_twice(tmp_path, table, fitted):
    pq.write_table(table, tmp_path / "p.parquet")
    fitted.predict_proba(scan(tmp_path / "p.parquet")).write(tmp_path / "o.parquet", mark="this")
    again = fitted.predict_proba(scan(tmp_path / "o.parquet"))
    with pytest.raises(ValueError, match="is calibrated by this map already"):
        again.write(tmp_path / "twice.parquet", mark="this")
    assert again.write(tmp_path / "twice.parquet", mark="another") == 3


def test_single_precision_stays_single(tmp_path, fitted):
    single = pa.float32()
    table = pa.table({"i": [1], "a": pa.array([0.5], single), "b": pa.array([0.5], single)})
    pq.write_table(table, tmp_path / "p.parquet")
    fitted.predict_proba(scan(tmp_path / "p.parquet")).write(tmp_path / "out")
    assert pq.read_table(tmp_path / "out").schema.equals(table.schema)


def test_row_groups_are_filled(tmp_path, fitted):
    half = np.full(2000, 0.5)
    table = pa.table({"i": np.arange(2000), "a": half, "b": half})
    pq.write_table(table, tmp_path / "p.parquet")
    limits = TableLimits(block_cells=3 * 256, group_rows=600)
    scores = replace(scan(tmp_path / "p.parquet"), limits=limits)
    fitted.predict_proba(scores).write(tmp_path / "out")
    found = pq.ParquetFile(tmp_path / "out")
    assert found.metadata.num_row_groups == 3
    assert found.read()["i"].equals(table["i"])


def test_decimals_are_numbers(tmp_path):
    table = pa.table(
        {
            "y": ["a", "b", "a"],
            "a": pa.array(map(decimal.Decimal, ["0.75", "0.25", "0.25"]), pa.decimal128(5, 3)),
            "b": pa.array(map(decimal.Decimal, ["0.25", "0.75", "0.75"]), pa.decimal128(5, 3)),
        }
    )
    pq.write_table(table, tmp_path / "p.parquet")
    fitted = TemperatureScaling().fit(scan(tmp_path / "p.parquet", label="y"))
    fitted.predict_proba(scan(tmp_path / "p.parquet")).write(tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").schema.field("a").type == pa.float64()


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize(
    ("column", "kind", "values", "message"),
    [
        ("a", None, ["x", "0.5"], "p.parquet'?` must hold numbers; got .*'x'"),
        ("a", pa.float64(), [None, 0.5], "row 0 of '.*p.parquet', column 'a' is nan"),
        ("a", None, [[1], [2]], "p.parquet'?` must hold numbers"),
        ("y", None, [[1], [2]], "`y` must be one label for each row"),
        ("y", None, [{"k": 1}, {"k": 2}], "`y` holds labels of the type dict, which have no order"),
        ("y", None, [None, "a"], "row 0 of '.*p.parquet', column 'y' is empty"),
        ("y", None, ["a", "x" * 20_000], "row 1 of '.*', column 'y' contains a label of 20,000 ch"),
    ],
    ids=["text", "gap", "list", "label list", "label struct", "label gap", "long label"],
)
def test_values_that_are_neither_numbers_nor_labels(
    tmp_path, in_parts, small, column, kind, values, message
):
    columns = {"y": ["a", "b"], "a": [0.5, 0.5], "b": [0.5, 0.5]}
    table = pa.table(columns | {column: pa.array(values, kind)})
    path = tmp_path / "p.parquet"
    pq.write_table(table, path)
    describe = scan if small else in_parts
    with pytest.raises(ValueError, match=message):
        TemperatureScaling().fit(describe(path, label="y", scores=["a", "b"], classes=["a", "b"]))


@given(cut=st.integers(0, 900), content=st.binary(max_size=50))
def test_damaged_files_are_refused(tmp_path_factory, fitted, cut, content):
    folder = tmp_path_factory.mktemp("parquet")
    path = folder / "p.parquet"
    pq.write_table(pa.table({"i": [1, 2], "a": [0.5, 0.5], "b": [0.5, 0.5]}), path)
    path.write_bytes(path.read_bytes()[:cut] + content + path.read_bytes()[cut + len(content) :])
    try:
        fitted.predict_proba(scan(path)).write(folder / "out")
    except (ValueError, OSError) as error:
        assert repr(str(path)) in str(error)  # noqa: PT017 - what is not damaged enough passes


DAMAGES = """
import random, sys
from dataclasses import replace
from pathlib import Path
from dircal import TemperatureScaling, scan
from dircal.tables import TableLimits

path, chance, n_refused = Path(sys.argv[1]), random.Random(20), 0
proba = [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]
fitted = TemperatureScaling().fit(proba, ["a", "b", "b"])
whole = path.read_bytes()
foot = len(whole) - int.from_bytes(whole[-8:-4], "little") - 8
for i in range(500):
    content = bytearray(whole)
    # The description of a file stands at its end.
    for _ in range(chance.choice([1, 1, 2])):
        content[chance.randrange(foot, len(whole))] = chance.randrange(256)
    path.write_bytes(content)
    target = path.with_name("out")
    try:
        table = scan(path, label="i")
        TemperatureScaling().fit(replace(table, limits=TableLimits(memory_bytes=0)))
        fitted.predict_proba(table).write(target)
    except ValueError as error:
        n_refused += 1
    target.unlink(missing_ok=True)
print(n_refused)
"""


def test_damage_does_not_end_the_process(tmp_path):
    """Not this one at least: pyarrow ends those that ask in the wrong order."""
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"i": ["a", "b"], "a": [0.5, 0.5], "b": [0.5, 0.5]}), path)
    command = [sys.executable, "-W", "ignore", "-c", DAMAGES, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


def test_empty_files_and_empty_groups(tmp_path, fitted, in_parts):
    path = tmp_path / "p.parquet"
    rows = pa.table({"i": ["a", "b", "a"], "a": [1.0, 0.25, 0.25], "b": [0.0, 0.75, 0.75]})
    pq.write_table(rows.slice(0, 0), path)
    assert fitted.predict_proba(scan(path)).write(tmp_path / "empty") == 0
    assert pq.read_table(tmp_path / "empty").num_rows == 0
    for describe in (scan, in_parts):
        with pytest.raises(
            ValueError, match=r"p.parquet' has no rows. Pass predictions with their"
        ):
            TemperatureScaling().fit(describe(path, label="i"))
    with pq.ParquetWriter(path, rows.schema, compression="zstd") as writer:
        writer.write_table(rows.slice(0, 0))
        writer.write_table(rows)
        writer.write_table(rows.slice(0, 0))
    assert fitted.predict_proba(scan(path)).write(tmp_path / "out") == 3
    assert pq.read_table(tmp_path / "out")["a"][0].as_py() == 1.0
    assert pq.ParquetFile(tmp_path / "out").metadata.row_group(0).column(1).compression == "ZSTD"
    one, other = (TemperatureScaling().fit(use(path, label="i")) for use in (scan, in_parts))
    assert one.temperature_ == pytest.approx(other.temperature_, rel=1e-10)


def test_two_columns_of_one_name(tmp_path, fitted):
    table = pa.table([["x"], [0.5], [0.5]], names=["i", "a", "a"])
    path = tmp_path / "p.parquet"
    pq.write_table(table, path)
    with pytest.raises(ValueError, match="2 columns called 'a'"):
        scan(path, label="i", scores=["a", "i"])
    with pytest.raises(ValueError, match="columns that the map reads"):
        fitted.predict_proba(scan(path)).write(tmp_path / "out")


def test_without_pyarrow_it_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr("dircal.tables._text.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'dircal\[cli\]'"):
        scan(tmp_path / "p.parquet")
