"""Measures of parts are those of the whole."""

import numpy as np
import pytest

from dircal import BetaCalibrator, VectorScaling, distributed, metrics

NAMES = ["ant", "bee", "cat", "dog"]


@pytest.mark.parametrize("n_parts", [1, 5])
@pytest.mark.parametrize("weight", [None, "w"])
def test_measures_are_those_of_the_functions(n_parts, weight, frame, cut):
    found = distributed.evaluate(cut(frame, n_parts), weight=weight, columns=NAMES)
    weights = None if weight is None else frame[weight]
    for name, value in found.measures.items():
        whole = getattr(metrics, name)(frame["y"], frame[NAMES], sample_weight=weights)
        assert value == pytest.approx(whole, rel=1e-12), name
    assert found.n_rows == len(frame)
    assert found.classes.tolist() == NAMES


def test_logits_and_a_calibrator(frame, cut):
    logits = np.log(frame[NAMES])
    fitted = VectorScaling(input_scale="logit").fit(logits, frame["y"])
    parts = cut(logits.assign(y=frame["y"]), 3)
    before = distributed.evaluate(parts, input_scale="logit")
    after = distributed.evaluate(parts, calibrator=fitted)
    expected = metrics.log_loss(frame["y"], frame[NAMES])
    assert before.measures["log_loss"] == pytest.approx(expected, rel=1e-9)
    expected = metrics.log_loss(frame["y"], fitted.predict_proba(logits))
    assert after.measures["log_loss"] == pytest.approx(expected, rel=1e-12)


def test_one_column_with_its_calibrator_and_parts_without_weight():
    rng = np.random.default_rng(0)
    q = rng.random(500)
    import pandas as pd

    table = pd.DataFrame({"q": q, "y": (rng.random(500) < q).astype(int), "w": 1.0})
    table.loc[:99, "w"] = 0.0
    fitted = BetaCalibrator().fit(table[["q"]], table["y"])
    found = distributed.evaluate(
        [table[:50], table[50:]], columns=["q"], weight="w", calibrator=fitted
    )
    rows = table[100:]
    expected = metrics.brier_score(rows["y"], fitted.predict_proba(rows[["q"]]))
    assert found.measures["brier_score"] == pytest.approx(expected, rel=1e-12)


def test_an_option_that_is_not_one(frame):
    with pytest.raises(ValueError, match="`input_scale` must be one of"):
        distributed.evaluate([frame], input_scale="odds")
