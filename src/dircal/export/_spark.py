"""A map as a function of Arrow batches, which is what Spark gives to Python."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import FloatArray
from dircal.export._fitted import check_fitted
from dircal.export._tables import FARTHEST_SUM, check_columns, check_names
from dircal.maps import CalibrationMap
from dircal.tables import LARGEST

__all__ = ["to_spark"]


def to_spark(
    calibrator: Any,
    *,
    columns: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
) -> "_BatchFunction":
    """Make a function of a fitted calibrator for ``mapInArrow`` of Spark.

    Parameters
    ----------
    calibrator : calibrator
        A fitted calibrator. A `CalibratedClassifier` cannot be exported; the error says why.
    columns : sequence of str, optional
        Column of the table with each score, in the order of the columns of the fit. None takes
        the names of the data frame of the fit, or else the labels.
    names : sequence of str, optional
        Name of each column that is added, in the order of ``classes_``. None puts ``calibrated_``
        before the label.

    Returns
    -------
    function : callable
        It takes an iterator of ``pyarrow.RecordBatch`` and gives one, with a column of doubles for
        each class after those that were there. Its ``names`` are the names of the new columns. It
        can be pickled; where it runs, it needs `dircal` and pyarrow.

    See Also
    --------
    to_sql : A query, for where `dircal` cannot be installed.

    Notes
    -----
    Probabilities are those of `predict_proba` for the rows of a batch, to the last bit; in a batch
    of another size their last digit may be another. A row that `predict_proba` refuses (a null,
    NaN, a negative probability, a sum that misses one by more than a hundredth) gets nulls: one bad
    row should not end a job of many hours. A column that is no column of numbers is an error.

    ``mapInArrow`` asks for the schema of what comes out: that of the table, with a field of type
    double for each of ``names``.

    When not to use it: for rows that fit into memory; `predict_proba` checks them and says what is
    wrong.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dircal import TemperatureScaling
    >>> from dircal.export import to_spark
    >>> calibrator = TemperatureScaling().fit(
    ...     [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["no", "yes", "yes"]
    ... )
    >>> function = to_spark(calibrator, columns=["p_no", "p_yes"])
    >>> batch = pa.RecordBatch.from_pydict({"id": [7], "p_no": [0.5], "p_yes": [0.5]})
    >>> [found] = function([batch])
    >>> found.to_pylist()
    [{'id': 7, 'p_no': 0.5, 'p_yes': 0.5, 'calibrated_no': 0.5, 'calibrated_yes': 0.5}]

    With a data frame of Spark::

        added = [StructField(name, DoubleType()) for name in function.names]
        calibrated = frame.mapInArrow(function, StructType(frame.schema.fields + added))
    """
    fitted = check_fitted(calibrator)
    inside = check_columns(columns, calibrator, fitted)
    outside = check_names(names, inside, fitted)
    return _BatchFunction(fitted.chain, tuple(inside), tuple(outside))


@dataclass(frozen=True)
class _BatchFunction:
    """A map of some columns of Arrow batches, and the names of what it adds to them."""

    map: CalibrationMap
    columns: tuple[str, ...]
    names: tuple[str, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Each batch with the calibrated probabilities of its rows."""
        for batch in batches:
            yield self._with_probabilities(batch)

    def _with_probabilities(self, batch: Any) -> Any:
        import pyarrow as pa

        scores = np.column_stack([self._read(batch, name) for name in self.columns])
        fine = _are_scores(scores, self.map.input_scale)
        proba = np.zeros((len(scores), len(self.names)))
        if fine.any():
            proba[fine] = self.map(scores[fine])
        schema, arrays = batch.schema, list(batch.columns)
        taken = {name.lower() for name in schema.names}
        for name, column in zip(self.names, proba.T, strict=True):
            if name.lower() in taken:
                raise ValueError(
                    f"`names` has {name!r}, which the table has already. Pass other names for the "
                    "calibrated probabilities."
                )
            schema = schema.append(pa.field(name, pa.float64()))
            arrays.append(pa.array(column, mask=~fine))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _read(self, batch: Any, name: str) -> FloatArray:
        import pyarrow as pa

        if batch.schema.names.count(name) != 1:
            raise ValueError(
                f"`columns` has {name!r}, and the table has {batch.schema.names}. Pass the name of "
                "one of its columns for each score."
            )
        column = batch.column(name)
        try:
            # Whole numbers of more digits than a double are rounded, as everywhere.
            doubles = column.cast("float64", safe=False)
        except pa.ArrowException as error:
            raise ValueError(
                f"`columns` has {name!r}, whose values are no numbers ({error}). Pass the name of "
                "a column with scores."
            ) from error
        # What is null becomes NaN.
        numbers: FloatArray = doubles.to_numpy(zero_copy_only=False)
        return numbers


def _are_scores(scores: FloatArray, input_scale: str) -> npt.NDArray[np.bool_]:
    """Which rows `predict_proba` takes."""
    fine: npt.NDArray[np.bool_]
    if input_scale == "logit":
        masked = np.isneginf(scores)
        fine = np.all(masked | (np.abs(scores) <= LARGEST), axis=1)
        # A single logit may be masked: the other class is left.
        return fine & ~masked.all(axis=1) if scores.shape[1] > 1 else fine
    totals = scores.sum(axis=1)
    fine = np.all(scores >= 0.0, axis=1) & (totals <= 1.0 + FARTHEST_SUM)
    # A single probability need not be close to one.
    return fine & (totals >= 1.0 - FARTHEST_SUM) if scores.shape[1] > 1 else fine
