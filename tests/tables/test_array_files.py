import io
import os
import pickle
import random
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dircal.cli.tables import Change, open_table

HALF_OF_IT = (lambda chunk, numbers: numbers / 2, lambda n: None)
HALF = Change([0, 1], None, *HALF_OF_IT)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_arrays_are_rewritten_in_slices(tmp_path, monkeypatch, order, dtype):
    monkeypatch.setattr("dircal.cli.tables._arrays.as_many_rows", lambda n: 3)
    array = np.asarray(np.arange(14).reshape(7, 2), dtype=dtype, order=order)
    np.save(tmp_path / "p.npy", array)
    np.savez_compressed(tmp_path / "p.npz", probs=array, y=np.arange(7), other=np.eye(1)[0])
    for name in ("p.npy", "p.npz"):
        with open_table(tmp_path / name) as table:
            table.rewrite(tmp_path / f"out{name}", HALF)
    whole = np.load(tmp_path / "outp.npy")
    np.testing.assert_array_equal(whole, array / 2)
    assert whole.dtype == (np.float32 if dtype == "float32" else np.float64)
    with np.load(tmp_path / "outp.npz") as found:
        assert list(found) == ["probs", "y", "other"]
        np.testing.assert_array_equal(found["probs"], array / 2)
        np.testing.assert_array_equal(found["y"], np.arange(7))


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
        with open_table(path) as table:
            for chunk in table.chunks([0]):
                chunk.numbers([0])
    except ValueError as error:
        assert str(error)  # noqa: PT017 - what is not damaged enough passes


def header(shape, descr="<f8"):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header((10**10, 10)), "does not fit its"),
        (header((-1, 10)), "declares the shape"),
        (npy(np.array([[None]], dtype=object)), "holds Python objects"),
        (pickle.dumps([1]), "is no array of NumPy"),
        (b"", "is no array of NumPy"),
        (b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535, "is no array of NumPy"),
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
            open_table(tmp_path / name)


def test_several_arrays_need_a_name(tmp_path):
    np.savez(tmp_path / "p.npz", probs=np.eye(3), logits=np.ones((3, 3)), y=np.arange(3))
    with pytest.raises(
        ValueError, match=r"2 arrays with rows and columns; it has 'probs' \(3, 3\)"
    ):
        open_table(tmp_path / "p.npz")
    with pytest.raises(ValueError, match="has no array 'scores'"):
        open_table(tmp_path / "p.npz", array="scores")
    with open_table(tmp_path / "p.npz", array="logits") as table:
        assert table.names == ("0", "1", "2", "y")


def archive(**members):
    """An NPZ file of arrays, or of bytes that are none."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, one in members.items():
            out.writestr(f"{name}.npy", one if isinstance(one, bytes) else npy(one))
    return file.getvalue()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_a_file_that_is_cut_off_while_it_is_read(tmp_path, monkeypatch, order, ending):
    """A map of the file would end the process."""
    monkeypatch.setattr("dircal.cli.tables._arrays.as_many_rows", lambda n: 1000)
    path = tmp_path / f"p.{ending}"
    scores = np.asarray(np.random.default_rng(0).random((60_000, 2)), order=order)
    if ending == "npy":
        np.save(path, scores)
    else:
        np.savez(path, scores=scores)

    def halve_the_file(chunk, numbers):
        if chunk.first == 0:
            os.truncate(path, 200_000)
        return numbers

    change = Change([0, 1], None, halve_the_file, lambda n: None)
    with open_table(path) as table:
        # An archive in this order has been unpacked by then.
        if (order, ending) == ("F", "npz"):
            table.rewrite(tmp_path / "out", change)
            return
        with pytest.raises(ValueError, match=r"p.np[yz]'.* cut off"):
            table.rewrite(tmp_path / "out", change)


def test_labels_that_are_cut_off(tmp_path):
    from dircal.cli.tables._arrays import read_labels

    np.save(tmp_path / "y.npy", np.arange(1000))
    os.truncate(tmp_path / "y.npy", 5000)
    with pytest.raises(ValueError, match=r"y.npy' declares int64 of shape"):
        read_labels(tmp_path / "y.npy")


def test_what_is_not_needed_is_not_unpacked(tmp_path):
    """It is copied as it is, be it broken."""
    huge = np.random.default_rng(0).random(50_000)
    content = archive(probs=np.eye(3), y=np.arange(3), other=huge)
    middle = len(content) - 200_000
    broken = content[:middle] + bytes(100) + content[middle + 100 :]
    path = tmp_path / "p.npz"
    path.write_bytes(broken)
    for added in (None, ["more"]):
        with open_table(path) as table:
            (chunk,) = table.chunks([3])
            assert chunk.values(3).tolist() == [0, 1, 2]
            table.rewrite(tmp_path / f"out{added}", Change([0, 1, 2], added, *HALF_OF_IT))
        with np.load(tmp_path / f"out{added}") as found, zipfile.ZipFile(path) as old:
            scores = "probs" if added is None else "more"
            assert list(found) == ["probs", "y", "other", *(added or [])]
            np.testing.assert_array_equal(found[scores], np.eye(3) / 2)
            assert found.zip.testzip() == "other.npy"
            assert found.zip.getinfo("other.npy").CRC == old.getinfo("other.npy").CRC


def test_a_copied_archive_is_whole(tmp_path):
    path = tmp_path / "p.npz"
    np.savez_compressed(path, probs=np.eye(2), y=np.arange(2), long=np.arange(500_000))
    with zipfile.ZipFile(path, "a") as out:
        out.writestr("readme.txt", "about it")
        # Sizes behind the content, as a stream has them.
        with out.open("stream.npy", "w") as file:
            file.write(npy(np.ones(5)))
    with open_table(path) as table:
        table.rewrite(tmp_path / "out.npz", Change([0, 1], None, *HALF_OF_IT))
    with np.load(tmp_path / "out.npz") as found:
        assert found.zip.testzip() is None
        assert found.zip.read("readme.txt") == b"about it"
        np.testing.assert_array_equal(found["long"], np.arange(500_000))
        np.testing.assert_array_equal(found["stream"], np.ones(5))


def encrypted(content):
    """Says of its members that they are encrypted, in both places where this is said."""
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
        (archive(**PARTS)[:-5], "is damaged, cut off, or no archive"),
        (b"", "is damaged, cut off, or no archive"),
        (archive(probs=npy(np.eye(3))[:150]), "does not fit its"),
        (archive(probs=b"\x93NUMPY\x09\x09"), "version 9.9 of the format is not known"),
        (archive(probs=header((2, 2), [("a", "<f8")])), "holds .*neither numbers nor text"),
        (archive(probs=header((2, 2), "<U0")), "neither numbers nor text"),
        (archive(probs=header((2, 2), "|V8")), "neither numbers nor text"),
        (archive(probs=header((2**70, 0))), "declares the shape"),
        (archive(probs=np.zeros((3, 2), "M8[s]")), r"must be numbers .* got datetime64\[s\]"),
        (archive(probs=b"\x93NUMPY\x01\x00\x10\x00{'descr': \"<f8\n  "), "is no array of NumPy"),
    ],
    # An archive holds the time when it was made, and names of tests must not.
    ids=lambda value: "archive" if isinstance(value, bytes) else None,
)
def test_odd_archives_say_what_is_wrong(tmp_path, content, message):
    (tmp_path / "p.npz").write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        open_table(tmp_path / "p.npz")
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
        open_table(tmp_path / "p.npz")


def test_what_cannot_be_read_matters_to_those_who_need_it(tmp_path):
    path = tmp_path / "p.npz"
    texts = np.array(["a", "x" * 20_000])
    objects, dates = np.array([None, 1], dtype=object), np.array(["2020", "2021"], "M8[D]")
    np.savez(path, probs=np.eye(2), objects=objects, dates=dates, texts=texts)
    with open_table(path) as table:
        assert table.names == ("0", "1", "objects", "dates", "texts")
        (chunk,) = table.chunks([0, 1, 3])
        assert chunk.numbers([0, 1]).tolist() == [[1, 0], [0, 1]]
        assert chunk.values(3).dtype.kind == "M"
        with pytest.raises(ValueError, match=r"'dates' in .*p.npz' holds datetime64\[D\], not num"):
            chunk.numbers([3])
        with pytest.raises(ValueError, match=r"'objects' in .*p.npz' holds Python objects"):
            next(table.chunks([2]))
        with pytest.raises(ValueError, match=r"'texts' in .*p.npz' holds a label of 20,000 char"):
            next(table.chunks([4]))


def test_headers_of_python_2(tmp_path):
    content = header((2, 2)).replace(b"(2, 2)", b"(2L,2)")
    (tmp_path / "p.npy").write_bytes(content + np.eye(2).tobytes())
    with open_table(tmp_path / "p.npy") as table:
        assert next(table.chunks([0, 1])).numbers([0, 1]).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("kind", ["npy", "stored", "deflated", "bzip2", "lzma"])
def test_every_damage_is_told_of_its_file(tmp_path, kind):
    chance = random.Random(20)
    if kind == "npy":
        whole, path = npy(np.eye(9)), tmp_path / "p.npy"
    else:
        file, path = io.BytesIO(), tmp_path / "p.npz"
        with zipfile.ZipFile(file, "w", getattr(zipfile, f"ZIP_{kind.upper()}")) as out:
            out.writestr("probs.npy", npy(np.eye(9)))
            out.writestr("y.npy", npy(np.arange(9)))
        whole = file.getvalue()
    change = Change([0, 1], None, *HALF_OF_IT)
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
            with open_table(path) as table:
                list(table.chunks([0, len(table.names) - 1]))
                table.rewrite(tmp_path / f"out{i}", change)
        except ValueError as error:
            n_refused += 1
            assert repr(str(path)) in str(error)  # noqa: PT017 - some damage is none
    assert n_refused > 5
