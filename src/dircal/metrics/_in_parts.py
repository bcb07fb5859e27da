"""Probabilities that a map gives to rows in parts of a table, computed wherever they are folded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.data.parts import PartSource
from dircal._typing import FloatArray
from dircal.calibrators import AbstractCalibrator
from dircal.maps import CalibrationMap
from dircal.metrics._predictions import Predictions, ReadProbabilities
from dircal.tables import PartitionedRows

__all__ = ["predictions_in_folds", "predictions_in_parts"]


def predictions_in_parts(
    data: PartitionedRows, calibrator: AbstractCalibrator | None
) -> Predictions:
    """Probabilities of rows that have passed the door, as they are where there is no calibrator."""
    if calibrator is None:
        read = ReadProbabilities.of(data.column_classes, data.dtype)
        return Predictions(
            data.source(read), data.classes, data.dtype, are_soft=data.has_soft_labels
        )
    return predictions_in_folds([(data, calibrator)])


def predictions_in_folds(
    folds: Sequence[tuple[PartitionedRows, AbstractCalibrator]],
) -> Predictions:
    """Probabilities of the rows of each fold from its own map, one fold after another."""
    classes, dtype = folds[0][0].classes, np.dtype(np.float64)
    read = ReadProbabilities.of(classes, dtype)
    sources = [
        data.source(_ReadThrough(calibrator.fit_.map_of_rows(data), read))
        for data, calibrator in folds
    ]
    are_soft = folds[0][0].has_soft_labels
    return Predictions(PartSource.joined(sources), classes, dtype, are_soft=are_soft)


@dataclass(frozen=True)
class _ReadThrough:
    """From rows as they were given (m, k) to the probabilities (k, m) that a map makes of them."""

    map_: CalibrationMap
    read: ReadProbabilities

    def __call__(self, rows: npt.NDArray[Any]) -> FloatArray:
        return self.read(self.map_.read(rows).T)
