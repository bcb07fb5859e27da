"""What a fitted map does to rows: those of its fit, or others."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from dircal._core.data.chunks import survey_of
from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Solution
from dircal._core.shift.cells import ClassCells, count_cells_of_source
from dircal._typing import FloatArray, LabelArray
from dircal.explain._effects import Effects, measure_effects
from dircal.explain._explanation import Explanation, make_explanation
from dircal.explain._sentences import TemperatureComparison

__all__ = [
    "FitRecord",
    "FittingRows",
    "LazyRecord",
    "explain_nothing",
    "explain_rows",
    "start_identity_record",
    "start_record",
]


@dataclass(frozen=True)
class FitRecord:
    """What a fit remembers of its rows, so that the map can be explained later.

    ``observed`` (k,) are the shares of the classes; a map that is one temperature has no effects
    beyond it. ``cells`` are None in files from before these.
    """

    n_rows: float
    observed: FloatArray
    effects: Effects | None
    comparison: TemperatureComparison
    cells: ClassCells | None = None

    @property
    def is_complete(self) -> bool:
        """Whether effects are known, or there are none."""
        return self.effects is not None or self.comparison.additional_parameters == 0

    def explanation(self, name: str, labels: LabelArray) -> Explanation:
        """What the map of the calibrator called ``name`` does to the fitting rows."""
        return make_explanation(
            name,
            "the calibration set",
            self.n_rows,
            self.effects,
            labels,
            self.observed,
            self.comparison,
        )


@dataclass(frozen=True, eq=False)
class FittingRows:
    """The rows of a fit as they are now, and a sum by which it shows if they were others then."""

    rows: Rows
    checksum: float

    @classmethod
    def of(cls, rows: Rows) -> "FittingRows":
        """These rows, without the chunks that a fit has kept of them."""
        source = rows.source
        return cls(replace(rows, source=source.fresh()), source.survey.checksum)

    @property
    def are_the_same(self) -> bool:
        """Whether arrays of the user still hold what they held."""
        source = self.rows.source
        # Not the survey that the source may have kept.
        now = source.fold(partial(survey_of, source.n_classes))
        return now.checksum == self.checksum


def start_record(rows: Rows, temperature: Solution, loss: float, n_more: int) -> FitRecord:
    """What a fit knows of its rows without measuring effects.

    The map has the mean ``loss`` and ``n_more`` parameters beyond the ``temperature``; without any
    it has no effects beyond it, and the record is complete.
    """
    # Weights that were added up may miss one by rounding.
    weights = rows.source.survey.class_weights
    observed = weights / weights.sum()
    ratio = 2.0 * rows.total_weight * (temperature.loss - loss)
    comparison = TemperatureComparison(
        1.0 / float(temperature.params[0]), None, temperature.loss, loss, ratio, n_more
    )
    return FitRecord(rows.total_weight, observed, None, comparison)


def start_identity_record(rows: Rows, loss: float) -> FitRecord:
    """Return the record of the identity, which has the mean ``loss`` on the rows."""
    weights = rows.source.survey.class_weights
    comparison = TemperatureComparison(1.0, loss, loss, loss, 0.0, 0)
    return FitRecord(rows.total_weight, weights / weights.sum(), None, comparison)


class LazyRecord:
    """Record of a fit, with effects that are measured on its rows when they are first needed.

    It refers to the rows until then. A copy, a pickle or a file contains the complete record.

    Parameters
    ----------
    known : FitRecord
        The record, complete or without effects.
    rows : FittingRows, optional
        The rows of the fit; None if the record is complete, or can no longer be completed.
    logits_of : callable, optional
        Map from clipped scores (k, m), which it may overwrite, to logits.
    """

    def __init__(
        self,
        known: FitRecord,
        rows: FittingRows | None = None,
        logits_of: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        self.known = known
        self._logits_of = logits_of
        self._rows = rows

    @property
    def has_rows(self) -> bool:
        """Whether the rows of the fit are still referred to."""
        return self._rows is not None

    def complete(self) -> FitRecord:
        """Return the record with effects, if the rows are still there and have not changed."""
        rows = self._rows
        if rows is not None and self._logits_of is not None:
            # One assignment each, in this order: other threads may ask at the same time.
            self.known = _complete(self.known, rows, self._logits_of)
            self._rows = None
        return self.known

    def drop_rows(self) -> None:
        """Release the rows of the fit without measuring anything."""
        self._rows = None

    def __reduce__(self) -> tuple[type, tuple[FitRecord]]:
        return type(self), (self.complete(),)


def _complete(
    record: FitRecord, fitting: FittingRows, logits_of: Callable[[FloatArray], FloatArray]
) -> FitRecord:
    """Return the record with the effects on the rows of its fit, if these have not changed."""
    if not fitting.are_the_same:
        return record
    rows, known = fitting.rows, record.comparison
    record = replace(record, cells=count_cells_of_source(rows, logits_of))
    if known.additional_parameters == 0:
        return record
    # Effects are told in a few digits.
    small = rows.as_float32() if rows.allow_float32 else rows
    effects = measure_effects(small, 1.0 / known.temperature, logits_of)
    uncalibrated, tempered, loss = effects.losses
    ratio = 2.0 * rows.total_weight * (tempered - loss)
    comparison = replace(
        known,
        loss_uncalibrated=uncalibrated,
        loss_temperature=tempered,
        loss=loss,
        likelihood_ratio=ratio,
    )
    return replace(record, effects=effects, comparison=comparison)


def explain_nothing(name: str, why: str) -> Explanation:
    """Of a map that changes no row, whichever rows these are."""
    return Explanation(name, "any rows", 0.0, (), (), 0.0, None, why)


def explain_rows(
    name: str,
    rows: Rows,
    labels: LabelArray,
    comparison: TemperatureComparison,
    logits_of: Callable[[FloatArray], FloatArray],
) -> Explanation:
    """What a map does to other rows than those of its fit, whose labels are not known."""
    effects = measure_effects(rows, 1.0 / comparison.temperature, logits_of)
    return make_explanation(
        name, "the given rows", rows.n_samples, effects, labels, None, comparison
    )
