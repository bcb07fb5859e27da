"""One class against the rest: binary calibrators for any number of classes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from dircal._core.data.chunks import Reader, row_slices
from dircal._core.data.simplex import (
    as_given,
    normalise,
    rest_of_logits,
    rest_of_proba,
    sums_of_columns,
)
from dircal._typing import FloatArray, LabelArray
from dircal.calibrators._base import Complaint, column_order
from dircal.exceptions import DircalWarning
from dircal.selection._base import AbstractHolder, check_calibrator
from dircal.validation import LabelledScores, show

__all__ = ["OneVsRestCalibrator"]

# Labels of the two columns: the rest, and the class itself.
_BOTH = np.array([0, 1])
# Numbers in memory at a time: the two columns of as many classes as fit in, and at least of one.
_NUMBERS = 2**24


class OneVsRestCalibrator(AbstractHolder):
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

    def __init__(self, calibrator: Any) -> None:
        self.calibrator = calibrator

    def _check_parameters(self) -> None:
        check_calibrator(self.calibrator)

    def _find(self, data: LabelledScores) -> dict[str, Any]:
        labels, weight = data.labels, data.sample_weight
        at_once = max(1, _NUMBERS // (2 * len(labels)))
        calibrators: list[Any] = []
        for first in range(0, len(data.classes), at_once):
            for pair in self._pairs(data, slice(first, first + at_once)):
                own = (labels == len(calibrators)).astype(np.uint8)
                alone = LabelledScores(pair.T, own, weight, _BOTH, _BOTH, None, 2)
                calibrators.append(clone(self.calibrator)._fit_checked(alone))
        return {"calibrators_": calibrators}

    def _pairs(self, data: LabelledScores, chosen: slice) -> FloatArray:
        """The rest and the class itself (c, 2, n), for the chosen classes.

        Rows of weight zero stay, since a calibrator may count rows, but whatever they hold gives
        way to what can be computed with.
        """
        read, rest_of = self._reader(data.column_classes), self._rest_of()
        n_rows, n_classes = data.inputs.shape
        harmless = 0.0 if self.input_scale == "logit" else 1.0 / n_classes
        pairs = np.empty((len(range(n_classes)[chosen]), 2, n_rows))
        for part in row_slices((n_rows, n_classes)):
            inputs = data.inputs[part]
            if data.sample_weight is not None:
                inputs = np.where(data.sample_weight[part, None] > 0, inputs, harmless)
            block = read(inputs)
            pairs[:, 1, part] = block[chosen]
            pairs[:, 0, part] = rest_of(block)[chosen]
        return pairs

    def _rest_of(self) -> Callable[[FloatArray], FloatArray]:
        return rest_of_logits if self.input_scale == "logit" else rest_of_proba

    def _reader(self, column_classes: LabelArray) -> Reader:
        transform = None if self.input_scale == "logit" else as_given
        return Reader(transform, column_order(column_classes))

    def _apply(self, inputs: npt.NDArray[Any], column_classes: LabelArray) -> FloatArray:
        read, rest_of = self._reader(column_classes), self._rest_of()
        proba = np.empty(inputs.shape)
        # Every calibrator is called for each chunk, so few large ones are better than many.
        for part in row_slices(inputs.shape, max(1, _NUMBERS // (4 * inputs.shape[1]))):
            scores = read(inputs[part])
            rest = rest_of(scores)
            for j, one in enumerate(self.calibrators_):
                scores[j] = one._apply(np.stack([rest[j], scores[j]]).T, _BOTH)[:, 1]
            sums = sums_of_columns(scores)
            scores[:, sums == 0.0] = 1.0
            proba[part] = normalise(scores).T
        return proba

    def _complaints(self) -> list[Complaint]:
        """One of each kind for all classes, in the words of the first that has it."""
        by_kind: dict[type[DircalWarning], list[tuple[int, str]]] = {}
        for j, one in enumerate(self.calibrators_):
            for message, kind in one._complaints():
                by_kind.setdefault(kind, []).append((j, message))
        complaints = []
        for kind, found in by_kind.items():
            which = self.classes_[sorted({j for j, _ in found})]
            words = (
                f"{found[0][1]} (One class against the rest; it concerns {len(which)} of "
                f"{len(self.classes_)} classes: {show(which)}.)"
            )
            complaints.append((words, kind))
        return complaints
