"""Stage four: what the paper claims, what it aims at, and its own networks where they are given."""

from collections.abc import Callable

import pandas as pd

from ._claims import claims
from ._printed import name_by_hash, printed
from ._results import Results
from ._study import Study
from ._tables import as_printed
from ._targets import targets

__all__ = ["COMPARISONS", "by_measure", "compare", "paper_names"]

UNCONVERGED = {"Dir-L2", "Dir-ODIR", "VecS", "MS-ODIR", "MS-ODIR-zero"}
"""Methods that print has from Adam, which stops short of the optimum; TempS is from BFGS."""
OF_ADAM = {10: 2e-3, 100: 1e-2}
"""How far that may move the log-loss, in either direction, by the number of classes.

An emulation with ten classes says so. With 100 nobody has tried; as log-losses are five times as
large there, so is what we allow.
"""
EXACT = 1e-5
"""Five digits are printed."""
OF_BFGS = 5e-5
"""TempS of print stops after 50 steps, on logits in single precision."""


def compare(results: Results) -> None:
    """Write every comparison."""
    Study(results).write("compare", COMPARISONS)


def paper_names(study: Study) -> dict[str, str]:
    """Networks that are the paper's own, with its names for them.

    Files whose hash is published are known by it. Three have none: they are known by their name
    and by their log-loss without calibration, to all printed digits.
    """
    losses = printed("scores").query("measure == 'log-loss' and method == 'Uncal'")
    losses = losses.set_index("network")["value"]
    ours = study.of("log-loss", "Uncal")
    found = {}
    for network, about in study.networks.iterrows():
        by_hash = name_by_hash(about["sha256"])
        if by_hash is not None:
            found[network] = by_hash
        elif f"{ours.get(network, 0.0):.5f}" == f"{losses.get(network, -1.0):.5f}":
            found[network] = network
    return found


def against_print(study: Study) -> pd.DataFrame:
    """Ours beside the printed numbers, for the paper's own networks."""
    paper = pd.concat([printed("scores"), _first_replications()])
    lines = []
    for network, name in paper_names(study).items():
        n_classes = study.networks.loc[network, "n_classes"]
        for line in paper[paper["network"] == name].itertuples(index=False):
            found = study.of(line.measure, line.method)
            if network not in found.index:
                continue
            ours = as_printed(line.measure, found[network], n_classes)
            gap = ours - line.value
            expected = _expected(line.measure, line.method, n_classes)
            told = "" if expected is None else f"{expected:g}"
            numbers = [f"{ours:.5f}", line.value, f"{gap:+.5f}", told, _verdict(gap, expected)]
            lines.append([line.table, line.measure, name, line.method, *numbers])
    columns = ["table", "measure", "network", "method", "ours", "printed", "difference"]
    return pd.DataFrame(lines, columns=[*columns, "expected", "verdict"])


def by_measure(compared: pd.DataFrame) -> pd.DataFrame:
    """How far the measures other than log-loss are from print, a line for each."""
    lines = []
    for measure, own in compared[compared["measure"] != "log-loss"].groupby("measure", sort=False):
        size = own["difference"].astype(float).abs()
        worst = own.loc[size.idxmax()]
        numbers = [str(len(own)), f"{size.median():.5f}", f"{size.max():.5f}"]
        lines.append([str(measure), *numbers, f"{worst['method']}, {worst['network']}"])
    columns = ["measure", "cells", "median difference", "largest difference", "where"]
    return pd.DataFrame(lines, columns=columns)


def _first_replications() -> pd.DataFrame:
    """Table S21 has the same networks once more, and MS-ODIR-zero."""
    own = printed("replications")
    own = own[(own["replication"] == 1) & (own["logloss"] != "")]
    about = {"table": "S21", "measure": "log-loss", "value": own["logloss"].astype(float)}
    return own[["network", "method"]].assign(**about)


def _expected(measure: str, method: str, n_classes: int) -> float | None:
    """How large a difference may be, where that is known: bins and draws can make it any size."""
    if method == "Uncal" and measure in ("log-loss", "Brier", "accuracy"):
        return EXACT
    if measure != "log-loss":
        return None
    if method in UNCONVERGED:
        return OF_ADAM[10] if n_classes < 100 else OF_ADAM[100]
    return OF_BFGS


def _verdict(difference: float, expected: float | None) -> str:
    if abs(difference) <= EXACT:
        return "equal"
    if expected is None:
        return ""
    return "as expected" if abs(difference) <= expected else "more than expected"


COMPARISONS: dict[str, Callable[[Study], pd.DataFrame]] = {
    "claims": claims,
    "targets": targets,
    "printed": against_print,
}
