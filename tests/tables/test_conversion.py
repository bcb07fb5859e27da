"""What other libraries hold: tensors, and labels with an order of their own."""

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from dircal import (
    BetaCalibrator,
    CalibratedClassifier,
    IdentityCalibrator,
    TemperatureScaling,
    metrics,
)
from dircal.exceptions import RowSumWarning
from dircal.tables import as_array, category_order, same_kind

SIZES = ["small", "medium", "large"]


@pytest.fixture
def sizes(make_problem):
    problem = make_problem(0, n=200)
    return problem.proba, np.array(SIZES)[problem.y]


def categorical(y):
    return pd.Categorical(y, categories=SIZES)


KINDS = {
    "categorical": categorical,
    "series": lambda y: pd.Series(categorical(y)),
    "ordered": lambda y: pd.Series(pd.Categorical(y, categories=SIZES, ordered=True)),
    "enumeration": lambda y: pl.Series(y, dtype=pl.Enum(SIZES)),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_order_of_categories_is_that_of_columns(sizes, kind):
    proba, y = sizes
    fitted = TemperatureScaling().fit(proba, kind(y))
    assert fitted.column_classes_.tolist() == SIZES
    assert fitted.classes_.tolist() == sorted(SIZES)
    told = TemperatureScaling(classes=SIZES).fit(proba, y)
    np.testing.assert_array_equal(fitted.predict_proba(proba), told.predict_proba(proba))
    assert metrics.log_loss(kind(y), proba) == metrics.log_loss(y, proba, classes=SIZES)


def test_names_and_classes_tell_more_than_categories(sizes):
    proba, y = sizes
    frame = pd.DataFrame(proba[:, ::-1], columns=SIZES[::-1])
    assert IdentityCalibrator().fit(frame, categorical(y)).column_classes_.tolist() == SIZES[::-1]
    told = IdentityCalibrator(classes=SIZES[::-1]).fit(proba[:, ::-1], categorical(y))
    assert told.column_classes_.tolist() == SIZES[::-1]


def test_categories_without_a_row(sizes):
    proba, y = sizes
    rows = y != "medium"
    fitted = IdentityCalibrator().fit(proba[rows], categorical(y[rows]))
    assert fitted.column_classes_.tolist() == SIZES
    # A category more than there are columns belongs to none.
    more = pd.Categorical(y, categories=[*SIZES, "huge"])
    assert IdentityCalibrator().fit(proba, more).column_classes_.tolist() == SIZES


def test_one_column_speaks_of_the_last_category():
    y = pd.Categorical(["no", "yes", "no", "yes"], categories=["yes", "no"])
    fitted = BetaCalibrator().fit([0.6, 0.3, 0.7, 0.65], y)
    assert fitted.column_classes_.tolist() == ["yes", "no"]


def test_the_categories_of_polars_are_in_no_order():
    assert category_order(pl.Series(["b", "a"], dtype=pl.Categorical)) is None
    assert category_order(["b", "a"]) is None


def test_a_function_and_categories(sizes):
    proba, y = sizes
    model = CalibratedClassifier(lambda X: X, TemperatureScaling(), scheme="prefit")
    fitted = model.fit(proba, pd.Series(categorical(y))).calibrators_[0]
    assert fitted.column_classes_.tolist() == SIZES


def test_tensors_with_a_gradient_and_of_other_types(sizes):
    torch = pytest.importorskip("torch")
    proba, y = sizes
    labels = torch.tensor([SIZES.index(one) for one in y])
    plain = TemperatureScaling().fit(proba, labels.numpy()).predict_proba(proba)
    tensor = torch.tensor(proba, requires_grad=True)
    fitted = TemperatureScaling().fit(tensor, labels, torch.ones(200, requires_grad=True))
    np.testing.assert_array_equal(fitted.predict_proba(tensor), plain)
    np.testing.assert_array_equal(
        fitted.predict_proba(torch.nn.Parameter(tensor.detach().clone())), plain
    )
    logits = torch.log(tensor).to(torch.bfloat16)
    narrow = TemperatureScaling(input_scale="logit").fit(logits, labels)
    np.testing.assert_allclose(narrow.predict_proba(logits), plain, atol=0.02)
    assert as_array(logits).dtype == np.float32
    assert metrics.accuracy(labels, tensor) == metrics.accuracy(labels.numpy(), proba)
    correct = (tensor.argmax(dim=1) == labels).to(torch.uint8)
    confidence = tensor.max(dim=1).values
    assert metrics.confidence_ece_from_confidence(correct, confidence) > 0.0


def test_a_network_as_a_function(sizes):
    torch = pytest.importorskip("torch")
    proba, y = sizes
    network = torch.nn.Softmax(dim=1)
    scores = torch.tensor(np.log(proba), requires_grad=True)
    model = CalibratedClassifier(
        lambda rows: network(scores[np.asarray(rows)[:, 0].astype(int)]),
        TemperatureScaling(classes=SIZES),
        scheme="prefit",
    )
    numbers = np.arange(200.0)[:, None]
    assert model.fit(numbers, y).predict_proba(numbers).shape == (200, 3)


def test_lists_of_tensors_and_probabilities_of_half_precision():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    proba = torch.tensor(rng.dirichlet(np.ones(5), size=300), requires_grad=True)
    y = torch.tensor(rng.integers(5, size=300))
    plain = TemperatureScaling().fit(proba, y).predict_proba(proba)
    listed = TemperatureScaling().fit(list(proba), list(y)).predict_proba(list(proba))
    assert_array_equal(listed, plain)
    # Rounding to eight bits moves sums of rows; that is no news.
    half = proba.to(torch.bfloat16)
    assert abs(half.detach().double().sum(dim=1) - 1).max() > 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = TemperatureScaling().fit(half, y)
        fitted.predict_proba(half)
    with pytest.warns(RowSumWarning):
        TemperatureScaling().fit(half.detach().float() * 1.001, y)


@pytest.fixture
def fitted(make_problem):
    problem = make_problem(0, n=100)
    return TemperatureScaling().fit(problem.proba, problem.y)


def test_tensors_that_hold_no_numbers(fitted):
    torch = pytest.importorskip("torch")
    rows = torch.eye(3)
    with pytest.raises(ValueError, match=r"`X` is a sparse .*`X\.to_dense\(\)`"):
        fitted.predict_proba(rows.to_sparse())
    nothing = torch.empty(3, 3, device="meta")
    with pytest.raises(ValueError, match=r"`X` is a torch\.Tensor on the device 'meta' that NumPy"):
        fitted.predict_proba(nothing)
    with pytest.raises(ValueError, match=r"^`y` is a torch\.Tensor on the device 'meta'"):
        fitted.fit(rows, nothing[0])
    with pytest.raises(ValueError, match=r"`sample_weight` is a torch\.Tensor on the device"):
        fitted.fit(rows, [0, 1, 2], sample_weight=nothing[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are a prototype
        masked = torch.masked.masked_tensor(rows, rows > 0)
        with pytest.raises(ValueError, match="`X` is a masked array"):
            fitted.predict_proba(masked)


def test_arrays_on_another_device_come_here_and_go_back(fitted):
    strict = pytest.importorskip("array_api_strict")
    far = strict.asarray(np.eye(3), device=strict.Device("device1"))
    with pytest.raises(RuntimeError):
        np.asarray(far)
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":  # it cannot ask for the CPU
        with pytest.raises(ValueError, match="`X` is a array_api_strict"):
            fitted.predict_proba(far)
        return
    proba = fitted.predict_proba(far)
    assert proba.device == far.device
    assert_array_equal(as_array(proba), fitted.predict_proba(np.eye(3)))


def test_sparse_arrays_of_other_libraries(fitted):
    class Sparse:
        shape = (3, 3)

        def todense(self):
            return np.eye(3)

    with pytest.raises(ValueError, match=r"pass a dense one with `X\.todense\(\)`"):
        fitted.predict_proba(Sparse())


class _Device:
    """Remembers whether it was current while something was made."""

    def __init__(self):
        self.entered = 0

    def __enter__(self):
        self.entered += 1

    def __exit__(self, *_):
        pass


def test_arrays_of_cupy(fitted, monkeypatch):
    # No more than what its manual says of it: there is no GPU to test it on.
    class ndarray:  # noqa: N801
        shape = (3, 3)

        def __init__(self, values, device):
            self.values, self.device = values, device

        def __array__(self, *_, **__):
            raise TypeError("Implicit conversion to a NumPy array is not allowed.")

        def get(self):
            return self.values

    ndarray.__module__ = "cupy"
    device = _Device()
    library = SimpleNamespace(asarray=lambda values: ndarray(values, device))
    monkeypatch.setitem(sys.modules, "cupy", library)
    proba = fitted.predict_proba(ndarray(np.eye(3), device))
    assert type(proba) is ndarray
    assert device.entered == 1
    assert_array_equal(proba.get(), fitted.predict_proba(np.eye(3)))


def test_devices_without_double_precision():
    class Narrow:
        device = "narrow"

        def __array_namespace__(self):
            return SimpleNamespace(asarray=self.asarray)

        def asarray(self, values, *, device):
            if values.dtype == np.float64:
                raise TypeError("no float64 here")
            return values, device

    values, device = same_kind(np.eye(3), Narrow())
    assert device == "narrow"
    assert values.dtype == np.float32
