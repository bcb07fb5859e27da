"""Stage two: gather the outcomes of one network into tidy rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dircal import metrics, paired_comparison
from experiments._shared.files import read_json

from ._calibrate import COMPLAINTS
from ._example import Example, keep_example
from ._files import Cache, Setting
from ._methods import METHODS, names_of
from ._networks import Entry, Network, read_network
from ._results import Results

__all__ = ["all_names", "collect"]

_OF_THE_PAPER = ("TempS", "Dir-L2", "Dir-ODIR", "VecS", "MS-ODIR")
_AGAINST = {
    "MS-ODIR": ("TempS", "VecS", "Dir-ODIR"),
    "MS-ODIR-zero": ("MS-ODIR",),
    "Bayes": _OF_THE_PAPER,
    "Auto": _OF_THE_PAPER,
}
"""What a method is compared with beside temperature scaling, row by row."""

Lines = list[list[Any]]


def all_names(network: Network | Entry) -> list[str]:
    """Methods that can be fitted on a network, with those that come along."""
    return [one for name in names_of(network) for one in (name, *METHODS[name].also)]


def collect(
    cache: Cache,
    results: Results,
    entry: Entry,
    setting: Setting,
    examples: Sequence[Example] = (),
) -> None:
    """Add to the tables what the cache has for one network, and look at it if it is an example."""
    network = read_network(entry.path)
    if results.done() != results.done({entry.name: setting}):
        results.forget(entry.name)
    paths = {name: cache.outcome(network.name, name) for name in all_names(network)}
    found = {name: read_json(path) for name, path in paths.items() if path.exists()}
    found = {name: outcome for name, outcome in found.items() if setting.made(outcome)}
    key = ["network", "method"]
    if found:
        _note_network(results, network, entry)
    rows = [
        [network.name, name, measure, f"{value:.10g}"]
        for name, outcome in found.items()
        for measure, value in outcome["measures"].items()
    ]
    results.add("rows.csv", rows, [*key, "measure", "value"], [*key, "measure"])
    choices = [
        [network.name, name, *choice.values()]
        for name, outcome in found.items()
        for choice in outcome["choices"]
        if name in METHODS
    ]
    columns = [*key, "parameter", "value", "position", "n_values"]
    results.add("choices.csv", choices, columns, [*key, "parameter"])
    _note_comparisons(cache, results, network, list(found))
    _note_failures(cache, results, network, list(found))
    for example in examples:
        if entry.path == example.path:
            keep_example(results, example)
    # Last: these lines say that all the others are there.
    fits = [
        [network.name, name, *_about(outcome), str(setting.draws), *_complaints(outcome)]
        for name, outcome in found.items()
    ]
    columns = [*key, "grid", "seconds", "seconds_with_measures", "megabytes", "identity_share"]
    columns += ["versions", "draws", *COMPLAINTS]
    results.add("fits.csv", fits, columns, key)


def _about(outcome: dict[str, Any]) -> list[str]:
    share = outcome["identity_share"]
    times = [f"{outcome[name]:.3g}" for name in ("seconds", "seconds_with_measures")]
    rest = [str(outcome["megabytes"]), "" if share is None else f"{share:.6f}"]
    return [outcome["grid"], *times, *rest, outcome["versions"]]


def _complaints(outcome: dict[str, Any]) -> list[str]:
    """How many of each kind; early outcomes do not say."""
    told = outcome.get("complaints", {})
    return [str(len(told[kind])) if kind in told else "" for kind in COMPLAINTS]


def _note_network(results: Results, network: Network, entry: Entry) -> None:
    about = entry.about
    line = [network.name, about.source, about.kind, network.n_classes, len(network.fit.y)]
    line += [len(network.test.y), int(network.has_logits), int(network.divided_here)]
    columns = ["network", "source", "kind", "n_classes", "n_fit", "n_test", "logits"]
    columns += ["divided_here", "sha256"]
    results.add("networks.csv", [[*line, entry.sha256]], columns, ["network"])


def _note_comparisons(cache: Cache, results: Results, network: Network, names: list[str]) -> None:
    """Differences of log-loss row by row, and how far probabilities are from TempS."""
    stored: dict[str, Any] = {}

    def proba(name: str) -> Any:
        if name not in stored:
            with np.load(cache.calibrated(network.name, name)) as file:
                stored[name] = file["proba"]
        return stored[name]

    lines: Lines = []
    for name in names:
        for other in _AGAINST.get(name, ("TempS",)):
            if other == name or other not in names:
                continue
            test = paired_comparison(
                network.test.y,
                proba(name),
                proba(other),
                metrics.log_loss,
                classes=range(network.n_classes),
                random_state=0,
            )
            moved = np.abs(proba(name) - proba(other)).sum(axis=1).mean() / 2
            numbers = [f"{value:.7g}" for value in (test.difference, test.low, test.high, moved)]
            lines.append([network.name, name, other, *numbers])
    columns = ["network", "method", "other", "difference", "low", "high", "moved"]
    results.add("differences.csv", lines, columns, columns[:3])


def _note_failures(cache: Cache, results: Results, network: Network, found: list[str]) -> None:
    """Add new failures, and drop those that have been overcome."""
    lines: Lines = [
        [network.name, name, read_json(cache.no_outcome(network.name, name))["reason"]]
        for name in names_of(network)
        if name not in found and cache.no_outcome(network.name, name).exists()
    ]
    known_before = results.read("failures.csv")
    if known_before.empty and not lines:
        return
    columns = ["network", "method", "reason"]
    others = known_before[known_before["network"] != network.name] if len(known_before) else None
    results.write("failures.csv", pd.concat([others, pd.DataFrame(lines, columns=columns)]))
