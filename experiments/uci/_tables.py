"""Stage four: the paper's tables from the rows, with the printed numbers beside ours."""

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pandas as pd
from scipy.stats import rankdata

from ._calibrate import MEASURES
from ._classifiers import CLASSIFIERS
from ._grid import EXAMPLES
from ._methods import LEGACY, OURS, PAPER_METHODS
from ._results import Results
from ._study import Ranking, Study, Temperature

__all__ = ["REACH", "TABLES", "can_be_ranked", "make_tables", "printed"]

_HYPERPARAMETERS = ("DirL2", "FreqB", "WidB")
_AGAINST = ("DirL2", "Isot", "Uncal")
REACH = "reach of "
"""Before the name of a share: what its interval adds to either side."""


def printed(name: str) -> pd.DataFrame:
    """Numbers of the paper."""
    return pd.read_csv(Path(__file__).parent / "printed" / f"{name}.csv")


def can_be_ranked(results: Results) -> bool:
    """Whether two datasets and two classifiers have been run."""
    cells = results.read("cells.csv")
    return not cells.empty and min(cells[["dataset", "classifier"]].nunique()) >= 2


def make_tables(results: Results) -> None:
    """Write every table; classifiers without rows are left out."""
    Study(results).write("tables", TABLES)


def ranks(study: Study) -> pd.DataFrame:
    """Tables 1, 2 and S5-S12: mean rank of each method for each classifier.

    A method of ours has the rank that it gets in the place of DirL2.
    """
    paper = printed("ranks").set_index(["measure", "classifier"])
    lines = []
    for measure in MEASURES:
        for temperature in get_args(Temperature):
            for classifier in (*CLASSIFIERS, "average"):
                ranking = _ranking(study, measure, temperature, classifier)
                if ranking is None:
                    continue
                theirs = paper.loc[(measure, classifier)]
                about = [theirs["table"], measure, temperature, classifier, ranking.n]
                lines += [
                    [*about, method, round(ranking.ranks[method], 4), theirs[method]]
                    for method in PAPER_METHODS
                ]
                if temperature == "converged":
                    lines += [
                        [*about, method, _instead(study, method, measure, classifier), ""]
                        for method in OURS
                    ]
    columns = ["table", "measure", "temperature", "classifier", "n", "method", "rank", "printed"]
    return pd.DataFrame(lines, columns=columns)


def tests(study: Study) -> pd.DataFrame:
    """Friedman's test of every ranking, and below 0.005 which methods differ."""
    lines = []
    for measure in MEASURES:
        for temperature in get_args(Temperature):
            for classifier in ("average", *CLASSIFIERS):
                ranking = _ranking(study, measure, temperature, classifier)
                if ranking is not None:
                    lines.append([measure, temperature, classifier, *_test(ranking)])
    columns = ["measure", "temperature", "classifier", "n", "statistic", "pvalue"]
    columns += ["critical_difference", "order", "groups"]
    return pd.DataFrame(lines, columns=columns)


def _ranking(
    study: Study, measure: str, temperature: Temperature, classifier: str
) -> Ranking | None:
    """Of one classifier, or of all; None where fewer than two datasets are finished."""
    one = _one(classifier)
    if one is not None and (study.means.index.get_level_values("classifier") == one).sum() < 2:
        return None
    return study.ranking(measure, temperature, one)


def _instead(study: Study, method: str, measure: str, classifier: str) -> float:
    return round(study.rank_instead(method, measure, _one(classifier)), 4)


def _one(classifier: str) -> str | None:
    return None if classifier == "average" else classifier


def _test(ranking: Ranking) -> list[object]:
    order = " < ".join(f"{name} {ranking.ranks[name]:.2f}" for name in ranking.order)
    found = [ranking.n, f"{ranking.statistic:.4g}", f"{ranking.pvalue:.3g}"]
    if not ranking.is_significant:
        return [*found, "", order, ""]
    groups = " | ".join(" ~ ".join(group) for group in ranking.groups())
    return [*found, f"{ranking.difference:.4f}", order, groups]


def naive_bayes(study: Study) -> pd.DataFrame:
    """Table S4: log-loss of naive Bayes by dataset, with ranks."""
    paper = printed("naive_bayes").set_index(["dataset", "method"])
    ours = study.means.xs("nbayes", level="classifier")["log-loss"]
    lines = []
    for dataset, values in ours.iterrows():
        for method, rank in zip(PAPER_METHODS, _rank(values[list(PAPER_METHODS)]), strict=True):
            known = (dataset, method) in paper.index
            theirs = paper.loc[(dataset, method)].tolist() if known else ["", ""]
            lines.append([dataset, method, round(values[method], 4), rank, *theirs])
        lines += [[dataset, name, round(values[name], 4), "", "", ""] for name in (LEGACY, *OURS)]
    columns = ["dataset", "method", "value", "rank", "printed", "printed_rank"]
    return pd.DataFrame(lines, columns=columns)


def examples(study: Study) -> pd.DataFrame:
    """Tables S1 and S2; cw-ECE is the sum over classes here, as printed."""
    paper = printed("examples")
    classes = study.results.read("datasets.csv").set_index("dataset")["n_classes"]
    lines = []
    for dataset, classifier in EXAMPLES:
        if (dataset, classifier) not in study.means.index:
            continue
        own = paper[(paper["dataset"] == dataset) & (paper["classifier"] == classifier)]
        for measure, theirs in own.groupby("measure", sort=False):
            values = study.means.loc[(dataset, classifier), measure]
            values = values * (classes[dataset] if measure == "cw-ECE" else 1)
            theirs = theirs.set_index("method")
            for method, rank in zip(PAPER_METHODS, _rank(values[list(PAPER_METHODS)]), strict=True):
                about = [theirs["table"].iloc[0], dataset, classifier, measure, method]
                numbers = [round(values[method], 4), rank]
                lines.append([*about, *numbers, *theirs.loc[method, ["value", "rank"]]])
            about = [theirs["table"].iloc[0], dataset, classifier, measure]
            lines += [[*about, name, round(values[name], 4), "", "", ""] for name in OURS]
    columns = ["table", "dataset", "classifier", "measure", "method", "value", "rank"]
    return pd.DataFrame(lines, columns=[*columns, "printed", "printed_rank"])


def _rank(values: pd.Series) -> list[float]:
    ranks: list[float] = rankdata(values.round(12)).tolist()
    return ranks


def today(study: Study) -> pd.DataFrame:
    """Methods of ours against the seven: ranks of all nine, and how often ours are better."""
    lines = []
    for measure in MEASURES:
        ranking = study.ranking_of_all(measure)
        shares = [
            f"{share(measure, method, than):.4f}"
            for share in (study.share_better, study.reach_better)
            for method in OURS
            for than in _AGAINST
        ]
        ranks_ = [f"{ranking.ranks[name]:.4f}" for name in (*PAPER_METHODS, *OURS)]
        difference = f"{ranking.difference:.4f}"
        lines.append([measure, ranking.n, f"{ranking.pvalue:.3g}", difference, *ranks_, *shares])
    columns = ["measure", "n", "pvalue", "critical_difference", *PAPER_METHODS, *OURS]
    columns += [
        f"{what}{method} better than {than}"
        for what in ("", REACH)
        for method in OURS
        for than in _AGAINST
    ]
    return pd.DataFrame(lines, columns=columns)


def datasets(study: Study) -> pd.DataFrame:
    """Table S3: the datasets, with how often each was run."""
    ours = study.results.read("datasets.csv").merge(
        printed("datasets"), on="dataset", suffixes=("", "_printed")
    )
    often = study.repetitions.groupby("dataset").agg(["count", "min", "max"])
    often.columns = pd.Index(["classifiers", "fewest_repetitions", "most_repetitions"])
    return ours.merge(often.reset_index(), on="dataset")


def passed(study: Study) -> pd.DataFrame:
    """Figures 3 and S7, S10 in numbers: shares of tests with a p-value above 0.05."""
    lines = []
    for measure in ("p-conf-ECE", "p-cw-ECE"):
        for by in ("method", "classifier"):
            reach = study.reach_passed(measure, by)
            lines += [
                [measure, by, name, round(share, 4), f"{reach[name]:.4f}"]
                for name, share in study.passed(measure, by).items()
            ]
    return pd.DataFrame(lines, columns=["measure", "by", "name", "share", "reach"])


def hyperparameters(study: Study) -> pd.DataFrame:
    """Figure S8 in numbers: how often each value was chosen."""
    lines = []
    for method in _HYPERPARAMETERS:
        counts, reach = study.chosen(method), study.reach_chosen(method)
        lines += [
            [method, f"{v:g}", n, round(n / counts.sum(), 6), f"{reach[v]:.6f}"]
            for v, n in counts.items()
        ]
    return pd.DataFrame(lines, columns=["method", "value", "count", "share", "reach"])


def classifiers(study: Study) -> pd.DataFrame:
    """Figure S9 in numbers: ranks of the classifiers without calibration."""
    lines = []
    for measure in MEASURES:
        ranking = study.ranking_of_classifiers(measure)
        best, worst = ranking.among_best(), ranking.among_worst()
        about = [measure, ranking.n, f"{ranking.pvalue:.3g}", f"{ranking.difference:.4f}"]
        for name in ranking.order:
            groups = [int(name in best), int(name in worst)]
            lines.append([*about, name, round(ranking.ranks[name], 4), *groups])
    columns = ["measure", "n", "pvalue", "critical_difference", "classifier", "rank"]
    return pd.DataFrame(lines, columns=[*columns, "among_best", "among_worst"])


def seconds(study: Study) -> pd.DataFrame:
    """How long the methods took, all three fits of a cell and the choice of strengths included."""
    return study.seconds().round(4).reset_index()


TABLES: dict[str, Callable[[Study], pd.DataFrame]] = {
    "ranks": ranks,
    "tests": tests,
    "naive_bayes": naive_bayes,
    "examples": examples,
    "today": today,
    "datasets": datasets,
    "passed": passed,
    "hyperparameters": hyperparameters,
    "classifiers": classifiers,
    "seconds": seconds,
}
