"""Logits come out of pickles, and nothing else does."""

import io
import os
import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest
from experiments.neural._pickled_logits import read_pickled_logits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal


@pytest.fixture
def write(tmp_path):
    def write_bytes(content):
        path = tmp_path / "logits.p"
        path.write_bytes(content)
        return path

    return write_bytes


def example(dtype=np.float32, labels=np.int64, order="C"):
    rng = np.random.default_rng(0)
    return [
        (
            np.asarray(rng.normal(size=(n, 3)), dtype=dtype, order=order),
            rng.integers(0, 3, size=(n, 1)).astype(labels),
        )
        for n in (5, 4)
    ]


def assert_read(path, expected):
    parts = read_pickled_logits(path)
    assert len(parts) == len(expected)
    for (logits, labels), (z, y) in zip(parts, expected, strict=True):
        assert logits.dtype == z.dtype.newbyteorder("=")
        assert_array_equal(logits, z)
        assert_array_equal(labels, y.ravel())
        assert labels.dtype == np.int64


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("labels", [np.int64, np.uint8, np.int32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_validation_and_test(protocol, labels, order, write):
    content = example(labels=labels, order=order)
    assert_read(write(pickle.dumps(content, protocol)), content)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f4", ">f8", "<i4"])
def test_numbers_of_any_kind(dtype, write):
    content = example(dtype)
    assert_read(write(pickle.dumps(content)), content)


def test_one_pair(write):
    z, y = example()[0]
    assert_read(write(pickle.dumps((z, y.ravel()))), [(z, y)])


def test_names_of_older_numpy(write):
    content = example()
    old = pickle.dumps(content, 2).replace(b"numpy._core", b"numpy.core")
    assert b"numpy.core.multiarray" in old
    assert_read(write(old), content)


def python2(array):
    """An array as Python 2 pickled it: text where there are bytes today."""
    raw, shape = array.tobytes(), array.shape
    dims = b"".join(b"K" + bytes([n]) for n in shape)
    code = b"U\x02" + array.dtype.str[1:].encode()
    return (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR"
        + b"(K\x01("
        + dims
        + b"tcnumpy\ndtype\n("
        + code
        + b"K\x00K\x01tR(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + struct.pack("<i", len(raw))
        + raw
        + b"tb"
    )


def test_python_2(write):
    content = example()
    pairs = b"".join(b"(" + python2(z) + python2(y) + b"t" for z, y in content)
    assert_read(write(b"\x80\x02(" + pairs + b"l."), content)


class Evil:
    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "evil",
    [
        Evil(os.system, ("touch {marker}",)),
        Evil(eval, ("__import__('os').system('touch {marker}')",)),
        Evil(open, ("{marker}", "w")),
        Evil(getattr, ("text", "format")),
        Evil(np.fromfile, ("/etc/passwd",)),
        Evil(np.memmap, ("{marker}", "u1", "w+", 0, 10)),
        Evil(io.open, ("{marker}", "w")),
    ],
    ids=["system", "eval", "open", "getattr", "fromfile", "memmap", "io"],
)
def test_malicious_pickles_do_nothing(evil, protocol, write, tmp_path):
    marker = tmp_path / "marker"
    call, arguments = evil.reduced
    named = tuple(one.format(marker=marker) if isinstance(one, str) else one for one in arguments)
    content = pickle.dumps([(example()[0][0], Evil(call, named)), example()[1]], protocol)
    with pytest.raises(ValueError, match=r"`path` .* it asks for .*, and only arrays are allowed"):
        read_pickled_logits(write(content))
    assert not marker.exists()


NUMPY = b"cnumpy.core.multiarray\n_reconstruct\n"
BROKEN = {
    "empty": (b"", "no pickle, or cut off"),
    "text": (b"logits,labels\n1,2\n", "no pickle, or cut off"),
    "npz": (b"PK\x03\x04", "no pickle, or cut off"),
    "truncated": (pickle.dumps(example())[:-40], "no pickle, or cut off"),
    "a persistent id": (b"\x80\x02X\x01\x00\x00\x00aQ.", "uses BINPERSID"),
    "an extension": (b"\x80\x02\x82\x01.", "uses EXT1"),
    "a place far away": (b"\x80\x02Nr\xff\xff\xff\x7f.", "asks for 2147483647 places"),
    "many steps": (b"\x80\x02" + b"N0" * 600 + b"N.", "more than 1000 steps"),
    "a deep list": (b"\x80\x02" + b"]" * 400 + b"a" * 399 + b".", "does not hold pairs"),
    "a changed function": (b"\x80\x02" + NUMPY + b"}b.", "changes a function"),
    "an object of a function": (b"\x80\x02" + NUMPY + b")\x81.", "damaged"),
    "a number": (pickle.dumps(3), "holds a int, not pairs"),
    "a dict": (pickle.dumps({"logits": 1}), "holds a dict or a set, not only arrays"),
    "an empty dict": (pickle.dumps({}), "holds a dict, not pairs"),
    "a set": (pickle.dumps([{1, 2}]), "holds a dict or a set, not only arrays"),
    "a frozen set": (pickle.dumps([frozenset([1])]), "holds a dict or a set, not only arrays"),
    "lists": (pickle.dumps([([1], [2])]), "does not hold pairs"),
    "three arrays": (pickle.dumps([(np.ones(2),) * 3]), "does not hold pairs"),
    "objects": (
        pickle.dumps((np.array([[1, None]], dtype=object), np.zeros(1))),
        "without dtype, shape or content|dtype O8",
    ),
    "one dimension": (pickle.dumps((np.ones(3), np.zeros(3, int))), r"shape \(3,\), not \(n, k\)"),
    "no rows": (pickle.dumps((np.ones((0, 3)), np.zeros(0, int))), "not \\(n, k\\)"),
    "NaN": (pickle.dumps((np.full((2, 3), np.nan), np.zeros(2, int))), "hold NaN or infinity"),
    "labels": (pickle.dumps((np.ones((2, 3)), np.array([0, 3]))), "whole numbers from 0 to 2"),
    "fractions": (pickle.dumps((np.ones((2, 3)), np.array([0, 0.5]))), "whole numbers"),
    "too few labels": (pickle.dumps((np.ones((2, 3)), np.array([0]))), "for 2 rows of logits"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_files(content, message, write):
    with pytest.raises(ValueError, match=message) as error:
        read_pickled_logits(write(content))
    assert str(error.value).endswith("numpy.savez.")
    assert "\n" not in str(error.value)


def nested_tuples(levels):
    """Python opcodes of (t, t), of a t of (s, s), and so on: twice as many of them each level."""
    return b")" + b"q\x000h\x00h\x00\x86" * levels


READS = """
import sys
from experiments.neural._pickled_logits import read_pickled_logits
try:
    read_pickled_logits(sys.argv[1])
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("key", ["}%sNs.", "\x8f(%s\x90.", "(%s\x91.", "(%sNd."])
def test_nested_tuples_are_not_hashed(key, write):
    before, after = key.encode("latin1").split(b"%s")
    path = write(b"\x80\x04" + before + nested_tuples(60) + after)
    assert path.stat().st_size < 700
    # In a process of its own, which can be ended: a hash does not listen to signals.
    command = [sys.executable, "-c", READS, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert "it holds a dict or a set, not only arrays" in done.stdout


@pytest.mark.parametrize("where", ["shape", "dtype", "content"])
def test_nested_tuples_are_not_printed(where, write):
    state = {"shape": b"K\x01\x85", "dtype": b"cnumpy\ndtype\nU\x02f8\x85R", "content": b"U\x01a"}
    state[where] = nested_tuples(60)
    array = (
        NUMPY + b")R(K\x01" + state["shape"] + state["dtype"] + b"\x89" + state["content"] + b"tb"
    )
    with pytest.raises(ValueError, match="without dtype, shape or content"):
        read_pickled_logits(write(b"\x80\x02" + array + array + b"\x86."))


def test_one_array_many_times_takes_no_more_than_a_few(write):
    z, y = np.zeros((1000, 3), dtype=np.float32), np.zeros(1000, dtype=np.uint8)
    assert len(read_pickled_logits(write(pickle.dumps([(z, y)] * 2)))) == 2
    with pytest.raises(ValueError, match=r"arrays of .* bytes in a file of"):
        read_pickled_logits(write(pickle.dumps([(z, y)] * 20)))


def test_text_that_is_no_content(write):
    text = "aaaaaaa漢".encode()
    array = NUMPY + b")R(K\x01K\x01K\x01\x86cnumpy\ndtype\nU\x02f8\x85R\x89X"
    array += struct.pack("<i", len(text)) + text + b"tb"
    with pytest.raises(ValueError, match="which needs 8 bytes, but has 7"):
        read_pickled_logits(write(b"\x80\x02" + array + array + b"\x86."))


def test_an_array_declared_as_10_gb(write):
    z, y = example()[0]
    content = pickle.dumps((z, y), 2).replace(b"K\x05K\x03", b"J\xa0\xd5\xb5\x03K\x28", 1)
    with pytest.raises(ValueError, match=r"shape .62248352, 40., which needs 9959736320 bytes"):
        read_pickled_logits(write(content))


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes(data, tmp_path):
    content = pickle.dumps(example(), data.draw(st.integers(0, pickle.HIGHEST_PROTOCOL)))
    start = data.draw(st.integers(0, len(content)))
    stop = data.draw(st.integers(start, min(len(content), start + 4)))
    path = tmp_path / "logits.p"
    path.write_bytes(content[:start] + data.draw(st.binary(max_size=4)) + content[stop:])
    try:
        read_pickled_logits(path)
    except ValueError as error:
        if not str(error).startswith("`path` "):
            raise
