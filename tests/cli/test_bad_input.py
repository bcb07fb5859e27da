"""Whatever is wrong: one line on stderr, exit code 2, nothing half-written, no traceback."""

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import dircal

GOOD = "y,ant,bee\nant,0.9,0.1\nbee,0.2,0.8\nant,0.4,0.6\nbee,0.3,0.7\n"


def files_in(folder):
    """Names of all files, hidden ones too."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02\x03" * 50, "is not a text file"),
        (b"\xff\xfey\x00,\x00", "is not text in UTF-8 (byte 0xff)"),
        (b"y,ant,bee\n", "has no rows"),
        (b"y,ant,bee\nant,0.9\n", "line 2 has 2 cells, but the first line names 3 columns"),
        (GOOD.encode() + b"ant,0.5,0.5,1\n", "line 6 has 4 cells"),
        (GOOD.encode() + b"ant,nan,0.5\n", "line 6, column 'ant' is nan"),
        (GOOD.encode() + b"ant,,0.5\n", "line 6, column 'ant' is empty"),
        (GOOD.encode() + b"ant,half,0.5\n", "line 6, column 'ant' holds 'half'"),
        (GOOD.encode() + b"ant,inf,0.5\n", "line 6, column 'ant' is inf"),
        (GOOD.encode() + b",0.5,0.5\n", "line 6, column 'y' is empty"),
        (GOOD.encode() + b"elk,0.5,0.5\n", "no column is called 'elk'"),
        (GOOD.encode() + b"ant,0.5,0.9\n", "line 6 sums to 1.4"),
        (GOOD.encode() + b"ant,-0.5,1.5\n", "line 6, column 'ant' is -0.5"),
        (GOOD.encode() + b'"ant,0.5,0.5\n', "quote that opens on line 6 is never closed"),
        (GOOD.replace("bee\n", "ant\n").encode(), "2 columns are called 'ant'"),
        (GOOD.replace("y,", "z,").encode(), "no column called 'y'"),
    ],
)
def test_files_that_are_none(run, tmp_path, content, message):
    (tmp_path / "p.csv").write_bytes(content)
    assert message in run("fit", "p.csv", "--label", "y", "-o", "map.json", code=2).stderr
    assert message in run("evaluate", "p.csv", "--label", "y", code=2).stderr
    assert files_in(tmp_path) == ["p.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"y,ant,bee\nant,0.9\n", "line 2 has 2 cells"),
        (b"ant,bee\n0.5,0.5\n0.5,nan\n", "line 3, column 'bee' is nan"),
        (b"ant,bee\n0.5,0.5\n0.5,\n", "line 3, column 'bee' is empty"),
        (b"ant,bee\n0.5,0.5\n-1,2\n", "line 3, column 'ant' is -1"),
        (b"ant,cow\n0.5,0.5\n", "lacks columns that the map reads: 'ant', 'bee'"),
        (b"ant,bee,bee\n0.5,0.5,1\n", "lacks columns that the map reads"),
    ],
)
def test_files_that_cannot_be_calibrated(run, tmp_path, content, message):
    (tmp_path / "g.csv").write_text(GOOD)
    run("fit", "g.csv", "--label", "y", "--calibrator", "temperature", "-o", "map.json")
    (tmp_path / "p.csv").write_bytes(content)
    assert message in run("apply", "map.json", "p.csv", "-o", "out.csv", code=2).stderr
    assert files_in(tmp_path) == ["g.csv", "map.json", "p.csv"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x04\x95",
        b"{" * 100_000,
        b'{"format": "dircal", "version": 1, "object": ' + b"[" * 100_000,
        b'{"format": "dircal", "version": 99, "object": {}}',
        b'{"format": "dircal", "version": 1, "object": {"type": "os.system"}}',
        b'{"format": "dircal", "version": 1, "object": {"type": "TemperatureScaling", "x": NaN}}',
    ],
)
@pytest.mark.parametrize("command", ["apply", "explain", "export"])
def test_maps_that_are_none(run, tmp_path, content, command):
    (tmp_path / "map.json").write_bytes(content)
    (tmp_path / "p.csv").write_text(GOOD)
    rest = {
        "apply": ["p.csv", "-o", "o.csv"],
        "explain": [],
        "export": ["--to", "python", "-o", "o"],
    }
    told = run(command, "map.json", *rest[command], code=2).stderr
    assert "'map.json' is no calibrator that dircal" in told
    assert files_in(tmp_path) == ["map.json", "p.csv"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stream", 5),
        ("stream", []),
        ("stream", {"rows": 5}),
        ("stream", {"name": "p.csv", "first": "", "rows": "many"}),
        ("stream", {"name": "p.csv", "first": "", "rows": -1}),
        ("map", {}),
        ("level", "high"),
    ],
)
def test_damaged_states(run, write_csv, tmp_path, key, value):
    write_csv()
    call = ("monitor", "p.csv", "--label", "y", "--state", "s.json")
    run(*call, code=1)
    document = json.loads((tmp_path / "s.json").read_text())
    assert key in document
    (tmp_path / "s.json").write_text(json.dumps(document | {key: value}))
    told = run(*call, code=2).stderr
    assert "'s.json'" in told
    assert "bug of dircal" not in told


@pytest.mark.parametrize("deep", ["[" * 100_000, "[" * 950 + "]" * 950], ids=["open", "closed"])
def test_json_that_is_nested_too_deeply(run, fitted, tmp_path, deep):
    """In every file and option; costs and answers of models have theirs."""
    for name in ("map.json", "s.json"):
        (tmp_path / name).write_text(deep)
    told = [
        run("explain", "map.json", code=2),
        run("monitor", "p.csv", "--label", "y", "--state", "s.json", code=2),
        run("fit", "p.csv", "--label", "y", "--option", f"lam={deep}", "-o", "m.json", code=2),
    ]
    assert not any("bug of dircal" in one.stderr for one in told)
    for kind in ("monitor", "map"):
        content = f'{{"format": "dircal-{kind}", "version": 1, "classes": {deep}}}'
        (tmp_path / "s.json").write_text(content)
        call = ("monitor", "p.csv", "--label", "y", "--state", "s.json")
        assert "bug of dircal" not in run(*call, code=2).stderr


def test_a_map_with_a_huge_array_is_refused(run, fitted, tmp_path):
    document = json.loads((tmp_path / fitted).read_text())
    array = {"type": "array", "dtype": "float64", "shape": [10**5, 10**5], "base64": "AAAA"}
    document["object"]["fit"]["columns"]["fields"]["classes"] = array
    (tmp_path / fitted).write_text(json.dumps(document))
    told = run("explain", fitted, code=2).stderr
    assert "is no calibrator" in told
    assert "fit.columns.classes" in told


@pytest.fixture
def good(run, tmp_path):
    (tmp_path / "p.csv").write_text(GOOD)

    def fit(output, *more, code=2):
        common = ["p.csv", "--label", "y", "--calibrator", "temperature"]
        return run("fit", *common, "-o", output, *more, code=code).stderr

    return fit


def test_outputs_that_cannot_be(good, run, tmp_path):
    (tmp_path / "map.json").write_text("precious")
    assert "exists already. Name another file, or pass --force" in good("map.json")
    assert (tmp_path / "map.json").read_text() == "precious"
    assert "is the input" in good("p.csv", "--force")
    (tmp_path / "link.csv").symlink_to("p.csv")
    assert "is the input" in good("link.csv", "--force")
    assert "folder that does not exist" in good("no/map.json")
    assert "is a folder" in good(".")
    assert "is a device or a pipe" in good("/dev/null", "--force")
    (tmp_path / "one.json").symlink_to("other.json")
    (tmp_path / "other.json").symlink_to("one.json")
    for name, *force in (["one.json"], ["one.json", "--force"], ["other.json"]):
        assert f"{name!r} is a link that leads back to itself" in good(name, *force)
    (tmp_path / "dangling.json").symlink_to("target.json")
    assert good("dangling.json", code=0) == ""
    assert (tmp_path / "target.json").exists()
    assert good("map.json", "--force", code=0) == ""
    assert (
        "must be of the type of the input"
        in run("apply", "map.json", "p.csv", "-o", "o.pq", code=2).stderr
    )
    assert (
        "has no ending of a known type"
        in run("apply", "map.json", "p.csv", "-o", "o", code=2).stderr
    )
    assert "No such file" in run("apply", "map.json", "none.csv", "-o", "o.csv", code=2).stderr
    assert "No such file" in run("explain", "none.json", code=2).stderr
    (tmp_path / "folder.csv").mkdir()
    assert (
        "contains no files of pred" in run("evaluate", "folder.csv", "--label", "y", code=2).stderr
    )


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(good, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "cannot be written to" in good("closed/map.json")


def test_a_full_disk(good, run, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    assert "No space left on device: 'map.json'. Nothing was written." in good("map.json")
    assert files_in(tmp_path) == ["p.csv"]


def test_not_enough_memory(good, monkeypatch):
    def huge(*_):
        raise MemoryError("Unable to allocate 10 GiB")

    monkeypatch.setattr(dircal.TemperatureScaling.method_class, "learn", huge)
    assert "Not enough memory. Unable to allocate 10 GiB" in good("map.json")


def test_a_bug_is_called_one(good, monkeypatch):
    def broken(*_):
        raise RuntimeError("oops")

    monkeypatch.setattr(dircal.TemperatureScaling.method_class, "learn", broken)
    assert "This is a bug of dircal: RuntimeError: oops" in good("map.json")


def test_debug_shows_the_traceback(app, tmp_path, monkeypatch):
    from click.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["explain", "none.json", "--debug"])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "FileNotFoundError" in result.stderr


def test_a_reader_that_goes_away_is_no_error(run, fitted):
    command = [sys.executable, "-m", "dircal", "explain", str(fitted), "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.stderr == ""
    # Not 1, which says that a gate has failed.
    assert done.returncode == 141


def test_labels_that_do_not_fit(run, tmp_path):
    np.save("p.npy", np.full((4, 3), 1 / 3))
    np.save("y.npy", np.array([0, 1, 1, 0]))
    told = run("fit", "p.npy", "--label", "y.npy", "-o", "m.json", code=2).stderr
    assert "has 3 columns of scores, but the labels are 2: [0, 1]" in told
    run("fit", "p.npy", "--label", "y.npy", "--classes", "0,1,2", "-o", "m.json")
    told = run("fit", "p.npy", "--label", "y.npy", "--classes", "0,2,3", "-o", "x.json", code=2)
    assert "lacks the label 1" in told.stderr
    told = run("fit", "p.npy", "--label", "y.npy", "--classes", "a,b,c", "-o", "x.json", code=2)
    assert "of another kind" in told.stderr
    np.save("y.npy", np.array([0, 1, 1]))
    told = run("fit", "p.npy", "--label", "y.npy", "-o", "x.json", code=2).stderr
    assert "has 3 labels, but 'p.npy' has 4 rows" in told


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "cp1252", "punycode"])
def test_encodings_that_a_file_does_not_have(run, tmp_path, encoding):
    (tmp_path / "p.csv").write_bytes(GOOD.encode() + b"\x81,0.5,0.5\n")
    told = run("evaluate", "p.csv", "--label", "y", "--encoding", encoding, code=2).stderr
    assert told.startswith("Error: 'p.csv' is not text in ")
    assert "--encoding" in told


@pytest.mark.parametrize("label", ["y", "y.npy"])
def test_labels_of_bytes_that_are_not_text(run, label):
    np.savez("p.npz", scores=np.full((4, 2), 0.5), y=np.array([b"\xff", b"a", b"a", b"a"]))
    np.save("p.npy", np.full((4, 2), 0.5))
    np.save("y.npy", np.array([b"\xff", b"a", b"a", b"a"]))
    file = "p.npy" if label == "y.npy" else "p.npz"
    told = run("fit", file, "--label", label, "-o", "x.json", code=2).stderr
    assert told.startswith(f"Error: --label {label!r} holds bytes that are not text in UTF-8")


def test_characters_that_files_cannot_hold(run, write_csv, tmp_path):
    """Half of a character beyond the first 65,536, which JSON can spell."""
    write_csv()
    costs = '{"ant": {"\\ud800x": 0, "y": 1}, "bee": {"\\ud800x": 1, "y": 0}, '
    (tmp_path / "costs.json").write_text(costs + '"cow": {"\\ud800x": 1, "y": 1}}')
    told = run("decide", "p.csv", "--costs", "costs.json", "-o", "actions.csv", code=2).stderr
    assert "cannot be written as text in UTF-8. Rename it." in told
    assert not (tmp_path / "actions.csv").exists()
    run("fit", "p.csv", "--label", "y", "--calibrator", "temperature", "-o", "map.json")
    call = ("apply", "map.json", "p.csv", "--encoding", "ascii", "--prefix", "é", "-o", "out.csv")
    assert "cannot be written as text in ASCII" in run(*call, code=2).stderr


def test_options_of_text_are_for_text(run, tmp_path):
    np.save(tmp_path / "p.npy", np.full((4, 2), 0.5))
    np.save(tmp_path / "y.npy", [0, 1, 0, 1])
    told = run("fit", "p.npy", "--label", "y.npy", "--decimal", ",", "-o", "m.json", code=2).stderr
    assert told == "Error: --decimal is ',', but 'p.npy' is not a text file. Leave it out.\n"


def test_labels_beside_are_for_arrays_only(run, write_csv):
    write_csv()
    np.save("y.npy", np.array([0, 1, 1]))
    told = run("fit", "p.csv", "--label", "y.npy", "-o", "x.json", code=2).stderr
    assert "'p.csv' has no column called 'y.npy'" in told


@pytest.mark.parametrize("option", ["--columns", "--classes"])
def test_lists_with_line_breaks(run, write_csv, option):
    write_csv()
    told = run("fit", "p.csv", "--label", "y", option, "ant\nbee", "-o", "x.json", code=2).stderr
    assert "'ant\\nbee' is not a list with commas" in told


def test_a_column_cannot_be_two_classes(run, fitted, tmp_path):
    (tmp_path / "d.csv").write_text("y,p_ant,p_bee,p_cow,p_bee\nant,0.2,0.1,0.5,0.3\n")
    for command in (["apply", fitted, "d.csv"], ["fit", "d.csv", "--label", "y"]):
        names = [] if command[0] == "apply" else ["--classes", "ant,bee,cow"]
        told = run(*command, "--columns", "p_*", *names, "-o", "x.csv", code=2).stderr
        assert "has 2 columns called 'p_bee'" in told
        twice = ["--columns", "p_ant,p_cow,p_ant"]
        told = run(*command, *twice, *names, "-o", "x.csv", code=2).stderr
        assert "names the column 'p_ant' twice" in told


def test_a_single_label_is_called_one(run, tmp_path):
    (tmp_path / "one.csv").write_text("y,a,b\na,0.6,0.4\na,0.7,0.3\n")
    told = run("fit", "one.csv", "--label", "y", "-o", "x.json", code=2).stderr
    assert "the only label is 'a'" in told
    assert "--classes" in told


def test_names_as_long_as_they_may_be(good, run, tmp_path):
    name = "漢" * 83 + ".json"
    run("fit", "p.csv", "--label", "y", "--calibrator", "temperature", "-o", name)
    assert (tmp_path / name).exists()


def test_integers_and_strings_and_unicode(run, tmp_path):
    (tmp_path / "p.csv").write_text("\ufeffé,y,漢\n0.9,é,0.1\n0.2,漢,0.8\n0.6,漢,0.4\n", "utf-8")
    run("fit", "p.csv", "--label", "y", "-o", "map.json")
    assert dircal.load("map.json").classes_.tolist() == ["é", "漢"]
    run("apply", "map.json", "p.csv", "-o", "out.csv")
    (tmp_path / "i.csv").write_text("10,9,y\n0.9,0.1,10\n0.2,0.8,9\n0.6,0.4,9\n")
    run("fit", "i.csv", "--label", "y", "-o", "i.json")
    assert dircal.load("i.json").classes_.tolist() == [9, 10]
