"""The Dirichlet map of figure 2a: one of those that were fitted, in canonical form."""

import warnings

import pandas as pd

from dircal import CanonicalParameters

from ._calibrate import given_of
from ._files import Cache
from ._grid import MAP_EXAMPLE, Cell
from ._methods import METHODS
from ._results import Results

__all__ = ["MAP_NAME", "keep_map", "read_map"]

MAP_NAME = f"examples/{MAP_EXAMPLE.classifier}_{MAP_EXAMPLE.dataset}_map.csv"


def keep_map(cache: Cache, results: Results, cell: Cell) -> None:
    """Fit DirL2 on the first of the three inner splits of a cell, and keep its [A | c]."""
    with warnings.catch_warnings():
        # Edges of the paper's grid are no news here.
        warnings.simplefilter("ignore")
        fitted = METHODS["DirL2"](next(given_of(cache, cell)))
    parameters = fitted.calibrator.canonical_parameters()
    table = pd.DataFrame(parameters.A).assign(c=parameters.c, lam=float(fitted.chosen))
    results.write(MAP_NAME, table.map(lambda value: f"{value:.10g}"))


def read_map(results: Results) -> tuple[CanonicalParameters, float] | None:
    """The map and the strength that was chosen for it; None where it was not kept."""
    table = results.read(MAP_NAME)
    if table.empty:
        return None
    A = table.drop(columns=["c", "lam"]).to_numpy(dtype=float)
    c = table["c"].to_numpy(dtype=float)
    return CanonicalParameters(A, c / c.sum()), float(table["lam"].iloc[0])
