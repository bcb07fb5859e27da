"""What the tables say: gains by source, group and option, and what follows from their intervals."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from ._files import Results
from ._gains import Gain, mean_gain
from ._maps import MAPS, REFERENCE
from ._networks import TRAINED, attributes_of

__all__ = ["MAIN", "NEAR", "OTHERS", "VERDICTS", "Effect", "Group", "Study", "verdict_of"]

MAIN = "curved"
"""The most general map: what it does not gain, the others seldom do."""
OTHERS = tuple(name for name in MAPS if name != REFERENCE)
NEAR = 0.01
"""Gains below this part of the log-loss are called small."""
VERDICTS = ("outside", "near", "open", "worse")


def verdict_of(gain: Gain) -> str:
    """What an interval says of a network and the temperature family.

    ``outside``: the gain is above zero. ``near``: it may be zero and is below 1 %. ``worse``: the
    richer map is worse, as maps are that follow chance. ``open``: none of these.
    """
    if gain.low > 0.0:
        return "outside"
    if gain.high < 0.0:
        return "worse"
    return "near" if gain.high < NEAR else "open"


class Group(NamedTuple):
    """Sources that have something in common."""

    name: str
    gains: dict[str, float]
    """By source: the mean over its networks in the group."""
    n_networks: int

    @property
    def mean(self) -> Gain:
        """Over sources."""
        return mean_gain(list(self.gains.values()))


class Effect(NamedTuple):
    """What an option of training changes in the gain, by network, and in the mean over these."""

    option: str
    by_network: dict[str, Gain]

    @property
    def mean(self) -> Gain:
        """Over networks: its interval is of the choice of networks, and of chance in training."""
        return mean_gain([gain.value for gain in self.by_network.values()])


class Study:
    """All tables, with the questions that the page asks of them."""

    def __init__(self, results: Results) -> None:
        self.networks = results.read("networks.csv").set_index("network")
        self.comparisons = results.read("comparisons.csv")
        self.ratios = results.read("ratios.csv")
        self.evidence = results.read("evidence.csv")
        self._sources = results.read("sources.csv")
        self._effects = results.read("effects.csv")

    def of_kind(self, kind: str) -> pd.DataFrame:
        """Networks of a kind, by name."""
        return self.networks[self.networks["kind"] == kind]

    def sources(self, kind: str = "network", map_: str = MAIN) -> dict[str, Gain]:
        """The gain of each source, the largest first."""
        if self._sources.empty:
            return {}
        own = self._sources[(self._sources["kind"] == kind) & (self._sources["map"] == map_)]
        own = own.sort_values("gain", ascending=False, kind="stable")
        return {line["source"]: _gain(line) for line in own.to_dict("records")}

    @cached_property
    def relative(self) -> pd.DataFrame:
        """Gains of each network in parts of the log-loss of one temperature, columns by map."""
        own = self.comparisons[self.comparisons["other"] == REFERENCE]
        table = own.pivot(index="network", columns="map", values="difference")
        return -table.div(self.networks["loss"], axis=0)

    def gain(self, network: str, map_: str, other: str = REFERENCE) -> Gain | None:
        """Of one network, with the interval of the paired comparison; None where not fitted."""
        own = self.comparisons.set_index(["network", "map", "other"])
        if (network, map_, other) not in own.index:
            return None
        line, loss = own.loc[(network, map_, other)], self.networks.loc[network, "loss"]
        return Gain(*(-line[name] / loss for name in ("difference", "high", "low")))

    def groups(self, attribute: str, kind: str = "network") -> list[Group]:
        """Sources by an attribute of their networks, groups with most sources first."""
        found: dict[str, dict[str, list[float]]] = {}
        for name, about in self.of_kind(kind).iterrows():
            value = getattr(attributes_of(str(name)), attribute)
            by_source = found.setdefault(value, {}).setdefault(str(about["source"]), [])
            by_source.append(float(self.relative.loc[name, MAIN]))
        groups = [
            Group(
                value,
                {source: sum(own) / len(own) for source, own in by_source.items()},
                sum(map(len, by_source.values())),
            )
            for value, by_source in found.items()
        ]
        return sorted(groups, key=lambda group: (-len(group.gains), group.name))

    def recipe_of(self, source: str) -> str:
        """The recipe of a source: one for all its networks."""
        own = self.networks[self.networks["source"] == source]
        return attributes_of(str(own.index[0])).recipe

    def trained(self, map_: str = MAIN) -> dict[str, dict[str, Gain]]:
        """Gains on the networks trained for this, by network and option."""
        found: dict[str, dict[str, Gain]] = {}
        for line in self._of_trained("gain", map_):
            found.setdefault(line["source"], {})[line["option"]] = _gain(line)
        return found

    def effects(self, map_: str = MAIN) -> list[Effect]:
        """What each option changes."""
        found: dict[str, dict[str, Gain]] = {}
        for line in self._of_trained("effect", map_):
            found.setdefault(line["option"], {})[line["source"]] = _gain(line)
        return [Effect(option, by_network) for option, by_network in found.items()]

    def _of_trained(self, what: str, map_: str) -> Iterator[dict[str, str]]:
        if self._effects.empty:
            return
        own = self._effects[(self._effects["what"] == what) & (self._effects["map"] == map_)]
        yield from own.to_dict("records")

    def log_bayes_factors(self, map_: str) -> pd.Series:
        """Of a map against one temperature, by network."""
        own = self.evidence[self.evidence["map"] == map_]
        return own.set_index("network")["log_bayes_factor"].astype(float)

    def by_source(self, values: pd.Series, kind: str = "network") -> pd.Series:
        """The mean of values of networks over each source."""
        about = self.of_kind(kind)
        own = values[values.index.isin(about.index)]
        return own.groupby(about["source"].reindex(own.index)).mean()

    @property
    def n_trained(self) -> int:
        """How many networks were trained for this."""
        return len(self.of_kind(TRAINED))


def _gain(line: dict[str, str]) -> Gain:
    return Gain(float(line["gain"]), float(line["low"]), float(line["high"]))
