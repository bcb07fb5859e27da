"""Stage four: what the paper claims, what it aims at, and its own networks where they are given."""

from collections.abc import Callable

import pandas as pd

from ._claims import claims
from ._printed import name_by_hash, printed
from ._results import Results
from ._study import Study
from ._tables import as_printed

__all__ = ["COMPARISONS", "compare", "paper_names"]

UNCONVERGED = {"Dir-L2", "Dir-ODIR", "VecS", "MS-ODIR", "MS-ODIR-zero"}
"""Methods that print has from Adam, which stops short of the optimum; TempS is from BFGS."""
EXPECTED = 2e-3
"""How far that moves the log-loss with ten classes, in either direction; with 100 it is more."""


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
            verdict = _verdict(line.measure, line.method, gap)
            numbers = [f"{ours:.5f}", line.value, f"{gap:+.5f}", verdict]
            lines.append([line.table, line.measure, name, line.method, *numbers])
    columns = ["table", "measure", "network", "method", "ours", "printed", "difference", "verdict"]
    return pd.DataFrame(lines, columns=columns)


def _first_replications() -> pd.DataFrame:
    """Table S21 has the same networks once more, and MS-ODIR-zero."""
    own = printed("replications")
    own = own[(own["replication"] == 1) & (own["logloss"] != "")]
    about = {"table": "S21", "measure": "log-loss", "value": own["logloss"].astype(float)}
    return own[["network", "method"]].assign(**about)


def _verdict(measure: str, method: str, difference: float) -> str:
    """Whether the difference is one that we expect; only log-losses have a known size."""
    if abs(difference) < 1e-5:
        return "equal"
    if measure != "log-loss":
        return ""
    if method not in UNCONVERGED:
        return "unexpected"
    return "as expected of Adam" if abs(difference) <= EXPECTED else "more than expected of Adam"


def targets(study: Study) -> pd.DataFrame:
    """What we set out to reach, and whether it is reached."""
    many = [k for k in sorted(set(study.networks["n_classes"])) if 100 <= k < 1000]
    lines = []
    for k in many:
        names = study.networks[study.networks["n_classes"] == k].index
        losses = {
            method: study.of("log-loss", method).reindex(names)
            for method in ("TempS", "Dir-ODIR", "MS-ODIR", "Bayes")
        }
        done = pd.DataFrame(losses).dropna(subset=["TempS", "Dir-ODIR", "Bayes"])
        if done.empty:
            continue
        means = done.mean()
        odir = min(means["Dir-ODIR"], means["MS-ODIR"] if done["MS-ODIR"].notna().all() else 9e9)
        told = ", ".join(f"{name} {value:.4f}" for name, value in means.dropna().items())
        first, second = odir <= means["TempS"], means["Bayes"] <= min(odir, means["TempS"])
        about = f"k = {k}, {len(done)} networks"
        lines.append([f"{about}: MS-ODIR or Dir-ODIR not above TempS", _yes(first), told])
        lines.append([f"{about}: Bayes not above both", _yes(second), told])
    lines += _time_targets(study)
    return pd.DataFrame(lines, columns=["target", "reached", "numbers"])


def _time_targets(study: Study) -> list[list[str]]:
    fits = study.fits.merge(study.networks[["n_classes", "n_fit"]], on="network")
    lines = []
    slow = fits[(fits["method"] == "Dir-ODIR") & (fits["grid"] == "paper")]
    for k, n, limit in ((10, 5000, 120), (100, 5000, 1800)):
        own = slow[(slow["n_classes"] == k) & (slow["n_fit"] == n)]["seconds"]
        if len(own):
            told = f"{own.max():.0f} s of one core at most, {len(own)} networks"
            what = f"Dir-ODIR, whole grid, five folds, k = {k}, n = {n}: {limit // 60} min"
            lines.append([what, _yes(own.max() <= limit), told])
    large = fits[fits["n_classes"] >= 1000]
    if len(large):
        slowest = large.loc[large["seconds"].idxmax()]
        told = f"{slowest['seconds']:.0f} s ({slowest['method']}), {large['megabytes'].max()} MB"
        held = large["seconds"].max() <= 600 and large["megabytes"].max() <= 4096
        what = "k = 1000, small grid: every method within 10 minutes and 4 GB"
        lines.append([what, _yes(bool(held)), told])
    return lines


def _yes(held: bool) -> str:
    return "yes" if held else "no"


COMPARISONS: dict[str, Callable[[Study], pd.DataFrame]] = {
    "claims": claims,
    "targets": targets,
    "printed": against_print,
}
