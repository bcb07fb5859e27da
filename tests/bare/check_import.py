"""Run with nothing but the base install: the package works, and says what an extra would add."""

import importlib.util
import subprocess
import sys
import tempfile

import numpy as np

import dircal

for extra in (
    "click",
    "rich",
    "pandas",
    "polars",
    "matplotlib",
    "jinja2",
    "pytest",
    "onnx",
    "pyarrow",
    "keras",
    "torch",
    "dask",
    "distributed",
):
    assert importlib.util.find_spec(extra) is None, f"{extra} is installed: not a bare environment"

rng = np.random.default_rng(0)
proba = rng.dirichlet(np.ones(3), size=200)
y = np.array(["a", "b", "c"])[[rng.choice(3, p=row) for row in proba]]
for name in dircal.calibrators.__all__:
    calibrator = dircal.OneVsRestCalibrator(getattr(dircal, name)())
    calibrated = calibrator.fit(proba, y).predict_proba(proba)
    np.testing.assert_allclose(calibrated.sum(axis=1), 1.0)

with tempfile.TemporaryDirectory() as folder:
    dircal.save(calibrator, f"{folder}/map.json")
    loaded = dircal.load(f"{folder}/map.json")
np.testing.assert_array_equal(loaded.predict_proba(proba), calibrated)
assert "import math" in dircal.export.to_python(calibrator)
for export, extra in (
    (dircal.export.to_keras, "keras"),
    (dircal.export.to_onnx, "onnx"),
    (dircal.export.to_torch, "torch"),
):
    told = ""
    try:
        export(calibrator)
    except ModuleNotFoundError as error:
        told = str(error)
    assert f"pip install 'dircal[{extra}]'" in told, told

display = dircal.plots.ReliabilityDisplay.from_predictions(y, proba)
assert sum(display.to_frame()["count"]) == 200
advice = ""
try:
    display.plot()
except ModuleNotFoundError as error:
    advice = str(error)
assert "pip install 'dircal[plots]'" in advice, advice

report = dircal.Report.from_predictions(
    y, proba, calibrators=dircal.TemperatureScaling(), n_resamples=100
)
assert report.to_dict()["data"]["n_rows"] == 200
advice = ""
try:
    report.to_html()
except ModuleNotFoundError as error:
    advice = str(error)
assert "pip install 'dircal[report]'" in advice, advice

command = [sys.executable, "-c", "from dircal.cli import main; main()"]
refused = subprocess.run(command, capture_output=True, text=True, check=False)
assert refused.returncode == 2
assert "pip install 'dircal[cli]'" in refused.stderr, refused.stderr
sys.stdout.write("The bare install works: 1 passed\n")
