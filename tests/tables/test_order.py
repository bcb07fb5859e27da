"""Columns in another order than they are taken for, where only the numbers tell."""

import ast
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from dircal import (
    AutoCalibrator,
    BetaCalibrator,
    CalibratedClassifier,
    CalibratorCV,
    DirichletCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    Report,
    TemperatureScaling,
    compare,
    confidence_interval,
    metrics,
)
from dircal.exceptions import ColumnOrderWarning

NUMERALS = ["i", "ii", "iii", "iv", "v"]


@pytest.fixture(scope="module")
def numerals(make_problem):
    """Columns as the classifier counts, labels as people write them: sorted, v comes fifth."""
    problem = make_problem(0, n=600, k=5)
    order = ["iv", "ii", "i", "v", "iii"]
    return problem.proba, np.array(order)[problem.y], order


def told(call):
    """What is said about the order, with every warning shown."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if one.category is ColumnOrderWarning]


FITS = {
    "temperature": TemperatureScaling(),
    "dirichlet": DirichletCalibrator(),
    "auto": AutoCalibrator(calibrators=[TemperatureScaling()]),
    "search": CalibratorCV(TemperatureScaling(), [{}]),
    "one against the rest": OneVsRestCalibrator(IsotonicCalibrator()),
    "all of it": CalibratorCV(OneVsRestCalibrator(IsotonicCalibrator()), [{}], cv=3),
    "prefit": CalibratedClassifier(lambda X: X, TemperatureScaling(), scheme="prefit"),
}
FEW = {"n_resamples": 100, "random_state": 0}
CALLS = {
    **{name: lambda X, y, one=one: one.fit(X, y) for name, one in FITS.items()},
    "report": lambda X, y: Report.from_predictions(
        y, X, calibrators=CalibratorCV(TemperatureScaling(), [{}]), n_resamples=100
    ),
    "compare": lambda X, y: compare([TemperatureScaling(), DirichletCalibrator()], X, y, **FEW),
    "a measure": lambda X, y: metrics.log_loss(y, X),
    "an interval": lambda X, y: confidence_interval(y, X, "log_loss", **FEW),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_everything_that_takes_labels_warns_once_and_names_the_order(numerals, call):
    proba, y, order = numerals
    [message] = told(lambda: call(proba, y))
    assert ast.literal_eval(re.search(r"classes=(\[.*?\])", message)[1]) == order
    assert re.search(r"in \d+% of the rows, in that order in \d\d%", message)


def test_the_named_order_is_right(numerals):
    proba, y, order = numerals
    assert told(lambda: TemperatureScaling(classes=order).fit(proba, y)) == []
    assert told(lambda: TemperatureScaling().fit(pd.DataFrame(proba, columns=order), y)) == []
    # Numbers, classes that were given wrongly, and a header that is wrong.
    numbers = np.array([order.index(one) for one in y])
    assert told(lambda: metrics.accuracy(numbers, proba)) == []
    assert (
        "classes=[1, 2, 3, 4, 0]"
        in told(lambda: metrics.accuracy(numbers, proba[:, [1, 2, 3, 4, 0]]))[0]
    )
    [message] = told(lambda: TemperatureScaling(classes=NUMERALS).fit(proba, y))
    assert f"classes={order}" in message
    frame = pd.DataFrame(proba, columns=NUMERALS)
    [message] = told(lambda: TemperatureScaling().fit(frame, y))
    assert f"classes={order}" in message
    logits = TemperatureScaling(input_scale="logit")
    [message] = told(lambda: logits.fit(np.log(proba), y))
    assert f"classes={order}" in message


def test_rows_of_weight_zero_tell_nothing(numerals):
    proba, y, order = numerals
    numbers = np.array([order.index(one) for one in y])
    bad = np.where(np.arange(600)[:, None] < 400, np.nan, proba)
    weight = (np.arange(600) >= 400).astype(float)
    turned = np.where(weight > 0, numbers, (numbers + 1) % 5)
    assert told(lambda: TemperatureScaling().fit(bad, turned, weight)) == []
    assert len(told(lambda: TemperatureScaling().fit(proba, turned, 1.0 - weight))) == 1


def test_one_column_of_the_other_class(make_problem):
    problem = make_problem(0, n=300, k=2)
    y = np.array(["no", "yes"])[problem.y]
    assert told(lambda: BetaCalibrator().fit(problem.proba[:, 1], y)) == []
    [message] = told(lambda: BetaCalibrator().fit(problem.proba[:, 0], y))
    assert "classes=['yes', 'no']" in message
    assert told(lambda: BetaCalibrator(classes=["yes", "no"]).fit(problem.proba[:, 0], y)) == []


def test_the_warning_points_to_the_line_of_the_user(numerals):
    proba, y, _ = numerals
    message = "fit another order of the columns of `X`"
    with pytest.warns(ColumnOrderWarning, match=message) as caught:
        DirichletCalibrator().fit(proba, y)
    assert caught[0].filename == __file__


def test_classifiers_that_are_trained_here_know_their_columns(make_problem):
    problem = make_problem(0, n=300, k=3)
    order = np.argsort(problem.y, kind="stable")
    X, y = problem.logits[order], problem.y[order]
    # Folds of sorted rows, in which each classifier lacks a class.
    thirds = [(np.flatnonzero(y != c), np.flatnonzero(y == c)) for c in range(3)]
    model = CalibratedClassifier(
        LogisticRegression(), TemperatureScaling(), cv=thirds, scheme="out_of_fold"
    )
    assert told(lambda: model.fit(X, y)) == []
