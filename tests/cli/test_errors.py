"""Signals, full devices and what is said of them."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
# `dircal apply` that stops in the middle of a file until somebody ends it.
SLOW = """
import signal, sys, time
from dircal.tables import CalibratedTable
signal.signal(signal.SIGINT, signal.default_int_handler)
def predict(self, scores, place):
    print("ready", flush=True)
    time.sleep(600)
CalibratedTable._predict = predict
sys.argv[0] = "dircal"
from dircal.cli import main
main()
"""


@pytest.fixture
def slow(fitted):
    """Starts commands that are in the middle of ``out.csv``, and ends them in any case."""
    started = []

    def start(*options, **settings):
        command = [sys.executable, "-c", SLOW, "apply", "map.json", "p.csv", *options]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_stopping_half_way_leaves_nothing(run, slow, tmp_path):
    there = names(tmp_path)
    sent = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
    running = [slow("-o", f"{number}.csv") for number in sent]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    assert len(names(tmp_path)) == len(there) + 4
    for process, number in zip(running, sent, strict=True):
        process.send_signal(number)
        _, told = process.communicate(timeout=600)
        if number != signal.SIGKILL:
            assert told == "Error: Stopped; nothing was written.\n"
            assert process.returncode == 2
    # The last had no time to clean up, and the next command does it.
    assert len(names(tmp_path)) == len(there) + 1
    run("apply", "map.json", "p.csv", "-o", "out.csv")
    assert names(tmp_path) == sorted([*there, "out.csv"])


def test_nohup_goes_on_when_the_terminal_is_closed(slow):
    def deaf():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = slow("-o", "out.csv", preexec_fn=deaf)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)


class TestNothingWasWritten:
    """It is said only where it is so."""

    def fit(self, run):
        common = ["p.csv", "--label", "y", "--calibrator", "temperature", "--force"]
        return run("fit", *common, "-o", "new.json", code=2).stderr

    def test_stopped_before_the_rename(self, run, fitted, monkeypatch):
        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("os.fsync", stop)
        assert self.fit(run) == "Error: Stopped; nothing was written.\n"
        assert not Path("new.json").exists()

    def test_stopped_right_after_the_rename(self, run, fitted, monkeypatch):
        rename = Path.replace

        def rename_and_stop(self, target):
            rename(self, target)
            if target.name == "new.json":
                raise KeyboardInterrupt

        monkeypatch.setattr(Path, "replace", rename_and_stop)
        assert self.fit(run) == "Error: Stopped; 'new.json' is written and whole.\n"
        assert Path("new.json").exists()

    def test_stopped_while_it_printed(self, run, fitted, monkeypatch):
        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("dircal.cli.commands._fit.print_answer", stop)
        assert self.fit(run) == "Error: Stopped; 'new.json' is written and whole.\n"

    def test_an_old_file_is_not_a_new_one(self, run, fitted, monkeypatch):
        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        Path("new.json").write_text("old")
        monkeypatch.setattr("os.fsync", full)
        assert self.fit(run) == "Error: No space left on device: 'new.json'. Nothing was written.\n"
        assert Path("new.json").read_text() == "old"


@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
class TestFullDevice:
    def full(self, *arguments):
        command = [sys.executable, "-m", "dircal", *arguments]
        with FULL.open("wb") as device:
            done = subprocess.run(
                command, stdout=device, stderr=subprocess.PIPE, text=True, check=False
            )
        return done.returncode, done.stderr

    @pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["--version"]])
    def test_help_is_no_gate(self, arguments):
        told = "Error: No space left on device: standard output, which is cut off.\n"
        assert self.full(*arguments) == (2, told)

    def test_the_file_is_there_all_the_same(self, run, fitted):
        told = (
            "Error: No space left on device: standard output, which is cut off. "
            "'map.py' is written and whole.\n"
        )
        assert self.full("export", "map.json", "--to", "python", "-o", "map.py") == (2, told)
        assert Path("map.py").read_text().endswith("\n")

    def test_an_error_that_cannot_be_told_is_no_gate_either(self, run):
        with FULL.open("wb") as device:
            command = [sys.executable, "-m", "dircal", "explain", "none.json"]
            # With a buffer, as there is where nobody has forbidden it.
            buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
            done = subprocess.run(command, stderr=device, stdout=device, check=False, env=buffered)
        assert done.returncode == 2
