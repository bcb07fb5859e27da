"""The figures of the guide, drawn anew when the pages are built."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from dircal import (
    BayesianDirichletCalibrator,
    DirichletCalibrator,
    GenerativeParameters,
    IdentityCalibrator,
    TemperatureScaling,
    VectorScaling,
    calibration_test,
    plots,
)
from dircal.metrics import log_loss
from dircal.shift import CalibrationMonitor, shift_report


@cache
def digits() -> dict[str, Any]:
    """Naive Bayes on handwritten digits, before and after calibration."""
    X, y = load_digits(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=0.3, random_state=0)
    X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, train_size=0.5, random_state=0)
    model = GaussianNB().fit(X_train, y_train)
    q_cal, q_test = model.predict_proba(X_cal), model.predict_proba(X_test)
    calibrators = {
        "temperature": TemperatureScaling().fit(q_cal, y_cal),
        "Dirichlet": DirichletCalibrator().fit(q_cal, y_cal),
    }
    after = calibrators["Dirichlet"].predict_proba(q_test)
    return {"y": y_test, "before": q_test, "after": after, "calibrators": calibrators}


@cache
def world() -> tuple[Any, Any, Any]:
    """Rows of three classes whose true calibration map is known, and a map fitted to them."""
    truth = GenerativeParameters(
        [[2.0, 1.0, 0.8], [0.6, 1.6, 1.0], [0.9, 0.7, 1.3]], [0.5, 0.3, 0.2]
    )
    q, y = truth.sample(4000, random_state=0)
    return q, y, DirichletCalibrator().fit(q, y)


@cache
def many_worlds() -> tuple[list[str], Any, dict[str, list[float]]]:
    """Log-losses and p-values of four methods in twenty small worlds."""
    methods = {
        "uncalibrated": IdentityCalibrator(),
        "temperature": TemperatureScaling(),
        "vector": VectorScaling(),
        "Dirichlet": DirichletCalibrator(),
    }
    rng = np.random.default_rng(0)
    losses = np.empty((20, len(methods)))
    pvalues: dict[str, list[float]] = {name: [] for name in methods}
    for row in losses:
        alpha = rng.uniform(0.7, 1.3, size=(3, 3)) + np.eye(3)
        q, y = GenerativeParameters(alpha, pi=rng.dirichlet([5, 5, 5])).sample(800, rng)
        for j, (name, method) in enumerate(methods.items()):
            proba = method.fit(q[:400], y[:400]).predict_proba(q[400:])
            row[j] = log_loss(y[400:], proba)
            test = calibration_test(
                y[400:], proba, statistic="classwise_ece", n_resamples=200, random_state=rng
            )
            pvalues[name].append(test.pvalue)
    return list(methods), losses, pvalues


def before_after() -> Any:
    """Three methods, the confidence and the three worst digits."""
    data = digits()
    return plots.BeforeAfterDisplay.from_calibrators(
        data["calibrators"], data["before"], data["y"], n_bins=10
    )


def curve() -> Any:
    """A map of five classes whose gap is a third of what is said where two of them compete."""
    rng, n, k = np.random.default_rng(0), 4000, 5
    ranked = np.log(rng.dirichlet(np.ones(k), size=n)) - 8.0
    ranked[:, 0] = 0.0
    contested = rng.random(n) < 0.3
    ranked[contested, 1] = -rng.uniform(0.0, 5.0, size=contested.sum())
    truth = ranked.copy()
    truth[contested, 1] /= 3.0
    place = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    order = rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1)
    proba, odds = np.empty((n, k)), np.exp(ranked)
    np.put_along_axis(proba, order, odds / odds.sum(axis=1, keepdims=True), axis=1)
    labels = order[np.arange(n), place]
    fitted = BayesianDirichletCalibrator().fit(proba, labels)
    return plots.CurveDisplay.from_calibrator(fitted, span=8.0)


def hyperparameter() -> Any:
    """Strengths as many searches would choose them."""
    grid = [10.0**e for e in range(-7, 2)]
    chosen = np.random.default_rng(0).normal(-3.0, 1.5, size=300).round().clip(-7, 1)
    return plots.HyperparameterDisplay.from_values({"lam": 10.0**chosen}, grid=grid)


def monitor() -> Any:
    """A stream that is too sure from row 4000 on."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), size=6000)
    y = (proba.cumsum(axis=1) > rng.random((6000, 1))).argmax(axis=1)
    proba[4000:] = softmax(1.5 * np.log(proba[4000:]), axis=1)
    watched = CalibrationMonitor(classes=range(3)).update(proba, y)
    return plots.MonitorDisplay.from_monitor(watched)


def shift() -> Any:
    """Three animals, one of which has become rarer and another confused with it."""
    q, y, _ = world()
    names = np.array(["ant", "bee", "cow"])
    calibrator = DirichletCalibrator().fit(q, names[y])
    truth = GenerativeParameters(
        [[2.0, 1.0, 0.8], [0.6, 1.2, 1.0], [0.9, 0.7, 1.3]], [0.3, 0.3, 0.4]
    )
    X, labels = truth.sample(4000, random_state=1)
    return plots.ShiftDisplay.from_report(
        shift_report(calibrator, q, names[y], X, names[labels], n_resamples=199)
    )


def rank() -> Any:
    """Four methods in twenty small worlds."""
    names, losses, _ = many_worlds()
    return plots.RankDisplay.from_values(losses, names=names, method="nemenyi")


FIGURES: dict[str, Callable[[], Any]] = {
    "reliability": lambda: plots.ReliabilityDisplay.from_predictions(
        digits()["y"], digits()["before"]
    ),
    "classwise_reliability": lambda: plots.ClasswiseReliabilityDisplay.from_predictions(
        world()[1], world()[0], class_names=["ant", "bee", "cow"]
    ),
    "before_after": before_after,
    "calibration_map": lambda: plots.CalibrationMapDisplay.from_calibrator(
        world()[2], class_names=["ant", "bee", "cow"]
    ),
    "curve": curve,
    "parameters": lambda: plots.ParametersDisplay.from_calibrator(
        digits()["calibrators"]["Dirichlet"]
    ),
    "confusion_change": lambda: plots.ConfusionChangeDisplay.from_predictions(
        digits()["y"], digits()["before"], digits()["after"]
    ),
    "score_box": lambda: plots.ScoreBoxDisplay.from_predictions(
        digits()["y"], {"before": digits()["before"], "after": digits()["after"]}, labels=[8, 9]
    ),
    "calibration_test": lambda: plots.CalibrationTestDisplay.from_predictions(
        digits()["y"], digits()["after"], statistic="classwise_ece", random_state=0
    ),
    "rank": rank,
    "pass_rate": lambda: plots.PassRateDisplay.from_pvalues(many_worlds()[2]),
    "hyperparameter": hyperparameter,
    "monitor": monitor,
    "shift": shift,
}


def draw_all(folder: Path) -> None:
    """Write every figure of the guide, for the screen and small."""
    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in FIGURES.items():
        figure = make().plot().figure_
        figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
        plt.close(figure)
