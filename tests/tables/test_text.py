"""CSV and its relatives: any text that Python writes, and every damage named by its line."""

import csv
import gzip
import io
import time
import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dircal import IdentityCalibrator, TemperatureScaling, evaluate, scan
from dircal.tables import TextFile

# Python's writer does not quote a lone carriage return, which ends a line.
CELLS = st.text(st.sampled_from('a,";\n é😀'), max_size=6)
NAMES = ["p", "q"]


@pytest.fixture(scope="module")
def identity():
    """A map of the columns p and q that leaves probabilities unchanged."""
    scores = np.array([[0.25, 0.75], [0.5, 0.5]])
    return IdentityCalibrator(classes=NAMES).fit(scores, ["p", "q"])


def written(path, identity, **options):
    """Write the table with unchanged probabilities; return the bytes of the new file."""
    target = path.with_name(f"copy{path.suffix}")
    target.unlink(missing_ok=True)
    identity.predict_proba(scan(path, **options)).write(target)
    return target.read_bytes()


def texts_of(path, **options):
    """Return the cells of all columns by name."""
    rows = TextFile(path, **options).read()
    return {name: rows.texts(name).tolist() for name in rows.file.names}


def as_csv(rows, **options):
    text = io.StringIO()
    csv.writer(text, **options).writerows(rows)
    return text.getvalue().encode()


@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
)
def test_what_python_writes_is_read_and_written(
    tmp_path_factory, identity, rows, quoting, end, mark
):
    path = tmp_path_factory.mktemp("text") / "p.csv"
    rows = [[*row, "0.25", "0.75"] for row in rows]
    names = ["a", "b, c", 'd "e"', *NAMES]
    path.write_bytes(mark + as_csv([names, *rows], quoting=quoting, lineterminator=end))
    found = texts_of(path)
    assert [*found] == names
    assert [list(row) for row in zip(*found.values(), strict=True)] == rows
    content = written(path, identity)
    assert content.startswith(mark)
    text = content.removeprefix(mark).decode()
    assert list(csv.reader(io.StringIO(text, newline=""), strict=True)) == [names, *rows]


@given(content=st.binary(max_size=200))
@example(b"")
@example(b'a,b\n"1,2\n')
@example(b"a,b\n1\n")
@example(b"\xff\xfea\x00")
@example(b"\n\n")
@example(b"\n1\n")
@example(b"a\r\r\n1\r")
@example(b'"')
@example(b'a,"b"c,d\n1,"2"3,4\n')
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "p.csv"
    path.write_bytes(content)
    try:
        rows = TextFile(path).read()
        blocks = list(TextFile(path).batches())
    except ValueError as error:
        assert repr(str(path)) in str(error)  # noqa: PT017 - many are fine
    else:
        assert sum(map(len, blocks)) == len(rows)


@given(content=st.binary(max_size=100), cut=st.integers(0, 60))
def test_damaged_gzip_is_refused(tmp_path_factory, content, cut):
    path = tmp_path_factory.mktemp("gzip") / "p.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n")[:cut] + content)
    try:
        TextFile(path).read()
    except ValueError as error:
        assert repr(str(path)) in str(error)  # noqa: PT017 - what is not damaged enough passes


def test_gzip_that_is_cut_off_later(tmp_path):
    path = tmp_path / "p.csv.gz"
    rng = np.random.default_rng(0)
    lines = [f"{'ab'[int(p < 0.5)]},{p},{1 - p}" for p in rng.random(50_000)]
    whole = gzip.compress("\n".join(["y,a,b", *lines]).encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"p.csv.gz' is damaged or cut off"):
        TemperatureScaling().fit(scan(path, label="y"))
    path.write_bytes(zlib.compress(b"y,a,b\n"))
    with pytest.raises(ValueError, match=r"p.csv.gz' is damaged or cut off"):
        scan(path, label="y")


def test_numbers_and_where_they_are_not(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('a,b\n"0.5", 1e-3\n\n"x\ny",2\n')
    rows = TextFile(path).read()
    np.testing.assert_array_equal(rows.numbers(["b"]), [[1e-3], [2.0]])
    with pytest.raises(ValueError, match=r"line 4, column 'a' holds 'x\\ny', which is not a num"):
        rows.numbers(["a"])


@pytest.mark.parametrize(
    ("cell", "number"),
    [("+0.25", 0.25), (" .5 ", 0.5), ("2.", 2.0), ("1e-5", 1e-5), ('" 0.5"', 0.5), ("1E3", 1000.0)],
)
def test_numbers_that_python_reads(tmp_path, cell, number):
    path = tmp_path / "p.csv"
    path.write_text(f"a,b\n1,{cell}\n")
    assert TextFile(path).read().numbers(["b"]) == [[number]]


@pytest.mark.parametrize("cell", ["1_000", "0,5", "NA", "", "--1", "+-1", "0x10", "1.000.5"])
def test_cells_that_are_not_numbers(tmp_path, cell):
    path = tmp_path / "p.csv"
    path.write_text(f'y;a;b\na;1;0\n\nb;1;"{cell}"\n')
    with pytest.raises(ValueError, match=r"line 4, column 'b' (is empty|holds '.*', which is not)"):
        TemperatureScaling().fit(scan(path, label="y", delimiter=";"))


def test_labels_that_are_whole_numbers_are_integers(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("y,z,w,p,q\n10,007,1,.5,.5\n2,8,a,.5,.5\n10.0,9,b,.5,.5\n")
    labels = [
        scan(path, label=name, scores=["p", "q", *more], classes=classes).loaded.labels.tolist()
        for name, more, classes in (
            ("y", [], [2, 10]),
            ("z", ["y"], ["007", "8", "9"]),
            ("w", ["y"], ["1", "a", "b"]),
        )
    ]
    assert labels == [[10, 2, 10], ["007", "8", "9"], ["1", "a", "b"]]


def test_a_mark_before_a_quoted_name_is_not_part_of_it(tmp_path, identity):
    path = tmp_path / "p.csv"
    path.write_bytes('\ufeff"y, true","p","q"\n"a",0.25,0.75\n'.encode())
    assert texts_of(path) == {"y, true": ["a"], "p": ["0.25"], "q": ["0.75"]}
    assert written(path, identity).decode() == '\ufeff"y, true",p,q\na,0.25,0.75\n'


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_empty_lines_take_linear_time(tmp_path, end, identity):
    path = tmp_path / "p.csv.gz"
    content = f"p,q{end}1,0{end}" + end * 300_000 + f"0.5,0.5{end}"
    path.write_bytes(gzip.compress(content.encode()))
    start = time.process_time()
    assert texts_of(path) == {"p": ["1", "0.5"], "q": ["0", "0.5"]}
    path.write_bytes(gzip.compress(content.replace("0.5,0.5", "x,0.5").encode()))
    with pytest.raises(ValueError, match="line 300003, column 'p' holds 'x'"):
        identity.predict_proba(scan(path)).write(tmp_path / "out.csv.gz")
    assert time.process_time() - start < 4


@pytest.mark.parametrize("inside", ["x", '""', "x\n", ","])
@pytest.mark.parametrize("length", [100_000, 3_000_000])
def test_a_long_quoted_cell_is_read(tmp_path, inside, length, identity):
    path = tmp_path / "p.csv"
    cell = inside * (length // len(inside))
    path.write_text(f'p,q,b\n1,0,"{cell}"\n')
    start = time.process_time()
    assert texts_of(path)["b"] == [cell.replace('""', '"')]
    assert len(written(path, identity)) > length // 2
    assert time.process_time() - start < 6


def test_a_line_that_never_ends_is_refused(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("a,b\n" + "1" * 40_000_000 + "\n")
    with pytest.raises(ValueError, match=r"p.csv': line 2 has 1 cells, but the first line names 2"):
        TextFile(path).read()
    path.write_text("a,b\n" + "1" * 40_000_000 + ",2\n")
    with pytest.raises(ValueError, match=r"p.csv'.*line 2 has more than 16,777,216 characters"):
        TextFile(path).read()


def test_a_quote_that_is_never_closed_is_named(tmp_path, identity):
    path = tmp_path / "p.csv"
    path.write_text('y,p,q\na,1,0\n"b\n' + "1,0,1\n" * 100_000)
    for use in (TextFile(path).read, lambda: written(path, identity)):
        with pytest.raises(ValueError, match=r"p.csv': the quote that opens on line 3 is never cl"):
            use()


@pytest.mark.parametrize("line", ["0.5", "1,0,0", "1,0,"])
def test_ragged_lines_are_named(tmp_path, line, identity):
    path = tmp_path / "p.csv"
    path.write_text(f"p,q\n1,0\n\n{line}\n")
    n_cells = line.count(",") + 1
    message = rf"line 4 has {n_cells} cells, but the first line names 2 columns. Repair the line"
    for use in (TextFile(path).read, lambda: written(path, identity)):
        with pytest.raises(ValueError, match=message):
            use()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "p.csv' is empty. Pass a file with a line of names"),
        (b"y,p\x00,q\n", "p.csv' is not a text file. Pass CSV in UTF-8"),
        (b"PAR1\x00\x00", "p.csv' is not a text file"),
        (b"y,p,q\n", "p.csv' has no rows. Pass predictions with their labels"),
        (b"y,p,q\n\n\n", "p.csv' has no rows. Pass predictions with their labels"),
        (b"y,p,q\na,\xff,1\n", r"p.csv' is not text in UTF-8 \(byte 0xff\). Save it as UTF-8, or"),
        (b"y,p,q\n" + b"a,1,0\n" * 300_000 + b"\xff,1,0\n", r"is not text in UTF-8 \(byte 0xff\)"),
    ],
    ids=["empty", "nul", "parquet", "header", "empty lines", "bytes", "bytes far below"],
)
def test_files_that_are_not_tables(tmp_path, content, message):
    path = tmp_path / "p.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        TemperatureScaling().fit(scan(path, label="y", scores=["p", "q"]))


def test_texts_that_are_too_long_for_labels_and_names(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(f"y,p,q\na,1,0\n{'x' * 20_000},1,0\n")
    with pytest.raises(ValueError, match="line 3, column 'y' contains a label of 20,000 char"):
        TemperatureScaling().fit(scan(path, label="y", scores=["p", "q"]))
    path.write_text(f"a,{'x' * 20_000}\n1,2\n")
    with pytest.raises(ValueError, match="column 1 has a name of 20,000 characters"):
        scan(path, label="a")


def test_a_missing_label_is_named_or_left_out(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("y,a,b\na,1,0\n\n ,0,1\nb,.5,.5\n")
    with pytest.raises(ValueError, match=r"line 4, column 'y' is empty. .* `skip_unlabelled=True`"):
        assert scan(path, label="y").loaded
    table = scan(path, label="y", skip_unlabelled=True)
    with pytest.warns(UserWarning, match="1 of 3 rows have no label and are left out"):
        evaluate(table)
    rows = table.loaded
    assert rows.labels.tolist() == ["a", "b"]
    assert rows.place(1) == "line 5"


def test_memory_does_not_grow_with_the_file(tmp_path, identity):
    peaks = []
    for n_rows in (1_000_000, 4_000_000):
        path = tmp_path / f"{n_rows}.csv"
        path.write_text("p,q,r,s,t,u,v,w\n" + "0.5,0.5,a,b,c,d,e,f\n" * n_rows)
        held = []
        calibrated = identity.predict_proba(scan(path))
        noted = type(calibrated)(
            calibrated.table,
            identity,
            on_rows=lambda n, h=held: h.append(pa.total_allocated_bytes()),
        )
        assert noted.write(tmp_path / f"{n_rows}.out.csv") == n_rows
        peaks.append(max(held))
    assert peaks[1] < 1.3 * peaks[0]


def test_files_change_while_they_are_read(tmp_path, identity):
    path = tmp_path / "p.csv"
    path.write_text("p,q\n" + "0.5,0.5\n" * 10)
    calibrated = identity.predict_proba(scan(path))
    meddled = type(calibrated)(
        calibrated.table, identity, on_rows=lambda n: path.write_text("p,q\n0.5,0.5\n")
    )
    with pytest.raises(ValueError, match=r"p.csv'.* changed"):
        meddled.write(tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
