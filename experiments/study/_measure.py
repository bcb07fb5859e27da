"""Stage one: fit every map on the outputs of a network, and compare it with one temperature."""

import time
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from dircal import metrics, paired_comparison
from experiments._shared.files import read_json, write_arrays, write_json
from experiments._shared.versions import versions
from experiments.neural._networks import read_network

from ._files import Cache
from ._likelihood import ratio_tests
from ._maps import MAPS, REFERENCE, Scores, can_be_fitted, make_map, scores_of
from ._networks import Member

__all__ = ["is_measured", "measure"]

FloatArray = npt.NDArray[np.float64]

_SMALLEST = 1e-15
"""Smaller probabilities lose as much as this one, as in `dircal.metrics.log_loss`."""


def measure(cache: Cache, member: Member, draws: int) -> None:
    """Leave comparisons, tests, evidence and the losses of all test rows."""
    if is_measured(cache, member):
        return
    network = read_network(member.entry.path)
    scores, began = scores_of(network), time.process_time()
    fitted, complaints = _fit_all(scores)
    proba = {name: map_.predict_proba(scores.test) for name, map_ in fitted.items()}
    losses = {name: _losses(p, scores.test_y) for name, p in proba.items()}
    write_arrays(cache.losses(member.name), y=scores.test_y, **losses)
    table = fitted["auto"].table_
    outcome = {
        "sha256": member.entry.sha256,
        "accuracy": float((scores.test.argmax(axis=1) == scores.test_y).mean()),
        "temperature": float(fitted[REFERENCE].temperature_),
        "losses": {name: float(loss.mean()) for name, loss in losses.items()},
        "comparisons": _comparisons(scores, proba),
        "evidence": dict(zip(table["calibrator"], table["log_evidence"], strict=True)),
        "choice": fitted["auto"].choice_,
        "tests": [asdict(test) for test in ratio_tests(scores, draws)],
        "complaints": complaints,
        "seconds": time.process_time() - began,
        "versions": versions(),
    }
    write_json(cache.outcome(member.name), outcome)


def is_measured(cache: Cache, member: Member) -> bool:
    """Whether the cache has the outcome of this very file."""
    path = cache.outcome(member.name)
    return path.exists() and read_json(path)["sha256"] == member.entry.sha256


def _fit_all(scores: Scores) -> tuple[dict[str, Any], dict[str, str]]:
    """All maps that rows suffice for, and what their solvers had to say."""
    fitted, complaints = {}, {}
    for name in MAPS:
        if not can_be_fitted(name, scores):
            continue
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", ConvergenceWarning)
            fitted[name] = make_map(name, scores.n_classes).fit(scores.fit, scores.fit_y)
        said = [str(one.message) for one in told if issubclass(one.category, ConvergenceWarning)]
        if said:
            complaints[name] = said[0]
    return fitted, complaints


def _losses(proba: FloatArray, y: npt.NDArray[np.int64]) -> FloatArray:
    loss: FloatArray = -np.log(np.maximum(proba[np.arange(len(y)), y], _SMALLEST))
    return loss


def _comparisons(scores: Scores, proba: dict[str, FloatArray]) -> list[dict[str, Any]]:
    """Of each map with one temperature, and of the curved one with the full one."""
    pairs = [(name, REFERENCE) for name in proba if name != REFERENCE] + [("curved", "full")]
    found = []
    for name, other in pairs:
        test = paired_comparison(
            scores.test_y,
            proba[name],
            proba[other],
            metrics.log_loss,
            classes=range(scores.n_classes),
            random_state=0,
        )
        numbers = {"difference": test.difference, "low": test.low, "high": test.high}
        found.append({"map": name, "other": other, **numbers, "pvalue": test.pvalue})
    return found
