"""Stage one: fit every method on the outputs of every network, and measure."""

import resource
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from experiments._shared.files import read_json, reason, write_arrays, write_json
from experiments._shared.measures import MEASURES, Scores
from experiments._shared.versions import versions

from ._files import Cache, Setting
from ._grids import Grid, grid_of
from ._methods import METHODS, Fitted, Map
from ._networks import Entry, Network, read_network
from ._printed import name_by_hash

__all__ = ["COMPLAINTS", "DRAWS", "QUICK_DRAWS", "calibrate", "setting_of"]

FloatArray = npt.NDArray[np.float64]

DRAWS = 10_000
QUICK_DRAWS = 200
COMPLAINTS = ("not_converged", "at_infinity")
"""What solvers may have to say."""
_SEED = 0


def calibrate(cache: Cache, entry: Entry, method: str, quick: bool) -> None:
    """Fit one method on one network; it leaves its measures, choices and seconds."""
    path, setting = cache.outcome(entry.name, method), setting_of(entry, quick)
    if path.exists() and setting.made(read_json(path)):
        return
    network = read_network(entry.path)
    try:
        _run(cache, network, method, _grid(entry, quick), setting)
    except Exception as error:
        write_json(cache.no_outcome(network.name, method), {"reason": reason(error)})


def setting_of(entry: Entry, quick: bool) -> Setting:
    """What the outcomes of a network are of."""
    return Setting(entry.sha256, _grid(entry, quick).name, QUICK_DRAWS if quick else DRAWS)


def _grid(entry: Entry, quick: bool) -> Grid:
    """The whole one for the paper's own networks, and where the catalogue says so."""
    full = name_by_hash(entry.sha256) is not None or entry.about.grid == "full"
    return grid_of(entry.n_classes, quick=quick, full=full)


def _run(cache: Cache, network: Network, method: str, grid: Grid, setting: Setting) -> None:
    began = time.process_time()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fitted = METHODS[method].fit(network, grid)
    seconds = time.process_time() - began
    score = Scores(
        network.test.y,
        network.n_classes,
        n_resamples=setting.draws,
        random_state=_SEED,
        mce_over="confidence",
    )
    # What was asked for comes last: its file says that all is there.
    for name, proba in sorted(fitted.proba.items(), key=lambda item: item[0] == method):
        write_arrays(cache.calibrated(network.name, name), proba=proba)
        outcome = {
            "measures": {measure: score(measure, proba) for measure in MEASURES},
            **asdict(setting),
            "choices": [asdict(choice) for choice in fitted.choices],
            "complaints": _complaints(told),
            "identity_share": _identity_share(fitted) if name == method else None,
            "seconds": seconds,
            "seconds_with_measures": time.process_time() - began,
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "versions": versions(),
        }
        write_json(cache.outcome(network.name, name), outcome)


def _complaints(told: list[warnings.WarningMessage]) -> dict[str, list[str]]:
    """What solvers said, once each; choices at the edge of a grid are in the tables anyway."""
    found: dict[str, list[str]] = {kind: [] for kind in COMPLAINTS}
    for message in dict.fromkeys(
        str(one.message) for one in told if issubclass(one.category, ConvergenceWarning)
    ):
        kind = "at_infinity" if "no finite optimum" in message else "not_converged"
        found[kind].append(message)
    return found


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
