"""What every calibrator shows of itself, in a terminal and in a notebook."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal.llm import LabelCalibrator


def card_of(calibrator):
    """The card above the diagram, as a tree: it is well-formed."""
    html = calibrator._repr_html_()
    end = html.index("</svg></div>") + len("</svg></div>")
    return ET.fromstring(html[:end]), html[end:]


@pytest.mark.representatives
def test_before_a_fit_scikit_learn_shows_it(calibrator):
    assert str(calibrator) == repr(calibrator)
    assert 'class="dircal"' not in calibrator._repr_html_()
    assert "sk-top-container" in calibrator._repr_html_()


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ConvergenceWarning")
def test_after_a_fit_it_says_what_was_found(calibrator, make_problem):
    problem = make_problem(0)
    fitted = clone(calibrator).fit(problem.proba, problem.y)
    first, *found = str(fitted).splitlines()
    assert str(fitted).startswith(repr(fitted))
    assert any(line.startswith("  classes: 3 (") for line in found), first
    assert found[-1].startswith("  map: ")
    card, diagram = card_of(fitted)
    texts = list(card.itertext())
    assert f"{type(fitted).__name__}, fitted" in texts
    assert "sk-top-container" in diagram, "the diagram of scikit-learn stays"
    lines = [path.get("d") for path in card.iter("path") if path.get("fill") == "none"]
    assert len(lines) == 1 + 3 + 1, "the axes, each class, and the mean"
    bundle = fitted._repr_mimebundle_()
    assert bundle["text/plain"] == str(fitted)
    assert bundle["text/html"].startswith('<div class="dircal"')


def test_the_choice_and_the_strengths_are_told(make_problem):
    problem = make_problem(0, n=600)
    auto = AutoCalibrator().fit(problem.proba, problem.y)
    assert f"  choice: {auto.choice_}, probability " in str(auto)
    assert "  probability of harm: " in str(auto)
    scaling = TemperatureScaling().fit(problem.proba, problem.y)
    assert f"  temperature: {scaling.temperature_:.4g}: the scores were " in str(scaling)


@pytest.mark.parametrize(
    "calibrator",
    [BayesianDirichletCalibrator(), AutoCalibrator(), VectorScaling(), LabelCalibrator()],
    ids=repr,
)
def test_the_temperature_shown_is_the_one_of_explain(calibrator, make_problem):
    """Rows are nearly uniform, so that the temperature of the mixture is lower than the best."""
    problem = make_problem(0, n=2000, k=3, scale=0.4)
    fitted = calibrator.fit(problem.proba, problem.y)
    temperature = fitted.explain().comparison.temperature
    assert f"  temperature: {temperature:.4g}: the scores were overconfident" in str(fitted)


def test_hostile_labels_are_text(make_problem):
    problem = make_problem(0, n=200)
    labels = np.array(["<script>alert(1)</script>", "b", "c"])
    fitted = TemperatureScaling(classes=labels).fit(problem.proba, labels[problem.y])
    assert "<script>alert" not in fitted._repr_html_()


def test_the_picture_is_of_the_map(make_problem):
    """At a temperature of one, the line is the diagonal; in one column of logits as well."""
    problem = make_problem(0, n=400, k=2)
    score = np.log(problem.proba[:, 1] / problem.proba[:, 0])
    one = PlattCalibrator(input_scale="logit").fit(score, problem.y)
    card, _ = card_of(one)
    *_, mean = [path.get("d") for path in card.iter("path")]
    x, y = np.array([point.split() for point in mean[1:].split("L")], dtype=float).T
    grid = x / 120
    assert len(grid) == 25
    p = grid[12]
    expected = one.predict_proba(np.log([p / (1 - p)]))[0, 1]
    other = one.predict_proba(np.log([(1 - p) / p]))[0, 0]
    assert abs((1 - y[12] / 120) - (expected + other) / 2) < 2e-3


def test_the_display_of_scikit_learn_can_be_text(make_problem):
    problem = make_problem(0)
    fitted = TemperatureScaling().fit(problem.proba, problem.y)
    with config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert list(fitted._repr_mimebundle_()) == ["text/plain"]
