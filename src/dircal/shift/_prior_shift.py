"""New class frequencies: given, or found in rows without labels."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dircal._core.shift.cells import ClassCells, count_cells, smoothed_frequencies
from dircal._numerals import format_pvalue
from dircal._typing import ArrayLike, FloatArray
from dircal.calibrators import AbstractCalibrator, Fit, Notice, fitted_copy
from dircal.exceptions import DircalWarning, warn
from dircal.explain import Explanation, FitRecord
from dircal.maps import CalibrationMap, Diagonal
from dircal.shift._base import (
    AbstractAdapted,
    AbstractAdaptedMethod,
    chain,
    check_fitted_calibrator,
    sentences_alone,
)
from dircal.shift._label_shift import (
    Centring,
    LabelShift,
    check_frequencies,
    find_label_shift,
)
from dircal.tables import ArrayRows, LabelledRows, check_fit_arrays, check_number

__all__ = ["PriorShift", "prior_shift_map"]


@dataclass(frozen=True, eq=False)
class PriorShiftDetails:
    """Frequencies before and after, the estimate, and statistics of the old rows."""

    old_priors: FloatArray
    priors: FloatArray
    shift: LabelShift | None
    n_old: float | None
    table: ClassCells | None


@dataclass(frozen=True, eq=False, kw_only=True)
class PriorShiftMethod(AbstractAdaptedMethod):
    """A calibrator for other class frequencies as a method."""

    priors: Mapping[Any, float] | ArrayLike | None
    old_priors: Mapping[Any, float] | ArrayLike | None
    level: float

    name: ClassVar[str] = "PriorShift"
    details: ClassVar[type] = PriorShiftDetails

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        super().check()
        check_number("level", self.level, above=0.0, below=1.0)

    def learn(self, rows: LabelledRows) -> Fit:
        """Fit the calibrator inside, and keep the frequencies of these rows."""
        data = rows.in_memory
        given: dict[str, FloatArray] = {}
        for name in ("old_priors", "priors"):
            if getattr(self, name) is not None:
                given[name] = check_frequencies(name, getattr(self, name), data.classes)
        fitted = fitted_copy(self.template, data)
        observed, n_old, table = _label_statistics(fitted, data)
        old = given.get("old_priors", observed)
        details = PriorShiftDetails(old, given.get("priors", old), None, n_old, table)
        # Probabilities stay those of the calibrator unless frequencies are given.
        is_moved = "priors" in given and "old_priors" not in given
        centring = Centring.of(table if is_moved else None, len(old))
        return _fit_around(fitted, details, centring)

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless frequencies sum to one."""
        super().check_fit(fit)
        k = len(fit.columns.classes)
        for name in ("old_priors", "priors"):
            value = getattr(fit.details, name)
            if value.shape != (k,) or not (value > 0.0).all() or abs(value.sum() - 1.0) > 1e-9:
                raise ValueError(f"`{name}_` must be {k} positive frequencies that sum to one")


class PriorShift(AbstractAdapted):
    r"""A calibrator for rows in which the classes have other frequencies.

    Rows of a class look as they always did, but the classes are more frequent or rarer than they
    were: another season, another hospital, or a training set that was balanced by hand. `adapt`
    finds the new frequencies in rows without labels; or they are given, as ``priors``.

    Parameters
    ----------
    calibrator : calibrator
        A fitted one to `adapt`, or any one to `fit` first.
    priors : dict or array of shape (n_classes,), optional
        New frequencies of the classes, by label or in the order of ``classes_``. None finds them
        in the rows that `adapt` is given.
    old_priors : dict or array of shape (n_classes,), optional
        Frequencies that the calibrated probabilities go with. None stands for those of the labels
        that the calibrator was fitted on.
    level : float, default=0.95
        Of the intervals for the new frequencies.
    classes : sequence, optional
        For `fit`: label of each column of `X`, in any order. None stands for the ``classes`` of
        ``calibrator``.

    Attributes
    ----------
    calibrator_ : calibrator
        The fitted calibrator, as it was before.
    old_priors_ : array of shape (n_classes,)
        Frequencies that it goes with.
    priors_ : array of shape (n_classes,)
        New frequencies. After `fit` without ``priors`` they are the old ones.
    shift_ : LabelShift or None
        Intervals for the new frequencies (``low``, ``high``); ``pvalue``, of the hypothesis that
        the frequencies are the old ones; ``assumption_pvalue``, of the hypothesis that nothing but
        the frequencies has changed; ``centring_pvalue``, of the hypothesis that mean probabilities
        equal class frequencies on the old rows. None without new rows in `adapt`.
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
    map_ : CalibrationMap
        The map of ``calibrator_`` with one more affine step. It is saved and exported like any
        other.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    recalibrate : Where some new labels are known.

    Notes
    -----
    With :math:`\pi` the old and :math:`\rho` the new frequencies, calibrated probabilities p
    become

    .. math:: p'_j = \frac{p_j \rho_j / \pi_j}{\sum_i p_i \rho_i / \pi_i},

    logits plus :math:`\ln \rho_j - \ln \pi_j`. Frequencies are estimated by variational Bayes with
    a prior around the old ones, whose width is learned by evidence; with many rows that is EM
    (Saerens et al., 2002). Calibrate first: what EM finds is only as good as the probabilities, and
    a calibrator with intercepts is needed at least (Alexandari et al., 2020).

    A map without intercepts has mean probabilities that differ from the class frequencies of the
    old rows. They are moved to them before frequencies are estimated, and in the adapted map if the
    difference is significant at one percent, with a warning.

    Intervals and p-values contain the uncertainty of the fit. Old rows are counted by true class
    and by cell of predicted class and confidence, and :math:`\rho` solves

    .. math:: F n = F Q \rho,

    with n the shares of the cells among new rows, Q those among old rows of each class, and F the
    mean adapted probabilities in each cell. That is consistent for any map, and its variance is the
    sum of the variances of n and of each column of Q. ``pvalue`` compares mean probabilities of old
    and new rows, and ``assumption_pvalue`` compares n with :math:`Q \rho`. `adapt` warns if the
    latter is below one percent. A fit counts its rows when `adapt` or a file first needs the
    counts. Above 100 classes there are none, and intervals take the map for exact.

    When not to use it: if the classes themselves look different now. Frequencies then absorb
    what they cannot explain. Get labels for `recalibrate`.

    References
    ----------
    Saerens, M., Latinne, P. and Decaestecker, C. (2002). Adjusting the outputs of a classifier to
    new a priori probabilities: a simple procedure. Neural Computation 14.

    Alexandari, A., Kundaje, A. and Shrikumar, A. (2020). Maximum likelihood with bias-corrected
    calibration is hard-to-beat at label shift adaptation. ICML.

    Examples
    --------
    >>> from dircal import GenerativeParameters, VectorScaling
    >>> from dircal.shift import PriorShift
    >>> alpha = [[3.0, 1.0], [1.0, 3.0]]
    >>> q, y = GenerativeParameters(alpha, [0.5, 0.5]).sample(2000, random_state=0)
    >>> calibrator = VectorScaling().fit(q, y)
    >>> rare, _ = GenerativeParameters(alpha, [0.95, 0.05]).sample(2000, random_state=1)
    >>> PriorShift(calibrator).adapt(rare).priors_.round(1)
    array([0.9, 0.1])
    >>> known = PriorShift(calibrator, priors={0: 0.99, 1: 0.01}).adapt()
    >>> known.predict_proba([[0.5, 0.5]]).round(2)
    array([[0.99, 0.01]])
    """

    old_priors_: FloatArray
    priors_: FloatArray
    shift_: LabelShift | None

    method_class: ClassVar = PriorShiftMethod

    def __init__(
        self,
        calibrator: Any,
        *,
        priors: Mapping[Any, float] | ArrayLike | None = None,
        old_priors: Mapping[Any, float] | ArrayLike | None = None,
        level: float = 0.95,
        classes: Iterable[Any] | None = None,
    ) -> None:
        self.calibrator = calibrator
        self.priors = priors
        self.old_priors = old_priors
        self.level = level
        self.classes = classes

    def adapt(
        self,
        X_new: ArrayLike | None = None,
        *,
        X_old: ArrayLike | None = None,
        y_old: ArrayLike | None = None,
    ) -> Self:
        """A fitted calibrator for new rows; this one, and the calibrator inside, stay as they are.

        Parameters
        ----------
        X_new : array or data frame of shape (n_samples, n_classes), optional
            Scores of new rows, without labels; not needed where ``priors`` are given.
        X_old : array or data frame of shape (n_old, n_classes), optional
            Scores of rows from before the shift. None stands for the rows of the fit, if the
            calibrator has counted them.
        y_old : array of shape (n_old,), optional
            Labels of the old rows, which also determine the old frequencies.

        Returns
        -------
        adapted : PriorShift
            A calibrator like any other, for rows like `X_new`.

        Warns
        -----
        DircalWarning
            If the new rows are not a mixture of the old classes, if mean probabilities of the old
            rows differ from class frequencies, if a class has fewer than 20 old rows, or if no old
            rows are known.
        """
        self.method()
        base = self.calibrator_ if "fit_" in vars(self) else self.calibrator
        base = check_fitted_calibrator(base)
        adapted: Self = clone(self)
        old, n_old, table = self._old_statistics(base, X_old, y_old)
        if self.old_priors is not None:
            # Files contain arrays, but no labels as keys.
            old = adapted.old_priors = check_frequencies(
                "old_priors", self.old_priors, base.classes_
            )
        if old is None:
            raise ValueError(
                f"`old_priors` is None, and {type(base).__name__} does not remember the "
                "frequencies of the labels it was fitted on. Pass old_priors={label: frequency, "
                "...}, or `X_old` and `y_old`."
            )
        new, shift = old, None
        # Given old frequencies state what probabilities go with.
        centring = Centring.of(table if self.old_priors is None else None, len(old))
        if X_new is not None:
            proba = base.fit_.calibrate(X_new)
            new, shift = find_label_shift(proba, old, n_old, table, centring, self.level)
        elif self.priors is None:
            raise ValueError(
                "`X_new` is None, and so is `priors`: new frequencies are neither given nor to be "
                "found. Pass rows without labels, or priors={label: frequency, ...}."
            )
        if self.priors is not None:
            new = adapted.priors = check_frequencies("priors", self.priors, base.classes_)
        details = PriorShiftDetails(old, new, shift, n_old, table)
        adapted.fit_ = _fit_around(base, details, centring)
        for text in () if shift is None else shift.cautions():
            warn(text, DircalWarning)
        for text, category in _centring_notices(centring):
            warn(text, category)
        return adapted

    def _old_statistics(
        self, base: AbstractCalibrator, X_old: ArrayLike | None, y_old: ArrayLike | None
    ) -> tuple[FloatArray | None, float | None, ClassCells | None]:
        """Return what is known of the rows from before, given or remembered."""
        if (X_old is None) != (y_old is None):
            which = ("X_old", "y_old") if X_old is None else ("y_old", "X_old")
            raise ValueError(
                f"`{which[0]}` is None, but `{which[1]}` is given. Pass old rows and their labels, "
                "or neither."
            )
        if y_old is not None:
            data = check_fit_arrays(
                X_old,
                y_old,
                None,
                classes=base.column_classes_,
                input_scale=base.map_.input_scale,
                arguments=base.fit_.columns.arguments,
                order_is_known=True,
            )
            return _label_statistics(base, data)
        if "fit_" in vars(self):
            known = self.fit_.details
            return known.old_priors, known.n_old, known.table
        record = _record_of(base)
        if record is None:
            return None, None, None
        return record.observed, record.n_rows, record.cells

    def explain(self, X: ArrayLike | None = None) -> Explanation:
        """What has happened to the frequencies, in sentences.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes), optional
            Rows, which are checked; the same holds for all.

        Returns
        -------
        explanation : Explanation
            Print it to read it. What the map corrects before is told by ``calibrator_.explain``.
        """
        check_is_fitted(self)
        if X is not None:
            self.fit_.check_scores(X)
        known = (self.classes_, self.old_priors_, self.priors_)
        if np.array_equal(self.priors_, self.old_priors_):
            told = [
                "Nothing is corrected but what `calibrator_` corrects: frequencies are the old."
            ]
        else:
            nothing_asked = LabelShift(0, self.level, *known[1:], None, None, 0.0)
            told = (self.shift_ or nothing_asked).sentences(*known)
        return sentences_alone(type(self).__name__, told)


def _fit_around(base: AbstractCalibrator, details: PriorShiftDetails, centring: Centring) -> Fit:
    """Return the fit of a calibrator inside, with other frequencies."""
    # Probabilities that are off on average go with other frequencies than those of the labels.
    old = details.old_priors * np.exp(-centring.offsets_in_use)
    moved = prior_shift_map(base.map_, old, details.priors)
    fit = Fit.of_member(base, details=details)
    return replace(fit, map=moved, notices=(*fit.notices, *_centring_notices(centring)))


def _centring_notices(centring: Centring) -> tuple[Notice, ...]:
    """Return a warning if mean probabilities were moved to class frequencies."""
    if centring.pvalue is None or not centring.is_needed:
        return ()
    text = (
        "Mean probabilities of the old rows differ from their class frequencies "
        f"({format_pvalue(centring.pvalue, name='p')}): they were moved to them first. Use a "
        "calibrator with an intercept for each class, such as AutoCalibrator or VectorScaling."
    )
    return ((text, DircalWarning),)


def prior_shift_map(chain_: CalibrationMap, old: FloatArray, new: FloatArray) -> CalibrationMap:
    """Return a map with one more affine step, from old to new frequencies."""
    if np.array_equal(old, new):
        return chain_
    moved = np.log(new) - np.log(old)
    return chain(chain_, Diagonal(np.ones(len(moved)), moved))


def _label_statistics(
    fitted: AbstractCalibrator, data: ArrayRows
) -> tuple[FloatArray, float, ClassCells | None]:
    """Return the frequencies of the labels, their number, and their rows by class and cell."""
    data = data.with_hard_rows()
    k, weight = len(data.classes), data.sample_weight
    counts = np.bincount(data.labels, weight, k).astype(np.float64)
    kept = np.flatnonzero(np.ones(len(data.labels)) if weight is None else weight)
    used = data.take(kept)
    table = count_cells(fitted.fit_.predict(used), used.labels, used.sample_weight)
    return smoothed_frequencies(counts), float(counts.sum()), table


def _record_of(fitted: Any) -> FitRecord | None:
    """What a fit remembers of its rows, here or in the calibrator inside."""
    while fitted is not None:
        record = fitted.fit_.record
        if record is not None:
            known: FitRecord = record.complete()
            if known.cells is not None:
                # A class that is absent may yet come.
                return replace(known, observed=known.cells.frequencies)
            return known if (known.observed > 0.0).all() else None
        fitted = getattr(fitted, "calibrator_", None)
    return None
