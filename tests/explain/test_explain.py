"""Effects of maps on rows, and sentences about them."""

import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax, logit, softmax

import dircal
from dircal import (
    BayesianDirichletCalibrator,
    DirichletCalibrator,
    IdentityCalibrator,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal.explain._contests import ContestEffect, about_contests, table_of_contests
from dircal.explain._effects import measure_effects, shifts_of_pairs
from dircal.maps import Affine, CalibrationMap, LogProbability, Normalise, Scale

NAMES = np.array(["ant", "bee", "cow", "dog", "eel", "fox", "gnu", "hen"])


def biased_rows(seed, *, k=8, n=4000, lowered=2, swapped=(3, 5), names=NAMES):
    """Rows in which one class is overestimated and two are confused in both directions."""
    rng = np.random.default_rng(seed)
    q = softmax(rng.normal(scale=2.5, size=(n, k)), axis=1)
    truth = q.copy()
    truth[:, lowered] *= 0.3
    truth /= truth.sum(axis=1, keepdims=True)
    y = (np.log(truth) + rng.gumbel(size=truth.shape)).argmax(axis=1)
    hit = rng.random(n) < 0.35
    one, other = swapped
    return q, names[np.select([hit & (y == one), hit & (y == other)], [other, one], y)]


@pytest.mark.parametrize("seed", range(5))
def test_it_names_the_class_and_the_pair_that_were_biased(seed):
    q, y = biased_rows(seed)
    calibrator = DirichletCalibrator().fit(q, y)
    for explanation in (calibrator.explain(), calibrator.explain(q[:2000])):
        assert explanation.classes[0].label == "cow"
        assert explanation.classes[0].shift < -0.5
        pairs = {(pair.leader, pair.second) for pair in explanation.pairs[:2]}
        assert pairs == {("dog", "fox"), ("fox", "dog")}
        assert all(pair.shift > 0.3 for pair in explanation.pairs[:2])
        text = "\n".join(explanation.sentences())
        assert "cow is overestimated" in text
        assert "When dog is predicted and fox comes second" in text
        assert "When fox is predicted and dog comes second" in text
        assert "dog is overestimated: the odds shift towards fox" in text
    assert "one temperature is not enough" in text


def test_the_numbers_are_those_of_the_rows():
    q, y = biased_rows(0)
    calibrator = DirichletCalibrator().fit(q, y)
    explanation = calibrator.explain()
    after = calibrator.predict_proba(q)
    for effect in explanation.classes:
        j = calibrator.classes_.tolist().index(effect.label)
        assert effect.before == pytest.approx(q[:, j].mean())
        assert effect.after == pytest.approx(after[:, j].mean())
        assert effect.observed == pytest.approx((y == effect.label).mean())
    changed = (after.argmax(axis=1) != q.argmax(axis=1)).mean()
    assert explanation.decisions_changed == pytest.approx(changed)

    index = np.searchsorted(calibrator.classes_, y)
    rows = np.arange(len(y))
    comparison = explanation.comparison
    assert comparison.loss == pytest.approx(-np.log(after[rows, index]).mean())
    temperature = TemperatureScaling().fit(q, y)
    tempered = -np.log(temperature.predict_proba(q)[rows, index]).mean()
    assert comparison.temperature == pytest.approx(temperature.temperature_, rel=1e-6)
    assert comparison.loss_temperature == pytest.approx(tempered)
    ratio = 2 * len(y) * (tempered - comparison.loss)
    assert comparison.likelihood_ratio == pytest.approx(ratio)
    assert comparison.additional_parameters == 8**2 - 2


def test_rows_that_one_temperature_explains(make_problem):
    rng = np.random.default_rng(0)
    q = softmax(rng.normal(scale=3.0, size=(3000, 4)), axis=1)
    y = (0.5 * np.log(q) + rng.gumbel(size=q.shape)).argmax(axis=1)
    text = str(DirichletCalibrator().fit(q, y).explain())
    assert "overconfident: the best-fitting temperature is 1.9" in text
    assert "one temperature fits about as well" in text
    assert "The remaining effects may be noise" in text


def test_temperature_scaling_has_little_to_explain(make_problem):
    problem = make_problem(0)
    fitted = TemperatureScaling().fit(problem.proba, problem.y)
    assert "The map is a single temperature" in str(fitted.explain())
    given = fitted.explain(problem.proba)
    assert given.decisions_changed == 0.0
    assert all(abs(pair.shift) < 1e-9 for pair in given.pairs)
    assert all(abs(effect.shift) < 1e-9 for effect in given.classes)
    assert given.sentences() == fitted.explain().sentences()


def test_of_bayesian_maps_the_parameters_count_that_rows_determine(make_problem):
    problem = make_problem(1, n=500, k=4)
    fitted = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    comparison = fitted.explain().comparison
    assert comparison.additional_parameters == round(sum(fitted.effective_parameters_.values()))
    assert "one temperature is not enough" in str(fitted.explain())


def test_vector_and_matrix_scaling_on_logits(make_problem):
    problem = make_problem(1, n=500, k=4)
    for calibrator, more in ((VectorScaling, 2 * 4 - 2), (MatrixScaling, 4**2 - 2)):
        fitted = calibrator(input_scale="logit").fit(problem.logits, problem.y)
        assert fitted.explain().comparison.additional_parameters == more
        assert len(fitted.explain(problem.logits).classes) == 4


@pytest.mark.parametrize("k", [2, 3, 100])
def test_it_stays_short(k):
    names = np.array([f"a very long class name, number {i}" for i in range(k)])
    rng = np.random.default_rng(0)
    q = softmax(rng.normal(scale=3.0, size=(3000, k)), axis=1)
    y = names[
        (0.5 * np.log(q) + 0.3 * rng.normal(size=k) + rng.gumbel(size=q.shape)).argmax(axis=1)
    ]
    calibrator = DirichletCalibrator(classes=names, penalty="l2").fit(q, y)
    text = str(calibrator.explain())
    assert len(text.splitlines()) <= 28
    assert len(calibrator.explain().classes) == k
    assert max(len(line) for line in calibrator.explain().table().splitlines()) <= 60


def test_it_is_plain_data():
    q, y = biased_rows(1, n=500)
    data = DirichletCalibrator().fit(q, y).explain().to_dict()
    assert json.loads(json.dumps(data))["comparison"]["additional_parameters"] == 62


def test_bad_rows_are_refused():
    q, y = biased_rows(1, n=500)
    with pytest.raises(ValueError, match="`X` has 2 features"):
        DirichletCalibrator().fit(q, y).explain([[0.5, 0.5]])


def test_certain_rows_have_finite_numbers():
    X = np.eye(3)[[0, 0, 1, 1, 0]]
    calibrator = DirichletCalibrator(penalty="l2", classes=range(3)).fit(X, [0, 0, 1, 0, 1])
    for explanation in (calibrator.explain(), calibrator.explain(X[:2])):
        assert all(np.isfinite(effect.shift) for effect in explanation.classes)
        assert "nan" not in str(explanation)
        assert "inf" not in str(explanation)


@pytest.mark.parametrize("clip", ["learned", 1e-300])
@pytest.mark.parametrize("size", [1e40, 1e99])
def test_logits_beyond_single_precision(size, clip):
    """Warnings are errors: single precision is enough where the clip keeps scores in range."""
    logits = size * np.random.default_rng(1).normal(size=(50, 4))
    y = logits.argmax(axis=1)
    y[:4] = range(4)
    calibrator = DirichletCalibrator(input_scale="logit", clip=clip).fit(logits, y)
    for explanation in (calibrator.explain(), calibrator.explain(logits)):
        assert all(np.isfinite(effect.shift) for effect in explanation.classes)
        assert "nan" not in str(explanation)


def test_a_few_lines_and_a_card(make_problem):
    problem = make_problem(0, n=600)
    labels = np.array(["<i>ant", "bee", "cow"])
    fitted = DirichletCalibrator().fit(problem.proba, labels[problem.y])
    explanation = fitted.explain()
    lines = repr(explanation).splitlines()
    assert lines[0] == explanation.heading + ":"
    assert len(lines) <= 7
    tree = ET.fromstring(explanation._repr_html_())
    assert [item.text for item in tree.iter("li")] == explanation.sentences()
    assert "<i>ant" in list(tree.itertext())
    nothing = IdentityCalibrator().fit(problem.proba, problem.y).explain()
    assert repr(nothing) == f"<Explanation: {nothing.why_nothing}>"
    assert nothing.why_nothing in nothing._repr_html_()


# What maps do to rows in which one class stands alone, two compete, or more do.


def rows_too_sure_when_two_compete(seed=0, n=4000, k=5):
    """Most rows are sure, and right; where two classes compete, the gap is a third as large."""
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1)
    ranked = np.log(rng.dirichlet(np.ones(k), size=n)) - 8.0
    ranked[:, 0] = 0.0
    contested = rng.random(n) < 0.3
    ranked[contested, 1] = -rng.uniform(0.0, 5.0, size=contested.sum())
    ranked[:50] = -rng.uniform(0.0, 0.5, size=(50, k))
    truth = ranked.copy()
    truth[contested, 1] /= 3.0
    place = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    q = np.empty((n, k))
    np.put_along_axis(q, order, softmax(ranked, axis=1), axis=1)
    return q, order[np.arange(n), place]


@pytest.fixture(scope="module")
def bent():
    q, y = rows_too_sure_when_two_compete()
    return BayesianDirichletCalibrator().fit(q, y), q, y


def test_numbers_of_contests_are_those_of_the_rows(bent):
    calibrator, q, y = bent
    explanation = calibrator.explain()
    tempered = np.exp(log_softmax(np.log(q) / explanation.comparison.temperature, axis=1))
    after = calibrator.predict_proba(q)
    first, second = -np.sort(-tempered, axis=1)[:, :2].T
    leader, rows = q.argmax(axis=1), np.arange(len(q))
    kinds = {
        "alone": first >= 0.9,
        "pair": (first < 0.9) & (first + second >= 0.9),
        "many": first + second < 0.9,
    }
    assert [each.contest for each in explanation.contests] == list(kinds)
    for each in explanation.contests:
        kept = kinds[each.contest]
        assert each.share == pytest.approx(kept.mean())
        said = [proba[rows, leader][kept].mean() for proba in (q, tempered, after)]
        assert [each.before, each.tempered, each.after] == pytest.approx(said)
        assert each.observed == pytest.approx((leader == y)[kept].mean())
        assert each.shift == pytest.approx(logit(said[2]) - logit(said[1]), abs=1e-5)
    given = calibrator.explain(q).contests
    assert [each.after for each in given] == pytest.approx(
        [each.after for each in explanation.contests]
    )
    assert all(each.observed is None for each in given)


def test_it_says_where_one_temperature_does_not_do(bent):
    calibrator, q, _ = bent
    sentence = next(each for each in calibrator.explain().sentences() if "compete" in each)
    assert sentence == calibrator.explain().sentences()[1]
    pair = next(each for each in calibrator.explain().contests if each.contest == "pair")
    assert (
        f"overconfident when two classes compete ({pair.share:.1%} of rows: confidence" in sentence
    )
    numbers = f"{pair.tempered:.3f}, accuracy {pair.observed:.3f}, this map {pair.after:.3f}"
    assert f"confidence {numbers}" in sentence
    assert "two classes compete" in calibrator.explain().table()
    without_labels = calibrator.explain(q).sentences()[1]
    assert "right 0." not in without_labels
    assert "overconfident when two classes compete" in without_labels


def test_it_says_nothing_where_one_temperature_does():
    rng = np.random.default_rng(0)
    q = softmax(rng.normal(scale=3.0, size=(3000, 4)), axis=1)
    y = (0.5 * np.log(q) + rng.gumbel(size=q.shape)).argmax(axis=1)
    for calibrator in (BayesianDirichletCalibrator(), DirichletCalibrator(), TemperatureScaling()):
        calibrator.fit(q, y)
        for explanation in (calibrator.explain(), calibrator.explain(q)):
            assert "compete" not in str(explanation)
    assert [each.contest for each in explanation.contests] == ["alone", "pair", "many"]


def test_files_keep_it_and_older_ones_go_without(bent, tmp_path):
    calibrator, _, _ = bent
    path = tmp_path / "map.json"
    dircal.save(calibrator, path)
    assert dircal.load(path).explain() == calibrator.explain()
    document = json.loads(path.read_text())
    del document["object"]["fit"]["record"]["fields"]["effects"]["fields"]["contests"]
    path.write_text(json.dumps(document))
    older = dircal.load(path).explain()
    assert older.contests == ()
    assert older.classes == calibrator.explain().classes
    document["object"]["fit"]["record"]["fields"]["effects"]["fields"]["contests"] = 3
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="contests"):
        dircal.load(path)
    data = json.loads(json.dumps(calibrator.explain().to_dict()))
    assert {"contest", "share", "tempered", "observed"} <= set(data["contests"][0])


def test_rows_that_the_map_makes_worse_are_not_told_of():
    nearer = ContestEffect("pair", 0.3, 0.9, 0.8, 0.7, 0.65)
    farther = ContestEffect("pair", 0.3, 0.9, 0.8, 0.7, 0.85)
    assert "overconfident when two classes compete" in about_contests([nearer], 1000)[0]
    assert about_contests([farther], 1000) == []
    assert table_of_contests([farther]) == []


def test_right_is_only_what_labels_do_not_speak_against():
    told = ContestEffect("pair", 0.3, 0.9, 0.8, 0.7, 0.65)
    wrong = ContestEffect("many", 0.3, 0.7, 0.5, 0.5, 0.4)
    assert not any("about right" in one for one in about_contests([told, wrong], 1000))
    assert about_contests([told, wrong], 50)[1] == (
        "After temperature scaling, confidence is about right when more than two compete."
    )
    assert about_contests([told], 10) == []


def test_too_unsure():
    each = ContestEffect("alone", 1.0, 0.9, 0.92, 0.96, 0.965)
    assert about_contests([each], 100) == [
        "After temperature scaling, the classifier is still underconfident when one class "
        "dominates (100.0% of rows: confidence 0.920, accuracy 0.965, this map 0.960)."
    ]


READ = CalibrationMap(2, (Normalise(), LogProbability())).read

K = 4


@pytest.fixture
def source(make_problem):
    problem = make_problem(0, n=500, k=K)
    weight = np.random.default_rng(0).integers(0, 3, 500).astype(float)
    source = ArraySource(problem.proba, problem.y, weight, READ, chunk_rows=70)
    return Rows(source), problem, weight


def affine(weights):
    return Affine(weights[:, :-1], weights[:, -1]).apply


def test_effects_are_the_naive_sums_over_rows(source):
    rows, problem, weight = source
    weights = np.eye(K, K + 1) * 0.7 + 0.1 * np.random.default_rng(1).normal(size=(K, K + 1))
    slope = 0.6
    effects = measure_effects(rows, slope, affine(weights))

    scores = np.log(problem.proba)
    mapped = log_softmax(scores @ weights[:, :-1].T + weights[:, -1], axis=1)
    share = weight / weight.sum()
    assert_allclose(effects.before, share @ problem.proba, rtol=1e-10)
    assert_allclose(effects.after, share @ np.exp(mapped), rtol=1e-10)
    tempered = np.exp(log_softmax(slope * scores, axis=1))
    assert_allclose(effects.tempered, share @ tempered, rtol=1e-10)
    sums = {}
    changed = 0.0
    for row, after, part in zip(scores, mapped, share, strict=True):
        j, i = np.argsort(row)[-2:]
        shift = (after[j] - after[i]) - slope * (row[j] - row[i])
        chance = 1.0 / (1.0 + np.exp(slope * (row[i] - row[j])))
        counted = 4.0 * chance * (1.0 - chance)
        total = sums.setdefault((i, j), np.zeros(5))
        parts = [1.0, after.argmax() == j, counted, counted * (row[i] - row[j]), counted * shift]
        total += part * np.array(parts)
        changed += part * (after.argmax() != i)
    assert effects.decisions_changed == pytest.approx(changed)
    listed = zip(effects.leader, effects.second, strict=True)
    for p, pair in enumerate(listed):
        total = sums[pair]
        assert effects.share[p] == pytest.approx(total[0])
        assert effects.flipped[p] == pytest.approx(total[1])
        assert effects.contested[p] == pytest.approx(total[2])
        assert effects.gap[p] == pytest.approx(total[3] / total[2])
        assert effects.shift[p] == pytest.approx(total[4] / total[2])
    assert effects.share.sum() == pytest.approx(1.0)

    truth = np.arange(500), problem.y
    tempered = log_softmax(slope * scores, axis=1)
    naive = [-share @ logs[truth] for logs in (scores, tempered, mapped)]
    assert_allclose(effects.losses, naive, rtol=1e-10)


def test_a_temperature_map_has_no_effects_beyond_itself(source):
    effects = measure_effects(source[0], 0.5, Scale(0.5).apply)
    assert_allclose(effects.shift, 0.0, atol=1e-12)
    assert_allclose(effects.flipped, 0.0)
    assert effects.decisions_changed == 0.0


def test_common_causes_are_not_blamed_on_pairs(source):
    # An intercept for class 1 and another slope: everything is gains and slope, nothing a pair's.
    weights = np.eye(K, K + 1) * 0.8
    weights[1, -1] = -0.7
    effects = measure_effects(source[0], 0.5, affine(weights))
    assert np.abs(effects.shift).max() > 0.5
    assert_allclose(shifts_of_pairs(effects), 0.0, atol=1e-6)


def test_a_pair_with_a_shift_of_its_own_keeps_it(source):
    weights = np.eye(K, K + 1) * 0.8
    weights[1, -1] = -0.7
    effects = measure_effects(source[0], 0.5, affine(weights))
    odd = int(np.flatnonzero((effects.leader == 0) & (effects.second == 3))[0])
    effects.shift[odd] += 1.0
    rests = shifts_of_pairs(effects)
    assert rests[odd] == pytest.approx(1.0, abs=0.2)
    assert np.abs(np.delete(rests, odd)).max() < 0.2
