"""What the page says in sentences, every one made from the numbers."""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pandas as pd

from experiments._shared.measures import MEASURES

from ._calibrate import DRAWS
from ._grids import GRIDS
from ._methods import METHODS, PAPER_METHODS
from ._networks import known
from ._study import FAMILIES, Mean, Share, Study

__all__ = [
    "gains_table",
    "tell_best",
    "tell_convergence",
    "tell_draws",
    "tell_grids",
    "tell_in_short",
    "tell_outliers",
    "tell_twice",
]

_OUTLIER = 0.5
_MEASURES = ("log-loss", "cw-ECE")


def tell_best(study: Study) -> list[str]:
    """Which methods have the best average ranks, and ahead of whom."""
    lines = []
    for family in ("paper", "general and ours"):
        for measure in _MEASURES:
            ranking = study.ranking(measure, family)
            if ranking is None:
                continue
            best = ranking.order[0]
            behind = [name for name in ranking.order if name not in ranking.among_best()]
            if behind:
                ahead = f"significantly ahead of {_and(behind)}"
            elif ranking.is_significant:
                ahead = "significantly ahead of none"
            else:
                ahead = f"but Friedman's test finds no difference (p {ranking.pvalue:.2g})"
            lines.append(
                f"{FAMILIES[family].title}, {measure}: {best} has the best average rank over "
                f"{ranking.n} sources, {ranking.ranks[best]:.2f} (next {ranking.order[1]} "
                f"{ranking.ranks[ranking.order[1]]:.2f}, critical difference "
                f"{ranking.difference:.2f}), {ahead}."
            )
    return lines


def tell_in_short(study: Study) -> str:
    """Where Dirichlet calibration helps beyond a temperature, and where it does not."""
    told = [_most_gained(gained) for gained in _gains(study)]
    return " ".join([*told, *_network_by_network(study, "Dir-ODIR")])


def gains_table(study: Study) -> pd.DataFrame:
    """On how many sources each method has a lower log-loss than TempS, and by how much."""
    lines = [
        [gained.where, method, str(wins), str(less)]
        for gained in _gains(study)
        for method, (wins, less) in gained.by_method.items()
    ]
    return pd.DataFrame(lines, columns=["", "method", "lower on", "lower by, mean"])


class _Gained(NamedTuple):
    """Counts and means against TempS, by method, with few or many classes."""

    where: str
    by_method: dict[str, tuple[Share, Mean]]


def _gains(study: Study) -> Iterator[_Gained]:
    for where, many in (("fewer than 100 classes", False), ("100 classes or more", True)):
        found = {}
        for method in (*PAPER_METHODS, *FAMILIES["general and ours"].methods):
            if method == "TempS":
                continue
            networks = study.chosen(many=many, logits=METHODS[method].needs_logits)
            wins = study.wins(method, "TempS", "log-loss", networks)
            if wins:
                found[method] = (wins, study.reduction(method, "TempS", "log-loss", networks))
        if "Dir-ODIR" in found:
            yield _Gained(where, found)


def _most_gained(gained: _Gained) -> str:
    """What Dir-ODIR gains, and who gains most of those that are on the same files."""
    everywhere = gained.by_method["Dir-ODIR"][0].n
    means = {
        method: less.value
        for method, (wins, less) in gained.by_method.items()
        if not METHODS[method].needs_logits and wins.n == everywhere
    }
    best = max(means, key=lambda method: means[method])
    told = (
        f"With {gained.where} Dir-ODIR has a lower log-loss than TempS {_gain(gained, 'Dir-ODIR')}"
    )
    if best == "Dir-ODIR":
        return f"{told}; of the methods without logits it gains most."
    return f"{told}; of the methods without logits {best} gains most, {_gain(gained, best)}."


def _gain(gained: _Gained, method: str) -> str:
    wins, less = gained.by_method[method]
    return f"on {wins}, on average by {less}, {_chance(less)}"


def _chance(less: Mean) -> str:
    low, high = less.interval
    if low > 0:
        return "which is more than chance"
    return "so that it is worse by more than chance" if high < 0 else "which may be chance"


def _network_by_network(study: Study, method: str) -> list[str]:
    """How often the paired interval is on either side of zero, and where most."""
    gaps = study.differences(method, "TempS")
    gaps = gaps[gaps.index.isin(study.chosen())]
    if gaps.empty:
        return []
    better, worse = gaps[gaps["high"] < 0], gaps[gaps["low"] > 0]
    told = f"Network by network, the paired interval of {method} against TempS is below zero on "
    told += f"{len(better)} of {len(gaps)}{_most(better)} and above zero on "
    return [f"{told}{len(worse)}{_most(worse)}."]


def _most(gaps: pd.DataFrame) -> str:
    """The network with the largest difference, and what is known of it."""
    if gaps.empty:
        return ""
    name = str(gaps["difference"].abs().idxmax())
    note = f"; {known(name).note}" if known(name).note else ""
    value, low, high = gaps.loc[name, ["difference", "low", "high"]]
    return f" (most on {name}, {value:+.4f}, {low:+.4f} to {high:+.4f}{note})"


def tell_draws(fits: pd.DataFrame) -> str:
    """How many draws the p-values come from."""
    if "draws" not in fits.columns:
        return str(DRAWS)
    draws = pd.to_numeric(fits["draws"], errors="coerce").dropna().astype(int)
    return _and(map(str, sorted(set(draws)))) if len(draws) else str(DRAWS)


def tell_grids(study: Study) -> list[str]:
    """Which strengths were tried, and with how many classes."""
    fits = study.fits[study.fits["method"] == "Dir-ODIR"]
    classes = study.networks["n_classes"].reindex(fits["network"]).to_numpy()
    fits = fits.assign(n_classes=classes)
    lines = []
    for grid, own in sorted(fits.groupby("grid"), key=lambda pair: pair[1]["n_classes"].min()):
        numbers = _and(map(str, sorted(set(own["n_classes"]))))
        lines.append(f"{GRIDS[str(grid)].told} with {numbers} classes ({_count(own)})")
    return lines


def _count(networks: pd.DataFrame) -> str:
    return "1 network" if len(networks) == 1 else f"{len(networks)} networks"


def tell_convergence(fits: pd.DataFrame) -> list[str]:
    """Fits that did not converge, or cannot; nothing where that was not recorded."""
    if "not_converged" not in fits.columns or "at_infinity" not in fits.columns:
        return []
    late, beyond = (_by_method(fits, name) for name in ("not_converged", "at_infinity"))
    all_ = "Every fit that has an optimum has converged." if beyond else "Every fit has converged."
    told = [f"Not converged: {late}." if late else all_]
    if beyond:
        told.append(
            "Without an optimum, as the rows can be told apart and entries that are not penalised "
            f"grow without bound: {beyond}."
        )
    return told


def _by_method(fits: pd.DataFrame, column: str) -> str:
    found = fits[pd.to_numeric(fits[column], errors="coerce").fillna(0) > 0]
    parts = [
        f"{method} on {len(own)} ({', '.join(own['network'])})"
        for method, own in found.groupby("method", sort=False)
    ]
    return "; ".join(parts)


def tell_twice(study: Study) -> str:
    """How far Bayes given logits is from Bayes given their softmax; empty where neither was run."""
    names = ("Bayes", "Bayes-logits")
    gaps = [
        (study.of(measure, names[0]) - study.of(measure, names[1])).dropna().abs()
        for measure in MEASURES
    ]
    if not len(gaps[0]):
        return ""
    most = float(max(gap.max() for gap in gaps))
    # Rounded up, so that nothing is beyond it.
    reach = 10.0 ** math.ceil(math.log10(most)) if most else 0.0
    files = "file" if len(gaps[0]) == 1 else f"{len(gaps[0])} files"
    return f"no measure of the {files} with logits differs by more than {reach:g}"


def tell_outliers(study: Study) -> str:
    """Networks on which Dir-ODIR is far from a multiple of the identity."""
    share = study.column("Dir-ODIR", "identity_share")
    far = share[share < _OUTLIER].sort_values()
    rows = study.networks["n_fit"]
    return ", ".join(f"{name} ({value:.3f}, {rows[name]} rows)" for name, value in far.items())


def _and(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
