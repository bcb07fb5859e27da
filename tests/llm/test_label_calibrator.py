import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

import dircal
from dircal import AutoCalibrator
from dircal.exceptions import DircalWarning, UnknownGroupWarning
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


PREFERENCES = {"a": [12.0, 1.0, 0.3], "b": [0.3, 1.0, 6.0], "c": [1.0, 9.0, 1.0]}


@pytest.fixture
def prompts():
    """Rows of three prompts that prefer different options, and whose they are."""
    made = [prompted(i, 700, each) for i, each in enumerate(PREFERENCES.values())]
    P, y = (np.concatenate(part) for part in zip(*made, strict=True))
    return P, y, np.repeat(list(PREFERENCES), 700)


@pytest.fixture
def several(prompts):
    P, y, group = prompts
    first = np.arange(len(y)) % 700 < 40
    rest = ~first & (np.arange(len(y)) % 700 < 400)
    fitted = LabelCalibrator().fit(
        P[first], y[first], groups=group[first], unlabelled=P[rest], unlabelled_groups=group[rest]
    )
    return fitted, first, rest


def test_each_prompt_is_divided_by_its_own_means(prompts, several):
    P, y, group = prompts
    fitted, first, rest = several
    assert fitted.groups_.tolist() == ["a", "b", "c"]
    for i, name in enumerate(fitted.groups_):
        seen = P[(group == name) & (first | rest)]
        expected = (seen.sum(axis=0) + fitted.mean_proba_) / (len(seen) + 1.0)
        assert_allclose(fitted.group_means_[i], expected, rtol=1e-12)
    new = ~(first | rest)
    proba = fitted.predict_proba(P[new], groups=group[new])
    one = LabelCalibrator().fit(P[first], y[first], unlabelled=P[rest])
    assert log_loss(y[new], proba) < 0.9 * log_loss(y[new], one.predict_proba(P[new]))
    assert (fitted.predict(P[new], groups=group[new]) == proba.argmax(axis=1)).all()


def test_the_calibrator_of_one_prompt(prompts, several, tmp_path):
    P, _, group = prompts
    fitted, *_ = several
    mine = group == "b"
    expected = fitted.predict_proba(P[mine], groups=group[mine])
    alone = fitted.calibrator_of("b")
    assert_allclose(alone.predict_proba(P[mine]), expected, rtol=1e-9)
    assert "def " in dircal.export.to_python(alone)
    with pytest.raises(ValueError, match=r"Export calibrator\.calibrator_of\(group\)"):
        dircal.export.to_python(fitted)
    with pytest.raises(ValueError, match="`group` must be one of the 3 in `groups_`; got 'd'"):
        fitted.calibrator_of("d")
    common = fitted.calibrator_of().predict_proba(P[:5])
    assert_allclose(fitted.predict_proba(P[:5]), common, rtol=1e-12)
    with pytest.warns(UnknownGroupWarning, match=r"5 of 5 rows .* such as 'new'"):
        proba = fitted.predict_proba(P[:5], groups=["new"] * 5)
    assert_allclose(proba, common, rtol=1e-9)
    with pytest.raises(ValueError, match="`groups` must contain strings, as before; got 1"):
        fitted.predict(P[:5], groups=[1] * 5)
    assert fitted.explain(P[:50]).sentences()
    dircal.save(fitted, tmp_path / "map.json")
    loaded = dircal.load(tmp_path / "map.json")
    assert_allclose(loaded.predict_proba(P[mine], groups=group[mine]), expected, rtol=1e-12)


def test_a_prompt_without_labels_has_means_of_its_own(prompts):
    P, y, group = prompts
    labelled = (group != "c") & (np.arange(len(y)) % 700 < 60)
    fitted = LabelCalibrator(batch="always").fit(
        P[labelled], y[labelled], groups=group[labelled], unlabelled=P, unlabelled_groups=group
    )
    new = group == "c"
    known = log_loss(y[new], fitted.predict_proba(P[new], groups=group[new]))
    with pytest.warns(UnknownGroupWarning, match="700 of 700 rows"):
        unknown = fitted.predict_proba(P[new], groups=["d"] * 700)
    assert known < 0.9 * log_loss(y[new], unknown)


def test_weights_of_rows_of_prompts(prompts):
    P, y, group = prompts
    rows = np.arange(len(y)) % 700 < 30
    weight = np.where(np.arange(rows.sum()) % 3 == 0, 0.0, 1.0)
    fitted = LabelCalibrator().fit(P[rows], y[rows], weight, groups=group[rows])
    kept = np.flatnonzero(rows)[weight > 0]
    again = LabelCalibrator().fit(P[kept], y[kept], groups=group[kept])
    found = fitted.predict_proba(P, groups=group)
    assert_allclose(found, again.predict_proba(P, groups=group), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unlabelled_groups": ["a"] * 5}, "`unlabelled_groups` is given, but `groups` is None"),
        ({"groups": ["a"] * 5}, "`groups` has 5 entries, but there are 100 rows"),
        ({"groups": ["a"] * 100, "unlabelled": "rows"}, "`unlabelled_groups` is None"),
        (
            {"groups": ["a"] * 100, "unlabelled": "rows", "unlabelled_groups": [1] * 100},
            "`unlabelled_groups` must contain strings, as before; got 1",
        ),
        ({"groups": "prompt"}, "`X` is no data frame"),
        ({"groups": [1, "a"] * 50}, "`groups` must contain values of one type; got 1 and 'a'"),
    ],
)
def test_bad_groups(options, message, rows):
    P, y = rows
    if "unlabelled" in options:
        options = options | {"unlabelled": P[:100]}
    with pytest.raises(ValueError, match=message):
        LabelCalibrator().fit(P[:100], y[:100], **options)


def test_the_same_texts_with_each_prompt_are_told(rows):
    P, y = rows
    both, labels = np.vstack([P[:30], P[:30]]), np.tile(y[:30], 2)
    with pytest.warns(
        DircalWarning, match="the same 30 labels in the same order in every one of 2"
    ):
        LabelCalibrator().fit(both, labels, groups=np.repeat([1, 2], 30))


def test_prompts_with_soft_labels(rows):
    P, y = rows
    groups = np.arange(120) % 2
    hard = LabelCalibrator().fit(P[:120], y[:120], groups=groups)
    soft = LabelCalibrator().fit(P[:120], np.eye(3)[y[:120]], groups=groups)
    assert_allclose(
        soft.predict_proba(P, groups=np.arange(len(P)) % 2),
        hard.predict_proba(P, groups=np.arange(len(P)) % 2),
        atol=1e-12,
    )
    shares = 0.8 * np.eye(3)[y[:30]] + 0.2 / 3
    with pytest.warns(DircalWarning, match="the same 30 labels in the same order"):
        LabelCalibrator().fit(
            np.vstack([P[:30], P[:30]]), np.tile(shares, (2, 1)), groups=np.repeat([1, 2], 30)
        )


@pytest.mark.parametrize("batch", ["learned", "always", "none"])
def test_masked_options_of_prompts_get_no_probability(batch, prompts):
    P, y, group = prompts
    picked = np.arange(len(y)) % 700 < 60
    logits, y, group = np.log(P[picked]), y[picked], group[picked]
    masked = np.random.default_rng(0).random(logits.shape) < 0.2
    masked[np.arange(len(y)), y] = False
    logits[masked] = -np.inf
    fitted = LabelCalibrator(batch=batch, input_scale="logit").fit(logits, y, groups=group)
    proba = fitted.predict_proba(logits, groups=group)
    assert (proba[masked] == 0.0).all()
    for name in PREFERENCES:
        own = fitted.calibrator_of(name).predict_proba(logits[group == name])
        assert_allclose(proba[group == name], own, rtol=1e-12)


def test_rows_of_another_kind_are_not_used():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=1050)
    evidence = 2.5 * (rng.normal(size=(1050, 4)) + 1.5 * np.eye(4)[y])
    own, other = (softmax(evidence + bias, axis=1) for bias in ([3.0, 0, 0, -1], [-1, 3.0, 0, 0]))
    alone = LabelCalibrator(classes=range(4)).fit(own[:50], y[:50])
    with pytest.warns(DircalWarning, match="1,000 rows of .* they are not used"):
        found = LabelCalibrator(classes=range(4)).fit(own[:50], y[:50], unlabelled=other[50:])
    assert_allclose(found.predict_proba(own), alone.predict_proba(own), rtol=1e-9)
    with pytest.warns(DircalWarning, match="used all the same"):
        LabelCalibrator(batch="always", classes=range(4)).fit(
            own[:50], y[:50], unlabelled=other[50:]
        )
    # Of two prompts only the one with other rows loses them.
    names = np.repeat(["a", "b"], 25)
    rest = np.vstack([own[50:550], other[550:]])
    with pytest.warns(DircalWarning, match="500 rows of `unlabelled` differ"):
        both = LabelCalibrator(classes=range(4)).fit(
            own[:50],
            y[:50],
            groups=names,
            unlabelled=rest,
            unlabelled_groups=np.repeat(["a", "b"], 500),
        )
    assert both.groups_.tolist() == ["a", "b"]
