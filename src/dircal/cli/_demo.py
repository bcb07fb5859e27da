"""The demonstration: real classifiers, every calibrator, measures before and after."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.utils import get_tags

from dircal import Explanation, OneVsRestCalibrator, calibration_test, calibrators, metrics
from dircal._typing import FloatArray, LabelArray
from dircal.exceptions import ConvergenceWarning

__all__ = ["DATASET", "CalibratorResult", "ClassifierResult", "run_classifiers"]

DATASET = "handwritten digits (1797 images of 8 x 8 pixels, 10 classes)"
# Enough draws to tell a p-value of 0.05 from one of 0.03.
_RESAMPLES = 2_000


@dataclass(frozen=True)
class CalibratorResult:
    """The eight measures of the paper for one calibrator on the test rows."""

    name: str
    warning: str | None
    accuracy: float
    log_loss: float
    brier_score: float
    confidence_ece: float
    classwise_ece: float
    maximum_calibration_error: float
    confidence_pvalue: float
    classwise_pvalue: float


@dataclass(frozen=True)
class ClassifierResult:
    """One classifier with all its calibrators, the uncalibrated one first.

    The explanation and the floor are those of the Dirichlet map.
    """

    name: str
    calibrators: list[CalibratorResult]
    explanation: Explanation
    clip: float


def run_classifiers() -> Iterator[ClassifierResult]:
    """Train, calibrate and measure, one classifier after another."""
    X, y = load_digits(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(
        X, y, train_size=0.3, stratify=y, random_state=0
    )
    X_fit, X_test, y_fit, y_test = train_test_split(
        X_rest, y_rest, train_size=0.5, stratify=y_rest, random_state=0
    )
    classifiers: dict[str, ClassifierMixin] = {
        "Gaussian naive Bayes": GaussianNB(),
        "Random forest": RandomForestClassifier(n_estimators=100, random_state=0),
        "Neural network (MLP)": MLPClassifier(hidden_layer_sizes=(32,), random_state=0),
    }
    for name, classifier in classifiers.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier.fit(X_train, y_train)
        yield _calibrate(
            name, classifier.predict_proba(X_fit), y_fit, classifier.predict_proba(X_test), y_test
        )


def _calibrate(
    name: str, fit_proba: FloatArray, y_fit: LabelArray, proba: FloatArray, y_test: LabelArray
) -> ClassifierResult:
    results, fitted = [], {}
    # The identity first: the others are read against it.
    names = sorted(calibrators.__all__, key=lambda other: other != "IdentityCalibrator")
    for calibrator_name in names:
        calibrator = _for_many_classes(getattr(calibrators, calibrator_name)())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            calibrator.fit(fit_proba, y_fit)
        fitted[calibrator_name] = calibrator
        warning = str(caught[0].message) if caught else None
        results.append(_measure(calibrator_name, warning, y_test, calibrator.predict_proba(proba)))
    dirichlet = fitted["DirichletCalibrator"]
    return ClassifierResult(name, results, dirichlet.explain(), dirichlet.clip_)


def _for_many_classes(calibrator: Any) -> Any:
    """The calibrator itself, or one for each class against the rest if it is binary."""
    binary = not get_tags(calibrator).classifier_tags.multi_class
    return OneVsRestCalibrator(calibrator) if binary else calibrator


def _measure(
    name: str, warning: str | None, y_true: LabelArray, y_prob: FloatArray
) -> CalibratorResult:
    confidence, classwise = (
        calibration_test(
            y_true, y_prob, statistic=statistic, n_resamples=_RESAMPLES, random_state=0
        )
        for statistic in ("confidence_ece", "classwise_ece")
    )
    return CalibratorResult(
        name,
        warning,
        metrics.accuracy(y_true, y_prob),
        metrics.log_loss(y_true, y_prob),
        metrics.brier_score(y_true, y_prob),
        confidence.statistic,
        classwise.statistic,
        metrics.maximum_calibration_error(y_true, y_prob),
        confidence.pvalue,
        classwise.pvalue,
    )
