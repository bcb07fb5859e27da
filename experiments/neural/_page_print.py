"""The part of the page about the paper's own networks: cell by cell, with reasons."""

from typing import Any

import pandas as pd

from experiments._shared.page import markdown

from ._defaults import HERE, PUBLISHED
from ._paper_names import paper_names
from ._printed import printed
from ._published import PUBLISHED_ORDER
from ._study import Study
from ._verdicts import EXPLAINED, NOT_EXPLAINED, digits_of

__all__ = ["print_contents"]

_VERDICTS = (*EXPLAINED, NOT_EXPLAINED)
_PVALUES = ("p-conf-ECE", "p-cw-ECE")


def print_contents(study: Study, compared: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """What the template needs of it."""
    cells = compared["printed"]
    counts = cells["verdict"].value_counts()
    plain = cells[cells["method"].isin(["Uncal", "TempS"]) & ~cells["measure"].isin(_PVALUES)]
    return {
        "n_paper": cells["network"].nunique(),
        "paper_networks": sorted(set(cells["network"])),
        "n_cells": len(cells),
        "verdicts": _verdicts(cells),
        "explanations": [
            {"name": name, "count": counts[name], "text": f"{text}{_width(cells, name)}"}
            for name, text in EXPLAINED.items()
            if name in counts.index
        ],
        "unexplained": _unexplained(cells),
        "n_plain": len(plain),
        "n_plain_equal": int((plain["verdict"] == "equal").sum()),
        "solver_reach": _solver_reach(cells),
        "cells": [
            {"network": network, "table": _cells(own)}
            for network, own in cells.groupby("network", sort=False)
        ],
        "strengths": _strengths(study),
        "published_order": PUBLISHED_ORDER,
        "defaults": _defaults(compared["defaults"]),
        "confidences": _confidences(study.results.read("confidences.csv")),
    }


def _solver_reach(cells: pd.DataFrame) -> str:
    """The largest difference of a log-loss from print."""
    own = cells[cells["measure"] == "log-loss"]
    if own.empty:
        return ""
    gaps = own["difference"].astype(float).abs()
    worst = own.loc[gaps.idxmax()]
    return f"{gaps.max():.5f} ({worst['method']}, {worst['network']})"


def _width(cells: pd.DataFrame, verdict: str) -> str:
    """How wide the intervals are in which print lies."""
    own = cells[(cells["verdict"] == verdict) & (cells["measure"] == "log-loss")]
    if verdict != "Adam, other order" or own.empty:
        return ""
    reach = (own["high"].astype(float) - own["low"].astype(float)) / 2.0
    return (
        f" Of log-losses ({len(own)} of these cells) the interval reaches {reach.median():.5f} to "
        f"either side (median; at most {reach.max():.5f})."
    )


def _verdicts(cells: pd.DataFrame) -> str:
    """How many cells of each network have which verdict."""
    if cells.empty:
        return ""
    counts = pd.crosstab(cells["network"], cells["verdict"])
    counts = counts[[name for name in _VERDICTS if name in counts.columns]]
    counts.loc["all"] = counts.sum()
    return markdown(counts.assign(cells=counts.sum(axis=1)).reset_index())


def _unexplained(cells: pd.DataFrame) -> list[str]:
    told = []
    for line in cells[cells["verdict"] == NOT_EXPLAINED].itertuples():
        where = f"{line.network}, {line.method}, {line.measure} (table {line.table})"
        again = f", as published {_five(line.published)}" if line.published != "" else ""
        theirs = f"{float(line.printed):.{digits_of(line.measure)}f}"
        told.append(f"{where}: ours {_five(line.ours)}, printed {theirs}{again}")
    return told


def _cells(own: pd.DataFrame) -> str:
    lines = []
    for line in own.itertuples():
        again = "" if line.published == "" else _five(line.published)
        if line.verdict == "Adam, other order":
            again += f" ({_five(line.low)} to {_five(line.high)})"
        shown = "" if line.verdict in ("equal", "draws") else again
        theirs = f"{float(line.printed):.{digits_of(line.measure)}f}"
        gap = f"{float(line.difference):+.5f}" if float(line.difference) else "0"
        numbers = [_five(line.ours), theirs, gap, shown]
        lines.append([line.table, line.measure, line.method, *numbers, line.verdict])
    columns = ["table", "measure", "method", "ours", "printed", "difference", "as published"]
    return markdown(pd.DataFrame(lines, columns=[*columns, "why"]))


def _five(number: Any) -> str:
    return f"{float(number):.5f}"


def _strengths(study: Study) -> str:
    """Lambda and mu of print and ours, in the units of the authors' code."""
    theirs = printed("choices").set_index(["network", "method"])
    ours = study.choices.set_index(["network", "method", "parameter"])["value"]
    lines = []
    for network, name in paper_names(study).items():
        for method in ("Dir-L2", "Dir-ODIR", "MS-ODIR"):
            if (network, method, "lam") not in ours.index:
                continue
            own = [ours.get((network, method, what)) for what in ("lam", "mu")]
            told = ", ".join(f"{float(value):g}" for value in own if value is not None)
            cell = ["not known", ""]
            if (name, method) in theirs.index:
                known = theirs.loc[(name, method)]
                pair = known[["lam"] if method == "Dir-L2" else ["lam", "mu"]]
                cell = [", ".join(f"{float(value):g}" for value in pair), str(known["origin"])]
            lines.append([name, method, *cell, told])
    columns = ["network", "method", "published", "known from", "ours"]
    return markdown(pd.DataFrame(lines, columns=columns)) if lines else ""


def _defaults(table: pd.DataFrame) -> str:
    """A line for each network and map of ours."""
    lines = []
    for (network, method), own in table.groupby(["network", "method"], sort=False):
        cells = [network, method, f"{float(own['loss'].iloc[0]):.5f}"]
        for beside in (HERE, PUBLISHED):
            found = own[own["beside"] == beside]
            cells += _beside(found.iloc[0]) if len(found) else ["", "", ""]
        lines.append(cells)
    columns = ["network", "ours", "log-loss", "best of the paper's, run here", "difference", ""]
    columns += ["lowest in print", "difference", ""]
    return markdown(pd.DataFrame(lines, columns=columns)) if lines else ""


def _beside(line: pd.Series) -> list[str]:
    numbers = [f"{float(line[name]):+.5f}" for name in ("difference", "low", "high")]
    told = f"{numbers[0]} ({numbers[1]} to {numbers[2]})"
    return [f"{line['other']} {float(line['other_loss']):.5f}", told, f"**{line['verdict']}**"]


def _confidences(table: pd.DataFrame) -> str:
    if table.empty:
        return ""
    names = {"error": "accuracy", "conf-ECE": "conf-ECE", "MCE": "MCE"}
    paper = printed("scores").query("method == 'Uncal'").set_index(["network", "measure"])["value"]
    lines = []
    for line in table[table["network"].isin(paper.index.get_level_values(0))].to_dict("records"):
        cells = []
        for ours, measure in names.items():
            key = (line["network"], measure)
            theirs = f" ({float(paper[key]):.5f})" if key in paper.index else ""
            cells.append(f"{float(line[ours]):.5f}{theirs}")
        lines.append([line["network"], line["n_test"], *cells])
    columns = ["network", "rows", "error %", "conf-ECE", "MCE"]
    return markdown(pd.DataFrame(lines, columns=columns)) if lines else ""
