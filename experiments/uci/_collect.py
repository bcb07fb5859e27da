"""Stage three: gather the outcomes of one dataset into tidy rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dircal import metrics
from experiments._shared.files import read_json

from ._data import load
from ._example_map import keep_map
from ._files import Cache, read_predictions
from ._grid import EXAMPLES, MAP_EXAMPLE, Cell
from ._methods import METHODS
from ._results import CELL_COLUMNS, Results, rows_name

__all__ = ["collect", "example_name"]

_OF_METHOD = [*CELL_COLUMNS, "method"]
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

Lines = list[list[Any]]


def collect(cache: Cache, results: Results, dataset: str, cells: Sequence[Cell]) -> None:
    """Add to the tables what the cache has for one dataset."""
    trained = [cell for cell in cells if cache.predictions(cell).exists()]
    outcomes = {
        (cell, method): read_json(cache.outcome(cell, method))
        for cell in trained
        for method in METHODS
        if cache.outcome(cell, method).exists()
    }
    rows = [
        [*cell, method, measure, f"{value:.10g}", *_about(outcome)]
        for (cell, method), outcome in outcomes.items()
        for measure, value in outcome["measures"].items()
    ]
    columns = [*_OF_METHOD, "measure", "value", "chosen", "seconds", "versions"]
    results.add(rows_name(dataset), rows, columns, [*_OF_METHOD, "measure"])
    _note_seconds(cache, results, trained, outcomes)
    _note_failures(cache, results, dataset, cells)
    data = load(dataset)
    shape = ["dataset", "n_samples", "n_features", "n_classes"]
    results.add("datasets.csv", [[dataset, *data.X.shape, data.n_classes]], shape, ["dataset"])
    for name, classifier in EXAMPLES:
        if name == dataset:
            # All that has rows by now, not only what was new: folds are drawn together.
            done = {cell for cell, _ in results.done(dataset) if cell.classifier == classifier}
            _keep_example(cache, results, sorted(done))
    if MAP_EXAMPLE in trained:
        keep_map(cache, results, MAP_EXAMPLE)


def _about(outcome: dict[str, Any]) -> list[str]:
    return [outcome["chosen"], f"{outcome['seconds']:.3g}", outcome["versions"]]


def _note_seconds(
    cache: Cache, results: Results, cells: Sequence[Cell], outcomes: dict[Any, Any]
) -> None:
    """How long cells with all their methods took; new runs tell the time left by it."""
    lines = []
    for cell in cells:
        spent = [outcomes.get((cell, method)) for method in METHODS]
        if all(spent):
            _, training = read_predictions(cache.predictions(cell))
            calibrating = sum(one["seconds_with_measures"] for one in spent if one)
            lines.append([*cell, f"{training:.3g}", f"{calibrating:.3g}"])
    columns = [*CELL_COLUMNS, "train_seconds", "calibrate_seconds"]
    results.add("cells.csv", lines, columns, CELL_COLUMNS)


def _note_failures(cache: Cache, results: Results, dataset: str, cells: Sequence[Cell]) -> None:
    """Add new failures, and drop those that have been overcome."""
    lines: Lines = []
    for cell in cells:
        if cache.no_predictions(cell).exists():
            lines.append([*cell, "", read_json(cache.no_predictions(cell))["reason"]])
        for method in METHODS:
            if cache.no_outcome(cell, method).exists():
                lines.append([*cell, method, read_json(cache.no_outcome(cell, method))["reason"]])
    results.add("failures.csv", lines, [*_OF_METHOD, "reason"], _OF_METHOD)
    known = results.read("failures.csv")
    if known.empty:
        return
    done = {(*cell, method) for cell, method in results.done(dataset)}
    trained = {key[:4] for key in done}
    keys = known[_OF_METHOD].itertuples(index=False, name=None)
    overcome = [key in done or (key[4] == "" and key[:4] in trained) for key in keys]
    results.write("failures.csv", known[~np.array(overcome)])


def example_name(dataset: str, classifier: str, what: str) -> str:
    """Where the bins or the spreads of an example are."""
    return f"examples/{classifier}_{dataset}_{what}.csv"


def _keep_example(cache: Cache, results: Results, cells: Sequence[Cell]) -> None:
    """Bins and spreads of the test predictions of all folds together."""
    if not cells or not all(cache.calibrated(c, m).exists() for c in cells for m in METHODS):
        return
    bins: Lines = []
    spreads: Lines = []
    for method in METHODS:
        stored = [np.load(cache.calibrated(cell, method)) for cell in cells]
        proba = np.concatenate([one["proba"] for one in stored])
        y = np.concatenate([one["y"] for one in stored])
        confidence = metrics.confidence_bins(y, proba)
        bins += _bin_lines(method, ["confidence"], confidence)
        bins += _bin_lines(
            method, [str(j) for j in range(proba.shape[1])], metrics.class_bins(y, proba)
        )
        spreads += _spread_lines(method, y, proba)
    where = cells[0].dataset, cells[0].classifier
    columns = ["method", "curve", "bin", "rows", "mean_predicted", "frequency"]
    results.write(example_name(*where, "bins"), pd.DataFrame(bins, columns=columns).round(6))
    columns = ["method", "true_class", "column", "rows", "smallest"]
    columns += [*(f"q{100 * q:02.0f}" for q in _QUANTILES), "largest", "mean", "sd"]
    results.write(example_name(*where, "spreads"), pd.DataFrame(spreads, columns=columns).round(6))


def _bin_lines(method: str, curves: Sequence[str], table: metrics.BinTable) -> Lines:
    return [
        [method, name, b, table.count[c, b], table.mean_predicted[c, b], table.frequency[c, b]]
        for c, name in enumerate(curves)
        for b in np.flatnonzero(table.count[c])
    ]


def _spread_lines(method: str, y: Any, proba: Any) -> Lines:
    """Rows, extremes, quantiles, mean and standard deviation of each column by true class."""
    lines = []
    for true in np.unique(y):
        own = proba[y == true]
        summary = [own.min(axis=0), *np.quantile(own, _QUANTILES, axis=0), own.max(axis=0)]
        summary += [own.mean(axis=0), own.std(axis=0)]
        lines += [
            [method, true, j, len(own), *(one[j] for one in summary)] for j in range(own.shape[1])
        ]
    return lines
