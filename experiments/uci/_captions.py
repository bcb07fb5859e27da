"""The numbers that the captions of the figures tell, ours beside the printed ones."""

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from dircal import critical_difference
from dircal.plots import (
    BeforeAfterDisplay,
    CalibrationMapDisplay,
    HyperparameterDisplay,
    PassRateDisplay,
    RankDisplay,
    ScoreBoxDisplay,
)

from ._calibrate import MEASURES
from ._claims import SVCS, svcs_ahead
from ._collect import example_name
from ._example_map import read_map
from ._figures import CLASS_NAMES, FIGURES, N_PRINTED, PARTS_OF_S6, figure_path, map_display
from ._grid import EXAMPLES
from ._methods import PAPER_METHODS
from ._splits import N_FOLDS, N_INNER, N_REPETITIONS
from ._study import PASS, Ranking, Study
from ._tables import printed
from ._words import points, share

__all__ = ["captions"]

_CLASSIFIERS_OF_TEXT = ("mlp", "svc-linear", "forest", "svc-rbf", "nbayes", "adas")


def captions(study: Study, claims: pd.DataFrame) -> SimpleNamespace:
    """What the template of the figures asks for."""
    shares = study.passed("p-cw-ECE", "method")
    classifiers = study.passed("p-cw-ECE", "classifier")
    return SimpleNamespace(
        shown={name for name, make in FIGURES.items() if make(study) is not None},
        path=figure_path,
        how_to_read=SimpleNamespace(
            map=CalibrationMapDisplay.how_to_read.rpartition(" For two")[0],
            rank=RankDisplay.how_to_read,
            passed=PassRateDisplay.how_to_read,
            reliability=BeforeAfterDisplay.how_to_read.rpartition(" A bracket")[0],
            boxes=ScoreBoxDisplay.how_to_read,
            hyperparameters=HyperparameterDisplay.how_to_read,
        ),
        alpha=PASS,
        part=PARTS_OF_S6,
        map=_map(study),
        ranks={measure: _ranks(study, measure) for measure in MEASURES},
        naive_bayes=_naive_bayes(study),
        dirl2=share(shares["DirL2"], study.reach_passed("p-cw-ECE", "method")["DirL2"]),
        svc=_places(classifiers, SVCS),
        svc_ahead=svcs_ahead(study),
        n_classifiers=len(classifiers),
        mlp=_about_claims(claims, "MLP"),
        adas=_about_claims(claims, "AdaBoost"),
        modes=_modes(study),
        groups=_groups(study),
        n_compared=study.tests("p-cw-ECE", "classifier")["dataset"].nunique(),
        order_of_classifiers=_with_shares(
            classifiers, study.reach_passed("p-cw-ECE", "classifier")
        ),
        pooled=_pooled(study),
    )


def _map(study: Study) -> SimpleNamespace | None:
    """What the map of figure 2a does to its interpretation points, in words."""
    stored = read_map(study.results)
    if stored is None:
        return None
    parameters, strength = stored
    names = CLASS_NAMES["abalone"]
    frame = map_display(parameters).to_frame()
    # The last four points are the interpretation points, the very last the centre.
    after = np.array([frame[f"after_{name}"][-4:-1] for name in names]).T
    told = "; ".join(
        f"without {name} to {_vector(point)}" for name, point in zip(names, after, strict=True)
    )
    return SimpleNamespace(
        strength=f"{strength:g}",
        c=_vector(parameters.c),
        n_maps=N_REPETITIONS * N_FOLDS * N_INNER,
        points=f"The points on the sides go, {told} ({', '.join(names)}).",
    )


def _vector(values: Any) -> str:
    return f"({', '.join(f'{value:.2f}' for value in values)})"


def _printed_ranking(ranks: "pd.Series[float]", n: int) -> Ranking:
    """As if the printed average ranks were ours; they were significant."""
    values = ranks[list(PAPER_METHODS)].astype(float)
    difference = critical_difference(len(values), n, method="bonferroni_dunn")
    return Ranking(values, n, np.nan, 0.0, difference)


def _ranks(study: Study, measure: str) -> str:
    paper = printed("ranks").set_index(["measure", "classifier"]).loc[(measure, "average")]
    return _compare(study.ranking(measure), _printed_ranking(paper, N_PRINTED))


def _naive_bayes(study: Study) -> str:
    if FIGURES["s5a"](study) is None:
        return ""
    paper = printed("naive_bayes")
    ranking = _printed_ranking(paper.groupby("method")["rank"].mean(), paper["dataset"].nunique())
    return _compare(study.ranking("log-loss", classifier="nbayes"), ranking)


def _compare(ours: Ranking, theirs: Ranking) -> str:
    """Which orders are kept, and which methods stand with the best."""
    pairs = list(combinations(PAPER_METHODS, 2))
    same = sum(
        (ours.ranks[a] - ours.ranks[b]) * (theirs.ranks[a] - theirs.ranks[b]) > 0 for a, b in pairs
    )
    return (
        f"{same} of {len(pairs)} pairs of methods stand in the printed order, however close. Best, "
        f"and not to be told from the best: ours {_best(ours)}; printed {_best(theirs)}."
    )


def _best(ranking: Ranking) -> str:
    group = ranking.among_best()
    ranks = ", ".join(
        f"{name} {ranking.ranks[name]:.2f}" for name in ranking.order if name in group
    )
    return f"{ranks} (critical difference {ranking.difference:.2f})"


def _with_shares(shares: "pd.Series[float]", reach: "pd.Series[float]") -> str:
    return ", ".join(f"{name} {share(one, reach[name])}" for name, one in shares.items())


def _pooled(study: Study) -> str:
    """The conf-ECE of the first example without calibration: of all rows, and the mean of folds."""
    if FIGURES["s1_1"](study) is None:
        return ""
    bins = study.example(example_name(*EXAMPLES[0], "bins"))
    own = bins[(bins["method"] == "Uncal") & (bins["curve"] == "confidence")]
    gaps = (own["frequency"] - own["mean_predicted"]).abs() * own["rows"]
    mean = study.means.loc[EXAMPLES[0], ("conf-ECE", "Uncal")]
    return f"{gaps.sum() / own['rows'].sum():.3f} of all rows, {mean:.3f} in the mean over folds"


def _places(shares: "pd.Series[float]", names: tuple[str, ...]) -> str:
    """At which places some classifiers stand."""
    order = list(shares.index)
    return " and ".join(str(order.index(name) + 1) for name in names if name in order) or "nowhere"


def _about_claims(claims: pd.DataFrame, about: str) -> SimpleNamespace:
    own = claims[claims["text"].str.startswith(about)]
    asked = own[own["holds"] != ""]
    broken = asked[asked["holds"] == "no"]
    return SimpleNamespace(
        n=len(asked),
        yes=int((asked["holds"] == "yes").sum()),
        range=f"{own['claim'].min()} to {own['claim'].max()}",
        broken=broken[["claim", "text", "numbers"]].to_dict("records"),
    )


def _modes(study: Study) -> str:
    told = []
    for method in ("DirL2", "FreqB", "WidB"):
        counts, reach = study.chosen(method), study.reach_chosen(method)
        mode = counts.idxmax()
        often = share(counts.max() / counts.sum(), reach[mode])
        lead = points(*study.lead_of(method, mode))
        told.append(f"{method} {mode:g} ({often} of choices, {lead} points before the next)")
    strengths = study.chosen("DirL2")
    reach = study.reach_chosen("DirL2").get(1e-7, float("nan"))
    least = share(strengths.get(1e-7, 0) / strengths.sum(), reach)
    return f"{', '.join(told)}; DirL2 chooses 1e-7 in {least}"


def _groups(study: Study) -> str:
    """How often classifiers are in the best and in the worst group."""
    rankings = [study.ranking_of_classifiers(measure) for measure in MEASURES]
    told = []
    for name in _CLASSIFIERS_OF_TEXT:
        if name in rankings[0].ranks.index:
            best = sum(name in ranking.among_best() for ranking in rankings)
            worst = sum(name in ranking.among_worst() for ranking in rankings)
            told.append(f"{name} {best} times in the best and {worst} in the worst")
    return f"{'; '.join(told)}; of {len(rankings)} measures"
