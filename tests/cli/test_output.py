"""What reaches the terminal, and where output goes."""

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dircal.cli._output import print_json

# A title for the window, a colour of eight bits, and an arrow that turns the line around.
HOSTILE = ["ant\x1b]0;owned\x07", "bee\x9b31m", "cow\u202e"]


def raw(text: str) -> set[str]:
    """Characters that a terminal would obey."""
    return {c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c == "\u202e"}


@pytest.fixture
def hostile(write_csv, animals):
    labels = np.array(HOSTILE)[np.unique(animals[1], return_inverse=True)[1]]
    write_csv(columns=HOSTILE, labels=labels)
    return ("p.csv", "--label", "y")


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["words", "json"])
def test_names_of_classes_do_not_reach_the_terminal_raw(run, hostile, options):
    few = ("--resamples", "100")
    said = [
        run("fit", *hostile, "--calibrator", "dirichlet", "-o", "m.json", *options),
        run("explain", "m.json", *options),
        run("evaluate", *hostile, *few, *options),
        run("apply", "m.json", "p.csv", "-o", "out.csv", *options),
        run("compare", *hostile, *few, "--calibrators", "temperature", *options),
    ]
    assert [raw(one.output) for one in said] == [set()] * 5
    for one in said[:2]:
        if options:
            assert json.loads(one.stdout)["classes"] == HOSTILE
        else:
            assert "ant\\x1b]0;owned\\x07" in one.stdout
            assert "bee\\x9b31m" in one.stdout


def test_errors_and_usage_do_not_either(run, hostile, tmp_path):
    told = run("fit", *hostile, "--columns", "bee\x9b31m,x\x1b[2J", "-o", "m.json", code=2).stderr
    assert raw(told) == set()
    for usage in (["fit\x1b[2J"], ["explain", "a", "b\x1b[2J\x9b"], ["--\x1b[2J"]):
        assert raw(run(*usage, code=2).output) == set()
    (tmp_path / "a\x1b[2J.json").write_text("{}")
    assert raw(run("explain", "a\x1b[2J.json", code=2).output) == set()


def test_a_terminal_that_knows_ascii_only(run, tmp_path):
    (tmp_path / "p.csv").write_text("é,y,漢\n0.9,é,0.1\n0.2,漢,0.8\n0.6,漢,0.4\n", "utf-8")
    fit = [sys.executable, "-m", "dircal", "fit", "p.csv", "--label", "y", "-o", "m.json"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(fit, capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Columns: \\xe9, \\u6f22." in done.stdout


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("utf-8", '"é 漢 \\u009b"'), ("latin-1", '"\\u00e9 \\u6f22 \\u009b"')],
)
def test_json_that_any_stream_can_write(monkeypatch, encoding, expected):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    print_json({"a": "é 漢 \x9b"})
    assert written.getvalue().decode(encoding) == f'{{\n  "a": {expected}\n}}\n'


class TestFilesThatAppear:
    """Without --force nothing is replaced, whenever it came into being."""

    @pytest.fixture
    def appear(self, monkeypatch):
        """Somebody else writes a file of this name while the command runs."""

        def appear_(name):
            def sync(_):
                Path(name).write_text("theirs")

            monkeypatch.setattr("os.fsync", sync)

        return appear_

    @pytest.mark.parametrize(
        ("command", "output"),
        [
            (["fit", "p.csv", "--label", "y", "--calibrator", "temperature"], "new.json"),
            (["apply", "map.json", "p.csv"], "new.csv"),
            (["export", "map.json", "--to", "python"], "new.py"),
        ],
        ids=lambda one: one[0] if isinstance(one, list) else "",
    )
    def test_they_stay(self, run, fitted, appear, tmp_path, command, output):
        there = sorted(tmp_path.iterdir())
        appear(output)
        told = run(*command, "-o", output, code=2).stderr
        assert "came into being while the command ran, and was not replaced" in told
        assert "--force" in told
        assert Path(output).read_text() == "theirs"
        assert sorted(tmp_path.iterdir()) == sorted([*there, tmp_path / output])
        run(*command, "-o", output, "--force")
        assert Path(output).read_text() != "theirs"


class TestOneFileEach:
    """No two results go to one file, and none to a file that is read, however it is spelled."""

    @pytest.fixture
    def llm(self, run, tmp_path):
        rows = [{"answers": ["A", "A", "B"], "label": "A"}, {"answers": ["B"], "label": "B"}] * 10
        (tmp_path / "raw.jsonl").write_text("\n".join(map(json.dumps, rows)))
        common = ("llm", "raw.jsonl", "--options", "A,B", "--force")
        return lambda *more, code=2: run(*common, *more, code=code)

    @pytest.mark.parametrize("there", [False, True], ids=["new", "there"])
    @pytest.mark.parametrize("second", ["l.csv", "./l.csv", "absolute", "L.CSV", "soft", "hard"])
    def test_two_outputs(self, llm, tmp_path, second, there):
        if there or second == "hard":
            (tmp_path / "l.csv").write_text("precious")
        if second == "soft":
            (tmp_path / second).symlink_to("l.csv")
        if second == "hard":
            (tmp_path / second).hardlink_to(tmp_path / "l.csv")
        before = {path: path.exists() and path.read_text() for path in tmp_path.iterdir()}
        name = tmp_path / "l.csv" if second == "absolute" else second
        told = llm("-o", "l.csv", "--map", name).stderr
        assert f"--map {str(Path(name))!r} is the same file as --output 'l.csv'" in told
        after = {path: path.exists() and path.read_text() for path in tmp_path.iterdir()}
        assert after == before

    def test_standard_output_is_one_file_too(self, llm):
        assert "is the same file as --output '-'" in llm("-o", "-", "--map", "-").stderr
        found = llm("-o", "l.csv", "--map", "-", "--json", code=0)
        assert json.loads(found.stdout)["format"] == "dircal"
        assert json.loads(found.stderr)["rows"] == 20

    def test_folders_that_are_one(self, llm, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real", target_is_directory=True)
        assert "is the same file" in llm("-o", "real/l.csv", "--map", "link/l.csv").stderr
        llm("-o", "real/l.csv", "--map", "l.csv", code=0)

    def test_the_files_of_the_demonstration(self, run, tmp_path):
        (tmp_path / "calibration.csv").write_text("precious")
        (tmp_path / "test.csv").symlink_to("calibration.csv")
        told = run("demo", "--save", tmp_path, "--force", code=2).stderr
        assert "is the same file as" in told
        assert (tmp_path / "calibration.csv").read_text() == "precious"

    @pytest.mark.parametrize(
        ("command", "output"),
        [
            (["fit", "p.npy", "--label", "y.npy", "-o"], "y.npy"),
            (["fit", "p.npy", "--label-columns", "votes.npy", "-o"], "votes.npy"),
            (["report", "p.npy", "--label", "y.npy", "-o"], "y"),
            (["fit", "lake", "--label", "y", "-o"], "lake/1.parquet"),
            (["fit", "lake/*.parquet", "--label", "y", "-o"], "lake/1.parquet"),
            (["report", "p.csv", "--label", "y", "--old", "old", "-o"], "old"),
            (["report", "p.csv", "--label", "y", "--costs", "costs", "-o"], "costs"),
            (["apply", "map.json", "p.csv", "-o"], "hard.csv"),
            (["adapt", "map.json", "p.csv", "-o"], "hard.csv"),
            (["export", "map.json", "--to", "python", "-o"], "map.json"),
            (["decide", "p.csv", "--costs", "costs", "-o"], "costs"),
            (["llm", "raw.jsonl", "--options", "A,B", "-o", "o.csv", "--map"], "raw.jsonl"),
        ],
    )
    def test_outputs_that_are_inputs(self, run, fitted, lake, animals, tmp_path, command, output):
        np.save(tmp_path / "p.npy", animals[0])
        np.save(tmp_path / "y.npy", animals[1])
        np.save(tmp_path / "votes.npy", animals[0])
        (tmp_path / "hard.csv").hardlink_to(tmp_path / "p.csv")
        (tmp_path / "y").symlink_to("y.npy")
        for name in ("old", "costs", "raw.jsonl"):
            (tmp_path / name).write_text("precious")
        before = (tmp_path / output).read_bytes()
        assert "is the input" in run(*command, output, "--force", code=2).stderr
        assert (tmp_path / output).read_bytes() == before

    @pytest.mark.parametrize("state", ["p.csv", "hard.csv", "late.csv", "map.json"])
    def test_states_that_are_inputs(self, run, fitted, tmp_path, state):
        (tmp_path / "hard.csv").hardlink_to(tmp_path / "p.csv")
        (tmp_path / "late.csv").write_text("id,y\n")
        call = ("monitor", "p.csv", "--label", "y", "--map", fitted, "--id", "id")
        told = run(*call, "--late-labels", "late.csv", "--state", state, code=2).stderr
        assert f"--state {state!r} is the input" in told


class TestMinus:
    """``-o -`` prints what would be in the file, and the answer on stderr."""

    def test_every_command(self, run, fitted, tmp_path):
        there = sorted(tmp_path.iterdir())
        fit = ("fit", "p.csv", "--label", "y", "--calibrator", "dirichlet")
        found = run(*fit, "-o", "-")
        assert found.stdout == Path("map.json").read_text()
        assert "Written to standard output." in found.stderr
        found = run("apply", "map.json", "p.csv", "-o", "-", "--json")
        assert len(found.stdout.splitlines()) == 301
        assert json.loads(found.stderr)["rows"] == 300
        found = run("export", "map.json", "--to", "python", "-o", "-")
        compile(found.stdout, "map.py", "exec")
        assert sorted(tmp_path.iterdir()) == there

    def test_a_full_disk(self, run, fitted, monkeypatch):
        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr("os.fsync", full)
        told = run("apply", "map.json", "p.csv", "-o", "-", code=2).stderr
        assert "where the output is written first (set TMPDIR to" in told
        assert "Nothing was written." in told

    def test_what_the_killed_have_left_goes(self, run, fitted, tmp_path, monkeypatch):
        if os.name == "nt":
            pytest.skip("there are no signals on Windows")
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        code = (
            "import os, signal; from pathlib import Path; from dircal.cli._output import *\n"
            "with output_file(Path('-'), force=False) as file:\n"
            "    file.write_text('half')\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        environment = os.environ | {"TMPDIR": str(temporary)}
        subprocess.run([sys.executable, "-c", code], env=environment, check=False)
        assert len(list(temporary.iterdir())) == 1
        monkeypatch.setattr("tempfile.tempdir", str(temporary))
        run("apply", "map.json", "p.csv", "-o", "-")
        assert list(temporary.iterdir()) == []

    def test_an_error_prints_nothing(self, run, fitted, tmp_path):
        (tmp_path / "bad.csv").write_text("ant,bee,cow\n0.2,0.3,0.5\n0.2,0.3,nan\n")
        assert run("apply", "map.json", "bad.csv", "-o", "-", code=2).stdout == ""
