"""The datasets, prepared as the paper's code prepares them."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments._shared.data import data_folders

__all__ = ["DATASETS", "Dataset", "MissingDatasetError", "load"]

DATASETS = (
    "abalone",
    "balance-scale",
    "car",
    "cleveland",
    "dermatology",
    "glass",
    "iris",
    "landsat-satellite",
    "libras-movement",
    "mfeat-karhunen",
    "mfeat-morphological",
    "mfeat-zernike",
    "optdigits",
    "page-blocks",
    "pendigits",
    "segment",
    "shuttle",
    "vehicle",
    "vowel",
    "waveform-5000",
    "yeast",
)

_SEED = 42
_ROOT = Path(__file__).resolve().parents[2]


class MissingDatasetError(FileNotFoundError):
    """A dataset is in none of the folders; says which these are."""


@dataclass(frozen=True)
class Dataset:
    """Standardised features (n, d) and labels 0..k-1, shuffled once."""

    name: str
    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return int(self.y.max()) + 1


@lru_cache(maxsize=2)
def load(name: str) -> Dataset:
    """Read one dataset; features lose their mean and are divided by their spread over all rows."""
    table: npt.NDArray[Any] = np.loadtxt(_find(name), delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1].astype(np.int64)
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    order = np.random.RandomState(_SEED).permutation(len(y))
    return Dataset(name, X[order], y[order])


def _find(name: str) -> Path:
    """The file, in the folder that the user names or among the tests."""
    folders = (*data_folders("uci"), _ROOT / "tests" / "data")
    for folder in folders:
        path = folder / f"{name}.csv.gz"
        if path.is_file():
            return path
    raise MissingDatasetError(
        f"There is no {name}.csv.gz in {' or '.join(map(str, folders))}. Set DIRCAL_DATA to a "
        "folder whose subfolder uci has it: a header, the features, and target (0..k-1) last."
    )
