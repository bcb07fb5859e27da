"""Networks looked at closely: figures 1, 2 and S12, and what their maps say in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import confusion_matrix

from dircal import DirichletCalibrator, metrics, paired_comparison
from dircal.inference import PairedComparison

from ._grids import Grid
from ._methods import METHODS
from ._networks import Entry, Network, default_folders, read_network
from ._printed import name_by_file, name_by_hash
from ._results import Results

__all__ = [
    "CLASS_NAMES",
    "EXAMPLE",
    "OF_EFFECTS",
    "Example",
    "Look",
    "bins_name",
    "examples_among",
    "keep_example",
    "look_at",
    "matrix_name",
    "own_examples",
    "pairs_name",
    "words_name",
]

EXAMPLE = "c10_lenet5"
"""Its logits are committed, so that everybody can look at it again."""
OF_EFFECTS = "eurosat_rgb"
"""Its map has more to say: ours have little to correct beside the confidence."""
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

_LAND_COVER = (
    "AnnualCrop",
    "Forest",
    "HerbaceousVegetation",
    "Highway",
    "Industrial",
    "Pasture",
    "PermanentCrop",
    "Residential",
    "River",
    "SeaLake",
)
_OF_PAPER = ("c10_resnet_wide32", "c10_lenet5")
"""Which of the paper's networks to look at, in this order; figures 1 and S12 are of the first."""

_QUOTED = (("conf-ECE", "TempS", "Uncal"), ("cw-ECE", "Dir-ODIR", "TempS"))
"""Which differences section 2 speaks of."""
_AS_PRINTED = {
    "conf-ECE": metrics.confidence_ece,
    "cw-ECE": partial(metrics.classwise_ece, aggregate="sum", binning="paper_table"),
    "error": metrics.error_rate,
}

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Example:
    """The file that is looked at."""

    name: str
    path: Path
    class_names: tuple[str, ...] = CLASS_NAMES


@dataclass(frozen=True)
class Look:
    """What the figures of one network need."""

    class_names: tuple[str, ...]
    y: npt.NDArray[np.int64]
    """True classes of the test rows."""
    before: FloatArray
    after: dict[str, FloatArray]
    """Probabilities of the test rows by TempS and Dir-ODIR."""
    map: DirichletCalibrator
    """One map with the chosen strengths, fitted on all rows.

    The average of five, which the measures are about, has no matrix to look at.
    """


def own_examples() -> tuple[Example, Example]:
    """One of our own networks for figures 1 and S12, and one of others for figure 2.

    Without a folder of others the second is not there, and the figure is drawn from its table.
    """
    folders = default_folders()
    ours, others = folders[0], folders[-1]
    return (
        Example(EXAMPLE, ours / f"{EXAMPLE}.npz"),
        Example(OF_EFFECTS, others / f"{OF_EFFECTS}.npz", _LAND_COVER),
    )


def examples_among(entries: Iterable[Entry]) -> tuple[Example, ...]:
    """Of a user's files the one to look at: the paper's own, or another of its ten classes."""
    entries = [entry for entry in entries if entry.n_classes == len(CLASS_NAMES)]
    surely = {name: entry for entry in entries if (name := name_by_hash(entry.sha256))}
    named = {name: entry for entry in entries if (name := name_by_file(entry.name))} | surely
    for name in (*_OF_PAPER, *surely):
        if name in named:
            is_cifar = name.startswith("c10_")
            names = CLASS_NAMES if is_cifar else tuple(f"class {j}" for j in range(10))
            return (Example(named[name].name, named[name].path, names),)
    return ()


def bins_name(network: str = EXAMPLE) -> str:
    """Where the bins of reliability diagrams are."""
    return f"example/{network}_bins.csv"


def matrix_name(network: str = EXAMPLE) -> str:
    """Where the canonical matrix and the confusions are."""
    return f"example/{network}_matrix.csv"


def pairs_name(network: str = EXAMPLE) -> str:
    """Where the differences of its measures are."""
    return f"example/{network}_pairs.csv"


def words_name(network: str = EXAMPLE) -> str:
    """Where the sentences are."""
    return f"example/{network}_words.csv"


def look_at(
    network: Network, choices: pd.DataFrame, class_names: tuple[str, ...] = CLASS_NAMES
) -> Look | None:
    """Fit again with the strengths that were chosen: the file and the choices are all it takes.

    None where nothing has been chosen for this network.
    """
    if choices.empty:
        return None
    own = choices[(choices["network"] == network.name) & (choices["method"] == "Dir-ODIR")]
    if own.empty:
        return None
    chosen = own.set_index("parameter")["value"].astype(float)
    grid = Grid("chosen", (chosen["lam"],), (chosen["mu"],))
    fitted = {name: METHODS[name].fit(network, grid) for name in ("Uncal", "TempS", "Dir-ODIR")}
    before, *after = (fitted[name].proba[name] for name in fitted)
    return Look(
        class_names,
        network.test.y,
        before,
        dict(zip(("TempS", "Dir-ODIR"), after, strict=True)),
        _one_map(network, chosen, class_names),
    )


def _one_map(
    network: Network, chosen: pd.Series, class_names: tuple[str, ...]
) -> DirichletCalibrator:
    k = network.n_classes
    one = DirichletCalibrator(
        penalty="odir", lam=k * (k - 1) * chosen["lam"], mu=k * chosen["mu"], classes=class_names
    )
    return one.fit(network.fit.proba, np.array(class_names)[network.fit.y])


def keep_example(results: Results, example: Example) -> None:
    """Write bins, matrix, confusions and sentences of the example."""
    network = read_network(example.path)
    look = look_at(network, results.read("choices.csv"), example.class_names)
    if look is None:
        return
    proba = {"Uncal": look.before, **look.after}
    lines = [line for name, values in proba.items() for line in _bin_lines(name, look.y, values)]
    columns = ["method", "curve", "bin", "rows", "mean_predicted", "frequency"]
    results.write(bins_name(example.name), pd.DataFrame(lines, columns=columns).round(6))
    results.write(matrix_name(example.name), _matrix(look))
    results.write(pairs_name(example.name), _pairs(look))
    results.write(words_name(example.name), pd.DataFrame({"sentence": _words(look, network)}))


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
    # The map has its classes sorted by name, which is their order in the columns.
    canonical = look.map.canonical_parameters()
    k = len(look.class_names)
    before, after = (
        confusion_matrix(look.y, proba.argmax(axis=1), labels=range(k))
        for proba in (look.before, look.after["Dir-ODIR"])
    )
    i, j = np.indices((k, k)).reshape(2, -1)
    names = np.array(look.class_names)
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


def _pairs(look: Look) -> pd.DataFrame:
    """Differences of the measures that the paper quotes of one network, in its units."""
    proba = {"Uncal": look.before, **look.after}
    lines = []
    for measure, method, other in _QUOTED:
        test = _compare(look, measure, proba[method], proba[other])
        numbers = [f"{number:.7g}" for number in (test.difference, test.low, test.high)]
        lines.append([measure, method, other, *numbers])
    columns = ["measure", "method", "other", "difference", "low", "high"]
    return pd.DataFrame(lines, columns=columns)


def _compare(look: Look, measure: str, first: FloatArray, second: FloatArray) -> PairedComparison:
    classes = range(first.shape[1])
    return paired_comparison(
        look.y, first, second, _AS_PRINTED[measure], classes=classes, random_state=0
    )


def _words(look: Look, network: Network) -> list[str]:
    """What the map corrects, and how many mistakes went and came."""
    before, after = look.before, look.after["Dir-ODIR"]
    was, is_ = (proba.argmax(axis=1) == look.y for proba in (before, after))
    fixed, created = int((~was & is_).sum()), int((was & ~is_).sum())
    error = _compare(look, "error", after, before)
    change, low, high = (100.0 * number for number in (error.difference, error.low, error.high))
    return [
        *look.map.explain(network.test.proba).sentences(),
        f"Of {len(was)} test pictures {fixed} that were taken for something else are now right, "
        f"and {created} that were right are now wrong: the error changes by {change:+.2f} % "
        f"({low:+.2f} to {high:+.2f} %).",
    ]
