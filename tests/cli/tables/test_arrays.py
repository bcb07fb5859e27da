import io
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dircal.cli.tables import Change, open_table

HALF = Change([0, 1], None, lambda chunk, numbers: numbers / 2, lambda n: None)


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
