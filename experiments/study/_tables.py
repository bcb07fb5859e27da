"""The tables of the page."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm, spearmanr

from experiments._shared.page import markdown

from ._findings import FEWEST
from ._gains import Gain, percent
from ._networks import NOT_KNOWN, OPTIONS, TRAINED, attributes_of
from ._study import MAIN, OTHERS, Study, verdict_of

__all__ = [
    "attributes_table",
    "correlations_table",
    "groups_table",
    "networks_table",
    "sources_table",
    "trainings_table",
]

_FEWEST_TO_CORRELATE = 5
_HERE = {"temperature": "temperature", "error": "error rate", "n_classes": "number of classes"}


def sources_table(study: Study, kind: str = "network") -> str:
    """A line for each source, the largest gain of the curved map first."""
    gains = {map_: study.sources(kind, map_) for map_ in OTHERS}
    factor = study.by_source(study.log_bayes_factors(MAIN), kind)
    about = study.of_kind(kind)
    lines = []
    for source, main in gains[MAIN].items():
        own = about[about["source"] == source]
        told = [_short(gains[map_].get(source)) for map_ in OTHERS]
        numbers = [own["n_classes"].iloc[0], len(own), f"{own['loss'].astype(float).mean():.4f}"]
        last = [f"{factor[source]:+.1f}", verdict_of(main)]
        lines.append([source, _recipe(study, source, kind), *numbers, *told, *last])
    columns = ["source", "recipe", "k", "networks", "log-loss, one temperature", *OTHERS]
    return _table(lines, [*columns, "log Bayes factor", "verdict"])


def _recipe(study: Study, source: str, kind: str) -> str:
    return study.recipe_of(source) if kind == "network" else ""


def networks_table(study: Study) -> str:
    """Likelihood ratios and evidence of each network."""
    ratios = study.ratios.set_index(["network", "larger"]) if len(study.ratios) else study.ratios
    factors = {map_: study.log_bayes_factors(map_) for map_ in ("vector", "full", MAIN)}
    lines = []
    for name, about in study.networks.sort_values(["kind", "source"], kind="stable").iterrows():
        gain = study.gain(str(name), MAIN)
        tests = [_ratio(ratios, str(name), larger) for larger in ("vector", "full")]
        odds = [f"{own[name]:+.1f}" if name in own.index else "" for own in factors.values()]
        temperature = f"{float(about['temperature']):.2f}"
        lines.append([name, f"{100 * float(about['accuracy']):.1f}", temperature, _short(gain)])
        lines[-1] += [*tests, *odds]
    columns = ["network", "accuracy %", "temperature", "gain, curved %", "vector: ratio"]
    columns += ["full: ratio", "vector, nats", "full, nats", "curved, nats"]
    return _table(lines, columns)


def _ratio(ratios: pd.DataFrame, name: str, larger: str) -> str:
    if (name, larger) not in ratios.index:
        return ""
    line = ratios.loc[(name, larger)]
    pvalue = float(line["pvalue"])
    told = "p < 1e-16" if pvalue < 1e-16 else f"p {pvalue:.2g}"
    return f"{float(line['ratio']):.1f} ({int(line['freedom'])}, {told})"


def groups_table(study: Study, attribute: str) -> str:
    """The mean gain over sources of each group."""
    lines = []
    for group in study.groups(attribute):
        mean = group.mean
        told = str(mean) if len(group.gains) >= FEWEST else f"{100 * mean.value:+.2f} %"
        lines.append([group.name, len(group.gains), group.n_networks, told])
    return _table(lines, [attribute, "sources", "networks", "gain, curved"])


def correlations_table(study: Study) -> str:
    """Rank correlations of the gain with what is known of every network, over sources."""
    about = study.of_kind("network")
    gains = study.by_source(study.relative[MAIN])
    own = {
        "temperature": about["temperature"].astype(float),
        "error": 1.0 - about["accuracy"].astype(float),
        "n_classes": about["n_classes"].astype(float),
    }
    lines = []
    for name, values in own.items():
        other = study.by_source(values).reindex(gains.index)
        if len(gains) <= _FEWEST_TO_CORRELATE or other.nunique() == 1:
            continue
        correlation = spearmanr(gains, other).statistic
        lines.append([_HERE[name], len(gains), _correlation(float(correlation), len(gains))])
    return _table(lines, ["gain with", "sources", "rank correlation"])


def _correlation(value: float, n: int) -> str:
    """With Fisher's interval, and the variance of rank correlations of Bonett and Wright."""
    reach = norm.isf(0.025) * np.sqrt((1 + value**2 / 2) / max(n - 3, 1))
    low, high = np.tanh(np.arctanh(np.clip(value, -0.999, 0.999)) + np.array([-reach, reach]))
    return f"{value:+.2f} ({low:+.2f} to {high:+.2f})"


def trainings_table(study: Study) -> str:
    """A line for each training: accuracy, temperature and what each map gains."""
    gains = {map_: study.trained(map_) for map_ in OTHERS}
    lines = []
    for network, options in gains[MAIN].items():
        for option in sorted(options, key=list(OPTIONS).index):
            about = study.networks.loc[f"{network}_{option}"]
            told = [_short(gains[map_][network][option]) for map_ in OTHERS]
            numbers = [f"{100 * float(about['accuracy']):.1f}", f"{float(about['loss']):.4f}"]
            numbers += [f"{float(about['temperature']):.2f}"]
            lines.append([network, OPTIONS[option], *numbers, *told, verdict_of(options[option])])
    columns = ["network", "changed", "accuracy %", "log-loss, one temperature", "temperature"]
    return _table(lines, [*columns, *OTHERS, "verdict"])


def attributes_table(study: Study) -> str:
    """What is known of each network, those that were trained for this left out."""
    lines = [
        [name, *attributes_of(str(name))]
        for name in study.networks[study.networks["kind"] != TRAINED].index
    ]
    columns = ["network", "architecture", "family", "year", "recipe", "loss", "augmentation"]
    return _table(lines, [*columns, "epochs"]).replace(f" {NOT_KNOWN} ", " - ")


def _short(gain: Gain | None) -> str:
    if gain is None:
        return ""
    return f"{percent(gain.value)} ({percent(gain.low)} to {percent(gain.high)})"


def _table(lines: Sequence[Sequence[object]], columns: list[str]) -> str:
    return markdown(pd.DataFrame(lines, columns=columns)) if lines else "None."
