"""NPY and NPZ: arrays that are mapped or read whole, and every damage with the name of its file."""

import io
import os
import pickle
import random
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dircal import TemperatureScaling, scan
from dircal.tables import TableLimits


@pytest.fixture(scope="module")
def halving():
    """A fitted map of three columns."""
    rng = np.random.default_rng(0)
    return TemperatureScaling().fit(rng.dirichlet(np.ones(3), 100), rng.integers(0, 3, 100))


def some_proba(n):
    return np.random.default_rng(n).dirichlet(np.ones(3), n)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_arrays_are_written_in_slices(tmp_path, halving, order, dtype):
    array = some_proba(7) if dtype.startswith("float") else np.eye(3)[[0, 1, 2, 0, 1, 2, 0]]
    array = np.asarray(array, dtype=dtype, order=order)
    np.save(tmp_path / "p.npy", array)
    np.savez_compressed(tmp_path / "p.npz", probs=array, y=np.arange(7), other=np.eye(1)[0])
    for name in ("p.npy", "p.npz"):
        table = replace(scan(tmp_path / name), limits=TableLimits(block_cells=9))
        assert halving.predict_proba(table).write(tmp_path / f"out{name}") == 7
    whole = np.load(tmp_path / "outp.npy")
    expected = halving.predict_proba(array)
    assert whole.dtype == (np.float32 if dtype == "float32" else np.float64)
    np.testing.assert_allclose(whole, expected, rtol=1e-6 if dtype == "float32" else 1e-14)
    with np.load(tmp_path / "outp.npz") as found:
        assert list(found) == ["probs", "y", "other"]
        np.testing.assert_array_equal(found["probs"], whole)
        np.testing.assert_array_equal(found["y"], np.arange(7))


def test_arrays_are_mapped_and_never_copied(tmp_path):
    np.save(tmp_path / "p.npy", some_proba(10))
    np.save(tmp_path / "y.npy", np.arange(10) % 3)
    rows = scan(tmp_path / "p.npy", label=str(tmp_path / "y.npy")).loaded
    assert isinstance(rows.scores, np.memmap)
    assert rows.labels.tolist() == (np.arange(10) % 3).tolist()


@given(content=st.binary(max_size=200), cut=st.integers(0, 300), ending=st.sampled_from("yz"))
def test_damaged_arrays_are_refused(tmp_path_factory, content, cut, ending):
    path = tmp_path_factory.mktemp("arrays") / f"p.np{ending}"
    whole = npy(np.eye(3))
    if ending == "z":
        file = io.BytesIO()
        np.savez(file, a=np.eye(3))
        whole = file.getvalue()
    path.write_bytes(whole[:cut] + content)
    try:
        table = scan(path)
        table.batches[0].read(table.columns.names[:1], ())
    except ValueError as error:
        assert repr(str(path)) in str(error)  # noqa: PT017 - what is not damaged enough passes


def header(shape, descr="<f8"):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header((10**10, 10)), "does not fit its"),
        (header((-1, 10)), "declares the shape"),
        (npy(np.array([[None]], dtype=object)), "contains Python objects"),
        (pickle.dumps([1]), "is not a NumPy array"),
        (b"", "is not a NumPy array"),
        (b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535, "is not a NumPy array"),
        (npy(np.zeros((0, 3))), "must be numbers with a row for each"),
        (npy(np.array([["a", "b"]])), "must be numbers with a row for each"),
        (npy(np.zeros(3)), "0 arrays with rows and columns"),
    ],
)
def test_what_is_no_array_of_scores(tmp_path, content, message):
    (tmp_path / "p.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "p.npz", "w") as archive:
        archive.writestr("probs.npy", content)
    for name in ("p.npy", "p.npz"):
        with pytest.raises(ValueError, match=message):
            scan(tmp_path / name)


def test_several_arrays_need_a_name(tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, probs=np.eye(3), logits=np.ones((3, 3)), y=np.arange(3))
    with pytest.raises(
        ValueError, match=r"2 arrays with rows and columns; it has 'probs' \(3, 3\)"
    ):
        scan(path)
    with pytest.raises(ValueError, match="has no array 'scores'"):
        scan(path, scores="scores")
    assert scan(path, scores="logits").columns.names == ("0", "1", "2", "y")


def archive(**members):
    """An NPZ file of arrays, or of bytes that are none."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, one in members.items():
            out.writestr(f"{name}.npy", one if isinstance(one, bytes) else npy(one))
    return file.getvalue()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_a_file_that_changes_while_it_is_written(tmp_path, halving, order, ending):
    path = tmp_path / f"p.{ending}"
    scores = np.asarray(some_proba(6_000), order=order)
    if ending == "npy":
        np.save(path, scores)
    else:
        np.savez(path, scores=scores)
    table = replace(scan(path), limits=TableLimits(block_cells=3000))
    calibrated = halving.predict_proba(table)
    meddled = type(calibrated)(table, halving, on_rows=lambda n: os.utime(path, (1, 1)))
    with pytest.raises(ValueError, match=r"p.np[yz]'.* changed"):
        meddled.write(tmp_path / f"out.{ending}")
    assert not (tmp_path / f"out.{ending}").exists()


def test_labels_that_are_cut_off(tmp_path):
    np.save(tmp_path / "p.npy", some_proba(1000))
    np.save(tmp_path / "y.npy", np.arange(1000))
    os.truncate(tmp_path / "y.npy", 5000)
    with pytest.raises(ValueError, match=r"y.npy' declares int64 of shape"):
        assert scan(tmp_path / "p.npy", label=str(tmp_path / "y.npy")).loaded


def test_labels_of_another_number_of_rows_and_of_two_columns(tmp_path):
    np.save(tmp_path / "p.npy", np.eye(3))
    np.save(tmp_path / "y.npy", np.arange(4))
    with pytest.raises(ValueError, match=r"y.npy' has 4 labels, but .*p.npy' has 3 rows"):
        assert scan(tmp_path / "p.npy", label=str(tmp_path / "y.npy")).loaded
    np.save(tmp_path / "y.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"y.npy' must have one label for each row; got shape"):
        assert scan(tmp_path / "p.npy", label=str(tmp_path / "y.npy")).loaded


def test_what_is_not_needed_is_not_read(tmp_path, halving):
    """An array that is damaged and not needed does not stop a fit."""
    huge = np.random.default_rng(0).random(50_000)
    content = archive(probs=np.eye(3), y=np.arange(3), other=huge)
    middle = len(content) - 200_000
    path = tmp_path / "p.npz"
    path.write_bytes(content[:middle] + bytes(100) + content[middle + 100 :])
    assert scan(path, label="y").loaded.labels.tolist() == [0, 1, 2]
    # A file that is written is whole: what is copied is read.
    with pytest.raises(ValueError, match=r"p.npz' is damaged, cut off"):
        halving.predict_proba(scan(path)).write(tmp_path / "out.npz")
    assert not (tmp_path / "out.npz").exists()


@pytest.mark.parametrize("suffix", ["", "_new"])
def test_a_written_archive_is_whole(tmp_path, halving, suffix):
    path = tmp_path / "p.npz"
    scores = some_proba(3)
    np.savez_compressed(path, probs=scores, y=np.arange(3), long=np.arange(500_000))
    with zipfile.ZipFile(path, "a") as out:
        out.writestr("readme.txt", "about it")
        # Sizes behind the content, as a stream has them.
        with out.open("stream.npy", "w") as file:
            file.write(npy(np.ones(5)))
    halving.predict_proba(scan(path)).write(tmp_path / "out.npz", suffix=suffix)
    with np.load(tmp_path / "out.npz") as found:
        assert found.zip.testzip() is None
        assert found.zip.read("readme.txt") == b"about it"
        assert found.zip.getinfo("long.npy").compress_type == zipfile.ZIP_DEFLATED
        np.testing.assert_array_equal(found["long"], np.arange(500_000))
        np.testing.assert_array_equal(found["stream"], np.ones(5))
        np.testing.assert_allclose(found[f"probs{suffix}"], halving.predict_proba(scores))
        assert [*found][:4] == ["probs", "y", "long", "readme.txt"]
        if suffix:
            assert [*found][-1] == "probs_new"
            np.testing.assert_array_equal(found["probs"], scores)


def test_a_name_that_is_taken(tmp_path, halving):
    np.savez(tmp_path / "p.npz", probs=np.eye(3), probs_new=np.arange(3))
    with pytest.raises(ValueError, match="has an array called 'probs_new' already"):
        halving.predict_proba(scan(tmp_path / "p.npz")).write(tmp_path / "o.npz", suffix="_new")
    np.save(tmp_path / "p.npy", np.eye(3))
    with pytest.raises(ValueError, match="an NPY file has no names for them"):
        halving.predict_proba(scan(tmp_path / "p.npy")).write(tmp_path / "o.npy", suffix="_new")


def encrypted(content):
    """Mark the members as encrypted, in both places where an archive has this."""
    content = bytearray(content)
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.find(mark)
        while at >= 0:
            content[at + flags] |= 1
            at = content.find(mark, at + 1)
    return bytes(content)


PARTS = {"probs": np.full((3, 2), 0.5), "y": np.arange(3)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (encrypted(archive(**PARTS)), "array 'probs' in .* is encrypted"),
        (archive(**PARTS)[:-5], "is damaged, cut off, or not an archive"),
        (b"", "is damaged, cut off, or not an archive"),
        (archive(probs=npy(np.eye(3))[:150]), "does not fit its"),
        (archive(probs=b"\x93NUMPY\x09\x09"), "version 9.9 of the format is not known"),
        (archive(probs=header((2, 2), [("a", "<f8")])), "contains .*neither numbers nor text"),
        (archive(probs=header((2, 2), "<U0")), "neither numbers nor text"),
        (archive(probs=header((2, 2), "|V8")), "neither numbers nor text"),
        (archive(probs=header((2**70, 0))), "declares the shape"),
        (archive(probs=np.zeros((3, 2), "M8[s]")), r"must be numbers .* got datetime64\[s\]"),
        (archive(probs=b"\x93NUMPY\x01\x00\x10\x00{'descr': \"<f8\n  "), "is not a NumPy array"),
    ],
    # An archive holds the time when it was made, and names of tests must not.
    ids=lambda value: "archive" if isinstance(value, bytes) else None,
)
def test_odd_archives_say_what_is_wrong(tmp_path, content, message):
    (tmp_path / "p.npz").write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        scan(tmp_path / "p.npz")
    assert "p.npz" in str(error.value)


def test_members_that_share_their_bytes(tmp_path):
    content = archive(probs=np.eye(3), other=np.zeros(100_000))
    at = content.rindex(b"PK\x01\x02")
    entries, end = content[at : content.rindex(b"PK\x05\x06")], content.rindex(b"PK\x05\x06")
    copies = [entries.replace(b"other", b"oth%02d" % i) for i in range(40)]
    tail = bytearray(content[end:])
    tail[8:10] = tail[10:12] = (42).to_bytes(2, "little")
    size = int.from_bytes(tail[12:16], "little") + sum(map(len, copies))
    tail[12:16] = size.to_bytes(4, "little")
    (tmp_path / "p.npz").write_bytes(content[:end] + b"".join(copies) + bytes(tail))
    with pytest.raises(ValueError, match="its members are larger than the file"):
        scan(tmp_path / "p.npz")


def test_two_members_of_one_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "p.npz", "w") as out:
        out.writestr("probs.npy", npy(np.eye(3)))
        with pytest.warns(UserWarning, match="Duplicate name"):
            out.writestr("probs.npy", npy(np.ones((3, 3))))
    with pytest.raises(ValueError, match=r"contains 'probs.npy' twice"):
        scan(tmp_path / "p.npz")


def test_arrays_that_cannot_be_read_matter_to_those_who_need_them(tmp_path):
    path = tmp_path / "p.npz"
    texts = np.array(["a", "x" * 20_000])
    objects, dates = np.array([None, 1], dtype=object), np.array(["2020", "2021"], "M8[D]")
    np.savez(path, probs=np.eye(2), objects=objects, dates=dates, texts=texts, y=np.arange(2))
    assert scan(path).columns.names == ("0", "1", "objects", "dates", "texts", "y")
    assert scan(path, classes=["a", "b"]).loaded.scores.tolist() == [[1, 0], [0, 1]]
    assert scan(path, label="dates").loaded.labels.dtype.kind == "M"
    with pytest.raises(
        ValueError, match=r"`dates` must hold numbers; got .*dates and spans of time"
    ):
        TemperatureScaling().fit(scan(path, weight="dates", label="y", scores="probs"))
    with pytest.raises(ValueError, match=r"'objects' in .*p.npz' contains Python objects"):
        assert scan(path, label="objects").loaded
    with pytest.raises(ValueError, match=r"'texts' in .*p.npz' contains a label of 20,000 char"):
        assert scan(path, label="texts").loaded


def test_headers_of_python_2(tmp_path):
    content = header((2, 2)).replace(b"(2, 2)", b"(2L,2)")
    (tmp_path / "p.npy").write_bytes(content + np.eye(2).tobytes())
    rows = scan(tmp_path / "p.npy", classes=["a", "b"]).loaded
    assert rows.scores.tolist() == [[1, 0], [0, 1]]


@pytest.mark.filterwarnings("ignore:.*do not sum to one:dircal.exceptions.RowSumWarning")
@pytest.mark.parametrize("kind", ["npy", "stored", "deflated", "bzip2", "lzma"])
def test_every_damage_is_reported_with_its_file(tmp_path, halving, kind):
    chance = random.Random(20)
    scores = some_proba(9)
    if kind == "npy":
        whole, path = npy(scores), tmp_path / "p.npy"
    else:
        file, path = io.BytesIO(), tmp_path / "p.npz"
        with zipfile.ZipFile(file, "w", getattr(zipfile, f"ZIP_{kind.upper()}")) as out:
            out.writestr("probs.npy", npy(scores))
            out.writestr("y.npy", npy(np.arange(9)))
        whole = file.getvalue()
    n_refused = 0
    for i in range(150):
        content = bytearray(whole)
        for _ in range(chance.choice([1, 1, 2, 5])):
            content[chance.randrange(len(content))] = chance.randrange(256)
        if chance.random() < 0.3:
            at = chance.randrange(len(content))
            content[at : at + chance.randrange(1, 40)] = chance.randbytes(chance.randrange(20))
        path.write_bytes(content)
        try:
            table = scan(path)
            table.batches[0].read([], table.columns.names[3:4])
            halving.predict_proba(table).write(tmp_path / f"out{i}{path.suffix}")
        except ValueError as error:
            n_refused += 1
            is_of_columns = "columns are chosen, but" in str(error)
            assert repr(str(path)) in str(error) or is_of_columns  # noqa: PT017 - some is none
    assert n_refused > 5
