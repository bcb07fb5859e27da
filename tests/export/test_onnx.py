import json
import sys
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from dircal import (
    CalibratedClassifier,
    DirichletCalibrator,
    IsotonicCalibrator,
    MatrixScaling,
    TemperatureScaling,
)
from dircal.export import to_onnx, to_python, to_torch
from dircal.maps import Affine, CalibrationMap, Softmax


@pytest.fixture
def fitted(make_problem):
    problem = make_problem(0, n=200, k=3)
    names = np.array(["cat", "ant", "bee"])
    return DirichletCalibrator(classes=names.tolist()).fit(problem.proba, names[problem.y])


def test_the_graph_is_the_formula(fitted):
    graph = to_onnx(fitted, dtype="float64").graph
    kinds = [node.op_type for node in graph.node]
    assert kinds == ["Gather", "ReduceSum", "Div", "Max", "Log", "MatMul", "Add", "Softmax"]
    assert [
        (x.name, [d.dim_param or d.dim_value for d in x.type.tensor_type.shape.dim])
        for x in (*graph.input, *graph.output)
    ] == [
        ("scores", ["n", 3]),
        ("probabilities", ["n", 3]),
    ]
    assert len({node.name for node in graph.node}) == len(kinds)
    used = {name for node in graph.node for name in node.input}
    assert {constant.name for constant in graph.initializer} <= used


def test_networks_give_single_precision(fitted):
    """So that is what goes in and comes out unless told otherwise."""
    graph = to_onnx(fitted).graph
    kinds = {x.type.tensor_type.elem_type for x in (*graph.input, *graph.output)}
    assert kinds == {onnx.TensorProto.FLOAT}
    assert [node.op_type for node in graph.node][:: len(graph.node) - 1] == ["Cast", "Cast"]


def test_huge_logits_in_the_reference_evaluator(make_problem):
    """Its LogSoftmax is the logarithm of a softmax, which has no logarithm 800 below the best."""
    problem = make_problem(0, n=200, k=3)
    scaling = DirichletCalibrator(input_scale="logit").fit(problem.logits, problem.y)
    X = np.array([[5e3, -5e3, 0.0], [0.0, 900.0, 1.0], [-1e4, -np.inf, -2e4]])
    with np.errstate(all="ignore"):
        (found,) = ReferenceEvaluator(to_onnx(scaling, dtype="float64")).run(None, {"scores": X})
    np.testing.assert_allclose(found, scaling.predict_proba(X), rtol=0, atol=1e-9)


def test_columns_and_classes_are_in_the_metadata(fitted):
    told = {entry.key: entry.value for entry in to_onnx(fitted).metadata_props}
    assert json.loads(told["dircal.columns"]) == ["cat", "ant", "bee"]
    assert json.loads(told["dircal.classes"]) == ["ant", "bee", "cat"]
    assert told["dircal.calibrator"] == "DirichletCalibrator"
    assert told["dircal.input_scale"] == "probability"


def test_of_one_column_only_the_label_it_speaks_of(make_problem):
    problem = make_problem(0, n=200, k=2)
    fitted = IsotonicCalibrator().fit(problem.proba[:, 1], np.array(["n", "y"])[problem.y])
    told = {entry.key: entry.value for entry in to_onnx(fitted).metadata_props}
    assert json.loads(told["dircal.columns"]) == ["y"]


def test_labels_that_json_does_not_know(make_problem):
    problem = make_problem(0, n=200, k=2)
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    told = to_onnx(TemperatureScaling().fit(problem.proba, days[problem.y])).metadata_props
    assert '["2020-01-01", "2020-01-02"]' in [entry.value for entry in told]


def test_the_file_is_the_model(fitted, tmp_path):
    model = to_onnx(fitted, tmp_path / "map.onnx", dtype="mixed")
    assert onnx.load(tmp_path / "map.onnx") == model
    assert [path.name for path in tmp_path.iterdir()] == ["map.onnx"]


def test_bad_arguments(fitted, make_problem):
    with pytest.raises(ValueError, match="`dtype` must be one of 'mixed', 'float64', 'float32'"):
        to_onnx(fitted, dtype="double")
    with pytest.raises(
        ValueError, match="`dtype` must be one of 'input', 'float64', 'float32'; got 'mixed'"
    ):
        to_torch(fitted, dtype="mixed")
    problem = make_problem(0, n=200, k=3)
    model = CalibratedClassifier(GaussianNB()).fit(problem.logits, problem.y)
    for export in (to_onnx, to_torch, to_python):
        with pytest.raises(
            ValueError, match=r"holds a classifier as well.* one of its `calibrators_`"
        ):
            export(model)
        with pytest.raises(
            ValueError, match=r"must be a fitted calibrator of dircal; got GaussianNB"
        ):
            export(GaussianNB())
        with pytest.raises(ValueError, match="got 'the class DirichletCalibrator'"):
            export(DirichletCalibrator)
        with pytest.raises(NotFittedError):
            export(DirichletCalibrator())


def test_large_weights_are_refused_in_single_precision(make_problem):
    problem = make_problem(0, n=200, k=3)
    scaling = MatrixScaling(input_scale="logit").fit(problem.logits, problem.y)
    steep = CalibrationMap(3, (Affine(1e4 * np.eye(3), np.zeros(3)), Softmax()))
    scaling.fit_ = replace(scaling.fit_, map=steep)
    with pytest.raises(ValueError, match=r"weights are so large that .* off by .* dtype='mixed'"):
        to_onnx(scaling, dtype="float32")
    with pytest.raises(ValueError, match=r"weights are so large that .* off by .* dtype='input'"):
        to_torch(scaling, dtype="float32")
    to_onnx(scaling, dtype="mixed")


@pytest.mark.parametrize(("name", "export"), [("onnx", to_onnx), ("torch", to_torch)])
def test_a_missing_extra_is_named(name, export, fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ModuleNotFoundError, match=rf"needs {name}.* pip install 'dircal\[{name}\]'"
    ):
        export(fitted)
