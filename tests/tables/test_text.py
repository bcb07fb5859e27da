import csv
import gzip
import io
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dircal.cli.tables import Change, open_table
from dircal.cli.tables._text_chunks import content

# Python's writer does not quote a lone carriage return, which ends a line.
CELLS = st.text(st.sampled_from('a,";\n é😀'), max_size=6)


def copied(path, tmp_path):
    """The file as `rewrite` writes it where nothing is changed."""
    target = tmp_path / "copy"
    target.unlink(missing_ok=True)
    with open_table(path) as table:
        table.rewrite(target, Change([], None, lambda chunk, numbers: numbers, lambda n: None))
    return target.read_bytes()


def rows_of(path):
    """Names, and the rows as the cells say them."""
    with open_table(path) as table:
        records = [r for chunk in table.chunks([]) for r in chunk.records]
        return list(table.names), [[content(cell) for cell in r.cells] for r in records]


@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=8),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_python_writes_is_read_and_copied(tmp_path_factory, rows, quoting, end):
    folder = tmp_path_factory.mktemp("text")
    text = io.StringIO()
    writer = csv.writer(text, quoting=quoting, lineterminator=end)
    writer.writerows([("a", "b", "c"), *rows])
    path = folder / "p.csv"
    path.write_bytes(text.getvalue().encode())
    assert copied(path, folder) == path.read_bytes()
    assert rows_of(path) == (["a", "b", "c"], [list(row) for row in rows])


@given(content=st.binary(max_size=200))
@example(b"")
@example(b'a,b\n"1,2\n')
@example(b"a,b\n1\n")
@example(b"\xff\xfea\x00")
@example(b"\n\n")
@example(b"a\r\r\n1\r")
@example(b'"')
@example(b'a,"b"c,d\n1,"2"3,4\n')
def test_any_bytes_are_copied_or_refused(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("bytes")
    path = folder / "p.csv"
    path.write_bytes(content)
    try:
        found = copied(path, folder)
    except ValueError as error:
        assert repr(str(path)) in str(error)  # noqa: PT017 - many are fine
    else:
        assert found == content


@given(content=st.binary(max_size=100), cut=st.integers(0, 60))
def test_damaged_gzip_is_refused(tmp_path_factory, content, cut):
    folder = tmp_path_factory.mktemp("gzip")
    path = folder / "p.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n")[:cut] + content)
    try:
        copied(path, folder)
    except ValueError as error:
        assert repr(str(path)) in str(error)  # noqa: PT017 - what is not damaged enough passes


def test_numbers_and_where_they_are_not(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('a,b\n"0.5", 1e-3\n\n"x\ny",2\n')
    with open_table(path) as table:
        (chunk,) = table.chunks([0, 1])
        np.testing.assert_array_equal(chunk.numbers([1]), [[1e-3], [2.0]])
        with pytest.raises(ValueError, match=r"line 4, column 'a' holds 'x\\ny', which is no num"):
            chunk.numbers([0])


@pytest.mark.parametrize("cell", ["1_000", "0,5", "NA", "", "--1"])
def test_what_is_no_number(tmp_path, cell):
    path = tmp_path / "p.csv"
    path.write_text(f'a;b\n1;"{cell}"\n')
    with open_table(path, delimiter=";") as table:
        (chunk,) = table.chunks([1])
        with pytest.raises(ValueError, match="line 2, column 'b'"):
            chunk.numbers([1])


def test_labels_that_are_whole_numbers_are_integers(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("y,z,w\n10,007,1\n2,8,a\n10.0,9,b\n")
    with open_table(path) as table:
        (chunk,) = table.chunks([0, 1, 2])
        labels = [table.as_labels(chunk.values(i)) for i in range(3)]
    assert labels[0].tolist() == [10, 2, 10]
    assert labels[1].tolist() == ["007", "8", "9"]
    assert labels[2].tolist() == ["1", "a", "b"]


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("dircal.cli.tables._records.LONGEST_RECORD", 100)
    path = tmp_path / "p.csv"
    path.write_text("a,b\n" + "1" * 200 + "\n")
    with pytest.raises(ValueError, match="line 2 has more than 100 characters"):
        copied(path, tmp_path)
    path.write_text('a,b\n"' + "1\n" * 100 + '",2\n')
    with pytest.raises(ValueError, match="the quote that opens on line 2 is never closed"):
        copied(path, tmp_path)


def test_a_mark_before_a_quoted_name_is_no_part_of_it(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes('\ufeff"y, true","p"\n"a",1.0\n'.encode())
    assert rows_of(path) == (["y, true", "p"], [["a", "1.0"]])
    assert copied(path, tmp_path) == path.read_bytes()


def seconds_and_bytes(action):
    """Processor time that an action takes, and memory at its peak."""
    tracemalloc.start()
    start = time.process_time()
    action()
    found = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_empty_lines_take_linear_time(tmp_path, end):
    path = tmp_path / "p.csv.gz"
    content = f"a,b{end}1,2{end}" + end * 300_000 + f"3,4{end}"
    path.write_bytes(gzip.compress(content.encode()))
    assert path.stat().st_size < 3000
    start = time.process_time()
    assert rows_of(path)[1] == [["1", "2"], ["3", "4"]]
    # Every line took as long as all that were before it.
    assert time.process_time() - start < 2
    assert gzip.decompress(copied(path, tmp_path)) == content.encode()


def test_very_many_empty_lines_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("dircal.cli.tables._records._MOST_EMPTY", 100)
    path = tmp_path / "p.csv"
    for lines in ("\n" * 101, "\n" * 99):
        path.write_text("a,b\n1,2\n" + lines)
        if len(lines) < 100:
            assert copied(path, tmp_path) == path.read_bytes()
            continue
        with pytest.raises(ValueError, match="line 2 is followed by more than 100 characters of"):
            copied(path, tmp_path)


@pytest.mark.parametrize("inside", ["x", '""', "x\n", ","])
def test_a_long_quoted_cell_takes_linear_memory(tmp_path, inside):
    path = tmp_path / "p.csv"
    cell = inside * (100_000 // len(inside))
    path.write_text(f'a,b\n1,"{cell}"\n')
    seconds, peak = seconds_and_bytes(lambda: rows_of(path))
    assert seconds < 3
    assert peak < 5e6
    assert rows_of(path) == (["a", "b"], [["1", cell.replace('""', '"')]])


def test_long_rows_come_in_short_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("dircal.cli.tables._text._CHUNK_CHARACTERS", 100)
    path = tmp_path / "p.csv"
    path.write_text("a,b\n" + f"1,{'x' * 60}\n" * 5)
    with open_table(path) as table:
        assert [(chunk.first, len(chunk.records)) for chunk in table.chunks([0])] == [
            (0, 2),
            (2, 2),
            (4, 1),
        ]


def test_texts_that_are_too_long_for_labels_and_names(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(f"a,b\n1,2\n1,{'x' * 20_000}\n")
    with open_table(path) as table:
        (chunk,) = table.chunks([1])
        with pytest.raises(ValueError, match="line 3, column 'b' holds a label of 20,000 char"):
            chunk.values(1)
    path.write_text(f"a,{'x' * 20_000}\n1,2\n")
    with pytest.raises(ValueError, match="column 1 has a name of 20,000 characters"):
        open_table(path)
