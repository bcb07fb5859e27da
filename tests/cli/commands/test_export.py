import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dircal

ROW = [[0.2, 0.3, 0.5]]


def test_python(run, fitted, tmp_path):
    run("export", fitted, "--to", "python", "-o", "map.py")
    assert "import math" in (tmp_path / "map.py").read_text()


def test_sql(run, fitted, tmp_path, query_duckdb):
    names = ["p 0", "p 1", "p 2"]
    given = [argument for name in names for argument in ("--column", name)]
    run("export", fitted, "--to", "sql", "--table", "scores", *given, "-o", "map.sql")
    found = query_duckdb((tmp_path / "map.sql").read_text(), np.array(ROW), names)
    assert_allclose(found, dircal.load(fitted).predict_proba(ROW), rtol=1e-12)
    options = ("--table", "own", "--table", "scores", "--dialect", "spark")
    told = run("export", fitted, "--to", "sql", *options, "-o", "-").stdout
    assert "FROM `own`.`scores` AS" in told


def test_options_of_queries(run, fitted):
    told = run("export", fitted, "--to", "sql", "-o", "map.sql", code=2).stderr
    assert "--to sql needs the name of the table" in told
    told = run("export", fitted, "--to", "python", "--table", "t", "-o", "map.py", code=2).stderr
    assert "are for --to sql only" in told


def test_names_of_what_a_query_adds(run, fitted):
    names = [argument for name in ("A", "B", "C") for argument in ("--name", name)]
    given = ("export", fitted, "--to", "sql", "--table", "scores")
    told = run(*given, *names, "-o", "-").stdout
    assert [f'AS "{name}"' in told for name in "ABC"] == [True] * 3
    assert "`names` must hold 3" in run(*given, *names[:4], "-o", "map.sql", code=2).stderr


@pytest.mark.parametrize("kind", ["python", "sql"])
def test_a_precision_is_refused_where_there_is_none(kind, run, fitted, tmp_path):
    table = ("--table", "scores") if kind == "sql" else ()
    given = ("--to", kind, *table, "--dtype", "float32", "-o", "map")
    told = run("export", fitted, *given, code=2).stderr
    assert "--dtype is for --to onnx, torch and keras" in told
    assert not (tmp_path / "map").exists()


def test_keras(run, fitted):
    keras = pytest.importorskip("keras")
    run("export", fitted, "--to", "keras", "-o", "map.keras")
    layer = keras.models.load_model("map.keras").layers[-1]
    found = keras.ops.convert_to_numpy(layer(np.array(ROW)))
    assert_allclose(found, dircal.load(fitted).predict_proba(ROW), rtol=1e-9)


def test_onnx(run, fitted):
    runtime = pytest.importorskip("onnxruntime")
    run("export", fitted, "--to", "onnx", "-o", "map.onnx")
    session = runtime.InferenceSession("map.onnx")
    (found,) = session.run(None, {"scores": np.array(ROW, dtype=np.float32)})
    assert_allclose(found, dircal.load(fitted).predict_proba(ROW), atol=1e-6)


def test_torch_needs_no_dircal_where_it_runs(run, fitted, monkeypatch):
    torch = pytest.importorskip("torch")
    run("export", fitted, "--to", "torch", "-o", "single.pt2")
    run("export", fitted, "--to", "torch", "--dtype", "float64", "-o", "map.pt2")
    expected = dircal.load(fitted).predict_proba(ROW)
    for name in [name for name in sys.modules if name.partition(".")[0] == "dircal"]:
        monkeypatch.setitem(sys.modules, name, None)  # to import it is an error
    files = {"dircal.classes": ""}
    module = torch.export.load("map.pt2", extra_files=files).module()
    found = module(torch.tensor(ROW, dtype=torch.float64)).tolist()
    assert_allclose(found, expected, rtol=1e-12)
    assert json.loads(files["dircal.classes"]) == ["ant", "bee", "cow"]
    single = torch.export.load("single.pt2").module()(torch.tensor(ROW))
    assert single.dtype == torch.float32
    assert_allclose(single.detach(), expected, rtol=1e-6)


def test_what_cannot_be_exported_says_why(run, write_csv, tmp_path):
    pytest.importorskip("torch")
    write_csv()
    run("fit", "p.csv", "--label", "y", "--calibrator", "isotonic", "-o", "map.json")
    told = run("export", "map.json", "--to", "torch", "-o", "map.pt2", code=2).stderr
    assert "no gradient" in told
    assert not (tmp_path / "map.pt2").exists()
    told = run("export", "map.json", "--to", "torch", "--dtype", "mixed", "-o", "m", code=2).stderr
    assert "`dtype` must be one of" in told
