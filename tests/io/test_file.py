"""What is saved can be loaded, for ever; what was not saved is refused in one sentence."""

import base64
import copy
import json
import os
import stat
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, RepeatedKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB

import dircal
from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    CalibratedClassifier,
    CalibratorCV,
    DirichletCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    TemperatureScaling,
)
from dircal.io import from_bytes, to_bytes
from dircal.shift import PriorShift

GOLDEN = sorted((Path(__file__).parent.parent / "data" / "saved").rglob("*.json"))
each_golden = pytest.mark.parametrize(
    "path", GOLDEN, ids=[f"{path.parent.name}-{path.stem}" for path in GOLDEN]
)


@each_golden
def test_old_files_keep_loading(path):
    expected = json.loads((path.parent / "expected.txt").read_text())[path.stem]
    with warnings.catch_warnings():
        # Written with six digits.
        warnings.simplefilter("ignore", dircal.exceptions.RowSumWarning)
        loaded = dircal.load(path)
        assert_allclose(loaded.predict_proba(expected["X"]), expected["proba"], rtol=1e-12)
        assert [str(label) for label in loaded.predict(expected["X"])] == expected["labels"]


def test_every_version_has_golden_files():
    from dircal.io import _map_file

    versions = {path.parent.name for path in GOLDEN}
    assert versions == {f"version-{i}" for i in range(1, _map_file.VERSION + 1)}


@pytest.fixture
def fitted(make_problem):
    problem = make_problem(0, n=100, k=3)
    return DirichletCalibrator().fit(problem.proba, problem.y)


@pytest.mark.parametrize("damaged", [1e308, -1e308, 1e200])
@each_golden
def test_maps_with_damaged_numbers_do_not_predict_nan(path, damaged):
    """Every number of a map in turn, if there are few: what loads predicts probabilities."""
    document = json.loads(path.read_text())
    expected = json.loads((path.parent / "expected.txt").read_text())[path.stem]
    places = [place for place in numbers_of(document) if "data" in place]
    for place in places[:: 1 + len(places) // 20]:
        content = json.dumps(set_at(document, place, damaged)).encode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dircal.exceptions.RowSumWarning)
            try:
                loaded = from_bytes(content)
            except ValueError:
                continue
            assert np.isfinite(loaded.predict_proba(expected["X"])).all()


def numbers_of(node, place=()):
    if isinstance(node, dict | list):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for name, value in items:
            yield from numbers_of(value, (*place, name))
    elif isinstance(node, float):
        yield place


@pytest.mark.parametrize("damaged", [1e308, -1e308, 1e101])
def test_a_damaged_coefficient_of_a_curve_is_refused(damaged):
    path = GOLDEN[0].parents[1] / "version-3" / "bayesian_curves.json"
    document = json.loads(path.read_text())
    for place in numbers_of(document):
        if "coefficients" in place:
            content = json.dumps(set_at(document, place, damaged)).encode()
            with pytest.raises(
                ValueError, match=r"coefficients needs numbers between -1e\+100 and"
            ):
                from_bytes(content)


@pytest.mark.filterwarnings("ignore::dircal.exceptions.SmallSampleWarning")
class TestUncertainty:
    """What only intervals need is most of a file, and in it if wanted."""

    @pytest.fixture(params=[3, 26])
    def bayesian(self, request, make_problem):
        k = request.param
        problem = make_problem(0, n=200, k=k)
        return BayesianDirichletCalibrator(classes=range(k)).fit(problem.proba, problem.y), problem

    def test_it_is_left_out_by_default(self, bayesian, tmp_path):
        fitted, problem = bayesian
        dircal.save(fitted, tmp_path / "small.json")
        dircal.save(fitted, tmp_path / "large.json", uncertainty="posterior")
        sizes = [(tmp_path / name).stat().st_size for name in ("small.json", "large.json")]
        assert sizes[0] < 0.7 * sizes[1]
        small = dircal.load(tmp_path / "small.json")
        assert (small.predict_proba(problem.proba) == fitted.predict_proba(problem.proba)).all()
        assert str(small.explain()) == str(fitted.explain())
        with pytest.raises(ValueError, match=r"uncertainty='posterior'"):
            small.predict_interval(problem.proba)
        # It can be saved again, and fitted again.
        dircal.save(small, tmp_path / "again.json", uncertainty="posterior")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "small.json").read_bytes()
        small.fit(problem.proba, problem.y).predict_interval(problem.proba)

    def test_it_is_kept_where_asked_for(self, bayesian, tmp_path):
        fitted, problem = bayesian
        dircal.save(fitted, tmp_path / "map.json", uncertainty="posterior")
        loaded = dircal.load(tmp_path / "map.json")
        for ours, theirs in zip(
            loaded.predict_interval(problem.proba),
            fitted.predict_interval(problem.proba),
            strict=True,
        ):
            assert (ours == theirs).all()

    def test_so_it_is_of_a_calibrator_inside_another(self, make_problem):
        problem = make_problem(1, n=300, k=3)
        auto = AutoCalibrator().fit(problem.proba, problem.y)
        assert isinstance(auto.calibrator_, BayesianDirichletCalibrator)
        assert from_bytes(to_bytes(auto)).calibrator_.fit_.details.posterior is None

    def test_files_of_version_2_have_intervals(self):
        loaded = dircal.load(GOLDEN[0].parents[1] / "version-2" / "bayesian.json")
        lower, upper = loaded.predict_interval([[0.2, 0.3, 0.5]])
        assert (lower < upper).all()

    def test_other_words_are_refused(self, fitted, tmp_path):
        with pytest.raises(ValueError, match=r"`uncertainty` must be"):
            dircal.save(fitted, tmp_path / "map.json", uncertainty="all")
        assert list(tmp_path.iterdir()) == []


class TestSave:
    def test_nothing_is_left_behind(self, fitted, tmp_path):
        dircal.save(fitted, tmp_path / "map.json")
        dircal.save(fitted, str(tmp_path / "map.json"))
        assert [path.name for path in tmp_path.iterdir()] == ["map.json"]

    def test_a_failed_write_leaves_the_old_file(self, fitted, tmp_path, monkeypatch):
        path = tmp_path / "map.json"
        path.write_text("precious")

        def full(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            dircal.save(fitted, path)
        monkeypatch.setattr(
            os, "fsync", lambda descriptor: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            dircal.save(fitted, path)
        assert path.read_text() == "precious"
        assert [one.name for one in tmp_path.iterdir()] == ["map.json"]

    def test_permissions_are_those_of_any_file(self, fitted, tmp_path):
        other = tmp_path / "other"
        other.touch()
        dircal.save(fitted, tmp_path / "map.json")
        assert stat.S_IMODE((tmp_path / "map.json").stat().st_mode) == stat.S_IMODE(
            other.stat().st_mode
        )
        (tmp_path / "map.json").chmod(0o600)
        dircal.save(fitted, tmp_path / "map.json")
        assert stat.S_IMODE((tmp_path / "map.json").stat().st_mode) == 0o600

    def test_links_are_followed(self, fitted, tmp_path):
        (tmp_path / "link.json").symlink_to(tmp_path / "map.json")
        dircal.save(fitted, tmp_path / "link.json")
        assert (tmp_path / "link.json").is_symlink()
        assert (tmp_path / "map.json").is_file()

    def test_bad_paths(self, fitted, tmp_path):
        with pytest.raises(IsADirectoryError, match=r"`path` .* is a folder. Pass the name"):
            dircal.save(fitted, tmp_path)
        with pytest.raises(FileNotFoundError, match=r"`path` .* does not exist. Make the folder"):
            dircal.save(fitted, tmp_path / "no" / "map.json")
        with pytest.raises(OSError, match=r"`path` '/dev/null' is a device or a pipe"):
            dircal.save(fitted, "/dev/null")

    @pytest.mark.parametrize("thing", [GaussianNB(), 3, DirichletCalibrator, {"a": 1}])
    def test_only_calibrators(self, thing, tmp_path):
        with pytest.raises(ValueError, match="`calibrator` must be a fitted calibrator of dircal"):
            dircal.save(thing, tmp_path / "map.json")
        assert not list(tmp_path.iterdir())

    def test_only_fitted_ones(self, tmp_path):
        with pytest.raises(NotFittedError):
            dircal.save(DirichletCalibrator(), tmp_path / "map.json")

    def test_a_classifier_inside_says_why_not(self, make_problem, tmp_path):
        problem = make_problem(0, n=100, k=3)
        model = CalibratedClassifier(GaussianNB()).fit(problem.logits, problem.y)
        with pytest.raises(ValueError, match=r"Save the maps with dircal.save\(model.calibrators_"):
            dircal.save(model, tmp_path / "map.json")
        dircal.save(model.calibrators_[0], tmp_path / "map.json")

    def test_what_cannot_be_written_is_named(self, make_problem, tmp_path):
        problem = make_problem(0, n=100, k=3)
        search = CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [1.0, 0.1, 1e-9]})
        search.fit(problem.proba, problem.y).set_params(cv=RepeatedKFold(n_splits=2))
        with pytest.raises(ValueError, match=r"cv holds an object of the class RepeatedKFold.*Set"):
            dircal.save(search, tmp_path / "map.json")
        fitted = TemperatureScaling().fit(problem.proba, problem.y)
        fitted.note_ = "mine"
        with pytest.raises(ValueError, match="has the attribute 'note_', which no file knows"):
            dircal.save(fitted, tmp_path / "map.json")

    def test_what_could_not_be_loaded_is_not_saved(self, fitted, tmp_path):
        for parameters, message in (
            ({"lam": "strong"}, "DirichletCalibrator.lam needs a finite number; got 'strong'"),
            ({"lam": -1.0}, "DirichletCalibrator cannot be: `lam` must be a finite number"),
        ):
            with pytest.raises(ValueError, match=f"cannot be saved: {message}"):
                dircal.save(copy.copy(fitted).set_params(**parameters), tmp_path / "map.json")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("classes", [range(3), (0, 1, 2), np.arange(3), pd.Index([0, 1, 2])])
    def test_classes_as_users_have_them(self, classes, make_problem, tmp_path):
        problem = make_problem(0, n=100, k=3)
        fitted = TemperatureScaling(classes=classes).fit(problem.proba, problem.y)
        dircal.save(fitted, tmp_path / "map.json")
        assert list(dircal.load(tmp_path / "map.json").classes) == [0, 1, 2]

    @pytest.mark.parametrize(
        "cv", [KFold(3), StratifiedShuffleSplit(2, test_size=0.5, random_state=1), 4]
    )
    def test_splitters(self, cv, make_problem, tmp_path):
        problem = make_problem(0, n=100, k=3)
        search = CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [1.0, 0.1, 1e-9]}, cv=cv)
        dircal.save(search.fit(problem.proba, problem.y), tmp_path / "map.json")
        assert repr(dircal.load(tmp_path / "map.json").cv) == repr(cv)

    def test_large_maps_are_compact(self, tmp_path):
        rng = np.random.default_rng(0)
        k = 300
        X, y = rng.dirichlet(np.ones(k), size=k), np.arange(k)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, kind in {"full": DirichletCalibrator, "one": TemperatureScaling}.items():
                calibrator = kind(max_iter=2).fit(X, y)
                dircal.save(calibrator, tmp_path / name)
                loaded = dircal.load(tmp_path / name)
                assert loaded.coef_.tobytes() == calibrator.coef_.tobytes()
        # Four characters for three bytes; of one temperature not even that.
        assert (tmp_path / "full").stat().st_size < 1.34 * 8 * k * (k + 1) + 100_000
        assert (tmp_path / "one").stat().st_size < 20_000


def load_json(document, tmp_path):
    path = tmp_path / "map.json"
    path.write_text(json.dumps(document))
    return dircal.load(path)


@pytest.fixture
def document(fitted, tmp_path):
    """A valid file as nested dicts and lists."""
    dircal.save(fitted, tmp_path / "map.json")
    return json.loads((tmp_path / "map.json").read_text())


def at(document, names):
    for name in names:
        document = document[name]
    return document


def set_at(document, names, value):
    changed = copy.deepcopy(document)
    at(changed, names[:-1])[names[-1]] = value
    return changed


FIT = ("object", "fit")
COLUMNS = (*FIT, "columns", "fields")
MAP = (*FIT, "map", "fields")
STEPS = (*MAP, "steps", "items")
# Of a Dirichlet map: division by the sum, logarithm, matrix, softmax.
COEF = (*STEPS, 2, "fields", "matrix")
ARRAY = {"type": "array", "dtype": "float64"}
EFFECTS = (*FIT, "record", "fields", "effects", "fields")


def step(name, **fields):
    return {"type": name, "fields": fields}


# Where, what stands there instead, and what the message says.
BAD = {
    "other format": (("format",), "sklearn", r'does not say "format": "dircal"'),
    "newer": (("version",), 5, "format version 5, and this dircal knows versions up to 4"),
    "version zero": (("version",), 0, "format version 0"),
    "true version": (("version",), True, 'and a "version"'),
    "stranger": (("extra",), 1, "has 'extra', which this version does not know"),
    "no object": (("object",), 3, "object has the type 3"),
    "unknown class": (("object", "type"), "os.system", "type 'os.system', which this version"),
    "inner class": (("object", "type"), "FitRecord", "type 'FitRecord', which this version"),
    "a map alone": (("object", "type"), "CalibrationMap", "type 'CalibrationMap', which this"),
    "not fitted": (("object", "fit"), None, "object is not fitted"),
    "unknown parameter": (("object", "parameters", "gamma"), 1, "has 'gamma', which this version"),
    "bad parameter": (("object", "parameters", "lam"), -1.0, "`lam` must be a finite number"),
    "parameter of a bad type": (
        ("object", "parameters", "tol"),
        [1],
        "tol needs a finite number; got a list",
    ),
    "no option": (
        ("object", "parameters", "penalty"),
        "l3",
        "penalty needs one of 'odir', 'l2', 'l2_reference', 'none'; got 'l3'",
    ),
    "huge number": (("object", "parameters", "lam"), 10**400, "lam needs a finite number"),
    "bad classes": (("object", "parameters", "classes"), "abc", "classes needs a list; got 'abc'"),
    "unknown part": ((*FIT, "evil"), 1, "has 'evil', which this version"),
    "unknown detail": (
        (*FIT, "details", "fields", "coef"),
        1,
        "details has 'coef', which this version",
    ),
    "details of another class": (
        (*FIT, "details"),
        {"type": "HistogramDetails", "fields": {"bin_counts": {**ARRAY, "shape": [0], "data": []}}},
        "details needs LinearDetails; got a HistogramDetails",
    ),
    "a member": ((*FIT, "members"), [3], r"members\[0\] has the type 3, which this version"),
    "members": ((*FIT, "members"), 3, "members needs a list"),
    "a list for a matrix": (COEF, [[1.0]], "matrix needs an array; got a list"),
    "wrong shape": (
        COEF,
        {**ARRAY, "shape": [1, 1], "data": [[1.0]]},
        "map cannot be: step 2, Affine: `matrix` must have 3 columns",
    ),
    "lying shape": (COEF, {**ARRAY, "shape": [3, 3], "data": [[1.0]]}, "does not have the shape"),
    "10 GB": (
        COEF,
        {**ARRAY, "shape": [36000, 36000], "base64": "AAAA"},
        r"needs 10368000000 bytes; got 3",
    ),
    "wide text": (
        (*COLUMNS, "classes"),
        {"type": "array", "dtype": "U999999", "shape": [400], "data": ["a"] * 400},
        "would take more memory",
    ),
    "NaN": (
        COEF,
        {**ARRAY, "shape": [3, 3], "data": [["nan"] * 3] * 3},
        "matrix needs finite numbers; got NaN",
    ),
    "NaN in base64": (
        (*STEPS, 2, "fields", "intercepts"),
        {
            **ARRAY,
            "shape": [3],
            "base64": base64.b64encode(np.array([1, np.nan, 2.0]).tobytes()).decode(),
        },
        "intercepts needs finite numbers",
    ),
    "single precision": (
        COEF,
        {"type": "array", "dtype": "float32", "shape": [3, 3], "data": [[0] * 3] * 3},
        "matrix needs float64; got float32",
    ),
    "objects": (
        COEF,
        {"type": "array", "dtype": "O", "shape": [3, 3], "data": [[0] * 3] * 3},
        "cannot have the dtype 'O'",
    ),
    "not base64": (COEF, {**ARRAY, "shape": [3, 3], "base64": "(!)"}, "holds other characters"),
    "a diagonal": (COEF, {**ARRAY, "shape": [3, 3], "diagonal": 1}, "an array needs `dtype`"),
    "unsorted": (
        (*COLUMNS, "classes", "data"),
        [1, 0, 2],
        "classes needs distinct labels, sorted",
    ),
    "other columns": (
        (*COLUMNS, "column_classes", "data"),
        [1, 0, 7],
        "needs the labels of `classes` in some order",
    ),
    "too many features": ((*COLUMNS, "n_features"), 4, "is 4, with 3 classes"),
    "features below zero": ((*COLUMNS, "n_features"), -3, "needs a whole number of at least 0"),
    "names": (
        (*COLUMNS, "feature_names"),
        {"type": "array", "dtype": "object", "of": "str", "shape": [2], "data": ["a", "b"]},
        "needs 3 names; got 2",
    ),
    "names that are none": (
        (*COLUMNS, "feature_names"),
        {"type": "array", "dtype": "int64", "shape": [3], "data": [1, 2, 3]},
        "feature_names needs strings",
    ),
    "no map": ((*FIT, "map"), 1, "map needs CalibrationMap; got 1"),
    "another step for a map": ((*FIT, "map"), step("Softmax"), "map needs CalibrationMap"),
    "clip": ((*STEPS, 1, "fields", "clip"), 2.0, "LogProbability: `clip` must lie between 0 and 1"),
    "unknown step": ((*STEPS, 3), step("Exec"), "type 'Exec', which this version does not know"),
    "no step": ((*STEPS, 3), 1.0, r"steps\[3\] needs AbstractStep; got 1.0"),
    "a record for a step": ((*STEPS, 3), step("Effects"), "steps\\[3\\] lacks 'before'"),
    "field too many": ((*STEPS, 3), step("Softmax", axis=1), "has 'axis', which this version"),
    "field too few": ((*STEPS, 3), step("Scale"), "lacks 'slope'"),
    "field of a bad type": ((*STEPS, 3), step("Scale", slope="1"), "slope needs a finite number"),
    "truth for a number": ((*STEPS, 3), step("Scale", slope=True), "slope needs a finite number"),
    "number for a truth": (
        (*STEPS, 3),
        step("UniformMixture", slope=1.0, uniform_weight=0.1, normalised=1),
        "normalised needs true or false; got 1",
    ),
    "a list of steps": ((*MAP, "steps"), [], "steps needs a tuple; got a list"),
    "steps that do not fit": ((*STEPS, 3), step("LogOdds"), "step 3, LogOdds: it reads 2 row"),
    "columns that are not there": (
        (*STEPS, 3),
        step("Columns", order={"type": "tuple", "items": [0, 1, 3]}),
        "`order` must be places among 3 columns",
    ),
    "no probabilities": ((*STEPS, 3), step("Scale", slope=1.0), "map does not end in probab"),
    "too few classes": (
        (*STEPS, 3),
        step("Columns", order={"type": "tuple", "items": [0, 1]}),
        "leads from 3 columns to 2 classes; there are 3 and 3",
    ),
    "columns of the map": ((*MAP, "n_columns"), 7, "step 2, Affine: `matrix` must have 7 columns"),
    "a linear map without one": (
        STEPS,
        [step("Softmax")],
        "does not read input_scale='probability'",
    ),
    "status": (
        (*FIT, "details", "fields", "status", "name"),
        "__class__",
        "status cannot be '__class__'",
    ),
    "record": ((*FIT, "record"), 3, "record needs FitRecord; got 3"),
    "pairs": ((*EFFECTS, "leader", "data", 0), 9, "leader needs numbers from 0 to 2"),
    "fewer pairs": (
        (*EFFECTS, "leader"),
        {"type": "array", "dtype": "int64", "shape": [1], "data": [0]},
        "which does not fit the others",
    ),
    "losses": ((*EFFECTS, "losses", "items"), [1.0], "losses needs 3 entries; got 1"),
    "observed": (
        (*FIT, "record", "fields", "observed"),
        {**ARRAY, "shape": [2], "data": [0.5, 0.5]},
        "observed has shape",
    ),
}


class TestLoad:
    @pytest.mark.parametrize(("names", "value", "message"), BAD.values(), ids=BAD)
    def test_what_does_not_fit_is_refused(self, names, value, message, document, tmp_path):
        with pytest.raises(ValueError, match=message) as error:
            load_json(set_at(document, names, value), tmp_path)
        assert str(error.value).startswith("`path` ")
        assert str(error.value).endswith("Pass a file that dircal.save has written.")
        assert "\n" not in str(error.value)

    def test_what_is_missing_is_named(self, document, tmp_path):
        for names in [FIT, (*FIT, "details", "fields"), COLUMNS]:
            for name in at(document, names):
                changed = copy.deepcopy(document)
                del at(changed, names)[name]
                if name == "feature_names":  # which only frames have
                    assert load_json(changed, tmp_path).n_features_in_ == 3
                    continue
                with pytest.raises(ValueError, match=f"lacks '{name}'"):
                    load_json(changed, tmp_path)

    def test_parameters_that_came_later_have_their_defaults(self, document, tmp_path):
        del document["object"]["parameters"]["tol"]
        assert load_json(document, tmp_path).tol == 1e-12

    def test_a_map_must_be_one_of_the_family(self, make_problem, tmp_path):
        problem = make_problem(0, n=100, k=3)
        dircal.save(TemperatureScaling().fit(problem.proba, problem.y), tmp_path / "map.json")
        document = json.loads((tmp_path / "map.json").read_text())
        three = {**ARRAY, "shape": [3], "data": [1.0, 2.0, 3.0]}
        other = set_at(document, (*STEPS, 2), step("Diagonal", slopes=three, intercepts=three))
        with pytest.raises(ValueError, match="TemperatureScaling cannot have"):
            load_json(other, tmp_path)

    def test_curves_must_fit(self, make_problem, tmp_path):
        problem = make_problem(0, n=100, k=3)
        path = tmp_path / "map.json"
        fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
        dircal.save(fitted, path, uncertainty="posterior")
        document = json.loads(path.read_text())
        curves = (*STEPS, 3, "fields")
        flat = {**ARRAY, "shape": [2, 10], "data": [[0.0] * 10] * 2}
        one = {**ARRAY, "shape": [1, 10], "data": [[0.0] * 10]}
        bad = {
            r"step 3, WithCurves: `coefficients` must have shape \(1, 10\) or \(3, 10\) with 8 "
            r"knots; got \(2, 10\)": ((*curves, "coefficients"), flat),
            "posterior needs 12 or 22 entries; got 34": ((*curves, "coefficients"), one),
            "`linear` must have one step": ((*curves, "linear", "fields", "steps", "items"), []),
            "posterior needs 12 entries; got 34": (
                (*STEPS, 3),
                at(document, (*curves, "linear", "fields", "steps", "items", 0)),
            ),
        }
        for message, (names, value) in bad.items():
            with pytest.raises(ValueError, match=message) as error:
                load_json(set_at(document, names, value), tmp_path)
            assert str(error.value).startswith("`path` ")
            assert "\n" not in str(error.value)

    def test_maps_inside_maps(self, make_problem, tmp_path):
        problem = make_problem(0, n=100, k=3)
        fitted = TemperatureScaling().fit(problem.proba, problem.y)
        dircal.save(fitted, tmp_path / "map.json")
        document = json.loads((tmp_path / "map.json").read_text())
        whole = document["object"]["fit"]["map"]
        members = {"type": "tuple", "items": [whole] * 3}
        mean = {
            "type": "CalibrationMap",
            "fields": {
                "n_columns": 3,
                "steps": {
                    "type": "tuple",
                    "items": [
                        step("MeanOfMaps", members=members),
                        *whole["fields"]["steps"]["items"],
                    ],
                },
            },
        }
        document["object"]["fit"]["map"] = mean
        # Copies, where members were the same object.
        document = json.loads(json.dumps(document))
        load_json(document, tmp_path)
        # One in the middle gives two classes.
        place = (*STEPS, 0, "fields", "members", "items", 1, "fields", "steps", "items", 3)
        two = step("Columns", order={"type": "tuple", "items": [0, 1]})
        with pytest.raises(ValueError, match="map cannot be"):
            load_json(set_at(document, place, two), tmp_path)
        deep = whole
        for level in range(30):
            if level == 6:
                # As of searches, groups and new labels in one another: it is read to the end.
                with pytest.raises(ValueError, match="must end in a softmax"):
                    load_json(set_at(document, (*FIT, "map"), deep), tmp_path)
            inside = step("MeanOfMaps", members={"type": "tuple", "items": [deep]})
            steps = {"type": "tuple", "items": [inside]}
            deep = {"type": "CalibrationMap", "fields": {"n_columns": 3, "steps": steps}}
        with pytest.raises(ValueError, match="nested too deeply"):
            load_json(set_at(document, (*FIT, "map"), deep), tmp_path)

    def test_members_must_belong_together(self, make_problem, tmp_path):
        problem = make_problem(0, n=100, k=3)
        fitted = OneVsRestCalibrator(IsotonicCalibrator()).fit(problem.proba, problem.y)
        dircal.save(fitted, tmp_path / "map.json")
        document = json.loads((tmp_path / "map.json").read_text())
        members = document["object"]["fit"]["members"]
        few = set_at(document, (*FIT, "members"), members[:2])
        with pytest.raises(ValueError, match="needs a calibrator for each class"):
            load_json(few, tmp_path)
        falling = copy.deepcopy(document)
        member = falling["object"]["fit"]["members"][0]["fit"]["map"]
        member["fields"]["steps"]["items"][2]["fields"]["values"]["data"].reverse()
        with pytest.raises(ValueError, match="`values` must be numbers that never fall"):
            load_json(falling, tmp_path)
        other = copy.deepcopy(document)
        other["object"]["fit"]["members"][1]["parameters"]["input_scale"] = "logit"
        with pytest.raises(
            ValueError, match=r"members\[1\].fit.map does not read input_scale='logit'"
        ):
            load_json(other, tmp_path)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "it is empty"),
            (b" \n", "it is empty"),
            (b"\x80\x04\x95", "begins with a brace"),
            (b"[]", "begins with a brace"),
            (b"{", "not JSON, or cut off: .* in line 1, column 2"),
            (b"{}", 'does not say "format"'),
            (b'{"a": "\xff"}', "not text in UTF-8"),
            (b'{"a": ' * 100_000, "nested too deeply|not JSON"),
            (b'{"a": ' + b"[" * 100_000, "nested too deeply"),
            (b'{"a": NaN}', "holds NaN, which is not JSON"),
            (b'{"a": -Infinity}', "holds -Infinity, which is not JSON"),
            (b'{"a": 1, "a": 2}', "has the key 'a' twice"),
            (b'{"a": ' + b"9" * 10_000 + b"}", "a number that is too long"),
        ],
    )
    def test_files_of_other_kinds(self, content, message, tmp_path):
        (tmp_path / "map.json").write_bytes(content)
        with pytest.raises(ValueError, match=message):
            dircal.load(tmp_path / "map.json")

    def test_huge_files_are_not_read(self, tmp_path):
        with (tmp_path / "map.json").open("wb") as file:
            file.truncate(10 * 2**30)
        with pytest.raises(ValueError, match="larger than 1 GiB"):
            dircal.load(tmp_path / "map.json")

    def test_missing_files(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            dircal.load(tmp_path / "map.json")

    def test_deep_values(self, document, tmp_path):
        deep = 1
        for _ in range(100):
            deep = [deep]
        with pytest.raises(ValueError, match="nested too deeply"):
            load_json(set_at(document, ("object", "parameters", "lam"), deep), tmp_path)


def assert_loads_or_says_no(content, path):
    path.write_bytes(content)
    try:
        loaded = dircal.load(path)
    except ValueError as error:
        if not str(error).startswith("`path` ") or "\n" in str(error):
            raise
    else:
        assert isinstance(loaded, BaseEstimator)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes(data, tmp_path):
    content = data.draw(st.sampled_from(GOLDEN)).read_bytes()
    start = data.draw(st.integers(0, len(content)))
    stop = data.draw(st.integers(start, min(len(content), start + 30)))
    between = data.draw(st.binary(max_size=5))
    end = data.draw(st.sampled_from([len(content), start + 200]))
    assert_loads_or_says_no(content[:start] + between + content[stop:end], tmp_path / "map.json")


def test_damage_that_was_found(tmp_path):
    """By the test below, once."""
    golden = next(path for path in GOLDEN if path.stem == "identity" and "3" in path.parent.name)
    names = ("object", "fitted", "column_classes_", "of")
    with pytest.raises(ValueError, match=r"cannot hold objects of kind \[\]"):
        load_json(set_at(json.loads(golden.read_text()), names, []), tmp_path)


def places_in(node, names=()):
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*names, key)
            yield from places_in(value, (*names, key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield (*names, i)
            yield from places_in(value, (*names, i))


TYPES = ["array", "tuple", "dict", "scalar", "FitColumns", "float", "KFold", "Effects", "Status"]
TYPES += ["status", "CalibrationMap", "Softmax", "Scale", "OneVsRest"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "nan", "inf", "float64", "object", "U3", "datetime64[q]", "learned"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "data", "dtype", "shape", "items", "value", "mask", "of", "fields", "name"]
            ),
            inner | st.sampled_from([*TYPES, "DirichletCalibrator"]),
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_values(data, tmp_path):
    document = json.loads(data.draw(st.sampled_from(GOLDEN)).read_text())
    names = data.draw(st.sampled_from(list(places_in(document))))
    other = data.draw(st.sampled_from(list(places_in(document))))
    found = document
    for name in other:
        found = found[name]
    value = data.draw(JSON | st.just(found))
    changed = json.dumps(set_at(document, names, value), allow_nan=False)
    assert_loads_or_says_no(changed.encode(), tmp_path / "map.json")


def pairs(keys, values):
    return {"type": "dict", "keys": keys, "values": values}


def objects(of, data):
    return {"type": "array", "dtype": "object", "of": of, "shape": [3], "data": data}


PRIORS = ("object", "parameters", "priors")
CLASSES = (*COLUMNS, "classes")
ODD = {
    "too few keys": (PRIORS, pairs([0, 1], [0.5, 0.3, 0.2]), "priors needs a key for each value"),
    "no keys": (PRIORS, pairs(3, [0.5]), "priors needs a key for each value"),
    "a key twice": (PRIORS, pairs([0, 0], [0.5, 0.5]), "priors has a key twice"),
    "a list as key": (PRIORS, pairs([[0], 1], [0.5, 0.5]), "priors needs keys that are numbers"),
    "keys and items": (PRIORS, {**pairs([], []), "items": {}}, "priors has 'items', which"),
    "not a date": (CLASSES, objects("date", ["2020-13-01"] * 3), "a value that is not a date"),
    "not a text": (CLASSES, objects("date", [1, 2, 3]), "holds 1, which is not of its dtype"),
    "a long time": (CLASSES, objects("timedelta", [10**30] * 3), "that is not a timedelta"),
    "not bytes": (CLASSES, objects("bytes", ["\u0100"] * 3), "a value that is not a bytes"),
    "not finite": (CLASSES, objects("Decimal", ["1", "2", "Infinity"]), "is not a Decimal"),
    "not a number": (CLASSES, objects("Decimal", ["1", "2", "sNaN"]), "is not a Decimal"),
    "mixed zones": (
        CLASSES,
        objects("datetime", ["2020-01-01", "2020-01-02T00:00+00:00", "2020-01-03"]),
        "classes needs labels that can be put in order",
    ),
}


@pytest.mark.parametrize(("names", "value", "message"), ODD.values(), ids=ODD)
def test_damaged_keys_and_objects_are_named(names, value, message, make_problem, tmp_path):
    problem = make_problem(0, n=100, k=3)
    shift = PriorShift(TemperatureScaling(), priors={0: 0.5, 1: 0.3, 2: 0.2})
    document = json.loads(dircal.io.to_bytes(shift.fit(problem.proba, problem.y)))
    assert document["object"]["parameters"]["priors"] == pairs([0, 1, 2], [0.5, 0.3, 0.2])
    with pytest.raises(ValueError, match=message):
        load_json(set_at(document, names, value), tmp_path)
