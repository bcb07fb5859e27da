"""Stage five: what agrees with print and what does not."""

from collections.abc import Callable
from itertools import combinations
from typing import get_args

import pandas as pd

from ._calibrate import MEASURES
from ._claims import claims
from ._methods import PAPER_METHODS
from ._results import Results
from ._study import Study, Temperature
from ._tables import printed

__all__ = ["COMPARISONS", "FAR_APART", "compare"]

FAR_APART = 0.53
"""Average ranks that differ by more in print should keep their order: the critical difference."""
_LARGEST = 5

# Known differences between print and what is defined; docs/faithfulness.md tells them in full.
_KNOWN = {
    "TempS": "the published temperature often stayed at 1 or stopped early; ours is the best one",
    "Beta": "the published Newton steps could not leave the start where there are zeros",
    "DirL2": "the published Newton steps could not leave the start where there are zeros",
}
_KNOWN_MEASURES = {
    "MCE": "its definition in the tables is inferred from the code; no printed value to check it",
}


def compare(results: Results) -> None:
    """Write every comparison."""
    Study(results).write("compare", COMPARISONS)


def orders(study: Study) -> pd.DataFrame:
    """Pairs of methods whose printed average ranks are far apart, and whether ours agree."""
    paper = printed("ranks").set_index(["measure", "classifier"])
    lines = []
    for measure in MEASURES:
        theirs = paper.loc[(measure, "average")]
        for temperature in get_args(Temperature):
            ours = study.ranking(measure, temperature).ranks
            for one, other in combinations(PAPER_METHODS, 2):
                better, worse = sorted((one, other), key=lambda name: theirs[name])
                gap = theirs[worse] - theirs[better]
                if gap > FAR_APART:
                    found = ours[worse] - ours[better]
                    why = "" if found > 0 else _explanation(measure, (better, worse))
                    kept = "yes" if found > 0 else "no"
                    about = [theirs["table"], measure, temperature, better, worse]
                    lines.append([*about, round(gap, 2), round(found, 2), kept, why])
    columns = ["table", "measure", "temperature", "better", "worse", "printed_gap", "our_gap"]
    return pd.DataFrame(lines, columns=[*columns, "kept", "explanation"])


def _explanation(measure: str, methods: tuple[str, str]) -> str:
    reasons = [_KNOWN_MEASURES[measure]] if measure in _KNOWN_MEASURES else []
    reasons += [f"{name}: {_KNOWN[name]}" for name in methods if name in _KNOWN]
    return "; ".join(reasons)


def deviations(study: Study) -> pd.DataFrame:
    """The cells of each rank table that differ most from print."""
    ranks = study.results.read("tables/ranks.csv")
    ranks = ranks[(ranks["temperature"] == "converged") & (ranks["classifier"] != "average")]
    ranks = ranks[ranks["printed"] != ""].astype({"printed": float})
    gap = (ranks["rank"] - ranks["printed"]).round(2)
    order = gap.abs().sort_values(ascending=False, kind="stable").index
    largest = ranks.assign(difference=gap).loc[order].groupby("measure").head(_LARGEST)
    position = {name: number for number, name in enumerate(MEASURES)}
    largest = largest.sort_values("measure", key=lambda m: m.map(position), kind="stable")
    return largest.drop(columns=["temperature", "n"])


def naive_bayes(study: Study) -> pd.DataFrame:
    """How far the log-losses of table S4 are from print, by method."""
    table = study.results.read("tables/naive_bayes.csv")
    table = table[table["printed"] != ""].astype({"value": float, "printed": float})
    # Printed numbers have two decimals: ours are rounded alike.
    table["gap"] = (table["value"].round(2) - table["printed"]).round(2)
    table["relative"] = table["gap"] / table["printed"]
    lines = []
    for method in PAPER_METHODS:
        own = table[table["method"] == method].set_index("dataset")
        gap, relative = own["gap"].abs(), own["relative"].abs()
        worst = gap.idxmax()
        within = [int((gap <= limit).sum()) for limit in (0.02, 0.05)]
        within.append(int((relative <= 0.05).sum()))
        lines.append([method, len(own), *within, worst, own["gap"][worst], relative.max()])
    columns = ["method", "datasets", "within_0.02", "within_0.05", "within_5_percent"]
    columns += ["worst_dataset", "worst_difference", "worst_relative"]
    return pd.DataFrame(lines, columns=columns).round(4)


COMPARISONS: dict[str, Callable[[Study], pd.DataFrame]] = {
    "orders": orders,
    "deviations": deviations,
    "naive_bayes": naive_bayes,
    "claims": claims,
}
