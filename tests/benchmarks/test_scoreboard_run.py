"""Runs of a library in a process of its own: it may crash, hang, or not be there at all."""

import sys
from pathlib import Path

import _scoreboard_run
import pytest
from _scoreboard_run import last_error, run, tidy
from rivals import OURS, Library

# Does with the cells of one calibrator what its list says, and is started anew after a crash.
WORKER = """
import json, os, signal, sys
outcomes, done = open(sys.argv[3], "a"), sys.argv[4:]
def tell(line):
    print(json.dumps(line), file=outcomes, flush=True)
tell({"versions": {"python": "3", "dircal": "1"}})
for contract, what in {"sum": "holds", "NaN": "crash", "zeros": "hang", "text": "wrong"}.items():
    if "TemperatureScaling/" + contract in done:
        continue
    cell = {"calibrator": "TemperatureScaling", "contract": contract}
    tell({"starts": cell})
    if what == "crash":
        os._exit(3)
    if what == "hang":
        os.kill(os.getpid(), signal.SIGPROF)
    tell({"ends": cell | {"verdict": what, "message": "seen in /some/where/file.py"}})
"""


@pytest.fixture
def worker(tmp_path):
    path = tmp_path / "worker.py"
    path.write_text(WORKER)
    return path


@pytest.fixture
def reproduced(monkeypatch):
    """Reproductions are asked for and not run."""
    asked = []

    def reproduce(library, python, failures):
        asked.extend(cell["contract"] for cell in failures)

    monkeypatch.setattr(_scoreboard_run, "_reproduce", reproduce)
    return asked


def test_crashes_and_hangs_are_verdicts_and_the_rest_goes_on(worker, reproduced):
    record = run(OURS, Path(sys.executable), worker)
    assert record["failure"] is None
    assert record["versions"]["dircal"] == "1"
    seen = {cell["contract"]: (cell["verdict"], cell["message"]) for cell in record["cells"]}
    assert seen == {
        "sum": ("holds", "seen in file.py"),
        "NaN": ("crash", "the process ends with code 3"),
        "zeros": ("hang", "no answer after 120 seconds of computing"),
        "text": ("wrong", "seen in file.py"),
    }
    assert reproduced == ["NaN", "zeros", "text"]


def test_a_failure_that_its_program_does_not_show_is_none(tmp_path):
    path = tmp_path / "worker.py"
    path.write_text(WORKER.replace('"NaN": "crash", "zeros": "hang", ', ""))
    cells = run(OURS, Path(sys.executable), path)["cells"]
    assert [cell["verdict"] for cell in cells] == ["holds", "not reproduced"]


def test_a_library_that_cannot_be_imported_says_why():
    library = Library("nothing", "nowhere", hint="it is nowhere")
    record = run(library, Path(sys.executable))
    told = "ModuleNotFoundError: No module named 'rivals.nowhere'; it is nowhere"
    assert record["failure"] == told
    assert record["cells"] == []


def test_the_last_error_has_no_frames():
    stderr = (
        "Traceback (most recent call last):\n  File x\nKeyError: 1\n\nDuring it, another:\n\n"
        "Traceback (most recent call last):\n  File y\n    call()\n    ~~~~^^\n"
        "ValueError: two\n  lines\n"
    )
    assert last_error(stderr) == "ValueError: two\n  lines"
    assert last_error("killed\n") == "killed"


def test_messages_are_the_same_on_every_machine():
    assert tidy("<f at 0x7fa0b1c2d3e4> in /home/me/env/lib/x.py") == "<f at 0x...> in x.py"
    assert tidy("__main__.Broken: a/b") == "Broken: a/b"
    assert len(tidy("long " * 1000)) < 700
