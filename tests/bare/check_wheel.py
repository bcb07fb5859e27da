"""Run with the wheel and one extra in an environment of their own: what the extra is for works.

``python check_wheel.py bare``, ``python check_wheel.py report`` and so on; see ``make dist``.
"""

import importlib.metadata
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dircal


def bare() -> None:
    """Measure, test, save and load."""
    assert dircal.calibration_test(y, proba, random_state=0).pvalue < 0.05
    assert dircal.metrics.log_loss(y, calibrated) < dircal.metrics.log_loss(y, proba)
    dircal.save(calibrator, folder / "map.json")
    assert (dircal.load(folder / "map.json").predict_proba(proba) == calibrated).all()


def cli() -> None:
    """From a file to a calibrated file."""
    run("demo", "--save", str(folder))
    run("fit", "calibration.csv", "--label", "digit", "-o", "map.json")
    run("apply", "map.json", "test.csv", "-o", "calibrated.csv")
    assert (folder / "calibrated.csv").exists()


def parquet() -> None:
    """The command line is another extra: here the library that it would read with."""
    import pyarrow.parquet

    assert pyarrow.parquet


def plots() -> None:
    """Draw without a window."""
    import matplotlib as mpl

    mpl.use("Agg")
    assert dircal.plots.ReliabilityDisplay.from_predictions(y, proba).plot().figure_


def report() -> None:
    """Template, style and script lie in the wheel."""
    made = dircal.Report.from_predictions(
        y, proba, calibrators=dircal.TemperatureScaling(), n_resamples=100
    )
    page = made.to_html()
    assert "<style>" in page
    assert "<script>" in page


def onnx() -> None:
    """A model that the package of that name finds right."""
    import onnx as library

    library.checker.check_model(dircal.export.to_onnx(calibrator))


def torch() -> None:
    """A module that says what the calibrator says."""
    import torch as library

    told = dircal.export.to_torch(calibrator)(library.from_numpy(proba))
    np.testing.assert_allclose(told.detach().numpy(), calibrated, atol=1e-9)


def run(*arguments: str) -> None:
    """The command as it was installed."""
    command = Path(sys.executable).with_name("dircal")
    subprocess.run([command, *arguments], cwd=folder, check=True, capture_output=True)


CHECKS: dict[str, Callable[[], None]] = {
    check.__name__: check for check in (bare, cli, onnx, parquet, plots, report, torch)
}

if __name__ == "__main__":
    installed = Path(dircal.__file__).parent
    assert "site-packages" in installed.parts, f"{installed} is not the wheel"
    assert (installed / "py.typed").exists(), "type checkers are not told that there are types"
    assert importlib.metadata.version("dircal") == dircal.__version__
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(3), size=400)
    y = np.array(["ant", "bee", "cat"])[[rng.choice(3, p=row) for row in truth]]
    proba = truth**3 / (truth**3).sum(axis=1, keepdims=True)
    calibrator = dircal.AutoCalibrator().fit(proba, y)
    calibrated = calibrator.predict_proba(proba)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        CHECKS[sys.argv[1]]()
    sys.stdout.write(f"The wheel works: {sys.argv[1]}\n")
