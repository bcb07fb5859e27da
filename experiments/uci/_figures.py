"""The paper's figures from the tables, the rows and the examples."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from dircal import CanonicalParameters
from dircal.plots import (
    BeforeAfterDisplay,
    CalibrationMapDisplay,
    HyperparameterDisplay,
    PassRateDisplay,
    RankDisplay,
    ScoreBoxDisplay,
)
from experiments._pictures import Panel, Picture, rank_panel, to_svg
from experiments._shared.files import write_whole

from ._calibrate import MEASURES
from ._collect import example_name
from ._example_map import read_map
from ._grid import EXAMPLES
from ._methods import PAPER_METHODS
from ._results import Results
from ._scheme import Scheme
from ._study import PASS, Study
from ._tables import printed

__all__ = [
    "CLASS_NAMES",
    "FIGURES",
    "N_PRINTED",
    "PARTS_OF_S6",
    "draw_figures",
    "figure_path",
    "map_display",
]

N_PRINTED = 231
"""Pairs of the paper, nominally; its Friedman statistic implies between 215 and 222."""
CLASS_NAMES: Mapping[str, Sequence[str]] = {
    "abalone": ("female", "infant", "male"),
    "balance-scale": ("balanced", "left", "right"),
    "car": ("acceptable", "good", "unacceptable", "very good"),
}
# Methods from top to bottom as the paper's figures have them.
_S1 = (("Uncal", "FreqB", "WidB", "Isot"), ("TempS", "Beta", "DirL2"))
_S2 = ("Uncal", "Isot", "TempS", "DirL2")
_N_BINS = 15
# Those of Friedman's test that the paper prints.
_PRINTED_P = {"p-cw-ECE": "7.54e-85", "log-loss": "4.39e-77", "naive Bayes": "6.71e-14"}
PARTS_OF_S6 = dict(
    zip(
        ("accuracy", "Brier", "log-loss", "MCE", "conf-ECE", "cw-ECE", "p-conf-ECE", "p-cw-ECE"),
        "abcdefgh",
        strict=True,
    )
)

Draws = Callable[[Study], Picture | Scheme | None]


def figure_path(name: str) -> str:
    """Where a figure is, seen from the page."""
    return f"figures/figure_{name}.svg"


def draw_figures(results: Results) -> None:
    """Write every figure that the results have the numbers of."""
    study = Study(results)
    for name, make in FIGURES.items():
        picture = make(study)
        if picture is not None:
            write_whole(results.folder / figure_path(name), to_svg(picture.draw()))


def _map(study: Study) -> Picture | None:
    stored = read_map(study.results)
    if stored is None:
        return None
    return Picture((Panel(map_display(stored[0])),))


def map_display(parameters: CanonicalParameters) -> CalibrationMapDisplay:
    """What one map does to the triangle of the three classes of abalone."""
    return CalibrationMapDisplay.from_calibrator(parameters, class_names=CLASS_NAMES["abalone"])


def _summary(study: Study) -> Picture:
    measure = "p-cw-ECE"
    panels = (
        rank_panel(study.ranking(measure), f"(a) {measure}", "pairs"),
        _passed_panel(study, measure, "method", "(b) calibrators"),
        _passed_panel(study, measure, "classifier", "(c) classifiers, uncalibrated"),
    )
    return Picture(panels, ((0, 0), (1, 2)), (8.8, 6.4))


def _ranks(measure: str) -> Draws:
    """Ours, and what follows from the printed average ranks."""

    def make(study: Study) -> Picture:
        paper = printed("ranks").set_index(["measure", "classifier"]).loc[(measure, "average")]
        name = f"({PARTS_OF_S6[measure]}) {measure}"
        panels = (
            rank_panel(study.ranking(measure), f"{name}, ours", "pairs"),
            _printed_panel(paper, N_PRINTED, f"{name}, printed: {_told(measure)}{N_PRINTED} pairs"),
        )
        return Picture(panels, ((0, 1),), (9.6, 2.6))

    return make


def _ranks_of_naive_bayes(study: Study) -> Picture | None:
    if (study.means.index.get_level_values("classifier") == "nbayes").sum() < 2:
        return None
    paper = printed("naive_bayes")
    averages = paper.groupby("method")["rank"].mean()
    n = paper["dataset"].nunique()
    ours = study.ranking("log-loss", classifier="nbayes")
    panels = (
        rank_panel(ours, "(a) log-loss after naive Bayes, ours", "datasets"),
        _printed_panel(averages, n, f"printed: {_told('naive Bayes')}{n} datasets"),
    )
    return Picture(panels, ((0, 1),), (9.6, 2.6))


def _ranks_of_classifiers(measures: Sequence[str], first: str) -> Draws:
    def make(study: Study) -> Picture:
        letters = [chr(ord(first) + i) for i in range(len(measures))]
        panels = tuple(
            rank_panel(study.ranking_of_classifiers(measure), f"({letter}) {measure}", "datasets")
            for letter, measure in zip(letters, measures, strict=True)
        )
        return Picture(panels, tuple((i,) for i in range(len(panels))), (7.4, 2.7 * len(panels)))

    return make


def _told(name: str) -> str:
    return f"Friedman p = {_PRINTED_P[name]}, " if name in _PRINTED_P else ""


def _printed_panel(ranks: "pd.Series[float]", n: int, title: str) -> Panel:
    values = [float(ranks[method]) for method in PAPER_METHODS]
    return Panel(RankDisplay.from_ranks(values, n, names=PAPER_METHODS), title)


def _passed(by: str, height: float) -> Draws:
    def make(study: Study) -> Picture:
        panels = (
            _passed_panel(study, "p-conf-ECE", by, "(a) p-conf-ECE"),
            _passed_panel(study, "p-cw-ECE", by, "(b) p-cw-ECE"),
        )
        return Picture(panels, ((0, 1),), (8.8, height))

    return make


def _passed_panel(study: Study, measure: str, by: str, title: str) -> Panel:
    shares = study.passed(measure, by)
    if by == "method":
        shares = shares[[name for name in shares.index if name in PAPER_METHODS]]
    tests = study.tests(measure, by)
    unit = ["dataset", "classifier"] if by == "method" else ["dataset"]
    n = len(tests[unit].drop_duplicates())
    display = PassRateDisplay.from_shares(shares.to_dict(), n, alpha=PASS)
    told = f"{n} {'pairs' if by == 'method' else 'datasets'}"
    return Panel(display, title, f"share of tests with p > {PASS:g}, mean over {told}")


def _hyperparameters(study: Study) -> Picture:
    counts = {
        "(a) strength of DirL2": "DirL2",
        "(b) bins of FreqB": "FreqB",
        "(c) bins of WidB": "WidB",
    }
    chosen = {title: study.chosen(method).to_dict() for title, method in counts.items()}
    return Picture((Panel(HyperparameterDisplay.from_counts(chosen)),))


def _reliability(
    example: tuple[str, str], methods: Sequence[str], with_confidence: bool = True
) -> Draws:
    """Bins of all test folds together, with gap bars half as wide as the bins."""

    def make(study: Study) -> Picture | None:
        bins = study.example(example_name(*example, "bins"))
        if bins.empty:
            return None
        frame = _bins_frame(bins, methods, CLASS_NAMES[example[0]], with_confidence)
        display = BeforeAfterDisplay.from_frame(frame)
        return Picture((Panel(display, options={"counts": "none", "gap_width": 0.5}),))

    return make


def _bins_frame(
    bins: pd.DataFrame, methods: Sequence[str], names: Sequence[str], with_confidence: bool
) -> dict[str, list[Any]]:
    """Stored bins as `BeforeAfterDisplay.to_frame` has them."""
    titles = {"confidence": "confidence"} if with_confidence else {}
    titles |= {str(j): name for j, name in enumerate(names)}
    parts = [
        bins[(bins["method"] == method) & (bins["curve"] == curve)].assign(curve=title)
        for method in methods
        for curve, title in titles.items()
    ]
    table = pd.concat(parts).rename(columns={"rows": "count"})
    table = table.assign(lower=table["bin"] / _N_BINS, upper=(table["bin"] + 1) / _N_BINS)
    frame: dict[str, list[Any]] = table.to_dict("list")
    return frame


def _boxes(study: Study) -> Picture | None:
    dataset, classifier = EXAMPLES[1]
    spreads = study.example(example_name(dataset, classifier, "spreads"))
    if spreads.empty:
        return None
    names = dict(enumerate(CLASS_NAMES[dataset]))
    table = pd.concat([spreads[spreads["method"] == method] for method in _S2])
    table = table.assign(true=table["true_class"].map(names), predicted=table["column"].map(names))
    frame = table.rename(columns={"rows": "n"}).to_dict("list")
    return Picture((Panel(ScoreBoxDisplay.from_frame(frame)),))


_MLP, _ADAS = EXAMPLES

FIGURES: dict[str, Draws] = {
    "2a": _map,
    "3": _summary,
    "s1_1": _reliability(_MLP, _S1[0]),
    "s1_2": _reliability(_MLP, _S1[1]),
    "s2": _reliability(_ADAS, _S2, with_confidence=False),
    "s3": _boxes,
    "s4": lambda study: Scheme(),
    "s5a": _ranks_of_naive_bayes,
    **{f"s6{part}": _ranks(measure) for measure, part in PARTS_OF_S6.items()},
    "s7": _passed("method", 2.9),
    "s8": _hyperparameters,
    "s9_1": _ranks_of_classifiers(MEASURES[:4], "a"),
    "s9_2": _ranks_of_classifiers(MEASURES[4:], "e"),
    "s10": _passed("classifier", 3.9),
}
