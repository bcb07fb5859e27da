"""Stage two: gather what was measured into tables, by network, by source and by option."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from experiments._shared.files import read_json

from ._files import Cache, Results
from ._gains import Gain, Losses, difference_of, gain_of
from ._maps import MAPS, REFERENCE
from ._networks import TRAINED, Member

__all__ = ["collect"]

_OTHERS = [name for name in MAPS if name != REFERENCE]
PLAIN = "plain"

Lines = list[list[Any]]


def collect(cache: Cache, results: Results, members: Sequence[Member]) -> None:
    """Add to the tables what the cache has; all networks of a source belong together."""
    for member in members:
        _note_network(results, member, read_json(cache.outcome(member.name)))
    for source, own in _by_source(members).items():
        if own[0].kind == TRAINED:
            _note_effects(cache, results, source, own)
        elif own:
            _note_source(cache, results, source, own)


def _by_source(members: Iterable[Member]) -> dict[str, list[Member]]:
    """Replications are no trials of their own."""
    found: dict[str, list[Member]] = {}
    for member in members:
        if member.kind != "replication":
            found.setdefault(member.source, []).append(member)
    return found


def _note_network(results: Results, member: Member, outcome: dict[str, Any]) -> None:
    name, entry = member.name, member.entry
    results.forget(name)
    gains: Lines = []
    for line in outcome["comparisons"]:
        numbers = [f"{line[column]:.7g}" for column in ("difference", "low", "high", "pvalue")]
        gains.append([name, line["map"], line["other"], *numbers])
    columns = ["network", "map", "other", "difference", "low", "high", "pvalue"]
    results.add("comparisons.csv", gains, columns, columns[:3])
    tests: Lines = []
    for test in outcome["tests"]:
        numbers = [f"{test['expected']:.6g}", f"{test['pvalue']:.4g}"]
        numbers = [f"{test['ratio']:.6g}", test["freedom"], *numbers]
        tests.append([name, test["smaller"], test["larger"], *numbers])
    columns = ["network", "smaller", "larger", "ratio", "freedom", "expected", "pvalue"]
    results.add("ratios.csv", tests, columns, columns[:3])
    evidence: Lines = [
        [name, map_, f"{value - outcome['evidence'][REFERENCE]:.6g}"]
        for map_, value in outcome["evidence"].items()
        if map_ != REFERENCE
    ]
    columns = ["network", "map", "log_bayes_factor"]
    results.add("evidence.csv", evidence, columns, columns[:2])
    about = [name, member.source, member.kind, entry.n_classes, entry.n_rows]
    about += [int(entry.has_logits), entry.sha256, f"{outcome['accuracy']:.6g}"]
    about += [f"{outcome['temperature']:.6g}", f"{outcome['losses'][REFERENCE]:.8g}"]
    about += [outcome["choice"], f"{outcome['seconds']:.3g}", outcome["versions"]]
    about += ["; ".join(outcome["complaints"])]
    columns = ["network", "source", "kind", "n_classes", "n_rows", "logits", "sha256", "accuracy"]
    columns += ["temperature", "loss", "chosen", "seconds", "versions", "complaints"]
    # Last: this line says that the others are there.
    results.add("networks.csv", [about], columns, ["network"])


def _note_source(cache: Cache, results: Results, source: str, members: Sequence[Member]) -> None:
    lines: Lines = []
    for map_ in _OTHERS:
        found = _losses(cache, members, map_)
        if found:
            lines.append([source, members[0].kind, map_, len(found), *_told(gain_of(found))])
    columns = ["source", "kind", "map", "networks", "gain", "low", "high"]
    results.add("sources.csv", lines, columns, ["source", "map"])


def _note_effects(cache: Cache, results: Results, source: str, members: Sequence[Member]) -> None:
    """Each training with an option against the plain one, on the same test rows."""
    option = {member.name.removeprefix(f"{source}_"): member for member in members}
    if PLAIN not in option:
        return
    lines: Lines = []
    for map_ in _OTHERS:
        plain = _losses(cache, [option[PLAIN]], map_)
        for name, member in option.items():
            [own] = _losses(cache, [member], map_)
            lines.append([source, name, map_, "gain", *_told(gain_of([own]))])
            if name != PLAIN:
                lines.append([source, name, map_, "effect", *_told(difference_of(own, *plain))])
    columns = ["source", "option", "map", "what", "gain", "low", "high"]
    results.add("effects.csv", lines, columns, columns[:4])


def _losses(cache: Cache, members: Sequence[Member], map_: str) -> list[Losses]:
    """Of the networks on which the map was fitted."""
    found = []
    for member in members:
        with np.load(cache.losses(member.name)) as stored:
            if map_ in stored:
                found.append(Losses(stored[REFERENCE], stored[map_], stored["y"]))
    return found


def _told(gain: Gain) -> list[str]:
    return [f"{value:.6g}" for value in (gain.value, gain.low, gain.high)]
