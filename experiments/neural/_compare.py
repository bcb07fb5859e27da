"""Stage four: what the paper claims, what it aims at, and its own networks where they are given."""

from collections.abc import Callable

import pandas as pd

from ._claims import claims
from ._defaults import defaults
from ._paper_names import paper_names
from ._printed import printed
from ._results import Results
from ._study import Study
from ._tables import as_printed
from ._targets import targets
from ._verdicts import Cell, Reruns, judge

__all__ = ["COMPARISONS", "by_measure", "compare"]


def compare(results: Results) -> None:
    """Write every comparison."""
    Study(results).write("compare", COMPARISONS)


def against_print(study: Study) -> pd.DataFrame:
    """Every printed number of the paper's own networks, with ours and why they differ."""
    paper = pd.concat([printed("scores"), _first_replications()])
    again = study.results.read("published.csv")
    lines = []
    for network, name in paper_names(study).items():
        n_classes = study.networks.loc[network, "n_classes"]
        for line in paper[paper["network"] == name].itertuples(index=False):
            found = study.of(line.measure, line.method)
            if network not in found.index:
                continue
            ours = as_printed(line.measure, found[network], n_classes)
            cell = Cell(line.measure, line.method, ours, float(line.value))
            reruns = Reruns.of(again, str(network), line.method, line.measure, n_classes)
            numbers = [f"{ours:.5f}", f"{cell.printed:.{cell.digits}f}"]
            numbers += [f"{ours - cell.printed:+.5f}", *_told(reruns), judge(cell, reruns)]
            lines.append([line.table, line.measure, name, line.method, *numbers])
    columns = ["table", "measure", "network", "method", "ours", "printed", "difference"]
    return pd.DataFrame(lines, columns=[*columns, "published", "low", "high", "verdict"])


def _told(reruns: Reruns | None) -> list[str]:
    """The published procedure, and where one more run of it would be."""
    if reruns is None:
        return ["", "", ""]
    if len(reruns.values) == 1:
        return [f"{reruns.published:.5f}", "", ""]
    return [f"{number:.5f}" for number in (reruns.published, *reruns.interval())]


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


COMPARISONS: dict[str, Callable[[Study], pd.DataFrame]] = {
    "claims": claims,
    "targets": targets,
    "printed": against_print,
    "defaults": defaults,
}
