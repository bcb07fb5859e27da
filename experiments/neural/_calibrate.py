"""Stage one: fit every method on the outputs of every network, and measure."""

import resource
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments._shared.files import reason, write_arrays, write_json
from experiments._shared.measures import MEASURES, Scores
from experiments._shared.versions import versions

from ._files import Cache
from ._grids import Grid, grid_of
from ._methods import METHODS, Fitted, Map
from ._networks import Network, read_network, sha256
from ._printed import name_by_hash

__all__ = ["DRAWS", "QUICK_DRAWS", "calibrate"]

FloatArray = npt.NDArray[np.float64]

DRAWS = 10_000
QUICK_DRAWS = 200
_SEED = 0


def calibrate(cache: Cache, path: Path, method: str, quick: bool) -> None:
    """Fit one method on one network; it leaves its measures, choices and seconds."""
    if cache.outcome(path.stem, method).exists():
        return
    network = read_network(path)
    try:
        grid = grid_of(network, quick=quick, of_paper=name_by_hash(sha256(path)) is not None)
        _run(cache, network, method, grid, QUICK_DRAWS if quick else DRAWS)
    except Exception as error:
        write_json(cache.no_outcome(network.name, method), {"reason": reason(error)})


def _run(cache: Cache, network: Network, method: str, grid: Grid, draws: int) -> None:
    began = time.process_time()
    with warnings.catch_warnings():
        # Optima at infinity and edges of the paper's grids are told in the tables.
        warnings.simplefilter("ignore")
        fitted = METHODS[method].fit(network, grid)
    seconds = time.process_time() - began
    score = Scores(
        network.test.y,
        network.n_classes,
        n_resamples=draws,
        random_state=_SEED,
        mce_over="confidence",
    )
    # What was asked for comes last: its file says that all is there.
    for name, proba in sorted(fitted.proba.items(), key=lambda item: item[0] == method):
        write_arrays(cache.calibrated(network.name, name), proba=proba)
        outcome = {
            "measures": {measure: score(measure, proba) for measure in MEASURES},
            "grid": grid.name,
            "choices": [asdict(choice) for choice in fitted.choices],
            "identity_share": _identity_share(fitted) if name == method else None,
            "seconds": seconds,
            "seconds_with_measures": time.process_time() - began,
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "versions": versions(),
        }
        write_json(cache.outcome(network.name, name), outcome)


def _identity_share(fitted: Fitted) -> float | None:
    """How much of the matrix is a temperature: 1 where it is a multiple of the identity.

    The part of the squared norm that the nearest multiple explains, where adding a constant to a
    column counts for nothing; the mean over the maps that are averaged.
    """
    if not fitted.maps:
        return None
    return float(np.mean(list(_shares(fitted.maps))))


def _shares(maps: tuple[Map, ...]) -> Iterator[float]:
    for map_ in maps:
        W = map_.W - map_.W.mean(axis=0)
        identity: Any = np.eye(len(W)) - 1.0 / len(W)
        yield float((W * identity).sum() ** 2 / ((W**2).sum() * (identity**2).sum()))
