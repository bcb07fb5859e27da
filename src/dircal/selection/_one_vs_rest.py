"""One class against the rest: binary calibrators for any number of classes."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dircal._columns import show
from dircal._typing import FloatArray, IntArray
from dircal._validation import LabelledScores
from dircal.calibrators._base import column_order
from dircal.core import (
    Reader,
    normalise,
    normalise_beyond_rounding,
    rest_of_logits,
    rest_of_proba,
    row_slices,
    sums_of_columns,
)
from dircal.exceptions import ConvergenceWarning, warn
from dircal.selection._base import AbstractMetaCalibrator, check_calibrator, clone_with_classes

__all__ = ["OneVsRestCalibrator"]

# Numbers in memory at a time: the two columns of as many classes as fit in, and at least of one.
_NUMBERS = 2**24
# Rows of single precision miss the sum of one by up to this much; they are used as given.
_ROUNDING = 1e-6


class OneVsRestCalibrator(AbstractMetaCalibrator):
    r"""A calibrator of two classes, applied to each class against the rest.

    Parameters
    ----------
    calibrator : calibrator
        What is fitted for each class, usually a binary one: `BetaCalibrator`,
        `HistogramCalibrator`, `IsotonicCalibrator` or `PlattCalibrator`. Its ``input_scale`` and
        ``classes`` speak of the `X` that is given here. It is cloned, never fitted itself.

    Attributes
    ----------
    calibrators_ : list of length n_classes
        The fitted calibrators, in the order of `classes_`. Each has the labels 0 for the rest and
        1 for its class.
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    DirichletCalibrator : Calibrates all classes at once, and repairs confusions between them.

    Notes
    -----
    For class j the calibrator is fitted on two columns, the sum of the other probabilities and
    :math:`q_j`, with label 1 where j is the true class. With :math:`m_j` for the calibrated
    probability of class j the result is

    .. math:: \mu_j(q) = \frac{m_j(1 - q_j, q_j)}{\sum_i m_i(1 - q_i, q_i)},

    where q is a row of probabilities; a row in which all :math:`m_i` are zero becomes uniform. Of
    logits z the two columns are :math:`\ln \sum_{i \ne j} e^{z_i}` and :math:`z_j`. With two
    classes there are still two maps, one for each.

    When not to use it: where classes are confused with each other, since each map sees its own
    class only. Dividing by the sum undoes some of what the maps have learned, and the more so the
    more classes there are.

    References
    ----------
    Zadrozny, B. and Elkan, C. (2002). Transforming classifier scores into accurate multiclass
    probability estimates. KDD.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import IsotonicCalibrator, OneVsRestCalibrator
    >>> rng = np.random.default_rng(0)
    >>> q = rng.dirichlet(np.ones(3), size=500)
    >>> y = (q.cumsum(axis=1) < rng.random((500, 1))).sum(axis=1)
    >>> calibrator = OneVsRestCalibrator(IsotonicCalibrator()).fit(q, y)
    >>> calibrator.predict_proba([[0.6, 0.3, 0.1]]).sum().round(12)
    np.float64(1.0)
    """

    calibrators_: list[Any]
    _failures: list[tuple[int, str]]

    def __init__(self, calibrator: Any) -> None:
        self.calibrator = calibrator

    @property
    def _chunk_rows(self) -> int:  # type: ignore[override]
        # Each calibrator checks its input anew, so few large chunks are better than many.
        return max(1, _NUMBERS // (4 * len(self.classes_)))

    def _check_parameters(self) -> None:
        check_calibrator(self.calibrator)

    def _find(self, data: LabelledScores) -> dict[str, Any]:
        labels, weight = data.labels, data.sample_weight
        used: IntArray | None = None
        if weight is not None and not weight.all():
            used = np.flatnonzero(weight)
            labels, weight = labels[used], weight[used]
        at_once = max(1, _NUMBERS // (2 * len(labels)))
        calibrators: list[Any] = []
        failures: list[tuple[int, str]] = []
        for first in range(0, len(data.classes), at_once):
            for pair in self._pairs(data, used, slice(first, first + at_once)):
                j = len(calibrators)
                inner = clone_with_classes(self.calibrator, [0, 1])
                failure = _fit(inner, pair.T, (labels == j).astype(np.uint8), weight)
                calibrators.append(inner)
                failures += [] if failure is None else [(j, failure)]
        return {"calibrators_": calibrators, "_failures": failures}

    def _pairs(self, data: LabelledScores, used: IntArray | None, chosen: slice) -> FloatArray:
        """The rest and the class itself (c, 2, n), for the chosen classes and the used rows."""
        read, rest_of = self._reader(column_order(data.column_classes)), self._rest_of()
        n_classes = len(data.classes)
        n_rows = len(data.inputs) if used is None else len(used)
        pairs = np.empty((len(range(n_classes)[chosen]), 2, n_rows))
        for part in row_slices((n_rows, n_classes)):
            block = read(data.inputs[part if used is None else used[part]])
            pairs[:, 1, part] = block[chosen]
            pairs[:, 0, part] = rest_of(block)[chosen]
        return pairs

    def _rest_of(self) -> Callable[[FloatArray], FloatArray]:
        return rest_of_logits if self.input_scale == "logit" else rest_of_proba

    def _reader(self, columns: IntArray | None) -> Reader:
        if self.input_scale == "logit":
            return Reader(None, columns)
        return Reader(partial(normalise_beyond_rounding, rounding=_ROUNDING), columns)

    def _map(self) -> Callable[[FloatArray], FloatArray]:
        rest_of = self._rest_of()

        def apply(scores: FloatArray) -> FloatArray:
            rest = rest_of(scores)
            for j, inner in enumerate(self.calibrators_):
                scores[j] = inner.predict_proba(np.stack([rest[j], scores[j]]).T)[:, 1]
            sums = sums_of_columns(scores)
            scores[:, sums == 0.0] = 1.0
            return normalise(scores)

        return apply

    def _warn_about_fit(self) -> None:
        if self._failures:
            which = self.classes_[[j for j, _ in self._failures]]
            message = (
                f"{self._failures[0][1]} (One class against the rest; it concerns "
                f"{len(which)} of {len(self.classes_)} classes: {show(which)}.)"
            )
            warn(message, ConvergenceWarning)


def _fit(
    calibrator: Any, X: FloatArray, y: IntArray, sample_weight: FloatArray | None
) -> str | None:
    """Fit, and return what a warning of convergence says instead of giving it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        calibrator.fit(X, y, sample_weight=sample_weight)
    failure: str | None = None
    for given in caught:
        if issubclass(given.category, ConvergenceWarning):
            failure = failure or str(given.message)
        else:
            warnings.warn_explicit(given.message, given.category, given.filename, given.lineno)
    return failure
