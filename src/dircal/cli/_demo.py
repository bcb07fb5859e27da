"""The demonstration: real classifiers, measured before and after calibration."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.utils import get_tags

from dircal import (
    AutoCalibrator,
    Comparison,
    Explanation,
    OneVsRestCalibrator,
    calibration_test,
    calibrators,
    compare,
)
from dircal._typing import FloatArray, LabelArray
from dircal.exceptions import DircalWarning
from dircal.metrics import Table, measures_in

__all__ = ["DATASET", "DEFAULT", "N_RESAMPLES", "ClassifierResult", "run_classifiers"]

DEFAULT = "AutoCalibrator"
DATASET = "handwritten digits (1797 images of 8 x 8 pixels, 10 classes)"
# Enough draws to tell a p-value of 0.05 from one of 0.03.
N_RESAMPLES = 2_000


@dataclass(frozen=True)
class ClassifierResult:
    """One classifier before calibration and after it.

    Parameters
    ----------
    name : str
        Name of the classifier.
    comparison : Comparison
        Measures before and after, the default calibrator first.
    explanation : Explanation
        What the default calibrator corrects.
    y_true, y_prob : array
        All rows that the classifier was not trained on.
    pvalues : dict
        By calibrator, those of the tests of the confidence and of the class probabilities; empty
        without details.
    """

    name: str
    comparison: Comparison
    explanation: Explanation
    y_true: LabelArray
    y_prob: FloatArray
    pvalues: dict[str, tuple[float, float]]

    def confidence(self, name: str) -> float:
        """Return the mean largest probability of the test rows."""
        return float(self.comparison.probabilities[name].max(axis=1).mean())


def run_classifiers(*, details: bool = False) -> Iterator[ClassifierResult]:
    """Train, calibrate and measure one classifier after another.

    With ``details``, every calibrator is compared and tested.
    """
    X, y = load_digits(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(
        X, y, train_size=0.3, stratify=y, random_state=0
    )
    fitting, testing = train_test_split(
        np.arange(len(y_rest)), train_size=0.5, stratify=y_rest, random_state=0
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
        proba, split = classifier.predict_proba(X_rest), (fitting, testing)
        yield _calibrate(name, proba, y_rest, split, details=details)


def _calibrate(
    name: str,
    proba: FloatArray,
    y: LabelArray,
    split: tuple[LabelArray, LabelArray],
    *,
    details: bool,
) -> ClassifierResult:
    fitting, testing = split
    maps = {DEFAULT: AutoCalibrator()}
    if details:
        others = [one for one in calibrators.__all__ if one != "IdentityCalibrator"]
        maps |= {one: _for_many_classes(getattr(calibrators, one)()) for one in others}
    with warnings.catch_warnings():
        # The table keeps what the fits have to say.
        warnings.simplefilter("ignore", DircalWarning)
        table = compare(
            maps,
            proba,
            y,
            cv=[split],
            measures=[record.function for record in measures_in(Table.DEMONSTRATION)],
            n_resamples=N_RESAMPLES,
            random_state=0,
        )
        explanation = maps[DEFAULT].fit(proba[fitting], y[fitting]).explain()
    tested = table.probabilities if details else {}
    pvalues = {one: _pvalues(y[testing], tested[one]) for one in tested}
    return ClassifierResult(name, table, explanation, y, proba, pvalues)


def _for_many_classes(calibrator: Any) -> Any:
    """The calibrator itself, or one for each class against the rest if it is binary."""
    binary = not get_tags(calibrator).classifier_tags.multi_class
    return OneVsRestCalibrator(calibrator) if binary else calibrator


def _pvalues(y_true: LabelArray, y_prob: FloatArray) -> tuple[float, float]:
    """Of the tests that the confidence and that the classes are calibrated."""
    confidence, classwise = (
        calibration_test(
            y_true, y_prob, statistic=statistic, n_resamples=N_RESAMPLES, random_state=0
        ).pvalue
        for statistic in ("confidence_ece", "classwise_ece")
    )
    return confidence, classwise
