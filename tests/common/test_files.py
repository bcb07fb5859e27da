"""Every calibrator survives a file, to the last bit."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

import dircal
from dircal.explain import LazyRecord

pytestmark = pytest.mark.filterwarnings("ignore::dircal.exceptions.ConvergenceWarning")


def assert_same(a, b, place=""):
    """Equal in type and in every bit, all the way down."""
    assert type(a) is type(b), place
    if isinstance(a, BaseEstimator):
        assert set(vars(a)) == set(vars(b)), place
        for name in vars(a):
            assert_same(getattr(a, name), getattr(b, name), f"{place}.{name}")
    elif isinstance(a, LazyRecord):
        assert_same(a.complete(), b.complete(), place)
    elif dataclasses.is_dataclass(a):
        # Warnings about a fit are no part of a file.
        for each in (each for each in dataclasses.fields(a) if each.name != "notices"):
            assert_same(getattr(a, each.name), getattr(b, each.name), f"{place}.{each.name}")
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, place
        assert a.shape == b.shape, place
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes(), place
    elif isinstance(a, dict):
        assert list(a) == list(b), place
        for key in a:
            assert_same(a[key], b[key], f"{place}.{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), place
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same(one, other, f"{place}[{i}]")
    else:
        assert a == b, place


@pytest.fixture
def through_a_file(tmp_path):
    def there_and_back(fitted):
        path = tmp_path / "map.json"
        dircal.save(fitted, path, uncertainty="posterior")
        loaded = dircal.load(path)
        assert_same(fitted, loaded)
        dircal.save(loaded, tmp_path / "again.json", uncertainty="posterior")
        assert path.read_bytes() == (tmp_path / "again.json").read_bytes()
        return loaded

    return there_and_back


# Arrays are written as numbers for three classes, as base64 for thirty.
@pytest.mark.parametrize(
    ("scaled", "k"), [("probability", 2), ("logit", 3), ("probability", 30)], indirect=["scaled"]
)
def test_round_trips_are_exact(scaled, k, through_a_file):
    calibrator, make = scaled
    X, y = make(0, n=100 * k if k < 10 else 300, k=k)
    fitted = calibrator.fit(X, y)
    loaded = through_a_file(fitted)
    assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))


def test_round_trips_of_binary_calibrators(scaled_binary, through_a_file):
    calibrator, make = scaled_binary
    X, y = make(0, n=500, k=2)
    for columns in (X, X[:, 1]):
        fitted = calibrator.fit(columns, y)
        assert_array_equal(
            through_a_file(fitted).predict_proba(columns), fitted.predict_proba(columns)
        )


LABELS = {
    "strings": np.array(["cat", "dog", "a bird"]),
    "objects": np.array(["cat", "dog", "ünïcode"], dtype=object),
    "python ints": np.array([10**6, -3, 5], dtype=object),
    "small ints": np.array([3, 1, 200], dtype=np.uint8),
    "big ints": np.array([3, 1, 2**63 + 1], dtype=np.uint64),
    "floats": np.array([1.0, -0.0, 5.0]),
    "single floats": np.array([1.0, 2.0, 5.0], dtype=np.float32),
    "bytes": np.array([b"a", b"bc", b"\xff"]),
    "days": np.array(["2020-01-01", "2021-05-04", "1960-02-29"], dtype="datetime64[D]"),
}


def test_labels_of_any_type(calibrator, turn, make_problem, through_a_file):
    problem = make_problem(0, n=200, k=3)
    kind = list(LABELS)[turn % len(LABELS)]
    fitted = calibrator.fit(problem.proba, np.sort(LABELS[kind])[problem.y])
    expected = fitted.predict(problem.proba)
    loaded = through_a_file(fitted)
    assert loaded.predict(problem.proba).dtype == expected.dtype, kind
    assert_array_equal(loaded.predict(problem.proba), expected, err_msg=kind)


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ConvergenceWarning")
def test_one_class_has_all_rows(calibrator, configure, make_problem, through_a_file):
    # Forty times a fortieth is more than one in floating point.
    problem = make_problem(0, n=40, k=3)
    configure(calibrator, classes=[0, 1, 2])
    through_a_file(calibrator.fit(problem.proba, np.ones(40, dtype=int)))


@pytest.mark.representatives
def test_truth_values(binary, make_problem, through_a_file):
    problem = make_problem(0, n=200, k=2)
    loaded = through_a_file(binary.fit(problem.proba, problem.y == 1))
    assert loaded.predict(problem.proba).dtype == bool


@pytest.mark.representatives
def test_names_of_columns_and_classes(calibrator, configure, make_problem, through_a_file):
    problem = make_problem(0, n=200, k=3)
    frame = pd.DataFrame(problem.proba, columns=["z", "b", "m"])
    y = np.array(["z", "b", "m"])[problem.y]
    loaded = through_a_file(calibrator.fit(frame, y))
    assert_array_equal(
        loaded.predict_proba(frame[["b", "m", "z"]]), calibrator.predict_proba(frame)
    )
    configure(calibrator, classes=["z", "b", "m"])
    loaded = through_a_file(calibrator.fit(problem.proba, y))
    assert_array_equal(loaded.predict_proba(frame), calibrator.predict_proba(frame))


def test_what_was_loaded_can_be_used_like_the_original(either, through_a_file):
    calibrator, make = either
    X, y = make(0, n=300, k=3)
    loaded = through_a_file(calibrator.fit(X, y))
    if hasattr(calibrator, "coef_"):
        assert str(loaded.explain()) == str(calibrator.explain())
        assert str(loaded.explain(X)) == str(calibrator.explain(X))
    if hasattr(calibrator, "predict_interval"):
        assert_array_equal(loaded.predict_interval(X), calibrator.predict_interval(X))
    assert_array_equal(loaded.fit(X, y).predict_proba(X), calibrator.predict_proba(X))
