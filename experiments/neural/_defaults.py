"""Our defaults beside the best of the paper's methods, on the paper's own networks."""

from collections.abc import Iterator

import pandas as pd

from ._methods import PAPER_METHODS
from ._paper_names import paper_names
from ._published import DEFAULTS
from ._study import Study

__all__ = ["HERE", "PUBLISHED", "defaults"]

HERE, PUBLISHED = "run here", "published"
"""Beside which map: the best that we fitted, or that with the lowest printed log-loss."""

Line = list[str]


def defaults(study: Study) -> pd.DataFrame:
    """Differences of log-loss row by row, with intervals of 95 %; below zero ours is lower."""
    lines = [
        line
        for network, name in paper_names(study).items()
        for line in (*_beside_ours(study, network, name), *_beside_print(study, network, name))
    ]
    columns = ["network", "method", "loss", "beside", "other", "other_loss"]
    return pd.DataFrame(lines, columns=[*columns, "difference", "low", "high", "verdict"])


def _beside_ours(study: Study, network: str, name: str) -> Iterator[Line]:
    losses = {method: study.of("log-loss", method).get(network) for method in PAPER_METHODS}
    known = {method: loss for method, loss in losses.items() if loss is not None}
    best = min(known, key=lambda method: known[method])
    for method in DEFAULTS:
        gaps = study.differences(method, best)
        if network in gaps.index:
            loss = study.of("log-loss", method)[network]
            yield _line(name, method, HERE, best, [loss, known[best]], gaps.loc[network])


def _beside_print(study: Study, network: str, name: str) -> Iterator[Line]:
    table = study.results.read("defaults.csv")
    if table.empty:
        return
    for line in table[table["network"] == network].to_dict("records"):
        losses = [float(line["loss"]), float(line["other_loss"])]
        yield _line(name, line["method"], PUBLISHED, line["other"], losses, pd.Series(line))


def _line(
    name: str, method: str, beside: str, other: str, losses: list[float], gap: pd.Series
) -> Line:
    low, high = float(gap["low"]), float(gap["high"])
    verdict = "lower" if high < 0 else "higher" if low > 0 else "tie"
    numbers = [f"{float(gap['difference']):+.5f}", f"{low:+.5f}", f"{high:+.5f}"]
    return [name, method, f"{losses[0]:.5f}", beside, other, f"{losses[1]:.5f}", *numbers, verdict]
