import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.isotonic import IsotonicRegression

from dircal.metrics import corp_reliability


def test_known_answer():
    # Sorted: 0.6 wrong, 0.7 right, 0.8 wrong, 0.9 right: the middle two are pooled.
    P = [[0.6, 0.4], [0.7, 0.3], [0.8, 0.2], [0.9, 0.1]]
    found = corp_reliability([1, 0, 1, 0], P)
    assert found.labels is None
    assert_allclose(found.predicted[0], [0.6, 0.7, 0.8, 0.9])
    assert_allclose(found.calibrated[0], [0, 0.5, 0.5, 1])
    assert_allclose(found.count[0], 1)
    score = np.mean([0.36, 0.09, 0.64, 0.01])
    assert found.score[0] == pytest.approx(score)
    assert found.miscalibration[0] == pytest.approx(score - 0.125)
    assert found.discrimination[0] == pytest.approx(0.125)
    assert found.uncertainty[0] == pytest.approx(0.25)
    assert "MCB 0.15 - DSC 0.125 + UNC 0.25" in repr(found)


@pytest.mark.parametrize("over", ["confidence", "classes"])
def test_curves_are_those_of_scikit_learn(over, make_problem):
    problem = make_problem(0, n=400, k=4)
    P = np.random.default_rng(0).multinomial(40, problem.proba) / 40
    found = corp_reliability(problem.y, P, over=over)
    if over == "confidence":
        curves = [(P.max(axis=1), P.argmax(axis=1) == problem.y)]
    else:
        curves = [(P[:, j], problem.y == j) for j in range(4)]
        assert_allclose(found.labels, [0, 1, 2, 3])
    for c, (p, outcomes) in enumerate(curves):
        fitted = IsotonicRegression().fit(p, outcomes.astype(float))
        assert_allclose(found.calibrated[c], fitted.predict(found.predicted[c]), atol=1e-12)
        best = np.mean((fitted.predict(p) - outcomes) ** 2)
        score, share = np.mean((p - outcomes) ** 2), outcomes.mean()
        assert found.miscalibration[c] == pytest.approx(score - best, abs=1e-12)
        assert found.discrimination[c] == pytest.approx(share * (1 - share) - best, abs=1e-12)
        assert found.count[c].sum() == 400


@given(st.integers(0, 2**32 - 1), st.sampled_from(["confidence", "classes"]))
def test_parts_add_up_and_none_is_negative(seed, over):
    rng = np.random.default_rng(seed)
    P = rng.multinomial(10, rng.dirichlet([0.3, 0.3, 0.3], size=30)) / 10
    y = rng.integers(0, 3, 30)
    weight = rng.integers(0, 3, 30) + (np.arange(30) == 0)
    found = corp_reliability(y, P, over=over, sample_weight=weight, classes=[0, 1, 2])
    parts = found.miscalibration - found.discrimination + found.uncertainty
    assert_allclose(parts, found.score, atol=1e-12)
    assert (found.miscalibration >= 0).all()
    assert (found.discrimination >= 0).all()
    copied = corp_reliability(
        y.repeat(weight), P.repeat(weight, axis=0), over=over, classes=[0, 1, 2]
    )
    assert_allclose(found.miscalibration, copied.miscalibration, atol=1e-12)
    for ours, theirs in zip(found.calibrated, copied.calibrated, strict=True):
        assert_allclose(ours, theirs, atol=1e-12)
    assert all((np.diff(curve) >= 0).all() for curve in found.calibrated)


def test_columns_may_be_in_any_order(make_problem):
    problem = make_problem(1, n=200, k=3)
    names = np.array(["ant", "bee", "cat"])
    found = corp_reliability(names[problem.y], problem.proba, over="classes")
    moved = corp_reliability(
        names[problem.y], problem.proba[:, [2, 0, 1]], over="classes", classes=["cat", "ant", "bee"]
    )
    assert found.labels.tolist() == moved.labels.tolist() == ["ant", "bee", "cat"]
    assert_allclose(found.miscalibration, moved.miscalibration)
    assert repr(found).startswith("<CorpReliability: 'ant': score")


def test_many_classes_are_not_all_printed(make_problem):
    problem = make_problem(2, n=100, k=9)
    assert "... 3 more" in repr(corp_reliability(problem.y, problem.proba, over="classes"))
