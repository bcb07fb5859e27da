"""Maps alone: read with NumPy, as exact and as strict as whole calibrators."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dircal
from dircal import (
    AutoCalibrator,
    BetaCalibrator,
    CalibratorCV,
    OneVsRestCalibrator,
)
from dircal.maps import CalibrationMap

SAVED = Path(__file__).parent.parent / "data" / "saved"
NEW = sorted((SAVED / "version-4").glob("*.json"))
OLD = [SAVED / f"version-{i}" / "search.json" for i in (1, 2, 3)]


@pytest.mark.parametrize("path", [*NEW, *OLD], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_map_of_a_file_is_that_of_the_calibrator(path):
    chain = dircal.load_map(path)
    assert isinstance(chain, CalibrationMap)
    assert chain == dircal.load(path).map_


CALIBRATORS = {
    "auto": AutoCalibrator(),
    "beta": BetaCalibrator(),
    "search": CalibratorCV(
        dircal.DirichletCalibrator(penalty="l2"), {"lam": [10.0, 1e-2, 1e-6]}, cv=2
    ),
    "one against the rest": OneVsRestCalibrator(dircal.IsotonicCalibrator()),
}


@pytest.mark.parametrize("calibrator", CALIBRATORS.values(), ids=CALIBRATORS)
def test_it_needs_numpy_alone(calibrator, make_problem, tmp_path):
    problem = make_problem(0, n=200, k=2 if calibrator is CALIBRATORS["beta"] else 3)
    fitted = calibrator.fit(problem.proba, problem.y)
    dircal.save(fitted, tmp_path / "map.json")
    np.save(tmp_path / "scores.npy", problem.proba)
    program = (
        "import sys\n"
        "for name in ('scipy', 'sklearn', 'narwhals', 'threadpoolctl', 'joblib'):\n"
        "    sys.modules[name] = None\n"
        "import numpy as np, dircal\n"
        "np.save('after.npy', dircal.load_map('map.json')(np.load('scores.npy')))\n"
        "print(sorted(name for name in sys.modules if name.startswith('dircal.')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "dircal.calibrators" not in done.stdout
    assert "dircal.tables" not in done.stdout
    assert_array_equal(np.load(tmp_path / "after.npy"), fitted.predict_proba(problem.proba))


def test_one_column_may_be_a_vector(make_problem, tmp_path):
    problem = make_problem(0, n=200, k=2)
    fitted = BetaCalibrator().fit(problem.proba[:, 1], problem.y)
    dircal.save(fitted, tmp_path / "map.json")
    chain = dircal.load_map(tmp_path / "map.json")
    expected = fitted.predict_proba(problem.proba[:, 1])
    assert_array_equal(chain(problem.proba[:, 1]), expected)
    assert_array_equal(chain(problem.proba[:, 1:]), expected)


def test_the_member_that_predicts_is_written_once(make_problem):
    problem = make_problem(0, n=300, k=3)
    auto = AutoCalibrator().fit(problem.proba, problem.y)
    document = json.loads(dircal.io.to_bytes(auto))
    [member] = document["object"]["fit"]["members"]
    assert member["fit"]["map"] is None
    loaded = dircal.io.from_bytes(json.dumps(document).encode())
    assert loaded.calibrator_.map_ is loaded.map_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"object": 3}, "object.fit.map needs CalibrationMap; got None"),
        ({"version": 9}, "format version 9"),
        ({"object": {"fit": {"map": {"type": "Reader"}}}}, "has the type 'Reader'"),
        ({"object": {"fit": {"map": [1]}}}, "needs CalibrationMap"),
    ],
)
def test_damaged_files_are_named(change, message, tmp_path):
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"format": "dircal", "version": 4} | change))
    with pytest.raises(ValueError, match=message) as error:
        dircal.load_map(path)
    assert str(error.value).startswith("`path` ")
