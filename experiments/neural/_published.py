"""The published procedure once more, on the paper's own networks: the end of stage two.

Where our numbers differ from print, this says why: the same strengths, the same folds and the same
optimiser, in the order of rows that the authors' code asks for and in others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from sklearn.model_selection import KFold

from dircal import metrics, paired_comparison
from experiments._shared.files import read_json, write_arrays, write_json
from experiments._shared.measures import MEASURES, Scores
from experiments._shared.work import run_all

from ._adam import Strengths, fit_matrix, fit_vector, log_inputs
from ._calibrate import DRAWS
from ._files import Cache
from ._grids import grid_of
from ._methods import METHODS
from ._networks import Entry, Network, read_network
from ._printed import name_by_hash, printed
from ._results import Results

__all__ = ["DEFAULTS", "OTHER_ORDERS", "PUBLISHED_ORDER", "repeat_published"]

FloatArray = npt.NDArray[np.float64]

PUBLISHED_ORDER = 15
"""The seed of the authors' code, for the folds and for the order of rows."""
DEFAULTS = ("Bayes", "Auto")
"""Maps of ours that need no choice of anything."""
OTHER_ORDERS = {"VecS": 9, "Dir-L2": 4, "Dir-ODIR": 4, "MS-ODIR": 4}
"""How many more orders are tried; print has vector scaling of an order that nobody knows."""
_WITHOUT_ADAM = ("Uncal", "TempS")
_FOLDS = 5
# The authors' code calls the error with its default here, ten bins, and with 15 everywhere else.
_BINS_OF_TEST = 10
_SEED = 0


@dataclass(frozen=True)
class _Fit:
    """One method in one order of rows, with strengths in the units of the authors' code."""

    method: str
    order: int
    lam: float = 0.0
    mu: float = 0.0


def repeat_published(
    cache: Cache, results: Results, entries: Sequence[Entry], console: Console
) -> None:
    """Fit, measure and note what is missing; networks that are not the paper's are left alone."""
    for entry in entries:
        name = name_by_hash(entry.sha256)
        if name is None:
            continue
        done = _done(results, entry.name)
        fits = [fit for fit in _fits(results, entry.name, name) if _key(fit) not in done]
        if not fits:
            continue
        calls = [(cache, entry, fit) for fit in fits]
        for count, _ in enumerate(run_all(_repeat, calls), start=1):
            console.print(f"{entry.name}, as published: {count} of {len(fits)} fits done")
        _note_measures(cache, results, entry.name, fits)
        _note_defaults(cache, results, entry, name)


def _done(results: Results, network: str) -> set[tuple[str, int]]:
    table = results.read("published.csv")
    if table.empty:
        return set()
    own = table[table["network"] == network]
    return {(str(line.method), int(line.order)) for line in own.itertuples()}


def _key(fit: _Fit) -> tuple[str, int]:
    return fit.method, fit.order


def _fits(results: Results, network: str, name: str) -> Iterator[_Fit]:
    """All fits of a network; without the printed strengths those that we have chosen."""
    for method in _WITHOUT_ADAM:
        yield _Fit(method, PUBLISHED_ORDER)
    for method, others in OTHER_ORDERS.items():
        strengths = (0.0, 0.0) if method == "VecS" else _strengths(results, network, name, method)
        if strengths is not None:
            for order in (PUBLISHED_ORDER, *range(others)):
                yield _Fit(method, order, *strengths)


def _strengths(
    results: Results, network: str, name: str, method: str
) -> tuple[float, float] | None:
    """Lambda and mu of print, or else ours; None where the method has not been run."""
    theirs = printed("choices").query("network == @name and method == @method")
    if len(theirs):
        return float(theirs["lam"].iloc[0]), float(theirs["mu"].iloc[0])
    choices = results.read("choices.csv")
    if choices.empty:
        return None
    own = choices[(choices["network"] == network) & (choices["method"] == method)]
    found = own.set_index("parameter")["value"].astype(float)
    if "lam" not in found.index:
        return None
    return float(found["lam"]), float(found.get("mu", found["lam"]))


def _repeat(cache: Cache, entry: Entry, fit: _Fit) -> None:
    """Fit once, and leave probabilities and measures."""
    path = cache.published(entry.name, fit.method, fit.order)
    if path.exists():
        return
    network = read_network(entry.path)
    score = Scores(network.test.y, network.n_classes, DRAWS, _SEED, "confidence")
    found = _proba(network, fit)
    measured = {method: _measures(score, proba) for method, proba in found.items()}
    write_arrays(path.with_suffix(".npz"), proba=found[fit.method])
    write_json(path, {"measures": measured})


def _proba(network: Network, fit: _Fit) -> dict[str, FloatArray]:
    """Probabilities of the test rows, by method; matrix scaling has two."""
    if fit.method in _WITHOUT_ADAM:
        return METHODS[fit.method].fit(network, grid_of(network.n_classes)).proba
    if network.fit.logits is None or network.test.logits is None:
        raise ValueError(f"{network.name} has no logits")
    fitting, test = (part.astype(np.float32) for part in (network.fit.logits, network.test.logits))
    if fit.method == "VecS":
        return {"VecS": _rows(fit_vector(fitting, network.fit.y, fit.order).predict_proba(test))}
    if fit.method != "MS-ODIR":
        fitting, test = log_inputs(fitting), log_inputs(test)
    penalty = "l2" if fit.method == "Dir-L2" else "odir"
    strengths = Strengths.of(penalty, fit.lam, fit.mu, network.n_classes)
    folds = KFold(_FOLDS, shuffle=True, random_state=PUBLISHED_ORDER).split(fitting)
    maps = [fit_matrix(fitting[own], network.fit.y[own], strengths, fit.order) for own, _ in folds]
    found = {fit.method: _rows(np.mean([one.predict_proba(test) for one in maps], axis=0))}
    if fit.method == "MS-ODIR":
        zero = [one.diagonal().predict_proba(test) for one in maps]
        found["MS-ODIR-zero"] = _rows(np.mean(zero, axis=0))
    return found


def _rows(proba: npt.NDArray[Any]) -> FloatArray:
    """In double precision, with sums of one."""
    exact = proba.astype(np.float64)
    rows: FloatArray = exact / exact.sum(axis=1, keepdims=True)
    return rows


def _measures(score: Scores, proba: FloatArray) -> dict[str, float]:
    """As the tables have them."""
    found = {name: score(name, proba) for name in MEASURES if name != "p-conf-ECE"}
    return {**found, "p-conf-ECE": score.pvalue("confidence_ece", proba, n_bins=_BINS_OF_TEST)}


def _note_measures(cache: Cache, results: Results, network: str, fits: Sequence[_Fit]) -> None:
    lines = [
        [network, method, fit.order, measure, f"{value:.10g}", f"{fit.lam:g}", f"{fit.mu:g}"]
        for fit in fits
        for method, measured in read_json(cache.published(network, *_key(fit)))["measures"].items()
        for measure, value in measured.items()
    ]
    columns = ["network", "method", "order", "measure", "value", "lam", "mu"]
    results.add("published.csv", lines, columns, columns[:4])


def _note_defaults(cache: Cache, results: Results, entry: Entry, name: str) -> None:
    """Our defaults beside the published map with the lowest printed log-loss, row by row."""
    network = read_network(entry.path)
    losses = printed("scores").query("measure == 'log-loss' and network == @name")
    best = str(losses.set_index("method")["value"].astype(float).idxmin())
    with np.load(cache.published(entry.name, best, PUBLISHED_ORDER).with_suffix(".npz")) as file:
        theirs = file["proba"]
    lines = []
    for method in DEFAULTS:
        ours = METHODS[method].fit(network, grid_of(network.n_classes)).proba[method]
        classes = range(network.n_classes)
        losses_of = [
            metrics.log_loss(network.test.y, one, classes=classes) for one in (ours, theirs)
        ]
        test = paired_comparison(
            network.test.y, ours, theirs, metrics.log_loss, classes=classes, random_state=_SEED
        )
        numbers = [*losses_of, test.difference, test.low, test.high]
        lines.append([entry.name, method, best, *(f"{number:.7g}" for number in numbers)])
    columns = ["network", "method", "other", "loss", "other_loss", "difference", "low", "high"]
    results.add("defaults.csv", lines, columns, columns[:3])
