"""Stage three: tables in the form of the paper's from the rows."""

from collections.abc import Callable
from functools import cache

import pandas as pd

from experiments._shared.measures import HIGHER_IS_BETTER, MEASURES
from experiments._shared.ranking import Ranking

from ._methods import GENERAL, METHODS, PAPER_METHODS
from ._printed import printed
from ._results import Results
from ._study import FAMILIES, Study

__all__ = ["TABLES", "as_printed", "make_tables"]

TABLE_NUMBERS = {
    "log-loss": "S13",
    "Brier": "S14",
    "conf-ECE": "S15",
    "cw-ECE": "S16",
    "MCE": "S17",
    "accuracy": "S18",
    "p-conf-ECE": "S19",
    "p-cw-ECE": "S20",
}
"""Where the paper has each measure; tables 3 and 4 are S16 and S13 with fewer digits."""

_NEAR = ("VecS", "Dir-L2", "Dir-ODIR", "MS-ODIR", "SMS", "Bayes")


def make_tables(results: Results) -> None:
    """Write every table."""
    Study(results).write("tables", TABLES)


def as_printed(measure: str, value: float, n_classes: int) -> float:
    """The paper prints errors in percent and cw-ECE as the sum over classes."""
    if measure == "accuracy":
        return 100.0 * (1.0 - value)
    return value * n_classes if measure == "cw-ECE" else value


def scores(study: Study) -> pd.DataFrame:
    """Tables S13 to S20: every value, with the rank among the paper's methods on that file."""
    lines = []
    for measure, table in TABLE_NUMBERS.items():
        for network, values in study.values[measure].iterrows():
            about = study.networks.loc[network]
            ranked = PAPER_METHODS if about["logits"] else GENERAL
            own = values.reindex(list(ranked))
            ranks = own.round(12).rank(ascending=measure not in HIGHER_IS_BETTER)
            for method, value in values.dropna().items():
                number = f"{as_printed(measure, value, about['n_classes']):.6g}"
                rank = f"{ranks[method]:g}" if method in ranked else ""
                lines.append([table, measure, network, method, number, rank])
    return pd.DataFrame(lines, columns=["table", "measure", "network", "method", "value", "rank"])


def ranks(study: Study) -> pd.DataFrame:
    """Average ranks of each family of methods over the sources, beside the printed ones."""
    theirs = {measure: _printed_ranks(measure) for measure in MEASURES}
    lines = []
    for family in FAMILIES:
        for measure in MEASURES:
            ranking = study.ranking(measure, family)
            if ranking is None:
                continue
            for method, rank in ranking.ranks.items():
                known = theirs[measure].ranks if family == "paper" else {}
                number = f"{known[method]:.2f}" if method in known else ""
                lines.append([family, measure, ranking.n, method, f"{rank:.4f}", number])
    return pd.DataFrame(lines, columns=["family", "measure", "n", "method", "rank", "printed"])


@cache
def _printed_ranks(measure: str) -> Ranking:
    """Over the 14 networks that all tables have."""
    own = printed("scores")
    own = own[(own["measure"] == measure) & (own["network"] != "mnist_mlp")]
    values = own.pivot(index="network", columns="method", values="value")[list(PAPER_METHODS)]
    # Print has errors where we have accuracies.
    sign = -1.0 if measure == "accuracy" else 1.0
    return Ranking.of(sign * values, measure)


def tests(study: Study) -> pd.DataFrame:
    """Friedman's test of every ranking, and below 0.005 which methods differ (figure S11)."""
    lines = []
    for family in FAMILIES:
        for measure in MEASURES:
            ranking = study.ranking(measure, family)
            if ranking is not None:
                lines.append([family, measure, *_test(ranking)])
    for measure in MEASURES:
        lines.append(["printed", measure, *_test(_printed_ranks(measure))])
    columns = ["family", "measure", "n", "statistic", "pvalue", "critical_difference"]
    return pd.DataFrame(lines, columns=[*columns, "order", "groups"])


def _test(ranking: Ranking) -> list[object]:
    order = " < ".join(f"{name} {ranking.ranks[name]:.2f}" for name in ranking.order)
    found = [ranking.n, f"{ranking.statistic:.4g}", f"{ranking.pvalue:.3g}"]
    groups = " | ".join(" ~ ".join(group) for group in ranking.groups())
    told = groups if ranking.is_significant else ""
    return [*found, f"{ranking.difference:.4f}", order, told]


def replications(study: Study) -> pd.DataFrame:
    """Table S21: log-loss of VecS, MS-ODIR and MS-ODIR-zero, with the replications."""
    names = study.chosen(logits=True).append(study.chosen(logits=True, kind="replication"))
    lines = []
    for network in names:
        numbers = [
            study.of("log-loss", m).get(network) for m in ("VecS", "MS-ODIR", "MS-ODIR-zero")
        ]
        if not any(number is None for number in numbers):
            lines.append([network, *(f"{number:.5f}" for number in numbers)])
    return pd.DataFrame(lines, columns=["network", "VecS", "MS-ODIR", "MS-ODIR-zero"])


def closeness(study: Study) -> pd.DataFrame:
    """How close every fitted map is to temperature scaling: the paper's closing question."""
    lines = []
    for method in _NEAR:
        share = study.column(method, "identity_share")
        moved = study.differences(method, "TempS")["moved"]
        for network in share.index.intersection(moved.index):
            numbers = [f"{share[network]:.4f}", f"{moved[network]:.5f}"]
            lines.append([network, method, study.networks.loc[network, "n_classes"], *numbers])
    columns = ["network", "method", "n_classes", "identity_share", "distance_from_TempS"]
    return pd.DataFrame(lines, columns=columns).sort_values(columns[:2], kind="stable")


def choices(study: Study) -> pd.DataFrame:
    """The chosen strengths, and how many steps of the grid they are from its nearer edge."""
    table = study.choices.merge(study.fits[["network", "method", "grid"]], on=["network", "method"])
    table["steps_to_edge"] = table[["position", "n_values"]].apply(
        lambda line: min(line["position"] - 1, line["n_values"] - line["position"]), axis=1
    )
    return table.drop(columns=["position"])


def networks(study: Study) -> pd.DataFrame:
    """What was run."""
    often = study.fits.groupby("network")["method"].count()
    about = study.networks.drop(columns="sha256").assign(methods=often)
    return about.reset_index().sort_values(["n_classes", "network"], kind="stable")


def seconds(study: Study) -> pd.DataFrame:
    """Seconds of a core, choice of strengths included, by the number of classes and the grid."""
    fits = study.fits.merge(study.networks[["n_classes"]], left_on="network", right_index=True)
    fits["classes"] = pd.cut(
        fits["n_classes"],
        [0, 20, 100, 200, 10**9],
        labels=["2 to 20", "100", "155 and 200", "1000"],
    )
    fits = fits[fits["method"].isin(METHODS)]
    spent = fits.groupby(["classes", "grid", "method"], observed=True)["seconds"]
    table = spent.agg(["count", "mean", "max"]).round(3).reset_index()
    table["method"] = pd.Categorical(table["method"], list(METHODS))
    return table.sort_values(["classes", "grid", "method"])


TABLES: dict[str, Callable[[Study], pd.DataFrame]] = {
    "scores": scores,
    "ranks": ranks,
    "tests": tests,
    "replications": replications,
    "closeness": closeness,
    "choices": choices,
    "networks": networks,
    "seconds": seconds,
}
