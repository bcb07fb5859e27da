"""The experiments, run from a checkout."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from click.testing import CliRunner

ROOT = Path(__file__).parents[3]
# An experiment of two jobs that take very long, made of what all experiments are made of.
EXPERIMENT = """
import os, sys, time
from pathlib import Path
import joblib
from rich.console import Console
sys.path.insert(0, sys.argv[1])
import experiments
experiments.__path__.append(sys.argv[1] + "/experiments")
from experiments._shared.command import resumable
from experiments._shared.work import run_all

def job(name):
    Path(name).write_text(str(os.getpid()))
    time.sleep(600)

with resumable(Console()), joblib.parallel_config(backend="loky", n_jobs=2):
    for _ in run_all(job, [("worker-1",), ("worker-2",)]):
        pass
"""
COMMAND = """
import sys
from pathlib import Path
from dircal.cli.commands import _reproduce
_reproduce._checkout = Path.cwd
from dircal.cli import main
main()
"""


class TestReproduce:
    def test_arguments_and_exit_code_are_handed_over(self, app, monkeypatch):
        called = []
        start = subprocess.Popen

        def popen(command, *, env):
            called.append((command, env["OMP_NUM_THREADS"]))
            return start([sys.executable, "-c", "raise SystemExit(7)"])

        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setattr(subprocess, "Popen", popen)
        result = CliRunner().invoke(app, ["reproduce", "uci", "--datasets", "sonar", "--help"])
        assert result.exit_code == 7
        experiment = [sys.executable, "-P", "-m", "experiments.uci"]
        assert called == [([*experiment, "--datasets", "sonar", "--help"], "1")]

    def test_folders_are_those_of_the_caller(self, app, capfd, tmp_path, monkeypatch):
        (tmp_path / "mine").mkdir()
        # A folder of this name is not mistaken for ours.
        (tmp_path / "experiments").mkdir()
        monkeypatch.chdir(tmp_path)
        result = CliRunner().invoke(app, ["reproduce", "neural", "--logits", "mine"])
        assert result.exit_code == 1
        assert "There are no networks in mine" in capfd.readouterr().err

    def test_without_a_checkout_it_says_so(self, app, monkeypatch, tmp_path):
        monkeypatch.setattr("dircal.cli.commands._reproduce._checkout", lambda: tmp_path)
        result = CliRunner().invoke(app, ["reproduce", "uci"])
        assert result.exit_code == 2
        assert "Clone the repository" in result.output

    def test_without_the_extra_it_says_what_to_install(self, app, monkeypatch):
        monkeypatch.setattr("dircal.cli.commands._reproduce.find_spec", lambda name: None)
        result = CliRunner().invoke(app, ["reproduce", "uci"])
        assert result.exit_code == 2
        assert "pip install 'dircal[experiments]'" in " ".join(result.output.split())

    def test_a_request_to_end_ends_the_workers(self, tmp_path):
        (tmp_path / "experiments" / "uci").mkdir(parents=True)
        (tmp_path / "experiments" / "__init__.py").touch()
        (tmp_path / "experiments" / "uci" / "__main__.py").write_text(EXPERIMENT)
        command = [sys.executable, "-c", COMMAND, "reproduce", "uci", str(ROOT)]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            pids = [wait_for_number(tmp_path / f"worker-{i}", process) for i in (1, 2)]
            process.terminate()
            told, _ = process.communicate(timeout=600)
            assert process.returncode == 130
            assert "Stopped. The same command goes on from here." in told
            assert [pid for pid in pids if not is_gone(pid)] == []
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for_number(path, process):
    deadline = time.monotonic() + 600
    while not (path.exists() and path.read_text()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return int(path.read_text())


def is_gone(pid):
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
