import ast
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal import (
    DirichletCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    TemperatureScaling,
)
from dircal.export import to_python


@pytest.fixture
def fitted(make_problem):
    problem = make_problem(0, n=200, k=3)
    names = np.array(["cat", "ant", "bee"])
    calibrator = DirichletCalibrator(classes=names.tolist())
    return calibrator.fit(problem.proba, names[problem.y]), problem.proba


def test_it_imports_math_alone(make_problem):
    problem = make_problem(0, n=200, k=3)
    for inner in (IsotonicCalibrator(), HistogramCalibrator(), TemperatureScaling()):
        code = to_python(OneVsRestCalibrator(inner).fit(problem.proba, problem.y))
        imports = [
            x for x in ast.walk(ast.parse(code)) if isinstance(x, ast.Import | ast.ImportFrom)
        ]
        assert [ast.unparse(one) for one in imports] == ["import math"]


def test_it_runs_without_any_package(fitted, tmp_path):
    calibrator, X = fitted
    code = to_python(calibrator, tmp_path / "shipped.py")
    assert (tmp_path / "shipped.py").read_text() == code
    program = f"import shipped; print(shipped.predict_proba({X[:3].tolist()}), shipped.COLUMNS)"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append('.'); {program}"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    proba, _, columns = result.stdout.partition("]] ")
    assert_allclose(ast.literal_eval(proba + "]]"), calibrator.predict_proba(X[:3]), rtol=1e-12)
    assert ast.literal_eval(columns) == ["cat", "ant", "bee"]


def test_labels_and_predictions(fitted):
    calibrator, X = fitted
    module = {}
    exec(to_python(calibrator), module)
    assert module["CLASSES"] == ["ant", "bee", "cat"]
    assert module["predict"](X.tolist()) == calibrator.predict(X).tolist()


@pytest.mark.parametrize("row", [[0.5, 0.5], [0.2, 0.3, float("nan")], [1, 0, float("inf")]])
def test_bad_rows(fitted, row):
    module = {}
    exec(to_python(fitted[0]), module)
    with pytest.raises(ValueError, match="a row needs 3 finite numbers"):
        module["predict_proba"]([row])


def test_labels_are_never_code(make_problem):
    problem = make_problem(0, n=100, k=2)
    labels = np.array(['"""\nimport os\nos.abort()\n"""', "'] + [exit()] + ['"])
    calibrator = TemperatureScaling().fit(problem.proba, labels[problem.y])
    module = {}
    exec(to_python(calibrator), module)
    assert module["CLASSES"] == sorted(labels.tolist())
