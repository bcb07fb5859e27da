"""One column of scores stands for two classes, wherever there are scores."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import dircal
from dircal import compare, evaluate, metrics, plots
from dircal.decide import CostTable, best_actions
from dircal.shift import CalibrationMonitor, PriorShift, recalibrate, shift_report

pytestmark = pytest.mark.filterwarnings("ignore::dircal.exceptions.ConvergenceWarning")


@pytest.fixture
def problem(make_problem):
    return make_problem(0, n=300, k=2)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_a_calibrator(calibrator, problem, shape):
    """The same map to the last bit, and two columns of probabilities."""
    positive = problem.proba[:, 1]
    both = np.column_stack([1.0 - positive, positive])
    one = clone(calibrator).fit(positive.reshape(shape), problem.y)
    two = clone(calibrator).fit(both, problem.y)
    expected = two.predict_proba(both)
    assert_array_equal(one.predict_proba(positive.reshape(shape)), expected)
    assert expected.shape == (300, 2)
    assert_array_equal(one.predict(positive), two.predict(both))


def test_logits(calibrator, configure, problem):
    configure(calibrator, input_scale="logit")
    z = problem.logits[:, 1] - problem.logits[:, 0]
    both = np.column_stack([np.zeros(300), z])
    expected = clone(calibrator).fit(both, problem.y).predict_proba(both)
    assert_array_equal(clone(calibrator).fit(z, problem.y).predict_proba(z), expected)


def test_the_positive_class_is_the_second_of_classes_or_the_larger_label(problem):
    words = np.array(["yes", "no"])[problem.y]  # the column is the probability of "no"
    p = problem.proba[:, 1]
    turned = dircal.TemperatureScaling(classes=["yes", "no"]).fit(p, words)
    assert turned.classes_.tolist() == ["no", "yes"]
    assert_array_equal(
        turned.predict_proba(p)[:, 0],
        dircal.TemperatureScaling().fit(p, problem.y).predict_proba(p)[:, 1],
    )
    series = pd.Series(p, name="no")
    named = dircal.TemperatureScaling().fit(series, words)
    assert_array_equal(named.predict_proba(series), turned.predict_proba(p))


@pytest.mark.parametrize("name", metrics.RECORDS)
def test_a_measure(name, problem):
    options = {"label": 1} if name == "class_ece" else {}
    measure = partial(metrics.RECORDS[name].function, **options)
    p = problem.proba[:, 1]
    both = np.column_stack([1.0 - p, p])
    assert measure(problem.y, p) == measure(problem.y, both)
    assert measure(problem.y, p[:, None]) == measure(problem.y, both)


def both_ways(function, problem):
    """What a function of scores and labels returns for one column and for two."""
    p = problem.proba[:, 1]
    return function(p, problem.y), function(np.column_stack([1.0 - p, p]), problem.y)


FUNCTIONS = {
    "evaluate": lambda p, y: repr(evaluate(y, p, n_resamples=100, random_state=0).to_dict()),
    "compare": lambda p, y: compare(["auto", "beta"], p, y, random_state=0).table,
    "test": lambda p, y: dircal.calibration_test(y, p, random_state=0).pvalue,
    "score test": lambda p, y: dircal.score_test(y, p).pvalue,
    "equivalence": lambda p, y: (
        dircal.equivalence_test(y, p, "confidence_ece", margin=0.1, random_state=0).pvalue
    ),
    "interval": lambda p, y: dircal.confidence_interval(y, p, "log_loss", random_state=0).low,
    "paired": lambda p, y: (
        dircal.paired_comparison(y, p, p**2, "log_loss").pvalue
        if p.ndim == 1
        else dircal.paired_comparison(
            y, p, np.column_stack([1 - p[:, 1] ** 2, p[:, 1] ** 2]), "log_loss"
        ).pvalue
    ),
    "reliability": lambda p, y: (
        plots.ReliabilityDisplay.from_predictions(y, p).to_frame().to_dict()
    ),
    "monitor": lambda p, y: CalibrationMonitor(classes=[0, 1]).update(p, y).trace_[1].tolist(),
    "shift": lambda p, y: (
        shift_report(
            dircal.TemperatureScaling().fit(p, y), p, y, p[::-1], y[::-1], random_state=0
        ).kind
    ),
    "recalibrate": lambda p, y: (
        recalibrate(dircal.TemperatureScaling().fit(p, y), p, y).predict_proba(p).tolist()
    ),
    "priors": lambda p, y: PriorShift(dircal.VectorScaling()).fit(p, y).adapt(p).priors_.tolist(),
    "actions": lambda p, y: best_actions(p, CostTable.of_errors([0, 1])).expected_cost.tolist(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function(name, problem):
    one, two = both_ways(FUNCTIONS[name], problem)
    assert one == two


def test_a_report(problem):
    p = problem.proba[:, 1]
    of_two = np.column_stack([1.0 - p, p])
    pages = [
        dircal.Report.from_predictions(problem.y, one, calibrators=["temperature"]).to_html()
        for one in (p, of_two)
    ]
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([0.1, 0.5, 0.9], [0, 1, 2], r"`y` holds 3 classes.*single column.*two classes only"),
        ([0.1, 1.5, 0.9], [0, 1, 1], r"`X` is a single column.*row 1 is 1.5.*input_scale='logit'"),
        ([0.1, 0.5, 0.9], [1, 1, 1], r"only 1 class.*`classes=\[...\]`, both labels"),
    ],
)
def test_what_cannot_be_one_column(scores, labels, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        dircal.AutoCalibrator().fit(scores, labels)
    measured = message.replace("`y`", "`y_true`").replace("`X`", "`y_prob`")
    measured = measured.replace(".*input_scale='logit'", ".*softmax")
    with pytest.raises(ValueError, match=f"(?s){measured}"):
        metrics.log_loss(labels, scores)
