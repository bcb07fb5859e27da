import numpy as np
import pytest
from scipy.stats import binom

from dircal.decide import rejection_rule


def drawn(seed, n):
    """Calibrated rows of three classes."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(3, 0.3), size=n)
    return P, (P.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def test_the_rule_keeps_the_sure_ones():
    P, y = drawn(0, 4000)
    rule = rejection_rule(y, P, max_risk=0.05)
    assert 0.5 < rule.threshold < 1.0
    assert rule.risk <= rule.risk_bound <= 0.05
    assert (rule.keeps(P) == (P.max(axis=1) >= rule.threshold)).all()
    assert rule.n_tested == 2000
    assert "errors at most 5 % with a certainty of 95 %" in repr(rule)
    # A stricter promise keeps less.
    assert rejection_rule(y, P, max_risk=0.01).coverage < rule.coverage
    assert rejection_rule(y, P, max_risk=0.05, level=0.999).coverage <= rule.coverage


def test_the_refutation_is_exact():
    P, y = drawn(1, 2000)
    rule = rejection_rule(y, P, max_risk=0.1, level=0.9)
    second = np.random.default_rng(0).permutation(2000)[1000:]
    kept = P[second].max(axis=1) >= rule.threshold
    errors = int((P[second][kept].argmax(axis=1) != y[second][kept]).sum())
    assert binom.cdf(errors, int(kept.sum()), 0.1) <= 0.1
    assert rule.coverage == pytest.approx(kept.mean())
    assert rule.risk == pytest.approx(errors / kept.sum())


def test_the_promise_is_broken_as_rarely_as_it_says():
    new, truth = drawn(10_000, 50_000)
    right = new.argmax(axis=1) == truth
    broken = []
    for seed in range(300):
        P, y = drawn(seed, 400)
        kept = rejection_rule(y, P, max_risk=0.1, level=0.8).keeps(new)
        broken.append(bool(kept.any()) and 1.0 - right[kept].mean() > 0.1)
    # At most a fifth, give or take three standard errors; and it is no empty promise.
    assert 0.01 < np.mean(broken) < 0.2 + 3 * np.sqrt(0.16 / 300)


def test_where_nothing_can_be_promised_nothing_is_kept():
    P, y = drawn(0, 60)
    rule = rejection_rule(y, P, max_risk=0.001)
    assert rule.coverage == 0.0
    assert rule.threshold == np.inf
    assert not rule.keeps(P).any()
    assert "no prediction is kept" in repr(rule)


def test_all_is_kept_where_all_is_right():
    y = np.arange(600) % 3
    rule = rejection_rule(y, 0.9 * np.eye(3)[y] + 0.1 / 3, max_risk=0.05)
    assert rule.coverage == 1.0
    assert rule.risk == 0.0


def test_the_split_is_seeded():
    P, y = drawn(0, 1000)
    rules = [rejection_rule(y, P, max_risk=0.1, random_state=s) for s in (0, 0, 1)]
    assert rules[0] == rules[1] != rules[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_risk": 0.0}, "`max_risk` must be"),
        ({"max_risk": 0.1, "level": 1.0}, "`level` must be"),
        ({"max_risk": 0.1, "random_state": -1}, "`random_state` must be"),
    ],
)
def test_bad_options(options, message):
    P, y = drawn(0, 100)
    with pytest.raises(ValueError, match=message):
        rejection_rule(y, P, **options)


def test_too_few_rows_are_refused():
    P, y = drawn(0, 19)
    with pytest.raises(ValueError, match=r"at least 20 rows.*got 19"):
        rejection_rule(y, P, max_risk=0.1, classes=range(3))
