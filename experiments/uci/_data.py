"""The datasets, prepared as the paper's code prepares them."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Dataset", "find_folder", "load"]

_SEED = 42


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


def find_folder() -> Path:
    """Where the files are; a SystemExit that says what to set where they are not."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("DIRCAL_DATA", beside)) / "uci"
    if not folder.is_dir():
        raise SystemExit(f"There are no datasets in {folder}. Set DIRCAL_DATA to their folder.")
    return folder


def load(name: str) -> Dataset:
    """Read one dataset; features lose their mean and are divided by their spread over all rows."""
    table: npt.NDArray[Any] = np.loadtxt(
        find_folder() / f"{name}.csv.gz", delimiter=",", skiprows=1
    )
    X, y = table[:, :-1], table[:, -1].astype(np.int64)
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    order = np.random.RandomState(_SEED).permutation(len(y))
    return Dataset(name, X[order], y[order])
