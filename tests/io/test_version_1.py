"""Files of version 1: the same calibrators, and as strict."""

import copy
import json
import warnings
from pathlib import Path

import pytest
from numpy.testing import assert_array_equal

import dircal
from dircal import maps

FOLDER = Path(__file__).parent.parent / "data" / "saved" / "version-1"
GOLDEN = sorted(FOLDER.glob("*.json"))
each_golden = pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])


def document_of(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def load_json(document, tmp_path):
    path = tmp_path / "map.json"
    path.write_text(json.dumps(document))
    return dircal.load(path)


@each_golden
def test_what_is_saved_again_is_of_this_version(path, tmp_path):
    loaded = dircal.load(path)
    dircal.save(loaded, tmp_path / "map.json")
    assert json.loads((tmp_path / "map.json").read_text())["version"] == 4
    again = dircal.load(tmp_path / "map.json")
    assert again.map_ == loaded.map_
    X = json.loads((FOLDER / "expected.txt").read_text())[path.stem]["X"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dircal.exceptions.RowSumWarning)
        assert_array_equal(again.predict_proba(X), loaded.predict_proba(X))


STEPS = {
    "bayesian": "Normalise LogProbability UniformMixture Affine Softmax",
    "bayesian_fixed": "MaskedAsLeast LogSoftmax UniformMixture Affine Softmax",
    "beta": "Normalise LogProbability Affine Sigmoid",
    "dirichlet": "Normalise LogProbability Affine Softmax",
    "dirichlet_logit": "MaskedAsLeast LogSoftmax Affine Softmax",
    "histogram": "Normalise Columns Lookup Complement",
    "identity": "Normalise",
    "isotonic": "Normalise Columns Interpolation Complement",
    "matrix": "Columns MaskedAsLeast Affine Softmax",
    "platt": "LogSoftmax LogOdds Diagonal Sigmoid",
    "temperature_25": "Normalise LogProbability Scale Softmax",
    "vector": "Normalise LogProbability Diagonal Softmax",
}


@pytest.mark.parametrize(("name", "steps"), STEPS.items(), ids=STEPS)
def test_attributes_become_steps(name, steps):
    loaded = dircal.load(FOLDER / f"{name}.json")
    assert [type(step).__name__ for step in loaded.map_.steps] == steps.split()


def test_numbers_are_those_of_the_file():
    fitted = document_of("beta")["object"]["fitted"]
    step = dircal.load(FOLDER / "beta.json").map_.find(maps.Affine)
    assert step.matrix.tolist() == [[-fitted["slope_negative_"], fitted["slope_positive_"]]]
    assert step.intercepts.tolist() == [fitted["intercept_"]]
    edges = document_of("histogram")["object"]["fitted"]["bin_edges_"]["data"]
    assert (
        dircal.load(FOLDER / "histogram.json").map_.find(maps.Lookup).edges.tolist() == edges[1:-1]
    )


def test_one_column():
    document = document_of("platt")
    fitted = document["object"]["fitted"]
    fitted["n_features_in_"] = 1
    content = json.dumps(document).encode()
    loaded = dircal.io.from_bytes(content)
    assert loaded.map_.steps[0] == maps.ZeroLogit()
    both = dircal.load(FOLDER / "platt.json")
    assert_array_equal(loaded.predict_proba([1.5]), both.predict_proba([[0.0, 1.5]]))


def test_old_names(tmp_path):
    document = document_of("bayesian_26")
    fitted = document["object"]["fitted"]
    assert fitted["posterior"]["type"] == "SketchedPosterior"
    fitted["status"]["name"] = "AT_INFINITY"
    loaded = load_json(document, tmp_path)
    assert type(loaded.fit_.details.posterior).__name__ == "LowRankPosterior"
    assert loaded.fit_.details.status.name == "SEPARATED"
    assert loaded.row_mean_factor_ == 1.0
    fitted["level_"] = 0.25
    assert load_json(document, tmp_path).row_mean_factor_ == 0.25


def test_names_inside_of_what_users_wrote_stay(tmp_path):
    document = document_of("search")
    document["object"]["fitted"]["cv_results_"]["items"]["params"][1]["items"]["owner"] = 1
    assert load_json(document, tmp_path).best_params_["owner"] == 1


def test_a_matrix_must_be_one_of_the_family(tmp_path):
    document = document_of("temperature")
    for place, value in (((0, 1), 0.5), ((1, 1), 0.5)):
        other = copy.deepcopy(document)
        other["object"]["fitted"]["coef_"]["data"][place[0]][place[1]] = value
        with pytest.raises(ValueError, match="no matrix that TemperatureScaling can have"):
            load_json(other, tmp_path)
    document["object"]["fitted"]["intercept_"]["data"][0] = 1.0
    with pytest.raises(ValueError, match="no matrix that TemperatureScaling can have"):
        load_json(document, tmp_path)


ARRAY = {"type": "array", "dtype": "float64"}
BAD = {
    "a bomb": (
        "dirichlet",
        "coef_",
        {
            **ARRAY,
            "shape": [20000, 20000],
            "diagonal": {**ARRAY, "shape": [20000], "data": [0] * 20000},
        },
        "would take more memory than 1 GiB",
    ),
    "no diagonal": ("dirichlet", "coef_", {**ARRAY, "shape": [3], "diagonal": 1}, "needs an array"),
    "missing": ("dirichlet", "coef_", ..., "object lacks 'coef_'"),
    "no columns": ("dirichlet", "column_classes_", ..., "column_classes_ needs labels"),
    "no number of columns": ("dirichlet", "n_features_in_", "3", "needs a whole number"),
    "columns": ("dirichlet", "n_features_in_", 2, "step 2, Affine"),
    "clip": ("dirichlet", "clip_", 2.0, "`clip` must lie between 0 and 1"),
    "text": ("platt", "slope_", "1", "slope_ needs a finite number; got '1'"),
    "temperature": ("bayesian", "temperature_", 0.0, "`slope` must be above 0"),
    "smoothing": ("bayesian", "smoothing_", 1.5, "`uniform_weight` must lie between 0 and 1"),
    "flag": ("bayesian", "normalised", 0, "normalised needs true or false"),
    "single precision": (
        "dirichlet",
        "intercept_",
        {"type": "array", "dtype": "float32", "shape": [3], "data": [0, 0, 0]},
        "intercept_ needs float64; got float32",
    ),
    "NaN edges": (
        "histogram",
        "bin_edges_",
        {**ARRAY, "shape": [5], "data": ["-inf", 0.1, "nan", 0.2, "inf"]},
        "edges needs finite numbers",
    ),
    "falling edges": (
        "histogram",
        "bin_edges_",
        {**ARRAY, "shape": [5], "data": ["-inf", 0.3, 0.2, 0.4, "inf"]},
        "`edges` must be sorted numbers",
    ),
    "no edges": (
        "histogram",
        "bin_edges_",
        {**ARRAY, "shape": [], "data": 1.0},
        "cannot be|needs",
    ),
    "status": ("dirichlet", "status", {"type": "status", "name": []}, r"status cannot be \[\]"),
    "new map": ("dirichlet", "map_", 3, "lacks|map_"),
}


@pytest.mark.parametrize(("name", "attribute", "value", "message"), BAD.values(), ids=BAD)
def test_what_does_not_fit_is_refused(name, attribute, value, message, tmp_path):
    document = document_of(name)
    if value is ...:
        del document["object"]["fitted"][attribute]
    else:
        document["object"]["fitted"][attribute] = value
    if attribute == "map_":
        del document["object"]["fitted"]["coef_"]
    with pytest.raises(ValueError, match=message) as error:
        load_json(document, tmp_path)
    assert str(error.value).startswith("`path` ")
    assert "\n" not in str(error.value)


def test_deep_values(tmp_path):
    document = document_of("dirichlet")
    deep = 1
    for _ in range(500):
        deep = [deep]
    document["object"]["parameters"]["lam"] = deep
    with pytest.raises(ValueError, match="nested too deeply"):
        load_json(document, tmp_path)


def test_large_temperature_maps_are_never_made_a_matrix():
    k = 20_000
    document = document_of("temperature")
    fitted = document["object"]["fitted"]
    labels = {"type": "array", "dtype": "int64", "shape": [k], "data": list(range(k))}
    zeros = {**ARRAY, "shape": [k], "data": [0.0] * k}
    fitted |= {"classes_": labels, "column_classes_": labels, "n_features_in_": k}
    slopes = {**ARRAY, "shape": [k], "data": [0.5] * k}
    fitted["coef_"] = {**ARRAY, "shape": [k, k], "diagonal": slopes}
    fitted["intercept_"] = zeros
    fitted["record"]["fields"]["observed"] = zeros
    loaded = dircal.io.from_bytes(json.dumps(document).encode())
    assert loaded.map_.find(maps.Scale).slope == 0.5
