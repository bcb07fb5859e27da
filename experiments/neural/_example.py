"""One network looked at closely: figures 1, 2 and S12, and what its map says in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import confusion_matrix

from dircal import DirichletCalibrator, metrics

from ._grids import Grid
from ._methods import METHODS
from ._networks import Network
from ._results import Results

__all__ = [
    "CLASS_NAMES",
    "EXAMPLE",
    "Look",
    "bins_name",
    "keep_example",
    "look_at",
    "matrix_name",
    "words_name",
]

EXAMPLE = "c10_lenet5"
"""Its logits are committed, so that everybody can look at it again."""
CLASS_NAMES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Look:
    """What the figures of one network need."""

    y: npt.NDArray[np.int64]
    """True classes of the test rows."""
    before: FloatArray
    after: dict[str, FloatArray]
    """Probabilities of the test rows by TempS and Dir-ODIR."""
    map: DirichletCalibrator
    """One map with the chosen strengths, fitted on all rows.

    The average of five, which the measures are about, has no matrix to look at.
    """


def bins_name() -> str:
    """Where the bins of reliability diagrams are."""
    return f"example/{EXAMPLE}_bins.csv"


def matrix_name() -> str:
    """Where the canonical matrix and the confusions are."""
    return f"example/{EXAMPLE}_matrix.csv"


def words_name() -> str:
    """Where the sentences are."""
    return f"example/{EXAMPLE}_words.csv"


def look_at(network: Network, choices: pd.DataFrame) -> Look:
    """Fit again with the strengths that were chosen: the file and the choices are all it takes."""
    own = choices[(choices["network"] == network.name) & (choices["method"] == "Dir-ODIR")]
    chosen = own.set_index("parameter")["value"].astype(float)
    grid = Grid("chosen", (chosen["lam"],), (chosen["mu"],))
    fitted = {name: METHODS[name].fit(network, grid) for name in ("Uncal", "TempS", "Dir-ODIR")}
    before, *after = (fitted[name].proba[name] for name in fitted)
    return Look(
        network.test.y,
        before,
        dict(zip(("TempS", "Dir-ODIR"), after, strict=True)),
        _one_map(network, chosen),
    )


def _one_map(network: Network, chosen: pd.Series) -> DirichletCalibrator:
    k = network.n_classes
    one = DirichletCalibrator(
        penalty="odir", lam=k * (k - 1) * chosen["lam"], mu=k * chosen["mu"], classes=CLASS_NAMES
    )
    return one.fit(network.fit.proba, np.array(CLASS_NAMES)[network.fit.y])


def keep_example(results: Results, network: Network) -> None:
    """Write bins, matrix, confusions and sentences, if the network is the example."""
    choices = results.read("choices.csv")
    if network.name != EXAMPLE or network.name not in set(choices.get("network", [])):
        return
    look = look_at(network, choices)
    proba = {"Uncal": look.before, **look.after}
    lines = [line for name, values in proba.items() for line in _bin_lines(name, look.y, values)]
    columns = ["method", "curve", "bin", "rows", "mean_predicted", "frequency"]
    results.write(bins_name(), pd.DataFrame(lines, columns=columns).round(6))
    results.write(matrix_name(), _matrix(look))
    results.write(words_name(), pd.DataFrame({"sentence": _words(look, network)}))


def _bin_lines(method: str, y: Any, proba: FloatArray) -> list[list[Any]]:
    tables = {"confidence": (metrics.confidence_bins(y, proba), 0)}
    classes = metrics.class_bins(y, proba)
    tables |= {str(j): (classes, j) for j in range(proba.shape[1])}
    return [
        [method, curve, b, table.count[i, b], table.mean_predicted[i, b], table.frequency[i, b]]
        for curve, (table, i) in tables.items()
        for b in np.flatnonzero(table.count[i])
    ]


def _matrix(look: Look) -> pd.DataFrame:
    """Figures 2b and 2c in numbers; rows and columns by the names of the classes."""
    # The map has its classes sorted by name, as in CIFAR-10.
    canonical = look.map.canonical_parameters()
    k = len(CLASS_NAMES)
    before, after = (
        confusion_matrix(look.y, proba.argmax(axis=1), labels=range(k))
        for proba in (look.before, look.after["Dir-ODIR"])
    )
    i, j = np.indices((k, k)).reshape(2, -1)
    names = np.array(CLASS_NAMES)
    return pd.DataFrame(
        {
            "row": names[i],
            "column": names[j],
            "a": canonical.A[i, j].round(6),
            "c": canonical.c[i].round(6),
            "confusions_before": before[i, j],
            "confusions_after": after[i, j],
        }
    )


def _words(look: Look, network: Network) -> list[str]:
    """What the map corrects, and how many mistakes went and came."""
    was, is_ = (proba.argmax(axis=1) == look.y for proba in (look.before, look.after["Dir-ODIR"]))
    fixed, created = int((~was & is_).sum()), int((was & ~is_).sum())
    return [
        *look.map.explain(network.test.proba).sentences(),
        f"Of {len(was)} test pictures {fixed} that were taken for something else are now right, "
        f"and {created} that were right are now wrong.",
    ]
