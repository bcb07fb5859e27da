"""Where the first two stages leave their files. A file is whole or not there."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ._grid import Cell

__all__ = ["Cache", "read_predictions"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cache:
    """Probabilities and outcomes of every cell, in a folder outside version control."""

    folder: Path

    def predictions(self, cell: Cell) -> Path:
        """Probabilities (3, n, k) of the three classifiers for all rows of the dataset."""
        return self._path("predictions", cell, "npz")

    def no_predictions(self, cell: Cell) -> Path:
        """Why the classifier could not be trained."""
        return self._path("predictions", cell, "json")

    def outcome(self, cell: Cell, method: str) -> Path:
        """Measures of one method."""
        return self._path("outcomes", cell, f"{method}.json")

    def no_outcome(self, cell: Cell, method: str) -> Path:
        """Why the method could not be fitted or measured."""
        return self._path("outcomes", cell, f"{method}.failure.json")

    def calibrated(self, cell: Cell, method: str) -> Path:
        """Probabilities (m, k) of the test rows; kept for the examples only."""
        return self._path("outcomes", cell, f"{method}.npz")

    def _path(self, stage: str, cell: Cell, ending: str) -> Path:
        name = f"{cell.repetition}-{cell.fold}.{ending}"
        return self.folder / stage / cell.dataset / cell.classifier / name


def read_predictions(path: Path) -> tuple[FloatArray, float]:
    """Probabilities (3, n, k), and the seconds that training took."""
    with np.load(path, allow_pickle=False) as stored:
        return stored["proba"], float(stored["seconds"])
