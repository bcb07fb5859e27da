"""A logit of -inf masks its class: no probability, in every calibrator and every export."""

import re

import numpy as np
import onnxruntime
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

import dircal
from dircal.export import to_onnx, to_python, to_torch

pytestmark = pytest.mark.filterwarnings("ignore::dircal.exceptions.ConvergenceWarning")


def mask_some(logits, y, share, seed=3):
    """Masks that spare the label; some rows are left with one class."""
    masked = np.random.default_rng(seed).random(logits.shape) < share
    masked[np.arange(len(y)), y] = False
    return np.where(masked, -np.inf, logits)


@pytest.fixture
def masked_problem(make_problem):
    problem = make_problem(0, n=240, k=3)
    return problem.logits, mask_some(problem.logits, problem.y, 0.3), problem.y


@pytest.fixture
def of_logits(calibrator, configure):
    return configure(calibrator, input_scale="logit")


def assert_masked(proba, X):
    assert (proba[np.isneginf(X)] == 0.0).all()
    assert (proba[~np.isneginf(X)] >= 0.0).all()
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


def log_loss(proba, y):
    return -np.log(proba[np.arange(len(y)), y].clip(1e-15)).mean()


def test_masked_classes_get_no_probability(of_logits, masked_problem):
    """Whether masks were there when the map was fitted or not; and the map stays a sane one."""
    Z, masked, y = masked_problem
    raw = dircal.IdentityCalibrator(input_scale="logit").fit(Z, y).predict_proba(masked)
    for X in (Z, masked):
        proba = of_logits.fit(X, y).predict_proba(masked)
        assert_masked(proba, masked)
        assert log_loss(proba, y) <= 1.02 * log_loss(raw, y)
    again = dircal.io.from_bytes(dircal.io.to_bytes(of_logits))
    assert_array_equal(again.predict_proba(masked), proba)


def test_rows_with_one_class_left_tell_a_fit_nothing(of_logits, masked_problem):
    Z, _, y = masked_problem
    certain = np.full((20, 3), -np.inf)
    certain[np.arange(20), y[:20]] = 1.0
    expected = of_logits.fit(Z, y).predict_proba(Z)
    more = of_logits.fit(np.vstack([Z, certain]), np.r_[y, y[:20]])
    assert_allclose(more.predict_proba(Z), expected, rtol=1e-6)


@pytest.mark.representatives
def test_a_row_without_a_class_is_an_error(of_logits, masked_problem):
    _, masked, y = masked_problem
    of_logits.fit(masked, y)
    for call in (of_logits.predict_proba, of_logits.predict):
        with pytest.raises(ValueError, match="must leave a class in each row; in row 0"):
            call([[-np.inf, -np.inf, -np.inf]])
    wrong = masked.copy()
    wrong[5, y[5]] = -np.inf
    wrong[5, (y[5] + 1) % 3] = 0.0
    with pytest.raises(ValueError, match="masks this class with a logit of -inf"):
        of_logits.fit(wrong, y)


def made(export, calibrator, **options):
    """The export; None where there is a known reason against it."""
    try:
        return export(calibrator, **options)
    except ValueError as error:
        if re.search("computed with exponentials|has no gradient|'float32' cannot", str(error)):
            return None
        raise


def run_onnx(model, X, dtype):
    outside = np.float64 if dtype == "float64" else np.float32
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"scores": X.astype(outside)})[0].astype(np.float64)


def assert_exports_agree(calibrator, X):
    """All of them, or a reason why there is none; a row without a class is an error or NaN."""
    # Numbers that single precision holds: rounding would carry them over edges of curves.
    X = X.astype(np.float32).astype(np.float64)
    expected = calibrator.predict_proba(X)
    none = np.vstack([X[:1], np.full_like(X[:1], -np.inf)])
    has_none = X.shape[1] > 1
    for dtype, bound in (("float64", 1e-12), ("mixed", 1e-6), ("float32", 1e-5)):
        model = made(to_onnx, calibrator, dtype=dtype)
        if model is None:
            continue
        found = run_onnx(model, X, dtype)
        assert_allclose(found, expected, rtol=0, atol=bound)
        assert (found[expected == 0.0] == 0.0).all()
        if has_none:
            assert np.isnan(run_onnx(model, none, dtype)[1]).all()
    code = made(to_python, calibrator)
    if code is not None:
        shipped = {}
        exec(code, shipped)
        assert_allclose(shipped["predict_proba"](X.tolist()), expected, rtol=0, atol=1e-12)
        if has_none:
            with pytest.raises(ValueError, match="a row needs a class that is not masked"):
                shipped["predict_proba"](none.tolist())
    module = made(to_torch, calibrator)
    if module is None:
        return
    rows = torch.tensor(X, requires_grad=True)
    proba = module(rows)
    assert_allclose(proba.detach(), expected, rtol=0, atol=1e-12)
    logits = torch.softmax(module.logits(rows), dim=-1).detach()
    assert_allclose(logits, expected, rtol=0, atol=1e-12)
    proba.square().sum().backward()
    assert torch.isfinite(rows.grad).all()
    if has_none:
        assert torch.isnan(module(torch.tensor(none))[1]).all()


def test_exports_mask_alike(of_logits, masked_problem, configure):
    """With columns in another order than the labels are sorted in."""
    _, masked, y = masked_problem
    names = np.array(["c", "a", "b"])
    configure(of_logits, classes=names.tolist())
    assert_exports_agree(of_logits.fit(masked, names[y]), masked)


@pytest.mark.parametrize("n_columns", [1, 2])
def test_exports_of_binary_calibrators_mask_alike(binary, n_columns, configure, make_problem):
    problem = make_problem(0, n=200, k=2)
    Z = mask_some(problem.logits, problem.y, 0.1)
    y = np.array(["n", "y"])[problem.y]
    if n_columns == 1:
        Z = np.where(np.isneginf(Z[:, :1]), 0.0, Z[:, 1:])
    calibrator = configure(binary, input_scale="logit").fit(Z, y)
    proba = calibrator.predict_proba(Z)
    if n_columns == 2:
        assert_masked(proba, Z)
    assert (proba[np.isneginf(Z[:, -1])] == [1.0, 0.0]).all()
    assert_exports_agree(calibrator, Z)


def test_maps_of_one_class_at_a_time_do_not_notice(masked_problem):
    """A masked class is as if it had a logit far below all others."""
    Z, masked, y = masked_problem
    far = np.where(np.isneginf(masked), -5000.0, masked)
    for one in (
        dircal.TemperatureScaling(input_scale="logit"),
        dircal.VectorScaling(input_scale="logit"),
        dircal.OneVsRestCalibrator(dircal.PlattCalibrator(input_scale="logit")),
        dircal.OneVsRestCalibrator(dircal.IsotonicCalibrator(input_scale="logit")),
    ):
        one.fit(Z, y)
        near, exact = one.predict_proba(far), one.predict_proba(masked)
        near[np.isneginf(masked)] = 0.0
        assert_allclose(exact, near / near.sum(axis=1, keepdims=True), rtol=1e-9)


def test_a_masked_logit_is_a_probability_of_zero(masked_problem):
    _, masked, y = masked_problem
    odds = np.exp(masked - masked.max(axis=1, keepdims=True))
    zeros = odds / odds.sum(axis=1, keepdims=True)
    some = (zeros > 0).sum(axis=1) > 1
    tiny = np.finfo(float).tiny
    of_zeros = dircal.TemperatureScaling(clip=tiny).fit(zeros[some], y[some])
    of_masks = dircal.TemperatureScaling(input_scale="logit").fit(masked, y)
    assert_allclose(of_masks.temperature_, of_zeros.temperature_, rtol=1e-6)
