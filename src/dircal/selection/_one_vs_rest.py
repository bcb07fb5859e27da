"""One class against the rest: binary calibrators for any number of classes."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from dircal._core.data.chunks import Reader
from dircal._core.data.simplex import ROUNDING
from dircal._typing import InputScale
from dircal.calibrators import Fitted, FitWarning, reader_of
from dircal.exceptions import DircalWarning
from dircal.maps import AbstractStep, CalibrationMap, Normalise, OneVsRest, column_steps
from dircal.selection._base import AbstractMetaCalibrator, check_calibrator, check_members
from dircal.tables import BOTH, LabelledRows, show

__all__ = ["OneVsRestCalibrator"]


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

    def _fit(self, data: LabelledRows) -> Fitted:
        calibrators: list[Any] = []
        for alone in data.against_rest(self._reader(data), self.input_scale):
            calibrators.append(clone(self.calibrator)._fit_checked(alone))
            # They would keep a copy of all scores.
            calibrators[-1]._let_go_of_rows()
        return Fitted(None, {"calibrators_": calibrators})

    def _reader(self, data: LabelledRows) -> Reader:
        """How rows become columns in the order of the classes, -inf where one is masked."""
        if self.input_scale == "logit":
            steps = column_steps(data.column_classes, data.shape[1], "logit")
            return CalibrationMap(data.shape[1], steps).arrange
        return reader_of(data, self.input_scale, _score_steps(self.input_scale))

    def _check_fitted(self) -> None:
        check_members(self)
        if len(self.calibrators_) != len(self.classes_):
            raise ValueError("it needs a calibrator for each class")
        for member in self.calibrators_:
            if not np.array_equal(member.classes_, BOTH) or member.n_features_in_ != 2:
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


def _score_steps(scale: InputScale) -> tuple[AbstractStep, ...]:
    return () if scale == "logit" else (Normalise(ROUNDING),)
