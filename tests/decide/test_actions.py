import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dircal import GenerativeParameters
from dircal.decide import CostTable, best_actions, expected_cost, realised_cost, savings

LABELS = ["cat", "dog", "elk"]


@pytest.fixture
def world():
    """Calibrated probabilities, labels, and costs of four actions."""
    truth = GenerativeParameters([[3.0, 1, 1], [1, 2, 0.5], [0.7, 1, 3]], [0.5, 0.3, 0.2])
    q, y = truth.sample(3000, random_state=0)
    costs = CostTable.from_matrix([[0, 3, 5], [1, 0, 2], [9, 4, 0]], classes=LABELS)
    return truth.predict_proba(q), np.array(LABELS)[y], costs.with_question(0.4), q


def naive(P, costs):
    """One row after another."""
    actions, expected = [], []
    for p in P:
        each = [sum(p[j] * costs.matrix[j, a] for j in range(3)) for a in range(4)]
        actions.append(costs.actions[int(np.argmin(each))])
        expected.append(min(each))
    return actions, np.array(expected)


def test_the_best_action_has_the_least_expected_cost(world):
    P, _, costs, _ = world
    found = best_actions(P, costs)
    actions, expected = naive(P, costs)
    assert found.actions.tolist() == actions
    assert_allclose(found.expected_cost, expected, rtol=1e-12)
    assert (found.margin >= 0.0).all()
    assert (found.actions != found.runner_up).all()
    assert {"ask", "cat", "dog", "elk"} == set(actions)
    assert "3,000 rows; " in repr(found)


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 6), n_actions=st.integers(2, 5))
def test_relabelled_classes_and_shifted_costs_lead_to_the_same_actions(seed, k, n_actions):
    rng = np.random.default_rng(seed)
    P, matrix = rng.dirichlet(np.ones(k), size=20), rng.normal(size=(k, n_actions))
    names = [f"action {i}" for i in range(n_actions)]
    order = rng.permutation(k)
    table = CostTable.from_matrix(matrix, classes=range(k), actions=names)
    turned = CostTable.from_matrix(matrix[order], classes=order, actions=names)
    # What a class costs whatever is done changes no decision.
    shifted = CostTable.from_matrix(
        matrix + rng.normal(size=(k, 1)), classes=range(k), actions=names
    )
    expected = best_actions(P, table).actions
    assert (best_actions(P, turned).actions == expected).all()
    assert (best_actions(P, shifted).actions == expected).all()
    assert (best_actions(P[:, order], table, classes=order).actions == expected).all()


def test_columns_of_frames_are_matched_by_name(world):
    P, _, costs, _ = world
    frame = pd.DataFrame(P, columns=LABELS)[["elk", "cat", "dog"]]
    assert (best_actions(frame, costs).actions == best_actions(P, costs).actions).all()


def test_the_cost_that_was_foretold_comes(world):
    P, y, costs, _ = world
    told = expected_cost(P, costs)
    paid = realised_cost(y, P, costs)
    assert told.low < paid.mean < told.high
    assert_allclose(told.mean, paid.predicted, rtol=1e-12)
    assert_allclose(paid.gap, paid.predicted - paid.mean, rtol=1e-9)
    assert paid.gap_low < 0.0 < paid.gap_high
    assert paid.pvalue > 0.05
    assert "no evidence that they mislead" in repr(paid)
    picked = np.array([costs.actions.index(a) for a in best_actions(P, costs).actions])
    by_hand = costs.matrix[np.searchsorted(LABELS, y), picked]
    assert_allclose(paid.mean, by_hand.mean(), rtol=1e-12)


def test_variance_of_a_cost_is_that_of_the_class_to_come(world):
    P, _, costs, _ = world
    picked = np.array([costs.actions.index(a) for a in best_actions(P, costs).actions])
    c = costs.matrix[:, picked].T
    variance = (P * c**2).sum(axis=1) - (P * c).sum(axis=1) ** 2
    told = expected_cost(P, costs, level=0.95)
    assert_allclose(told.high - told.mean, 1.959964 * np.sqrt(variance.mean() / 3000), rtol=1e-6)
    # The same costs far from zero: nothing drowns.
    far = CostTable.from_matrix(costs.matrix + 1e9, classes=LABELS, actions=costs.actions)
    assert_allclose(
        expected_cost(P, far).high - expected_cost(P, far).mean, told.high - told.mean, rtol=1e-5
    )


def test_probabilities_that_mislead_are_told():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(2), size=2000)
    y = (rng.random(2000) < P[:, 1]).astype(int)
    sharp = P**4 / (P**4).sum(axis=1, keepdims=True)
    costs = CostTable.of_errors([0, 1]).with_question(0.2)
    paid = realised_cost(y, sharp, costs)
    assert paid.gap_high < 0.0
    assert "the probabilities mislead" in repr(paid)
    saved = savings(y, sharp, P, costs)
    assert saved.low > 0.0
    assert_allclose(saved.saved, saved.before - saved.after, rtol=1e-9)
    assert saved.changed > 0.1
    same = savings(y, P, P, costs)
    assert (same.saved, same.changed, same.pvalue) == (0.0, 0.0, 1.0)
    assert "which may be chance" in repr(same)


def test_an_interval_without_events_ends_at_the_binomial_limit():
    table = {"fraud": {"block": 0, "pass": 100}, "honest": {"block": 15, "pass": 0}}
    costs, P = CostTable.from_mapping(table), np.tile([0.01, 0.99], (100, 1))
    paid = realised_cost(["honest"] * 100, P, costs, classes=["fraud", "honest"])
    assert paid.low == 0.0
    assert_allclose(paid.high, 100 * (1 - 0.025 ** (1 / 100)), rtol=1e-9)
    assert_allclose(paid.pvalue, 2 * 0.99**100, rtol=1e-9)
    # Ten times the probability is refuted, and one of zero needs an event.
    P = np.tile([0.1, 0.9], (100, 1))
    assert realised_cost(["honest"] * 100, P, costs, classes=["fraud", "honest"]).pvalue < 1e-3
    never = realised_cost(["honest"] * 100, [[0, 1]] * 100, costs, classes=["fraud", "honest"])
    assert_allclose((never.low, never.high, never.pvalue), (0.0, paid.high, 1.0))


def test_rows_of_the_fit_widen_the_interval_as_refitting_does():
    """Maps fitted on 300 rows again and again err about the mean cost as the delta method says."""
    from dircal import DirichletCalibrator

    truth = GenerativeParameters([[2.0, 0.8], [0.7, 1.6]], [0.4, 0.6])
    q, _ = truth.sample(4000, random_state=1)
    costs = CostTable.from_matrix([[0, 4], [1, 0]], classes=[0, 1]).with_question(0.5)
    exact = truth.predict_proba(q)
    picked = np.array([costs.actions.index(a) for a in best_actions(exact, costs).actions])
    means = []
    for seed in range(100):
        fit, y = truth.sample(300, random_state=100 + seed)
        P = DirichletCalibrator(penalty="l2", lam=1e-6).fit(fit, y).predict_proba(q)
        means.append((P * costs.matrix[:, picked].T).sum(axis=1).mean())
    told, alone = expected_cost(exact, costs, n_fitted=300), expected_cost(exact, costs)
    own = (told.high - told.mean) ** 2 - (alone.high - alone.mean) ** 2
    assert_allclose(np.sqrt(own) / 1.96, np.std(means), rtol=0.3)


@pytest.mark.parametrize("k", [2, 30])
def test_many_classes_and_sure_rows(k):
    rng = np.random.default_rng(0)
    P = np.vstack([np.eye(k), rng.dirichlet(np.full(k, 0.1), size=200)])
    told = expected_cost(P, CostTable.of_errors(range(k)), n_fitted=100)
    assert told.low < told.mean < told.high
    assert np.isfinite([told.low, told.high]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda P, y, c: best_actions(P, c.matrix), "`costs` must be a CostTable; got a ndarray"),
        (lambda P, y, c: best_actions(P[:, :2], c), "has 2 features"),
        (lambda P, y, c: best_actions(2 * P, c), "sum"),
        (lambda P, y, c: expected_cost(P, c, level=1.0), "`level` must be"),
        (lambda P, y, c: expected_cost(P, c, n_fitted=0), "`n_fitted` must be a whole number"),
        (lambda P, y, c: best_actions(P, c, classes=["cat", "dog", "gnu"]), "`costs` must have a"),
        (
            lambda P, y, c: realised_cost(np.where(y == "cat", "gnu", y), P, c),
            "gnu",
        ),
        (
            lambda P, y, c: savings(y, P, P[:10], c),
            "prob_after",
        ),
    ],
)
def test_bad_input(call, message, world):
    P, y, costs, _ = world
    with pytest.raises(ValueError, match=message):
        call(P, y, costs)
