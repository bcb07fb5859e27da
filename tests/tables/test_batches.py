"""Parquet files, folders and patterns."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dircal import VectorScaling, scan
from dircal.tables import TableLimits
from dircal.tables._batches import FrameBatch

NAMES = ["ant", "bee", "cat", "dog"]


@pytest.fixture(scope="module")
def folder(frame, cut, tmp_path_factory):
    path = tmp_path_factory.mktemp("lake")
    (path / "later").mkdir()
    for i, part in enumerate(cut(frame, 4)):
        where = path / "later" if i > 1 else path
        part.to_parquet(where / f"part-{i}.parquet", index=False, row_group_size=2000)
    return path


def test_files_folders_patterns_and_datasets(folder, frame, in_parts):
    whole = VectorScaling().fit(frame[NAMES], frame["y"], frame["w"])
    given = [
        folder,
        str(folder / "**" / "*.parquet"),
        [folder / "part-0.parquet", folder / "part-1.parquet", folder / "later"],
        ds.dataset(folder),
    ]
    for describe in (scan, in_parts):
        for one in given:
            fitted = VectorScaling().fit(describe(one, label="y", weight="w"))
            # Files may come in another order, where the subsample to start from is another.
            assert_allclose(fitted.coef_, whole.coef_, rtol=0, atol=1e-6)


def test_any_number_of_threads_gives_the_same_digits(folder, monkeypatch, in_parts):
    from dircal.tables import _local_parts

    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr(_local_parts.os, "cpu_count", lambda: 8)
        limits = TableLimits(memory_bytes=0, threads=n_threads, min_bundle_bytes=2**14)
        table = replace(in_parts(folder, weight="w"), limits=limits)
        found.append(VectorScaling().fit(table).coef_)
    assert_array_equal(*found)


def test_a_bad_row_is_named_with_its_file(frame, tmp_path, in_parts):
    table = frame.drop(columns="w").copy()
    table.loc[4321, "cat"] = -1.0
    table.to_parquet(tmp_path / "scores.parquet", row_group_size=1000)
    with pytest.raises(ValueError, match=r"row 4321 of '.*scores.parquet', column 'cat' is -1"):
        VectorScaling().fit(in_parts(tmp_path, scores=NAMES))


def test_files_that_are_none(folder, tmp_path, in_parts):
    with pytest.raises(FileNotFoundError, match="contains no files of predictions"):
        VectorScaling().fit(in_parts(tmp_path / "*.parquet"))
    with pytest.raises(FileNotFoundError):
        VectorScaling().fit(in_parts(tmp_path / "absent.parquet"))
    (tmp_path / "text.parquet").write_text("no table")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        VectorScaling().fit(in_parts(tmp_path))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_with_other_columns(ending, frame, tmp_path, in_parts):
    for name, part in (("a", frame), ("b", frame.drop(columns="dog")), ("c", frame.assign(more=1))):
        if ending == "csv":
            part[:100].to_csv(tmp_path / f"{name}.csv", index=False)
        else:
            part.to_parquet(tmp_path / f"{name}.parquet")
    for describe in (scan, in_parts):
        for scores in (None, NAMES):
            table = describe(tmp_path, label="y", weight="w", scores=scores)
            with pytest.raises(ValueError, match=rf"b.{ending}' has no column called 'dog'. Its c"):
                VectorScaling().fit(table)
    (tmp_path / f"b.{ending}").unlink()
    VectorScaling().fit(scan(tmp_path, label="y", weight="w"))


def test_frames_with_other_columns(frame, in_parts):
    frames = [frame, frame.drop(columns="dog")]
    with pytest.raises(ValueError, match=r"^part 1 has no column called 'dog'. Its columns: 'ant'"):
        VectorScaling().fit(in_parts(frames, weight="w", scores=NAMES))


def test_a_file_that_is_damaged_inside_is_named(frame, tmp_path, in_parts):
    for name in "ab":
        frame.to_parquet(tmp_path / f"{name}.parquet")
    path = tmp_path / "b.parquet"
    bits = bytearray(path.read_bytes())
    # Where the pages are; what a file says of itself stands at its end.
    bits[4:2000] = b"\xff" * 1996
    path.write_bytes(bits)
    with pytest.raises(ValueError, match=r"b.parquet' cannot be read as Parquet \(.*and whole"):
        VectorScaling().fit(in_parts(tmp_path, weight="w", scores=NAMES))


def test_a_file_that_changes_between_passes_is_reported(frame, tmp_path, in_parts):
    path = tmp_path / "scores.parquet"
    frame.to_parquet(path)
    passes = []

    def shorten(n_rows):
        if not passes:
            frame[:50].to_parquet(path)
        passes.append(n_rows)

    table = replace(in_parts(path, weight="w", scores=NAMES), on_rows=shorten)
    with pytest.raises(ValueError, match="has changed since it was checked: it had 20,000 rows"):
        VectorScaling().fit(table)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["ant", "bee", "ant"]),
        pa.array(["ant", "bee", "ant"]).dictionary_encode(),
        pa.chunked_array([pa.array(["ant"]), pa.array(["bee", "ant"])]),
        pa.array(["ant", None, "ant"]),
        pa.array(["ant", None, "ant"]).dictionary_encode(),
        pa.array([3, 1, 3]),
        pa.array([3, 1, 3]).dictionary_encode(),
    ],
    ids=["text", "dictionary", "chunks", "missing", "missing in a dictionary", "number", "numbers"],
)
def test_columns_of_arrow_become_those_of_numpy(column):
    rows = FrameBatch(pa.table({"y": column})).read((), ("y",))
    assert rows.others["y"].tolist() == column.to_pylist()
