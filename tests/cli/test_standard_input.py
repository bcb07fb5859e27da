import io
import subprocess
import sys

import numpy as np
import pytest


def run_with(content, *arguments):
    command = [sys.executable, "-m", "dircal", *arguments]
    return subprocess.run(command, input=content, capture_output=True, check=False)


def test_a_pipe_from_beginning_to_end(run, write_csv, fitted, tmp_path):
    run("apply", fitted, "p.csv", "-o", "out.csv")
    content = write_csv().read_bytes()
    piped = run_with(content, "apply", fitted, "-", "--format", "csv", "-o", "-")
    assert piped.returncode == 0
    assert piped.stdout == (tmp_path / "out.csv").read_bytes()
    assert piped.stderr.decode().strip() == "300 rows calibrated, written to standard output."


def test_labels_and_arrays_come_through_a_pipe_too(animals, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores, y = animals
    file = io.BytesIO()
    np.savez(file, scores=scores, y=y)
    options = ["--label", "y", "--format", "npz", "--resamples", "100", "--json"]
    told = run_with(file.getvalue(), "evaluate", "-", *options)
    assert b'"predictions": "standard input"' in told.stdout
    assert b'"rows": 300' in told.stdout


def test_errors_speak_of_standard_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = run_with(b"y,a\n", "fit", "-", "--format", "csv", "--label", "z", "-o", "m.json")
    assert told.returncode == 2
    assert told.stderr.decode().startswith(
        "Error: --label: standard input has no column called 'z'"
    )
    told = run_with(b"", "fit", "-", "--format", "csv", "--label", "z", "-o", "m.json")
    assert b"Error: standard input is empty." in told.stderr


def test_closed_standard_input(fitted):
    command = f"{sys.executable} -m dircal apply {fitted} - --format csv -o out.csv <&-"
    told = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == "Error: There is no standard input to read. Name a file.\n"


def test_the_copy_is_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    run_with(b"y,a\n", "fit", "-", "--format", "csv", "--label", "z", "-o", "m.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["p.csv", "p.npz"])
def test_files_say_by_their_ending_what_they_are(run, write_csv, name):
    write_csv(name)
    told = run("evaluate", name, "--label", "y", "--format", "csv", code=2).stderr
    assert "--format csv is for standard input" in told


def test_the_report_keeps_the_short_name_for_what_it_writes(app):
    names = {
        name: [one for p in app.get_command(None, name).params for one in p.opts]
        for name in ("fit", "report")
    }
    assert "--format" in names["fit"]
    assert all("--input-format" in options for options in names.values())
