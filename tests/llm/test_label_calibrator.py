import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

import dircal
from dircal import AutoCalibrator
from dircal.llm import LabelCalibrator
from dircal.metrics import log_loss


def prompted(seed, n, preference, frequencies=(1 / 3, 1 / 3, 1 / 3)):
    """Texts of three classes, and what a model says that prefers some options."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, p=frequencies, size=n)
    evidence = rng.normal(size=(n, 3)) + 1.5 * np.eye(3)[y]
    return softmax(1.5 * evidence + np.log(preference), axis=1), y


@pytest.fixture
def rows():
    return prompted(0, 3000, [12.0, 1.0, 0.3])


def test_preferences_are_divided_out():
    losses = []
    for seed in range(10):
        P, y = prompted(seed, 3000, [12.0, 1.0, 0.3])
        fitted = LabelCalibrator(classes=range(3)).fit(P[:40], y[:40], unlabelled=P[40:1000])
        assert_allclose(fitted.mean_proba_, P[:1000].mean(axis=0), rtol=1e-2)
        alone = AutoCalibrator(classes=range(3)).fit(P[:40], y[:40])
        new, truth = P[1000:], y[1000:]
        every = (fitted.predict_proba(new), alone.predict_proba(new), new)
        losses.append([log_loss(truth, proba) for proba in every])
    with_more, without, before = np.mean(losses, axis=0)
    assert with_more < without < before


def test_the_map_is_division_and_then_the_map_inside(rows):
    P, y = rows
    fitted = LabelCalibrator(batch="always").fit(P[:200], y[:200], unlabelled=P[200:])
    balanced = P / fitted.mean_proba_
    balanced /= balanced.sum(axis=1, keepdims=True)
    assert_allclose(fitted.predict_proba(P), fitted.calibrator_.predict_proba(balanced), rtol=1e-9)
    logits = LabelCalibrator(batch="always", input_scale="logit")
    logits.fit(np.log(P[:200]) + 3.0, y[:200], unlabelled=np.log(P[200:]) - 1.0)
    assert_allclose(logits.predict_proba(np.log(P)), fitted.predict_proba(P), rtol=1e-6)


def test_labels_decide_whether_to_divide():
    """One class is as frequent as the model says: dividing would hide that."""
    truth, y = prompted(1, 2000, [12.0, 1.0, 1.0], (0.86, 0.07, 0.07))
    learned = LabelCalibrator().fit(truth[:300], y[:300], unlabelled=truth[300:])
    assert (learned.mean_proba_ == 1.0).all()
    never = LabelCalibrator(batch="none").fit(truth[:300], y[:300], unlabelled=truth[300:])
    plain = AutoCalibrator().fit(truth[:300], y[:300])
    assert_allclose(learned.predict_proba(truth), plain.predict_proba(truth), rtol=1e-9)
    assert_allclose(never.predict_proba(truth), plain.predict_proba(truth), rtol=1e-9)


def test_columns_in_another_order(rows):
    P, y = rows
    names = np.array(["cold", "hot", "warm"])
    fitted = LabelCalibrator().fit(P[:100], names[y[:100]], unlabelled=P[100:])
    turned = LabelCalibrator(classes=["warm", "cold", "hot"])
    turned.fit(P[:100, [2, 0, 1]], names[y[:100]], unlabelled=P[100:, [2, 0, 1]])
    assert_allclose(turned.predict_proba(P[:, [2, 0, 1]]), fitted.predict_proba(P), rtol=1e-6)


def test_it_is_saved_and_explained(rows, tmp_path):
    P, y = rows
    fitted = LabelCalibrator().fit(P[:100], y[:100], unlabelled=P[100:])
    dircal.save(fitted, tmp_path / "map.json")
    loaded = dircal.load(tmp_path / "map.json")
    assert_allclose(loaded.predict_proba(P), fitted.predict_proba(P), rtol=1e-12)
    assert str(fitted.explain()) == str(loaded.explain())
    assert fitted.explain(P[100:]).sentences()
    source = dircal.export.to_python(fitted)
    assert "def " in source


@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        ({"batch": "sometimes"}, None, "`batch` must be one of"),
        ({}, np.ones((4, 2)) / 2, "has 2 features"),
        ({}, np.full((4, 3), np.nan), "NaN"),
    ],
)
def test_bad_input(options, more, message, rows):
    P, y = rows
    with pytest.raises(ValueError, match=message):
        LabelCalibrator(**options).fit(P[:100], y[:100], unlabelled=more)
