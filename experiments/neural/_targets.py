"""What we set out to reach, whether it is reached, and where it is not, why."""

from collections.abc import Iterator

import pandas as pd

from ._defaults import defaults
from ._methods import METHODS
from ._study import Study

__all__ = ["targets"]

_MANY, _LARGE = 100, 1000
_SECONDS, _MEGABYTES = 600, 4096
_WHOLE_GRID = ((10, 5000, 120), (100, 5000, 1800))
"""Classes, rows and seconds that the whole grid may take."""

Line = list[str]


def targets(study: Study) -> pd.DataFrame:
    """A line for each; the last column is empty where the target is reached."""
    lines = [*_lowest(study), *_losses(study), *_whole_grid(study), *_large(study)]
    return pd.DataFrame(lines, columns=["target", "reached", "numbers", "why"])


def _lowest(study: Study) -> Iterator[Line]:
    """Our defaults beside the best of the paper's methods on its own networks; ties are told."""
    for (network, method), own in defaults(study).groupby(["network", "method"], sort=False):
        found = set(own["verdict"])
        reached = "no" if "higher" in found else "tie" if "tie" in found else "yes"
        told = "; ".join(
            f"{line.beside} {line.other} {line.other_loss}, difference {line.difference} "
            f"({line.low} to {line.high}), {line.verdict}"
            for line in own.itertuples()
        )
        what = f"{network}: {method} has a lower log-loss than the best of the paper's methods"
        yield [what, reached, f"{method} {own['loss'].iloc[0]}; {told}", ""]


def _losses(study: Study) -> Iterator[Line]:
    """Mean log-losses with many classes, all together and by their number."""
    classes = study.networks["n_classes"]
    many = classes[(classes >= _MANY) & (classes < _LARGE)]
    groups = [(f"k = {k}", many[many == k].index) for k in sorted(set(many))]
    if len(groups) > 1:
        groups.insert(0, (f"{_MANY} to {many.max()} classes", many.index))
    for name, networks in groups:
        logits = networks[study.networks.loc[networks, "logits"] == 1]
        if len(logits):
            methods = ["TempS", "Dir-ODIR", "MS-ODIR", "Bayes"]
            yield from _loss_lines(study, f"{name}, files with logits", logits, methods)
        if len(logits) < len(networks):
            methods = ["TempS", "Dir-ODIR", "Bayes"]
            yield from _loss_lines(study, f"{name}, all files", networks, methods)


def _loss_lines(study: Study, where: str, networks: pd.Index, methods: list[str]) -> Iterator[Line]:
    """Two targets on the same files for all methods."""
    losses = pd.DataFrame({name: study.of("log-loss", name) for name in methods})
    losses = losses.reindex(networks).dropna()
    if losses.empty:
        return
    means = losses.mean()
    told = ", ".join(f"{name} {mean:.4f}" for name, mean in means.items())
    missing = len(networks) - len(losses)
    about = f"{where} ({_networks(len(losses))}{f', {missing} not whole' if missing else ''})"
    odir = [name for name in methods if name.endswith("ODIR")]
    best = str(means[odir].idxmin())
    lower = [str(name) for name in means.index if means[name] < means["Bayes"]]
    for what, first, others, beside in (
        (f"{' or '.join(odir)} not above TempS", best, ["TempS"], ["TempS"]),
        (f"Bayes not above {', '.join(methods[:-1])}", "Bayes", lower, methods[:-1]),
    ):
        above = [name for name in others if means[first] > means[name]]
        sides = [_sides(study, losses, first, name) for name in beside if name not in above]
        why = "; ".join(_behind(study, losses, first, name) for name in above)
        room = f"; {_room(study, losses.index)}" if above else ""
        numbers = "; ".join([told, *filter(None, sides)])
        yield [f"{about}: {what}", _yes(not above), numbers, f"{why}{room}"]


def _behind(study: Study, losses: pd.DataFrame, method: str, other: str) -> str:
    """By how much a method is above another, where, and on how many networks surely."""
    gaps = losses[method] - losses[other]
    sources = gaps.groupby(study.networks["source"]).mean()
    told = f"{method} is above {other} by {gaps.mean():.4f}"
    told += f", on {_of(int((sources > 0).sum()), sources)} sources"
    paired = study.differences(method, other)
    paired = paired[paired.index.isin(losses.index)]
    if paired.empty:
        return told
    above, below = int((paired["low"] > 0).sum()), int((paired["high"] < 0).sum())
    return f"{told}; by the paired interval on {_of(above, paired)} networks, below on {below}"


def _sides(study: Study, losses: pd.DataFrame, method: str, other: str) -> str:
    """On how many networks the paired interval is on either side of zero."""
    paired = study.differences(method, other)
    paired = paired[paired.index.isin(losses.index)]
    if paired.empty:
        return ""
    above, below = int((paired["low"] > 0).sum()), int((paired["high"] < 0).sum())
    told = f"paired interval of {method} against {other} below zero on {_of(below, paired)}"
    return f"{told}, above on {above}"


def _room(study: Study, networks: pd.Index) -> str:
    """How many rows there are for how many entries."""
    about = study.networks.loc[networks]
    entries = about["n_classes"] * (about["n_classes"] + 1)
    return f"{_range(about['n_fit'])} rows to fit {_range(entries)} entries"


def _whole_grid(study: Study) -> Iterator[Line]:
    fits = _fits(study)
    slow = fits[(fits["method"] == "Dir-ODIR") & (fits["grid"] == "paper")]
    for k, n, limit in _WHOLE_GRID:
        own = slow[(slow["n_classes"] == k) & (slow["n_fit"] == n)]["seconds"]
        if own.empty:
            continue
        told = f"{own.max():.0f} s of one core at most, {_networks(len(own))}"
        what = f"Dir-ODIR, whole grid, five folds, k = {k}, n = {n}: {limit // 60} min"
        late = "" if own.max() <= limit else f"{_of(int((own > limit).sum()), own)} take longer"
        yield [what, _yes(not late), told, late]


def _large(study: Study) -> Iterator[Line]:
    """With 1000 classes: what failed or is missing counts as well."""
    networks = study.networks[study.networks["n_classes"] >= _LARGE]
    if networks.empty:
        return
    fits = _fits(study)
    fits = fits[fits["network"].isin(networks.index)]
    slowest = fits.loc[fits["seconds"].idxmax()]
    told = f"{slowest['seconds']:.0f} s ({slowest['method']})"
    # A process keeps its peak from one fit to the next.
    told += f", at most {fits['megabytes'].max()} MB"
    reasons = [
        f"{line.method} on {line.network}: {line.seconds:.0f} s, at most {line.megabytes} MB"
        for line in fits.itertuples()
        if line.seconds > _SECONDS or line.megabytes > _MEGABYTES
    ]
    failures = study.results.read("failures.csv")
    failed = failures[failures["network"].isin(networks.index)] if len(failures) else failures
    reasons += [f"{line.method} on {line.network}: {line.reason}" for line in failed.itertuples()]
    known = {(line.network, line.method) for part in (fits, failed) for line in part.itertuples()}
    reasons += [
        f"{method} on {network}: not run"
        for network, logits in networks["logits"].items()
        for method, about in METHODS.items()
        if (logits or not about.needs_logits) and (network, method) not in known
    ]
    within = f"within {_SECONDS // 60} minutes and 4 GB"
    what = f"k = {_LARGE}, small grid: every method {within}"
    yield [what, _yes(not reasons), told, "; ".join(reasons)]


def _fits(study: Study) -> pd.DataFrame:
    return study.fits.merge(study.networks[["n_classes", "n_fit"]], on="network")


def _of(count: int, among: pd.Index | pd.Series | pd.DataFrame) -> str:
    return f"{count} of {len(among)}"


def _networks(count: int) -> str:
    return "1 network" if count == 1 else f"{count} networks"


def _range(values: pd.Series) -> str:
    low, high = values.min(), values.max()
    return str(low) if low == high else f"{low} to {high}"


def _yes(held: bool) -> str:
    return "yes" if held else "no"
