"""Outputs of networks: reading the files, and dividing what comes undivided."""

import csv
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.model_selection import train_test_split

from experiments._shared.data import data_folders

from ._arrays import Arrays, has_no_scores, read_arrays

__all__ = [
    "ENDINGS",
    "Entry",
    "Known",
    "Network",
    "Part",
    "catalogued",
    "default_folders",
    "find_networks",
    "known",
    "read_network",
    "sha256",
]

FloatArray = npt.NDArray[np.float64]

ENDINGS = (".npz", ".p", ".pkl")
"""Files with these endings are taken for networks."""

_HERE = Path(__file__).parent
# The paper divides test sets of 10 000 rows and more so; smaller ones are halved.
_ROWS_TO_FIT = 5000
_SEED = 15
_FEWEST = 5


@dataclass(frozen=True)
class Part:
    """Probabilities (n, k), logits where the file has them, and labels 0..k-1."""

    proba: FloatArray
    logits: FloatArray | None
    y: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Network:
    """What calibrators are fitted on and what they are tested on."""

    name: str
    fit: Part
    test: Part
    divided_here: bool
    """Whether the file came undivided."""

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return int(self.fit.proba.shape[1])

    @property
    def has_logits(self) -> bool:
        """Whether methods that need logits can be fitted."""
        return self.fit.logits is not None


class Known(NamedTuple):
    """What the catalogue says of a network."""

    source: str
    """Networks of one source and one test set count together as one."""
    kind: str
    """``network``, ``replication`` (of another one) or ``other``: the last two are not ranked."""
    grid: str
    """``full`` where the paper's whole grid is run in spite of many classes."""
    note: str
    origin: str = ""


@dataclass(frozen=True)
class Entry:
    """A file that was found."""

    name: str
    path: Path
    n_classes: int
    n_rows: int
    has_logits: bool
    sha256: str
    about: Known


def default_folders() -> tuple[Path, ...]:
    """Our own networks, and those of others where the user names a folder."""
    return (_HERE / "networks", *data_folders("networks"))


@cache
def _catalogue() -> dict[str, Known]:
    with (_HERE / "catalogue.csv").open(newline="") as file:
        return {line.pop("network"): Known(**line) for line in csv.DictReader(file)}


def catalogued() -> tuple[str, ...]:
    """All networks that the catalogue has."""
    return tuple(_catalogue())


def known(name: str, *, in_catalogue: bool = True) -> Known:
    """The catalogue's line; a file of a user stands for itself."""
    alone = Known(name, "network", "", "")
    return _catalogue().get(name, alone) if in_catalogue else alone


def find_networks(folders: Iterable[Path], *, in_catalogue: bool = True) -> list[Entry]:
    """All networks in the folders, small ones first; files without scores of classes are none.

    The catalogue is about the files in the default folders: one of a user that happens to have
    the name of one of them is another network.
    """
    found = [
        entry
        for folder in folders
        for path in sorted(folder.glob("*"))
        if path.suffix in ENDINGS and (entry := _entry(path, in_catalogue)) is not None
    ]
    first: dict[str, Path] = {}
    for entry in found:
        other = first.setdefault(entry.name, entry.path)
        if other != entry.path:
            raise ValueError(
                f"{other} and {entry.path} are both called {entry.name}, and results go by these "
                "names. Rename or remove one of them."
            )
    return sorted(found, key=lambda entry: (entry.n_classes, entry.n_rows, entry.name))


def _entry(path: Path, in_catalogue: bool) -> Entry | None:
    if has_no_scores(path):
        return None
    network = read_network(path)
    n_rows = len(network.fit.y) + len(network.test.y)
    return Entry(
        network.name,
        path,
        network.n_classes,
        n_rows,
        network.has_logits,
        sha256(path),
        known(network.name, in_catalogue=in_catalogue),
    )


def read_network(path: Path) -> Network:
    """Read arrays, or a pickle without trusting it, and divide what comes undivided."""
    about = path.stat()
    return _read(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=2)
def _read(path: Path, *version: int) -> Network:
    del version
    parts = [_part(arrays) for arrays in read_arrays(path)]
    fit, test = parts if len(parts) == 2 else _divide(parts[0])
    if len(fit.y) < _FEWEST:
        raise ValueError(
            f"{path} cannot be used: it has {len(fit.y)} rows to fit on, and five folds need at "
            f"least {_FEWEST}."
        )
    return Network(path.stem, fit, test, divided_here=len(parts) == 1)


def _part(arrays: Arrays) -> Part:
    values = arrays.values.astype(np.float64)
    y = arrays.labels.astype(np.int64).ravel()
    if arrays.scale == "logits":
        return Part(softmax(values, axis=1), values, y)
    return Part(values / values.sum(axis=1, keepdims=True), None, y)


def _divide(part: Part) -> tuple[Part, Part]:
    """As the paper divides the test sets of networks that others had trained."""
    n = len(part.y)
    rows = train_test_split(
        np.arange(n), test_size=n - min(_ROWS_TO_FIT, n // 2), random_state=_SEED
    )
    fit, test = (
        Part(part.proba[own], None if part.logits is None else part.logits[own], part.y[own])
        for own in rows
    )
    return fit, test


def sha256(path: Path) -> str:
    """What tells one file from another, whatever its name."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
