"""A file that changes while it is read is an error, and nothing comes of it."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dircal.tables import unchanged

CHANGES = {
    "grown": lambda path: os.truncate(path, path.stat().st_size + 1),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "replaced": lambda path: path.with_name("other").rename(path),
    "rewritten": lambda path: path.write_bytes(path.read_bytes()[::-1]),
    "removed": lambda path: path.unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_is_noticed(tmp_path, change):
    path = tmp_path / "p.csv"
    for one in (path, tmp_path / "other"):
        one.write_bytes(b"0123456789")
        os.utime(one, (0, 0))

    with pytest.raises(ValueError, match="changed while it was read"), unchanged(path):
        change(path)


def test_errors_of_a_file_that_stays_are_its_own(tmp_path):
    (tmp_path / "p.csv").write_text("x")
    with pytest.raises(KeyError, match="mine"), unchanged(tmp_path / "p.csv"):
        raise KeyError("mine")

    def change_and_fail():
        with unchanged(tmp_path / "p.csv"):
            (tmp_path / "p.csv").write_text("xy")
            raise KeyError("mine")

    with pytest.raises(ValueError, match="changed"):
        change_and_fail()


@pytest.fixture
def in_the_middle(monkeypatch):
    """Changes a file after the first chunk of it is calibrated."""

    def change(path, how):
        from dircal.tables import _calibrated

        calibrate = _calibrated._Calibration.of

        def and_change(self, *arguments):
            if self.n_rows == 0:
                how(path)
            return calibrate(self, *arguments)

        monkeypatch.setattr(_calibrated._Calibration, "of", and_change)

    return change


@pytest.mark.parametrize("how", [CHANGES["cut"], CHANGES["grown"]], ids=["cut", "grown"])
def test_apply_to_text_that_changes(run, fitted, in_the_middle, tmp_path, how):
    there = sorted(tmp_path.iterdir())
    in_the_middle(Path("p.csv"), how)
    told = run("apply", "map.json", "p.csv", "-o", "out.csv", code=2).stderr
    assert "'p.csv' changed while it was read" in told
    assert sorted(tmp_path.iterdir()) == there


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_apply_to_numbers_that_change(run, fitted, animals, in_the_middle, kind):
    proba, _ = animals
    if kind == "npy":
        np.save("p.npy", proba)
    else:
        names = ["ant", "bee", "cow"]
        pq.write_table(pa.table(dict(zip(names, proba.T, strict=True))), "p.parquet")
    in_the_middle(Path(f"p.{kind}"), CHANGES["grown"])
    told = run("apply", "map.json", f"p.{kind}", "-o", f"out.{kind}", code=2).stderr
    assert "changed while it was read" in told
    assert not Path(f"out.{kind}").exists()


def test_fit_on_a_file_that_changes(run, write_csv, monkeypatch):
    write_csv()
    from dircal.tables import RowReader

    read = RowReader.read

    def and_change(*arguments):
        found = read(*arguments)
        CHANGES["grown"](Path("p.csv"))
        return found

    monkeypatch.setattr(RowReader, "read", and_change)
    told = run("fit", "p.csv", "--label", "y", "-o", "map.json", code=2).stderr
    assert "'p.csv' changed while it was read" in told
