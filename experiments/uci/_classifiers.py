"""The eleven classifiers, as the paper's code had them, on today's scikit-learn."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

__all__ = ["CLASSIFIERS"]

_SEED = 42

FloatArray = npt.NDArray[np.float64]


class SammeR(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """AdaBoost of depth-one trees by the real-valued rule, which scikit-learn has dropped.

    Round t fits a tree with weights w and takes its class probabilities P_t, cut at 2.2e-16. Then
    w_i grows by exp(-(k-1)/k · Σ_j c_ij ln P_t,ij), where c_ij is 1 for the true class and
    -1/(k-1) otherwise. The prediction is the softmax of the mean of ln P_t over the rounds.
    """

    def __init__(self, n_estimators: int = 200, random_state: int | None = None) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: FloatArray, y: npt.NDArray[np.int64]) -> Self:
        """Add trees until a round makes no mistake or their number is reached."""
        self.classes_, column = np.unique(y, return_inverse=True)
        k, rows = len(self.classes_), np.arange(len(y))
        random = np.random.RandomState(self.random_state)
        weight = np.full(len(y), 1.0 / len(y))
        self.trees_: list[DecisionTreeClassifier] = []
        for _ in range(self.n_estimators):
            seed = random.randint(np.iinfo(np.int32).max)
            tree = DecisionTreeClassifier(max_depth=1, random_state=seed)
            self.trees_.append(tree.fit(X, column, sample_weight=weight))
            log_proba = _log(tree.predict_proba(X))
            if weight[log_proba.argmax(axis=1) != column].sum() <= 0.0:
                break
            of_truth = log_proba[rows, column]
            others = log_proba.sum(axis=1) - of_truth
            weight = weight * np.exp(-(k - 1) / k * (of_truth - others / (k - 1)))
            weight /= weight.sum()
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """The normalised geometric mean of the trees' probabilities."""
        total = np.zeros((len(X), len(self.classes_)))
        for tree in self.trees_:
            total += _log(tree.predict_proba(X))
        proba: FloatArray = softmax(total / len(self.trees_), axis=1)
        return proba

    def predict(self, X: FloatArray) -> npt.NDArray[np.int64]:
        """The most probable class."""
        label: npt.NDArray[np.int64] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return label


def _log(proba: FloatArray) -> FloatArray:
    return np.log(np.maximum(proba, np.finfo(np.float64).eps))


class TowardsIdentity(BaseEstimator):  # type: ignore[misc]
    """The covariance (1 - r) S + r I, which has full rank for any number of rows."""

    def __init__(self, reg_param: float) -> None:
        self.reg_param = reg_param

    def fit(self, X: FloatArray) -> Self:
        """S divides by n - 1, as scikit-learn did in the time of the paper."""
        spread = np.atleast_2d(np.cov(X, rowvar=False))
        self.covariance_ = (1.0 - self.reg_param) * spread + self.reg_param * np.eye(X.shape[1])
        return self


CLASSIFIERS: dict[str, Any] = {
    "adas": SammeR(200, random_state=_SEED),
    "forest": RandomForestClassifier(200, random_state=_SEED),
    "knn": KNeighborsClassifier(3),
    "lda": LinearDiscriminantAnalysis(),
    # What LogisticRegression() was: one class against the rest, the intercept penalised too.
    "logistic": OneVsRestClassifier(LogisticRegression(solver="liblinear", random_state=_SEED)),
    "mlp": MLPClassifier(random_state=_SEED),
    "nbayes": GaussianNB(),
    # reg_param=0.1; with solver="svd" scikit-learn refuses classes with fewer rows than features.
    "qda": QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=TowardsIdentity(0.1)),
    # libsvm's own Platt scaling and pairwise coupling, deprecated in 1.9 and gone in 1.11.
    "svc-linear": SVC(kernel="linear", C=0.025, probability=True, random_state=_SEED),
    "svc-rbf": SVC(gamma=2, C=1, probability=True, random_state=_SEED),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=_SEED),
}
