import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dircal.cli.tables import Change, open_table
from dircal.cli.tables._blocks import BlockReader

TEXTS = ["a", "é😀", "", '"x,y"', '"say ""so"""', '"two\nlines"', '"two\r\nlines"', '""']
ODD_TEXTS = ['5" pipe', '"a"b', '"', "\r", "\x00", " ", '"a" ', 'a"']
NUMBERS = ["0.5", "1", "0", "1e-5", ".5", "2.", "+0.25", "0.1000000000000000055511151231257827"]
ODD_NUMBERS = ["", " 0.5", '"0.5"', "nan", "inf", "1e999", "1_0", "nan(1)", "+-1", "0,5", "x", "٣"]
ENDS = ["\n", "\r\n"]
ODD_ENDS = ["\r", "\n\n", "\r\n\r\n", "", ",\n", "\n\n\n\n\n"]


def mostly(usual, odd):
    return st.one_of(*[st.sampled_from(usual)] * 20, st.sampled_from(odd))


ROWS = st.tuples(
    mostly(TEXTS, ODD_TEXTS),
    mostly(NUMBERS, ODD_NUMBERS),
    mostly(TEXTS, ODD_TEXTS),
    mostly(NUMBERS, ODD_NUMBERS),
    mostly(ENDS, ODD_ENDS),
).map(lambda row: ",".join(row[:-1]) + row[-1])


def make_small(patch):
    """Chunks of three rows, and pyarrow for files of any size."""
    patch.setattr("dircal.cli.tables._text.as_many_rows", lambda n: 3)
    patch.setattr("dircal.cli.tables._text._WORTH_PYARROW", 0)
    patch.setattr("dircal.cli.tables._blocks._FIRST_BYTES", 8)
    return patch


@pytest.fixture
def small(monkeypatch):
    return make_small(monkeypatch)


def written(content, folder, columns=(3, 1), names=None, asks=False, **dialect):
    """What `rewrite` writes and where it looks for rows, or what it says."""
    path, target = folder / "p.csv", folder / "out.csv"
    path.write_bytes(content)
    target.unlink(missing_ok=True)
    places = []

    def transform(chunk, numbers):
        if not (np.abs(numbers) <= 3).all():
            row = int(np.flatnonzero(~(np.abs(numbers) <= 3).all(axis=1))[0])
            raise ValueError(f"{chunk.place(row)} is large")
        asked = (chunk.place(0), chunk.numbers(columns).tolist()) if asks else ()
        places.append((chunk.first, chunk.n_rows, *asked))
        return numbers / 3

    try:
        with open_table(path, **dialect) as table:
            table.rewrite(target, Change(list(columns), names, transform, lambda n: None))
    except ValueError as error:
        return str(error)
    return target.read_bytes(), places


def both(content, folder, small, **options):
    """What is written with pyarrow, which must be what is written without."""
    found = written(content, folder, **options)
    with small.context() as without:
        without.setattr("dircal.cli.tables._text.find_spec", lambda name: None)
        assert found == written(content, folder, **options)
    return found


@given(st.lists(ROWS, max_size=14), st.sampled_from([None, ["c", "d"]]), st.booleans())
@example(["a,1,b,0.5\n"] * 3 + ["\n\n"] + ["a,1,b,0.5\n"] * 3, None, False)
@example(["a,1,b,0.5\n"] * 3 + ['"a,1,b,0.5'], None, False)
@example(["a,1,b,0.5\n"] * 4 + ["a,1,b,0.5"], ["c", "d"], True)
@example(["a,1,b,0.5\n"] * 4 + ["a,9,b,0.5\n"], None, False)
@example(['"\n\n",1,b,0.5\n'] * 4 + ["a,9,b,0.5\n"], None, False)
@example(['5" pipe,1,"b",0.5\n', 'x",1,b,1\n'], None, False)
@example(['a"b,1,c"d,1\n'] * 2, None, False)
@example(["a,1,b\r,1\n"], None, False)
@example(["a\r,1,b,1\n"], None, False)
@example(["a,nan(1),b,1\n"], None, False)
@example(["a,9,b,1\n", '"a'], None, False)
def test_both_readers_write_and_say_the_same(tmp_path_factory, rows, names, asks):
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        content = ("t,p,u,q\n" + "".join(rows)).encode()
        both(content, tmp_path_factory.mktemp("blocks"), patch, names=names, asks=asks)


@given(rows=st.lists(mostly(["1\n", "0.5\r\n"], ["\n", "\r\n", "\r", '"1"\n', "x\n", "1"])))
def test_one_column(tmp_path_factory, rows):
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        content = ("p\n" + "".join(rows)).encode()
        both(content, tmp_path_factory.mktemp("blocks"), patch, columns=[0])


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("names", "row"),
    [(None, '"é, ""2""",{0},x,{1}'), (["c", "d"], '"é, ""2""",0.75,x,1.5,{1},{0}')],
)
def test_known_bytes(tmp_path, small, mark, end, names, row):
    old = '"é, ""2""",0.75,x,1.5'.encode()
    found, places = both(
        mark + end.join([b"t,p,u,q"] + [old] * 7), tmp_path, small, names=names, asks=True
    )
    new = row.format(0.25, 0.5).encode()
    head = b"t,p,u,q" if names is None else b"t,p,u,q,c,d"
    assert found == mark + end.join([head] + [new] * 7)
    assert [place[:3] for place in places] == [(0, 3, "line 2"), (3, 3, "line 5"), (6, 1, "line 8")]


@pytest.mark.parametrize(
    ("dialect", "encoding", "row"),
    [
        ({"decimal": ","}, "utf-8", 'a;"0,5";é;1,5'),
        ({"encoding": "latin-1"}, "latin-1", "a,0.5,é,1.5"),
        ({"encoding": "utf-16"}, "utf-16", "a,0.5,é,1.5"),
        ({"encoding": "UTF8"}, "utf-8", "a,0.5,é,1.5"),
        ({"delimiter": "|"}, "utf-8", "a|0.5|é,|1.5"),
        ({"delimiter": "§"}, "utf-8", "a§0.5§é,§1.5"),
    ],
)
def test_dialects(tmp_path, small, dialect, encoding, row):
    delimiter = row[1]
    content = "\n".join([delimiter.join("tpuq"), *[row] * 5]).encode(encoding)
    found, _ = both(content, tmp_path, small, **dialect)
    assert len(found.decode(encoding).splitlines()) == 6


def test_bytes_that_are_not_utf8(tmp_path, small):
    content = b"t,p,u,q\n" + b"a,1,b,0.5\n" * 4000 + b"\xff,1,b,0.5\n"
    assert "is not text in UTF-8 (byte 0xff)" in both(content, tmp_path, small)


def test_large_blocks_are_left_to_the_other_reader(tmp_path, small):
    small.setattr("dircal.cli.tables._text._CHUNK_CHARACTERS", 64)
    content = b"t,p,u,q\n" + b"a,1,b,0.5\n" * 4 + b"x" * 70 + b",1,b,0.5\n" + b"a,1,b,1\n" * 9
    _, places = both(content, tmp_path, small)
    assert [n for _, n, *_ in places] == [3, 2, 3, 3, 3]


def test_rows_plain_in_form_are_not_read_as_text(tmp_path, small):
    rows = '"é ""1"", 2",0.5,b,1\n' * 1000
    path = tmp_path / "p.csv"
    path.write_text("t,p,u,q\n" + rows)
    with open_table(path) as table:
        # At the end one look tells that nothing is left.
        looked = []
        small.setattr(table, "_chunk_at", looked.append)
        told = []
        change = Change([1], None, lambda chunk, numbers: numbers, told.append)
        table.rewrite(tmp_path / "out.csv", change)
    assert [place.row for place in looked] == [1000]
    assert sum(told) == len(rows.encode())
    assert (tmp_path / "out.csv").read_text() == path.read_text()


def test_memory_does_not_grow_with_the_file(tmp_path):
    peaks = []
    for n_rows in (100_000, 400_000):
        path = tmp_path / f"{n_rows}.csv"
        path.write_text("p,q,r,s,t,u,v,w\n" + "0.5,0.25,a,b,c,d,e,f\n" * n_rows)
        with open_table(path) as table:
            change = Change([0, 1], None, lambda chunk, numbers: numbers / 3, lambda n: None)
            tracemalloc.start()
            table.rewrite(tmp_path / f"{n_rows}.out", change)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.parametrize("content", [b"", b"a,1\nb", b'a,"1\n', b"a,1\n\n", b'a"b,1\n'])
def test_no_block(content):
    reader = BlockReader(io.BytesIO(content), ",", n_columns=2, n_rows=5, most_bytes=100)
    assert reader.block_at(0) is None


@pytest.mark.parametrize("content", [b"1\n\n2\n", b"\n1\n", b"\r\n1\r\n"])
def test_no_block_with_empty_lines(content):
    reader = BlockReader(io.BytesIO(content), ",", n_columns=1, n_rows=5, most_bytes=100)
    assert reader.block_at(0) is None
