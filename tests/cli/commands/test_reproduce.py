"""The experiments, run from a checkout."""

import subprocess
import sys

from click.testing import CliRunner

from dircal.cli._app import app


class TestReproduce:
    def test_arguments_and_exit_code_are_handed_over(self, monkeypatch):
        called = []

        def run(command, *, env, check):
            called.append((command, env["OMP_NUM_THREADS"], check))
            return subprocess.CompletedProcess(command, 7)

        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setattr(subprocess, "run", run)
        result = CliRunner().invoke(app, ["reproduce", "uci", "--datasets", "sonar", "--help"])
        assert result.exit_code == 7
        experiment = [sys.executable, "-P", "-m", "experiments.uci"]
        assert called == [([*experiment, "--datasets", "sonar", "--help"], "1", False)]

    def test_folders_are_those_of_the_caller(self, capfd, tmp_path, monkeypatch):
        (tmp_path / "mine").mkdir()
        # A folder of this name is not mistaken for ours.
        (tmp_path / "experiments").mkdir()
        monkeypatch.chdir(tmp_path)
        result = CliRunner().invoke(app, ["reproduce", "neural", "--logits", "mine"])
        assert result.exit_code == 1
        assert "There are no networks in mine" in capfd.readouterr().err

    def test_without_a_checkout_it_says_so(self, monkeypatch, tmp_path):
        monkeypatch.setattr("dircal.cli.commands._reproduce._checkout", lambda: tmp_path)
        result = CliRunner().invoke(app, ["reproduce", "uci"])
        assert result.exit_code == 2
        assert "Clone the repository" in result.output

    def test_without_the_extra_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setattr("dircal.cli.commands._reproduce.find_spec", lambda name: None)
        result = CliRunner().invoke(app, ["reproduce", "uci"])
        assert result.exit_code == 2
        assert "pip install 'dircal[experiments]'" in " ".join(result.output.split())
