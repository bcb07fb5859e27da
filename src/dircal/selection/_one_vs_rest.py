"""One class against the rest: binary calibrators for any number of classes."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from dircal._core.data.chunks import Reader, row_slices
from dircal._core.data.simplex import ROUNDING, rest_of_logits, rest_of_proba
from dircal._typing import FloatArray, InputScale
from dircal.calibrators import Fitted, FitWarning, reader_of
from dircal.exceptions import DircalWarning
from dircal.maps import AbstractStep, CalibrationMap, Normalise, OneVsRest, column_steps
from dircal.selection._base import AbstractMetaCalibrator, check_calibrator, check_members
from dircal.tables import AbstractLabelledRows, LabelledScores, PartitionedScores, show

__all__ = ["OneVsRestCalibrator"]

# Labels of the two columns: the rest, and the class itself.
_BOTH = np.array([0, 1])
# Numbers in memory at a time: the two columns of as many classes as fit in, and at least of one.
_NUMBERS = 2**24


class OneVsRestCalibrator(AbstractMetaCalibrator):
    r"""A calibrator of two classes, applied to each class against the rest.

    Parameters
    ----------
    calibrator : calibrator
        What is fitted for each class, usually a binary one: `BetaCalibrator`,
        `HistogramCalibrator`, `IsotonicCalibrator` or `PlattCalibrator`. Its ``input_scale`` speaks
        of the `X` that is given here. It is cloned, never fitted itself.
    classes : sequence, optional
        Label of each column of `X`, in any order. Needed where the labels in `y` do not tell:
        columns in another order than sorted labels, or a class that `y` lacks. None stands for
        the ``classes`` of ``calibrator``.

    Attributes
    ----------
    calibrators_ : list of length n_classes
        The fitted calibrators, in the order of `classes_`. Each has the labels 0 for the rest and
        1 for its class.
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
    map_ : CalibrationMap
        The fitted map as a value: steps from columns to probabilities. It can be called, compared,
        pickled and printed.
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

    def __init__(self, calibrator: Any, *, classes: Iterable[Any] | None = None) -> None:
        self.calibrator = calibrator
        self.classes = classes

    @property
    def _labels_of_columns(self) -> Iterable[Any] | None:
        inside = check_calibrator(self.calibrator)._labels_of_columns
        return inside if self.classes is None else self.classes

    @property
    def map_(self) -> CalibrationMap:  # type: ignore[override]
        """The maps of all classes, divided by their sum."""
        members = tuple(member.map_ for member in self.calibrators_)
        scale = members[0].input_scale
        columns = column_steps(self.column_classes_, self.n_features_in_, scale)
        steps = (*columns, *_score_steps(scale), OneVsRest(members, scale))
        return CalibrationMap(self.n_features_in_, steps)

    def _check_options(self) -> None:
        check_calibrator(self.calibrator)._check_parameters()
        inside = self.calibrator._labels_of_columns
        if self.classes is None or inside is None:
            return
        if [*self.classes] != [*inside]:
            raise ValueError(
                f"`classes` and those of `calibrator` must not differ; got {self.classes!r} and "
                f"{inside!r}. Leave out those of `calibrator`."
            )

    @property
    def _fits_parts(self) -> bool:
        return check_calibrator(self.calibrator)._fits_parts

    def _fit(self, data: AbstractLabelledRows) -> Fitted:
        read = self._reader(data)
        if isinstance(data, PartitionedScores):
            return Fitted(None, {"calibrators_": self._fit_parts(data, read)})
        assert isinstance(data, LabelledScores)
        at_once = max(1, _NUMBERS // (2 * len(data.labels)))
        calibrators: list[Any] = []
        for first in range(0, len(data.classes), at_once):
            for pair in self._pairs(data, read, slice(first, first + at_once)):
                alone = data.as_two_classes(pair.T, len(calibrators))
                fitted = clone(self.calibrator)._fit_checked(alone)
                # They would keep a copy of all scores.
                fitted._let_go_of_rows()
                calibrators.append(fitted)
        return Fitted(None, {"calibrators_": calibrators})

    def _fit_parts(self, data: PartitionedScores, read: Reader) -> list[Any]:
        """A calibrator for each class, whose two columns are made where the parts are."""
        calibrators = []
        for j in range(len(data.classes)):
            change = partial(_against_rest, read, self.input_scale, j)
            fitted = clone(self.calibrator)._fit_checked(data.against_rest(change, _BOTH))
            fitted._let_go_of_rows()
            calibrators.append(fitted)
        return calibrators

    def _reader(self, data: AbstractLabelledRows) -> Reader:
        """How rows become columns in the order of the classes, -inf where one is masked."""
        if self.input_scale == "logit":
            steps = column_steps(data.column_classes, data.shape[1], "logit")
            return CalibrationMap(data.shape[1], steps).arrange
        return reader_of(data, self.input_scale, _score_steps(self.input_scale))

    def _pairs(self, data: LabelledScores, read: Reader, chosen: slice) -> FloatArray:
        """The rest and the class itself (c, 2, n), for the chosen classes.

        Rows of weight zero stay, since a calibrator may count rows, but whatever they hold gives
        way to what can be computed with.
        """
        pairs = np.empty((len(range(data.shape[1])[chosen]), 2, data.shape[0]))
        for part in row_slices(data.shape):
            block = _columns_of(data, part, read)
            pairs[:, 1, part] = block[chosen]
            pairs[:, 0, part] = _rest_of(self.input_scale, block)[chosen]
        return pairs

    def _check_fitted(self) -> None:
        check_members(self)
        if len(self.calibrators_) != len(self.classes_):
            raise ValueError("it needs a calibrator for each class")
        for member in self.calibrators_:
            if not np.array_equal(member.classes_, _BOTH) or member.n_features_in_ != 2:
                raise ValueError("`calibrators_` need the classes 0 and 1, in two columns")

    def _fit_warnings(self) -> list[FitWarning]:
        """One of each kind for all classes, in the words of the first that has it."""
        by_kind: dict[type[DircalWarning], list[tuple[int, str]]] = {}
        for j, one in enumerate(self.calibrators_):
            for message, kind in one._fit_warnings():
                by_kind.setdefault(kind, []).append((j, message))
        warnings = []
        for kind, found in by_kind.items():
            which = self.classes_[sorted({j for j, _ in found})]
            words = (
                f"{found[0][1]} (One class against the rest; it concerns {len(which)} of "
                f"{len(self.classes_)} classes: {show(which)}.)"
            )
            warnings.append((words, kind))
        return warnings


def _columns_of(data: LabelledScores, part: slice, read: Reader) -> FloatArray:
    """Columns (k, m) of some rows; of weight zero, whatever they hold, what can be read."""
    inputs = data.rows(part)
    if data.sample_weight is not None:
        inputs = np.where(data.sample_weight[part, None] > 0, inputs, 1.0 / data.shape[1])
    return read(inputs)


def _rest_of(scale: InputScale, block: FloatArray) -> FloatArray:
    return rest_of_logits(block) if scale == "logit" else rest_of_proba(block)


def _against_rest(
    read: Reader, scale: InputScale, chosen: int, data: LabelledScores
) -> LabelledScores:
    """The rows of a part as a problem of two classes: the rest, and the chosen one."""
    pair = np.empty((2, data.shape[0]))
    for part in row_slices(data.shape):
        block = _columns_of(data, part, read)
        pair[:, part] = _rest_of(scale, block)[chosen], block[chosen]
    return data.as_two_classes(pair.T, chosen)


def _score_steps(scale: InputScale) -> tuple[AbstractStep, ...]:
    return () if scale == "logit" else (Normalise(ROUNDING),)
