"""What the page says in sentences, every one made from the numbers."""

from collections.abc import Iterable, Iterator
from itertools import combinations

import pandas as pd

from experiments.neural._study import Share

from ._gains import Gain, mean_gain
from ._networks import BASES, NOT_KNOWN, OPTIONS, attributes_of
from ._study import MAIN, NEAR, OTHERS, VERDICTS, Effect, Group, Study, verdict_of

__all__ = [
    "FEWEST",
    "tell_architectures",
    "tell_bases",
    "tell_evidence",
    "tell_families_within",
    "tell_groups",
    "tell_limits",
    "tell_losses",
    "tell_maps",
    "tell_options",
    "tell_sources",
    "tell_trained",
]

PAPER = "the paper's own"
_OF_PAPER = 14
"""Networks of the paper's tables."""
SHIFTED = ("PathMNIST", "UAV-Human", "Tiny ImageNet")
"""Sources whose rows to test on are not like those that were fitted or trained on."""
_LEVEL = 0.05
_STRONG = 5.0
"""Nats: the odds change by 150 to 1, which is called very strong."""
FEWEST = 3
"""Sources or trainings without which no interval of their mean is told."""


def tell_sources(study: Study) -> list[str]:
    """How many sources are outside of the temperature family, which, and the paper's own."""
    gains = study.sources()
    by_verdict: dict[str, list[str]] = {}
    for source, gain in gains.items():
        by_verdict.setdefault(verdict_of(gain), []).append(source)
    n, found = len(gains), {name: by_verdict.get(name, []) for name in VERDICTS}
    mean = mean_gain([gain.value for gain in gains.values()])
    told = [
        f"Over {n} sources with {len(study.of_kind('network'))} networks the curved map has a "
        f"log-loss that is lower than with one temperature by {mean} in the mean. The interval "
        f"lies above zero on {Share(len(found['outside']), n)}."
    ]
    if found["outside"]:
        # The largest first.
        ends = [found["outside"][0], found["outside"][-1]]
        told.append(f"The largest and the smallest of these: {_with_gains(ends, gains)}.")
    for name, words in _WORDS.items():
        if found[name]:
            told.append(f"{words}: {_with_gains(found[name], gains)}.")
    steady = [gain for source, gain in gains.items() if source not in SHIFTED]
    if FEWEST <= len(steady) < n:
        outside = sum(verdict_of(gain) == "outside" for gain in steady)
        rest = mean_gain([gain.value for gain in steady])
        told.append(
            f"Without {', '.join(source for source in SHIFTED if source in gains)}, whose test "
            f"rows are not like those fitted or trained on: {rest} in the mean, above zero on "
            f"{Share(outside, len(steady))}."
        )
    own = _of_paper(study)
    if own:
        each = "; ".join(f"{_named(name)} {_as_by_source(study, name)}" for name in own)
        told.append(f"The paper's own networks, {len(own)} of its {_OF_PAPER}: {each}.")
    return told


def _of_paper(study: Study) -> list[str]:
    names = map(str, study.of_kind("network").index)
    return [name for name in names if attributes_of(name).recipe == PAPER]


def _as_by_source(study: Study, network: str) -> Gain | None:
    """The gain on a network, that of its source where it is the only one."""
    source = str(study.networks.loc[network, "source"])
    alone = (study.of_kind("network")["source"] == source).sum() == 1
    return study.sources()[source] if alone else study.gain(network, MAIN)


def _named(network: str) -> str:
    return f"{network} ({attributes_of(network).architecture})"


_WORDS = {
    "near": f"Zero is inside of the interval, and more than {100 * NEAR:g} % is not",
    "open": f"Zero is inside of the interval, and so is more than {100 * NEAR:g} %: not decided",
    "worse": "The curved map is worse, by more than chance",
}


def _with_gains(sources: Iterable[str], gains: dict[str, Gain]) -> str:
    return "; ".join(f"{source} {gains[source]}" for source in sources)


def tell_maps(study: Study) -> list[str]:
    """What each map gains in the mean, and what curves add to a matrix."""
    told = []
    for map_ in OTHERS:
        gains = study.sources(map_=map_)
        if len(gains) < FEWEST:
            continue
        outside = sum(verdict_of(gain) == "outside" for gain in gains.values())
        worse = sum(verdict_of(gain) == "worse" for gain in gains.values())
        mean = mean_gain([gain.value for gain in gains.values()])
        told.append(
            f"{map_.capitalize()}: {mean} in the mean, above zero on "
            f"{Share(outside, len(gains))}, below on {Share(worse, len(gains))}."
        )
    told += _without_failed(study)
    added = study.by_source((study.relative[MAIN] - study.relative["full"]).dropna())
    if len(added) >= FEWEST:
        mean = mean_gain(list(added))
        told.append(f"Curves add {mean} to what the full matrix gains, in the mean over sources.")
    own = _of_paper(study)
    if own:
        each = "; ".join(f"{_named(name)} {study.gain(name, MAIN, 'full')}" for name in own)
        told.append(f"On the paper's own networks curves add: {each}.")
    return told


def _without_failed(study: Study) -> list[str]:
    """The gains of maps without the sources on which a fit found no finite optimum."""
    about, told = study.of_kind("network"), []
    for map_ in OTHERS:
        failed = [map_ in one.split("; ") for one in about["complaints"]]
        lost = set(about[failed]["source"])
        gains = {name: g for name, g in study.sources(map_=map_).items() if name not in lost}
        if lost and len(gains) >= FEWEST:
            mean = mean_gain([gain.value for gain in gains.values()])
            told.append(
                f"{map_.capitalize()} without {', '.join(sorted(lost))}, where a fit did not "
                f"converge or has no finite optimum: {mean} in the mean over {len(gains)} sources."
            )
    return told


def tell_evidence(study: Study) -> list[str]:
    """What likelihood ratios and evidence say, network by network."""
    names = study.of_kind("network").index
    told = []
    ratios = study.ratios[study.ratios["network"].isin(names)] if len(study.ratios) else None
    for smaller, larger in (("temperature", "vector"), ("vector", "full")):
        if ratios is None:
            break
        own = ratios[(ratios["smaller"] == smaller) & (ratios["larger"] == larger)]
        if len(own):
            # Bonferroni's correction.
            rejected = own[own["pvalue"].astype(float) < _LEVEL / len(own)]
            told.append(
                f"The likelihood-ratio test of {smaller} within {larger} rejects on "
                f"{len(rejected)} of {len(own)} networks, each at {_LEVEL:g} / {len(own)}; on "
                f"every network of {_on_all(study, own['network'].isin(rejected['network']), own)}."
            )
    factors = study.log_bayes_factors(MAIN)
    factors = factors[factors.index.isin(names)]
    if len(factors):
        strong, against = (factors > _STRONG).sum(), factors[factors < -_STRONG]
        told.append(
            f"The evidence for the curved map is above that for one temperature by more than "
            f"{_STRONG:g} nats on {strong} of {len(factors)} networks, and below by as much on "
            f"{len(against)}{_listed(against)}; the median of the log Bayes factor is "
            f"{factors.median():+.1f} nats, its quartiles {factors.quantile(0.25):+.1f} and "
            f"{factors.quantile(0.75):+.1f}. In the mean over its networks it is above "
            f"{_STRONG:g} nats on {_strong(study)}."
        )
    return told


def _on_all(study: Study, rejected: pd.Series, own: pd.DataFrame) -> Share:
    """Of how many sources all tested networks are rejected."""
    by_source = rejected.groupby(own["network"].map(study.networks["source"])).all()
    return Share(int(by_source.sum()), len(by_source))


def _strong(study: Study) -> Share:
    by_source = study.by_source(study.log_bayes_factors(MAIN))
    return Share(int((by_source > _STRONG).sum()), len(by_source))


def _listed(values: pd.Series) -> str:
    if values.empty:
        return ""
    return f" ({', '.join(f'{name} {value:+.1f}' for name, value in values.items())})"


def tell_groups(study: Study, attribute: str) -> Iterator[str]:
    """The mean gain of groups with sources enough for an interval."""
    for group in study.groups(attribute):
        if group.name != NOT_KNOWN and len(group.gains) >= FEWEST:
            yield f"{group.name}: {_mean(group)}{_outside(study, group, attribute)}."


def _mean(group: Group) -> str:
    mean = group.mean
    may_be = ", which may be nothing" if mean.holds_zero else ""
    return f"{mean} in the mean over {len(group.gains)} sources{may_be}"


def _outside(study: Study, group: Group, attribute: str) -> str:
    """How many are outside of the family; a source has one recipe but several architectures."""
    if attribute != "recipe":
        return ""
    gains = study.sources()
    outside = sum(verdict_of(gains[source]) == "outside" for source in group.gains)
    return f"; outside of the family {Share(outside, len(group.gains))}"


def tell_architectures(study: Study) -> list[str]:
    """How far apart networks of one source are, with one recipe and several architectures."""
    told = []
    for source, own in study.of_kind("network").groupby("source"):
        if len(own) < FEWEST:
            continue
        if len({attributes_of(str(name)).architecture for name in own.index}) < FEWEST:
            continue
        gains = study.relative.loc[own.index, MAIN]
        ends = [_of(study, str(name)) for name in (gains.idxmin(), gains.idxmax())]
        told.append(f"{source}: from {' to '.join(ends)}, {len(own)} networks.")
    return told


def tell_families_within(study: Study) -> list[str]:
    """Families against each other within sources, where all else of a recipe is the same."""
    families = {group.name: group.gains for group in study.groups("family")}
    told = []
    for (one, gains), (other, others) in combinations(families.items(), 2):
        both = [source for source in gains if source in others]
        if NOT_KNOWN in (one, other) or len(both) < FEWEST:
            continue
        mean = mean_gain([gains[source] - others[source] for source in both])
        may_be = ", which may be nothing" if mean.holds_zero else ""
        told.append(f"{one} less {other}: {mean} over {len(both)} sources{may_be}.")
    return told


def _of(study: Study, network: str) -> str:
    """The gain on a network, with its architecture."""
    return f"{study.gain(network, MAIN)} ({attributes_of(network).architecture})"


def tell_bases(study: Study) -> list[str]:
    """What was trained, on how much and for how long."""
    told = []
    for network, options in study.trained().items():
        base = BASES[network]
        pictures = f"{base.n_pictures:,}".replace(",", " ")
        told.append(
            f"{network}: {base.told}, {pictures} of them, {base.epochs} epochs; {len(options)} "
            "trainings."
        )
    return told


def tell_trained(study: Study) -> list[str]:
    """In short: our own trainings without an option, and the mean effect of each."""
    trained = study.trained()
    plain = {network: options["plain"] for network, options in trained.items()}
    if not plain:
        return []
    told = [f"Small networks of our own, nothing changed: {_with_gains(plain, plain)}."]
    means = [
        f"{OPTIONS[effect.option]} {effect.mean}"
        for effect in _in_order(study)
        if len(effect.by_network) >= FEWEST
    ]
    if means:
        told.append(
            f"What options of training add to the gain, the mean over {len(plain)} networks: "
            f"{'; '.join(means)}."
        )
    return told


def _in_order(study: Study) -> list[Effect]:
    order = list(OPTIONS)
    return sorted(study.effects(), key=lambda effect: order.index(effect.option))


def tell_options(study: Study) -> list[str]:
    """What each option of training changes in the gain of the curved map."""
    return [_effect(effect) for effect in _in_order(study)]


def _effect(effect: Effect) -> str:
    name = OPTIONS[effect.option].capitalize()
    each = "; ".join(f"{network} {gain}" for network, gain in effect.by_network.items())
    if len(effect.by_network) < FEWEST:
        return f"{name} changes the gain by {each}."
    mean, own = effect.mean, list(effect.by_network.values())
    what = "may be nothing" if mean.holds_zero else "is more than chance among these networks"
    above, below = sum(gain.low > 0 for gain in own), sum(gain.high < 0 for gain in own)
    return (
        f"{name} changes the gain by {mean} in the mean, which {what}; by their own intervals it "
        f"rises on {above} and falls on {below} of {len(own)}: {each}."
    )


def tell_losses(study: Study) -> str:
    """How alike the losses are that sources tell of."""
    losses = [attributes_of(str(name)).loss for name in study.of_kind("network").index]
    told = [loss for loss in losses if loss != NOT_KNOWN]
    alike = sum(loss == "cross entropy" for loss in told)
    return f"of {len(told)} networks whose loss is told, {alike} have cross entropy"


def tell_limits(study: Study) -> str:
    """Of how many networks the sources do not tell how they were trained."""
    names = [str(name) for name in study.of_kind("network").index]
    parts = []
    for attribute in ("loss", "augmentation", "epochs", "year", "architecture"):
        lost = sum(getattr(attributes_of(name), attribute) == NOT_KNOWN for name in names)
        parts.append(f"{attribute} of {lost}")
    return f"Of {len(names)} networks the sources do not tell: {', '.join(parts)}."
