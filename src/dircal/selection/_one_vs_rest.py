"""One class against the rest: binary calibrators for any number of classes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dircal._core.data.chunks import Reader
from dircal._core.data.simplex import ROUNDING
from dircal._typing import InputScale
from dircal.calibrators import (
    AbstractCalibrator,
    Fit,
    FitColumns,
    Notice,
    fitted_copy,
    reader_of,
)
from dircal.exceptions import DircalWarning
from dircal.maps import AbstractStep, CalibrationMap, Normalise, OneVsRest, column_steps
from dircal.selection._base import AbstractMetaCalibrator, AbstractMetaMethod, check_members
from dircal.tables import BOTH, LabelledRows, show

__all__ = ["OneVsRestCalibrator", "one_vs_rest_map"]


@dataclass(frozen=True, eq=False, kw_only=True)
class OneVsRestMethod(AbstractMetaMethod):
    """One class against the rest as a method."""

    name: ClassVar[str] = "OneVsRestCalibrator"

    @property
    def fits_parts(self) -> bool:
        """Whether a fit needs only sums over rows, as the calibrator inside."""
        return self.inner.fits_parts

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        inside = self.inner.labels_of_columns
        if self.classes is None or inside is None:
            return
        if [*self.classes] != [*inside]:
            raise ValueError(
                f"`classes` and those of `calibrator` must not differ; got {self.classes!r} and "
                f"{inside!r}. Leave out those of `calibrator`."
            )

    def default_grid(self, n_classes: int) -> list[dict[str, Any]] | None:
        """Return the settings that a search tries for the calibrator inside, of two classes."""
        del n_classes
        return super().default_grid(2)

    def learn(self, rows: LabelledRows) -> Fit:
        """Find the maps of all classes."""
        members = []
        for alone in rows.against_rest(self._reader(rows), self.input_scale):
            members.append(fitted_copy(self.template, alone))
            # It would keep a copy of all scores.
            members[-1].fit_.drop_rows()
        columns = FitColumns.of(rows)
        return Fit(
            columns,
            one_vs_rest_map(members, columns),
            members=tuple(members),
            notices=_notices(members, columns),
        )

    def _reader(self, rows: LabelledRows) -> Reader:
        """How rows become columns in the order of the classes, -inf where one is masked."""
        if self.input_scale == "logit":
            steps = column_steps(rows.column_classes, rows.shape[1], "logit")
            return CalibrationMap(rows.shape[1], steps).arrange
        return reader_of(rows, self.input_scale, _score_steps(self.input_scale))

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless there is a binary member for each class."""
        check_members(self, fit)
        if len(fit.members) != len(fit.columns.classes):
            raise ValueError("it needs a calibrator for each class")
        for member in fit.members:
            if not np.array_equal(member.classes_, BOTH) or member.n_features_in_ != 2:
                raise ValueError("`calibrators_` need the classes 0 and 1, in two columns")


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

    method_class: ClassVar = OneVsRestMethod

    def __init__(self, calibrator: Any, *, classes: Iterable[Any] | None = None) -> None:
        self.calibrator = calibrator
        self.classes = classes

    @property
    def calibrators_(self) -> list[Any]:
        """The fitted members."""
        return list(self.fit_.members)


def _score_steps(scale: InputScale) -> tuple[AbstractStep, ...]:
    return () if scale == "logit" else (Normalise(ROUNDING),)


def one_vs_rest_map(members: Sequence[AbstractCalibrator], columns: FitColumns) -> CalibrationMap:
    """Return the maps of all classes, divided by their sum."""
    maps = tuple(member.map_ for member in members)
    scale = maps[0].input_scale
    first = column_steps(columns.column_classes, columns.n_features, scale)
    return CalibrationMap(
        columns.n_features, (*first, *_score_steps(scale), OneVsRest(maps, scale))
    )


def _notices(members: Sequence[AbstractCalibrator], columns: FitColumns) -> tuple[Notice, ...]:
    """Return one notice of each kind for all classes, in the words of the first that has it."""
    by_kind: dict[type[DircalWarning], list[tuple[int, str]]] = {}
    for j, one in enumerate(members):
        for message, kind in one.fit_.notices:
            by_kind.setdefault(kind, []).append((j, message))
    notices = []
    for kind, found in by_kind.items():
        which = columns.classes[sorted({j for j, _ in found})]
        words = (
            f"{found[0][1]} (One class against the rest; it concerns {len(which)} of "
            f"{len(columns.classes)} classes: {show(which)}.)"
        )
        notices.append((words, kind))
    return tuple(notices)
