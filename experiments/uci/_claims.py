"""Every result that sections 4.1, C, D and E of the paper claim, asked of our rows.

A claim is put in our words. Where the paper speaks of a picture, the question that we ask of the
numbers behind it is part of the claim.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from ._calibrate import MEASURES
from ._classifiers import CLASSIFIERS
from ._collect import example_name
from ._study import Ranking, Study
from ._words import points, share

__all__ = ["SVCS", "claims", "svcs_ahead"]

SVCS = ("svc-linear", "svc-rbf")
"""They have Platt scaling inside."""

_MLP = ("balance-scale", "mlp")
_ADAS = ("car", "adas")
_ACCEPTABLE, _GOOD, _UNACCEPTABLE, _VERY_GOOD = range(4)
_SIGNIFICANTLY_BEST = ("log-loss", "p-cw-ECE", "accuracy")
_BEST_GROUP = tuple(name for name in MEASURES if name not in _SIGNIFICANTLY_BEST)

Answer = tuple[bool, str]


@dataclass(frozen=True)
class _Claim:
    section: str
    text: str
    needs: tuple[str | tuple[str, str], ...]
    ask: Callable[[Study], Answer]

    def answer(self, study: Study) -> list[str]:
        """Yes or no, and why; neither where the rows do not say."""
        pairs = study.means.index
        known = {*pairs, *pairs.get_level_values("classifier")}
        if not known.issuperset(self.needs):
            return ["", "not run"]
        holds, numbers = self.ask(study)
        return ["yes" if holds else "no", numbers]


_CLAIMS: list[_Claim] = []


def _claim(
    section: str, text: str, *needs: str | tuple[str, str]
) -> Callable[[Callable[[Study], Answer]], None]:
    """Put a question on the list, in the order of the paper, with the classifiers it is about."""

    def keep(ask: Callable[[Study], Answer]) -> None:
        _CLAIMS.append(_Claim(section, text, needs, ask))

    return keep


def claims(study: Study) -> pd.DataFrame:
    """The claims with yes or no and the numbers that decide."""
    lines = [
        [position, claim.section, claim.text, *claim.answer(study)]
        for position, claim in enumerate(_CLAIMS, start=1)
    ]
    return pd.DataFrame(lines, columns=["claim", "section", "text", "holds", "numbers"])


def svcs_ahead(study: Study) -> str:
    """How much more often the two SVCs pass the test of all classes than the others."""
    others = [name for name in study.passed("p-cw-ECE", "classifier").index if name not in SVCS]
    told = ", ".join(
        f"{name} {points(*study.passed_ahead('p-cw-ECE', name, others))}"
        for name in SVCS
        if name in study.means.index.get_level_values("classifier")
    )
    return f"less the mean of the other {len(others)}, in points: {told or 'not run'}"


# Section 4.1


@_claim("4.1", "Friedman's test finds differences by p-cw-ECE (printed p 7.54e-85)")
def _(study: Study) -> Answer:
    return _friedman(study, "p-cw-ECE")


@_claim("4.1", "Friedman's test finds differences by log-loss (printed p 4.39e-77)")
def _(study: Study) -> Answer:
    return _friedman(study, "log-loss")


@_claim("4.1", "DirL2 is among the best calibrators by every measure")
def _(study: Study) -> Answer:
    return _in_best_group(study, MEASURES)


@_claim("4.1", "DirL2 has the best average rank by log-loss, p-cw-ECE and accuracy")
def _(study: Study) -> Answer:
    rankings = {name: study.ranking(name) for name in _SIGNIFICANTLY_BEST}
    first = {ranking.order[0] for ranking in rankings.values()}
    return first == {"DirL2"}, _pairs({name: _two_best(one) for name, one in rankings.items()})


@_claim("4.1", "DirL2 is in the group of the best by the other five measures")
def _(study: Study) -> Answer:
    return _in_best_group(study, _BEST_GROUP)


@_claim("4.1", "DirL2 is found calibrated in more than 60 % of the p-cw-ECE tests")
def _(study: Study) -> Answer:
    passed = study.passed("p-cw-ECE", "method")
    return passed["DirL2"] > 0.6, _shares(passed, study.reach_passed("p-cw-ECE", "method"))


@_claim(
    "4.1",
    "The SVCs, which have Platt scaling inside, pass p-cw-ECE more often than the median",
    *CLASSIFIERS,
)
def _(study: Study) -> Answer:
    passed = study.passed("p-cw-ECE", "classifier")
    both = passed[list(SVCS)]
    reach = study.reach_passed("p-cw-ECE", "classifier")
    told = f"{_shares(passed, reach)}; {svcs_ahead(study)}"
    return bool((both > passed.median()).all()), told


# Section C: MLP on balance-scale, figure S1 and table S1


@_claim("C", "MLP, Uncal: by confidence the gaps are small (mean gap at most 0.1)", _MLP)
def _(study: Study) -> Answer:
    gap = _mean_gap(study, _MLP, "Uncal", "confidence")
    return gap <= 0.1, f"mean gap {gap:.3f}"


@_claim(
    "C", "MLP, Uncal: class 1 is underconfident (frequency above prediction from 0.2 upwards)", _MLP
)
def _(study: Study) -> Answer:
    found = _signed_gap(study, _MLP, "Uncal", "0", 0.2, 1.0)
    return found > 0, f"frequency minus prediction {found:+.3f}"


@_claim("C", "MLP, Uncal: classes 2 and 3 are overconfident between 0.2 and 0.5", _MLP)
def _(study: Study) -> Answer:
    found = [_signed_gap(study, _MLP, "Uncal", name, 0.2, 0.5) for name in ("1", "2")]
    return max(found) < 0, _signed(found)


@_claim("C", "MLP, Uncal: classes 2 and 3 are underconfident above 0.5", _MLP)
def _(study: Study) -> Answer:
    found = [_signed_gap(study, _MLP, "Uncal", name, 0.5, 1.0) for name in ("1", "2")]
    return min(found) > 0, _signed(found)


@_claim(
    "C", "MLP, Uncal: by confidence the gaps of the classes cancel in part (below their sum)", _MLP
)
def _(study: Study) -> Answer:
    together = _mean_gap(study, _MLP, "Uncal", "confidence")
    apart = sum(_mean_gap(study, _MLP, "Uncal", name) for name in ("0", "1", "2"))
    return together < apart, f"{together:.3f} by confidence, {apart:.3f} summed over classes"


@_claim("C", "MLP: DirL2 and Isot have the two lowest conf-ECE and cw-ECE", _MLP)
def _(study: Study) -> Answer:
    return _lowest_two(study, _MLP)


@_claim("C", "MLP: FreqB makes the calibration worse than without", _MLP)
def _(study: Study) -> Answer:
    return _worse_than_uncal(study, _MLP, "FreqB")


@_claim("C", "MLP: TempS brings classes 2 and 3 closer to the frequencies above 0.6", _MLP)
def _(study: Study) -> Answer:
    return _closer(study, _MLP, "TempS", ("1", "2"), 0.6, 1.0)


@_claim("C", "MLP: TempS makes classes 2 and 3 worse between 0.2 and 0.6", _MLP)
def _(study: Study) -> Answer:
    closer, numbers = _closer(study, _MLP, "TempS", ("1", "2"), 0.2, 0.6, every=False)
    return not closer, numbers


@_claim("C", "MLP: TempS reduces conf-ECE and cw-ECE", _MLP)
def _(study: Study) -> Answer:
    worse, numbers = _worse_than_uncal(study, _MLP, "TempS", every=False)
    return not worse, numbers


# Section C: AdaBoost on car, figures S2 and S3 and table S2


@_claim(
    "C",
    "AdaBoost, Uncal: classes 1, 2 and 3 are underconfident (above 0.5, where they reach)",
    _ADAS,
)
def _(study: Study) -> Answer:
    found = {}
    for name in ("0", "1", "2"):
        table = _curve(study, _ADAS, "Uncal", name)
        top = table[table["mean_predicted"] > min(0.5, 0.8 * table["mean_predicted"].max())]
        gap = (top["frequency"] - top["mean_predicted"]) * top["rows"]
        found[f"class {int(name) + 1}"] = gap.sum() / top["rows"].sum()
    return min(found.values()) > 0, _pairs({key: f"{gap:+.3f}" for key, gap in found.items()})


@_claim("C", "AdaBoost, Uncal: probabilities of classes 1, 2 and 3 are never above 0.7", _ADAS)
def _(study: Study) -> Answer:
    largest = _spreads(study, _ADAS, "Uncal").groupby("column")["largest"].max()
    return bool((largest[:3] <= 0.7).all()), _by_class(largest)


@_claim("C", "AdaBoost: Isot and DirL2 give classes 1, 2 and 3 higher largest probabilities", _ADAS)
def _(study: Study) -> Answer:
    largest = {
        method: _spreads(study, _ADAS, method).groupby("column")["largest"].max()
        for method in ("Uncal", "Isot", "DirL2")
    }
    higher = [(largest[name] > largest["Uncal"])[:3].all() for name in ("Isot", "DirL2")]
    return bool(all(higher)), "; ".join(f"{name}: {_by_class(m)}" for name, m in largest.items())


@_claim("C", "AdaBoost: DirL2 and Isot have the two lowest conf-ECE and cw-ECE", _ADAS)
def _(study: Study) -> Answer:
    return _lowest_two(study, _ADAS)


@_claim("C", "AdaBoost: TempS makes the calibration worse than without", _ADAS)
def _(study: Study) -> Answer:
    return _worse_than_uncal(study, _ADAS, "TempS")


@_claim("C", "AdaBoost: DirL2 spreads the probabilities most (mean standard deviation)", _ADAS)
def _(study: Study) -> Answer:
    spread = {
        method: _spreads(study, _ADAS, method)["sd"].mean()
        for method in ("Uncal", "Isot", "TempS", "DirL2")
    }
    best = max(spread, key=lambda name: spread[name])
    return best == "DirL2", _pairs({name: f"{value:.3f}" for name, value in spread.items()})


@_claim("C", "AdaBoost: DirL2 reduces the gap of prediction and frequency in every class", _ADAS)
def _(study: Study) -> Answer:
    pairs = [
        [_mean_gap(study, _ADAS, method, str(j)) for method in ("Uncal", "DirL2")] for j in range(4)
    ]
    numbers = ", ".join(f"{old:.3f} to {new:.3f}" for old, new in pairs)
    return all(new < old for old, new in pairs), f"classes 1 to 4: {numbers}"


@_claim("C", "AdaBoost: TempS reduces the error of class 1 and raises that of the others", _ADAS)
def _(study: Study) -> Answer:
    before = [_mean_gap(study, _ADAS, "Uncal", str(j)) for j in range(4)]
    after = [_mean_gap(study, _ADAS, "TempS", str(j)) for j in range(4)]
    better = [new < old for new, old in zip(after, before, strict=True)]
    numbers = ", ".join(f"{old:.3f} to {new:.3f}" for old, new in zip(before, after, strict=True))
    return better == [True, False, False, False], f"classes 1 to 4: {numbers}"


@_claim(
    "C",
    "AdaBoost: for good and very good rows Isot and DirL2 vary more than Uncal and TempS",
    _ADAS,
)
def _(study: Study) -> Answer:
    spread = {}
    for method in ("Uncal", "TempS", "Isot", "DirL2"):
        table = _spreads(study, _ADAS, method)
        spread[method] = table[table["true_class"].isin([_GOOD, _VERY_GOOD])]["sd"].mean()
    quiet = max(spread["Uncal"], spread["TempS"])
    numbers = _pairs({name: f"{value:.3f}" for name, value in spread.items()})
    return min(spread["Isot"], spread["DirL2"]) > quiet, numbers


@_claim("C", "AdaBoost, Uncal: acceptable rows get more probability for unacceptable", _ADAS)
def _(study: Study) -> Answer:
    table = _spreads(study, _ADAS, "Uncal")
    mean = table[table["true_class"] == _ACCEPTABLE].set_index("column")["mean"]
    numbers = f"{mean[_UNACCEPTABLE]:.3f} against {mean[_ACCEPTABLE]:.3f}"
    return mean[_UNACCEPTABLE] > mean[_ACCEPTABLE], numbers


@_claim("C", "AdaBoost: only DirL2 gives acceptable rows the highest mean for acceptable", _ADAS)
def _(study: Study) -> Answer:
    right, told = [], {}
    for method in ("Uncal", "Isot", "TempS", "DirL2"):
        table = _spreads(study, _ADAS, method)
        mean = table[table["true_class"] == _ACCEPTABLE].set_index("column")["mean"]
        told[method] = f"{mean[_ACCEPTABLE]:.3f} against {mean[_UNACCEPTABLE]:.3f}"
        if mean.idxmax() == _ACCEPTABLE:
            right.append(method)
    return right == ["DirL2"], _pairs(told)


# Section D: the worked example


@_claim(
    "D",
    "Naive Bayes, log-loss: Friedman's test finds differences (printed 73.8, p 6.71e-14)",
    "nbayes",
)
def _(study: Study) -> Answer:
    return _friedman(study, "log-loss", "nbayes")


@_claim(
    "D", "Naive Bayes, log-loss: DirL2 is significantly better than every other method", "nbayes"
)
def _(study: Study) -> Answer:
    ranking = study.ranking("log-loss", classifier="nbayes")
    return ranking.among_best() == ["DirL2"], _ranks(ranking.ranks, ranking.difference)


# Section E


@_claim("E", "DirL2 is significantly best by accuracy, log-loss and p-cw-ECE")
def _(study: Study) -> Answer:
    rankings = {name: study.ranking(name) for name in _SIGNIFICANTLY_BEST}
    alone = all(ranking.among_best() == ["DirL2"] for ranking in rankings.values())
    return alone, _pairs({name: _two_best(one) for name, one in rankings.items()})


@_claim("E", "DirL2 does not differ from the best by the other five measures")
def _(study: Study) -> Answer:
    return _in_best_group(study, _BEST_GROUP)


@_claim("E", "Log-loss: DirL2, Beta, WidB differ in this order, and the rest follows as one group")
def _(study: Study) -> Answer:
    ranking = study.ranking("log-loss")
    three = ["DirL2", "Beta", "WidB"]
    gaps = ranking.ranks[ranking.order].diff().iloc[1:4]
    apart = ranking.order[:3] == three and bool((gaps > ranking.difference).all())
    rest = ranking.ranks.drop(three)
    together = rest.max() - rest.min() <= ranking.difference
    return apart and together, _ranks(ranking.ranks, ranking.difference)


@_claim("E", "DirL2 chooses strength 1e-3 most often")
def _(study: Study) -> Answer:
    return _mode(study, "DirL2", 1e-3)


@_claim("E", "DirL2 chooses its weakest strength, 1e-7, several times")
def _(study: Study) -> Answer:
    counts = study.chosen("DirL2")
    least = counts.get(1e-7, 0) / counts.sum()
    reach = study.reach_chosen("DirL2").get(1e-7, float("nan"))
    return least > 0.01, f"{share(least, reach)} of {counts.sum()} fits"


@_claim("E", "FreqB chooses 10 bins most often")
def _(study: Study) -> Answer:
    return _mode(study, "FreqB", 10)


@_claim("E", "WidB chooses 5 bins most often")
def _(study: Study) -> Answer:
    return _mode(study, "WidB", 5)


@_claim(
    "E", "On 4 datasets at least one classifier could not complete the experiment", *CLASSIFIERS
)
def _(study: Study) -> Answer:
    failures = study.results.read("failures.csv")
    names = sorted(set(failures["dataset"])) if len(failures) else []
    return len(names) == 4, f"ours: {', '.join(names) or 'all that were run completed'}"


@_claim(
    "E",
    "Uncalibrated MLP and linear SVC are always in the best group and never in the worst",
    *CLASSIFIERS,
)
def _(study: Study) -> Answer:
    return _always(study, ("mlp", "svc-linear"), best=8, worst=0)


@_claim(
    "E",
    "Uncalibrated forest is always in the best group, and by 4 measures in the worst",
    *CLASSIFIERS,
)
def _(study: Study) -> Answer:
    return _always(study, ("forest",), best=8, worst=4)


@_claim(
    "E", "Uncalibrated RBF SVC is 6 times in the best group and 3 times in the worst", *CLASSIFIERS
)
def _(study: Study) -> Answer:
    return _always(study, ("svc-rbf",), best=6, worst=3)


@_claim(
    "E",
    "Uncalibrated naive Bayes and AdaBoost are always in the worst group, never in the best",
    *CLASSIFIERS,
)
def _(study: Study) -> Answer:
    return _always(study, ("nbayes", "adas"), best=0, worst=8)


@_claim(
    "E", "The other classifiers have no clear position (never always best or worst)", *CLASSIFIERS
)
def _(study: Study) -> Answer:
    others = ("knn", "lda", "logistic", "qda", "tree")
    counts = {name: _times(study, name) for name in others}
    clear = [name for name, (best, worst) in counts.items() if 8 in (best, worst)]
    told = {name: f"best {best}, worst {worst} of 8" for name, (best, worst) in counts.items()}
    return not clear, _pairs(told)


def _friedman(study: Study, measure: str, classifier: str | None = None) -> Answer:
    found = study.ranking(measure, classifier=classifier)
    numbers = f"statistic {found.statistic:.1f}, p {found.pvalue:.3g}, N = {found.n}"
    return found.is_significant, numbers


def _in_best_group(study: Study, measures: tuple[str, ...]) -> Answer:
    gaps, holds = {}, True
    for measure in measures:
        ranking = study.ranking(measure)
        best = ranking.order[0]
        holds &= "DirL2" in ranking.among_best()
        gaps[measure] = f"{ranking.ranks['DirL2']:.2f} (best: {best} {ranking.ranks[best]:.2f})"
    difference = study.ranking(measures[0]).difference
    return holds, f"{_pairs(gaps)}; critical difference {difference:.2f}"


def _curve(study: Study, example: tuple[str, str], method: str, curve: str) -> pd.DataFrame:
    table = study.example(example_name(*example, "bins"))
    return table[(table["method"] == method) & (table["curve"] == curve)]


def _spreads(study: Study, example: tuple[str, str], method: str) -> pd.DataFrame:
    table = study.example(example_name(*example, "spreads"))
    return table[table["method"] == method]


def _mean_gap(study: Study, example: tuple[str, str], method: str, curve: str) -> float:
    """Mean over all rows of the distance between prediction and frequency in their bin."""
    return _distance(_curve(study, example, method, curve), 0.0, 1.0)


def _distance(table: pd.DataFrame, low: float, high: float) -> float:
    inside = table[table["mean_predicted"].between(low, high)]
    gaps = (inside["frequency"] - inside["mean_predicted"]).abs() * inside["rows"]
    return float(gaps.sum() / max(inside["rows"].sum(), 1))


def _signed_gap(
    study: Study, example: tuple[str, str], method: str, curve: str, low: float, high: float
) -> float:
    """Mean of frequency minus prediction over the rows with a prediction in a range."""
    table = _curve(study, example, method, curve)
    inside = table[table["mean_predicted"].between(low, high)]
    gaps = (inside["frequency"] - inside["mean_predicted"]) * inside["rows"]
    return float(gaps.sum() / inside["rows"].sum())


def _closer(
    study: Study,
    example: tuple[str, str],
    method: str,
    curves: tuple[str, ...],
    low: float,
    high: float,
    *,
    every: bool = True,
) -> Answer:
    """Whether a method reduces the distance of prediction and frequency in a range."""
    told, closer = [], []
    for curve in curves:
        before, after = (
            _distance(_curve(study, example, name, curve), low, high) for name in ("Uncal", method)
        )
        closer.append(after < before)
        told.append(f"class {int(curve) + 1}: {before:.3f} to {after:.3f}")
    return (all(closer) if every else any(closer)), ", ".join(told)


def _eces(study: Study, example: tuple[str, str]) -> dict[str, pd.Series]:
    means = study.means.loc[example]
    return {name: means[name].drop("TempS-2019") for name in ("conf-ECE", "cw-ECE")}


def _lowest_two(study: Study, example: tuple[str, str]) -> Answer:
    lowest = {name: list(v.nsmallest(2).index) for name, v in _eces(study, example).items()}
    holds = all(set(names) == {"DirL2", "Isot"} for names in lowest.values())
    return holds, _pairs({name: " < ".join(names) for name, names in lowest.items()})


def _worse_than_uncal(
    study: Study, example: tuple[str, str], method: str, *, every: bool = True
) -> Answer:
    values = _eces(study, example)
    worse = [v[method] > v["Uncal"] for v in values.values()]
    told = {name: f"{v['Uncal']:.4f} to {v[method]:.4f}" for name, v in values.items()}
    return bool(all(worse) if every else any(worse)), _pairs(told)


def _mode(study: Study, method: str, value: float) -> Answer:
    counts = study.chosen(method)
    shares, reach = counts / counts.sum(), study.reach_chosen(method)
    told = ", ".join(f"{name:g}: {share(one, reach[name])}" for name, one in shares.items())
    lead = points(*study.lead_of(method, value))
    return counts.idxmax() == value, f"{told}; {value:g} before the next by {lead} points"


def _always(study: Study, names: tuple[str, ...], *, best: int, worst: int) -> Answer:
    counts = {name: _times(study, name) for name in names}
    told = {name: f"best {found[0]}, worst {found[1]} of 8" for name, found in counts.items()}
    n = study.ranking_of_classifiers(MEASURES[0]).n
    holds = all(found == (best, worst) for found in counts.values())
    return holds, f"{_pairs(told)} (N = {n})"


def _times(study: Study, name: str) -> tuple[int, int]:
    """By how many measures a classifier is in the best group, and in the worst."""
    rankings = [study.ranking_of_classifiers(measure) for measure in MEASURES]
    return (
        sum(name in one.among_best() for one in rankings),
        sum(name in one.among_worst() for one in rankings),
    )


def _pairs(values: dict[str, str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in values.items())


def _shares(values: pd.Series, reach: pd.Series) -> str:
    told = ", ".join(f"{name} {share(value, reach[name])}" for name, value in values.items())
    return f"{told} (95 %, datasets as trials)"


def _two_best(ranking: Ranking) -> str:
    first, second = ranking.order[:2]
    told = f"{first} {ranking.ranks[first]:.2f}, then {second} {ranking.ranks[second]:.2f}"
    return f"{told}, critical difference {ranking.difference:.2f}"


def _ranks(values: pd.Series, difference: float) -> str:
    told = ", ".join(f"{name} {value:.2f}" for name, value in values.sort_values().items())
    return f"{told}; critical difference {difference:.2f}"


def _signed(values: list[float]) -> str:
    return "frequency minus prediction " + ", ".join(f"{value:+.3f}" for value in values)


def _by_class(values: pd.Series) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
