import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from scipy.special import softmax

from dircal import (
    BayesianDirichletCalibrator,
    DirichletCalibrator,
    IdentityCalibrator,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)

NAMES = np.array(["ant", "bee", "cow", "dog", "eel", "fox", "gnu", "hen"])


def biased_rows(seed, *, k=8, n=4000, lowered=2, swapped=(3, 5), names=NAMES):
    """Rows in which one class is over-estimated and two are confused in both directions."""
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
        assert "cow is over-estimated" in text
        assert "Rows called dog with fox second" in text
        assert "Rows called fox with dog second" in text
        assert "are too sure of dog: the odds move towards fox" in text
    assert "more than one temperature is needed" in text


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
    assert "overconfident: the best single temperature is 1.9" in text
    assert "one temperature would do about as well" in text
    assert "What follows may be chance" in text


def test_temperature_scaling_has_little_to_explain(make_problem):
    problem = make_problem(0)
    fitted = TemperatureScaling().fit(problem.proba, problem.y)
    assert "One temperature is all there is to this map" in str(fitted.explain())
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
    assert "more than one temperature is needed" in str(fitted.explain())


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
