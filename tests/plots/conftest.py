"""One Display of each kind, from numbers of any number of classes."""

from collections.abc import Callable

import numpy as np
import pytest

from dircal import DirichletCalibrator, IdentityCalibrator, LinearParameters, plots
from dircal.shift import CalibrationMonitor, shift_report


def make_display(name, problem, k, class_names=None):
    """The Display of this name for a problem; methods are named after the classes."""
    names = None if class_names is None else list(class_names)
    y, proba = problem.y, problem.proba
    rng = np.random.default_rng(0)
    cls = getattr(plots, name)
    common = {"classes": range(k), "class_names": names}
    softer = np.sqrt(proba) / np.sqrt(proba).sum(axis=1, keepdims=True)
    parameters = LinearParameters(np.eye(k) + 0.1 * np.eye(k, k=1), np.zeros(k))
    # Methods are never as many as classes may be.
    methods = ([f"method {j}" for j in range(k)] if names is None else names)[:20]
    values = rng.random((12, len(methods)))
    makers: dict[str, Callable] = {
        "BeforeAfterDisplay": lambda: cls.from_predictions(
            y, {"before": proba, "after": softer}, **common
        ),
        "CalibrationMapDisplay": lambda: cls.from_calibrator(parameters, class_names=names),
        "ClasswiseReliabilityDisplay": lambda: cls.from_predictions(y, proba, **common),
        "ConfusionChangeDisplay": lambda: cls.from_predictions(y, proba, softer[:, ::-1], **common),
        "CostCoverageDisplay": lambda: cls.from_predictions(
            y, {"before": proba, "after": softer}, classes=range(k)
        ),
        "CurveDisplay": lambda: cls.from_calibrator(parameters, class_names=names),
        "HyperparameterDisplay": lambda: cls.from_values(
            {method: [1e-3, 1e-2, 1e-2] for method in methods[:4]}
        ),
        "MonitorDisplay": lambda: cls.from_monitor(
            CalibrationMonitor(classes=range(k)).update(proba, y)
        ),
        "ParametersDisplay": lambda: cls.from_calibrator(parameters, class_names=names),
        "PassRateDisplay": lambda: cls.from_pvalues(dict(zip(methods, values.T, strict=True))),
        "RankDisplay": lambda: cls.from_values(values, names=methods),
        "ReliabilityDisplay": lambda: cls.from_predictions(y, proba, classes=range(k)),
        "ShiftDisplay": lambda: cls.from_report(shift_report_of(y, proba, softer, names)),
        "ScoreBoxDisplay": lambda: cls.from_predictions(y, {"before": proba}, **common),
        "CalibrationTestDisplay": lambda: cls.from_predictions(
            y, proba, classes=range(k), n_resamples=50, random_state=0
        ),
    }
    return makers[name]()


def shift_report_of(y, proba, softer, names):
    """From probabilities to softer ones, with the names of the classes for labels."""
    k = proba.shape[1]
    labels = np.array([f"class {j}" for j in range(k)] if names is None else names, dtype=object)
    identity = IdentityCalibrator(classes=labels).fit(proba, labels[y])
    return shift_report(identity, proba, labels[y], softer, labels[y], n_resamples=199)


@pytest.fixture(scope="session")
def display_of(make_problem):
    """Makes the Display of a name for k classes."""

    def make(name, k=3, class_names=None, seed=0):
        return make_display(name, make_problem(seed, n=600, k=k), k, class_names)

    return make


@pytest.fixture(scope="session")
def fitted(make_problem):
    """A Dirichlet map of three classes, and the rows it was fitted on."""
    problem = make_problem(1, n=400, k=3)
    return DirichletCalibrator().fit(problem.proba, problem.y), problem


@pytest.fixture(autouse=True)
def _tables_are_plain(plain_tables):
    """Displays give dicts of lists unless a test asks for more."""
