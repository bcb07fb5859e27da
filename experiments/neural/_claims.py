"""Every result that the paper claims of deep networks, asked of our rows.

Claims are in our words; what we ask where the paper speaks vaguely is part of the claim. Counts
and means come with intervals of 95 %: the networks are a sample, and a small one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from ._example import EXAMPLE, bins_name, matrix_name
from ._study import FAMILIES, Share, Study

__all__ = ["claims"]

_BOTH = ("cw-ECE", "log-loss")
_SAME = 1e-4
"""Log-losses that differ by less are the same to the paper."""
_IS_TEMPERATURE = 0.95
"""Where a multiple of the identity explains so much of a matrix, we call it close."""

Answer = tuple[bool, str]


class NotRunError(Exception):
    """The rows that a claim is about are not there."""


@dataclass(frozen=True)
class _Claim:
    section: str
    text: str
    ask: Callable[[Study], Answer]

    def answer(self, study: Study) -> list[str]:
        """Yes or no, and why; neither where the rows do not say."""
        try:
            holds, numbers = self.ask(study)
        except NotRunError:
            return ["", "not run"]
        return ["yes" if holds else "no", numbers]


_CLAIMS: list[_Claim] = []


def _claim(section: str, text: str) -> Callable[[Callable[[Study], Answer]], None]:
    """Put a question on the list, in the order of the paper."""

    def keep(ask: Callable[[Study], Answer]) -> None:
        _CLAIMS.append(_Claim(section, text, ask))

    return keep


def claims(study: Study) -> pd.DataFrame:
    """The claims with yes or no and the numbers that decide."""
    lines = [
        [position, claim.section, claim.text, *claim.answer(study)]
        for position, claim in enumerate(_CLAIMS, start=1)
    ]
    return pd.DataFrame(lines, columns=["claim", "section", "text", "holds", "numbers"])


# Section 2: one network looked at


@_claim("2", f"{EXAMPLE}, Uncal: accuracy is below confidence in most bins (over-confidence)")
def _(study: Study) -> Answer:
    bins = _bins(study, "Uncal", "confidence")
    share = Share(int((bins["frequency"] < bins["mean_predicted"]).sum()), len(bins))
    return 2 * share.count > share.n, f"{share} of the bins"


@_claim("2", f"{EXAMPLE}: TempS passes the test of confidence at 0.01, but not that of classes")
def _(study: Study) -> Answer:
    conf, cw = (_value(study, name, "TempS") for name in ("p-conf-ECE", "p-cw-ECE"))
    return conf > 0.01 >= cw, f"p-conf-ECE {conf:.4f}, p-cw-ECE {cw:.4f}"


@_claim("2", f"{EXAMPLE}: Dir-ODIR passes the test of classes at 0.01")
def _(study: Study) -> Answer:
    found = _value(study, "p-cw-ECE", "Dir-ODIR")
    return found > 0.01, f"p-cw-ECE {found:.4f}"


@_claim("2", "Over all networks TempS passes the test of confidence more often than of classes")
def _(study: Study) -> Answer:
    conf, cw = (_passed(study, name, "TempS") for name in ("p-conf-ECE", "p-cw-ECE"))
    return conf.count > cw.count, f"at 0.01: confidence {conf}, classes {cw}"


# Section 3: interpretation of one network


@_claim("3", f"{EXAMPLE}: larger off-diagonal a_ij go with larger changes of the confusion matrix")
def _(study: Study) -> Answer:
    table = study.results.read(matrix_name())
    if table.empty:
        raise NotRunError
    own = table[table["row"] != table["column"]]
    correlation = own["a"].corr(
        own["confusions_after"].sub(own["confusions_before"]).abs(), "spearman"
    )
    return (
        correlation > 0,
        f"Spearman's correlation of a and the size of the change {correlation:.2f}",
    )


# Section 4.2


@_claim("4.2", "Which general method is best depends on the network: none wins on all")
def _(study: Study) -> Answer:
    told, most = [], 0.0
    for measure in _BOTH:
        values = study.by_source(measure, FAMILIES["general"])
        if values.empty:
            raise NotRunError
        best = values.idxmin(axis=1).value_counts()
        most = max(most, best.iloc[0] / len(values))
        told.append(f"{measure}: " + ", ".join(f"{name} {n}" for name, n in best.items()))
    return most < 1.0, "; ".join(told)


@_claim("4.2", "With few classes Dir-L2 is better than TempS in most cases")
def _(study: Study) -> Answer:
    return _most(study, "Dir-L2", "TempS", many=False)


@_claim("4.2", "With few classes Dir-ODIR is better than TempS in most cases")
def _(study: Study) -> Answer:
    return _most(study, "Dir-ODIR", "TempS", many=False)


@_claim("4.2", "With 100 classes and more Dir-L2 is poor (worse than TempS in most cases)")
def _(study: Study) -> Answer:
    return _most(study, "TempS", "Dir-L2", many=True)


@_claim("4.2", "With 100 classes and more Dir-ODIR is better than TempS in cw-ECE in most cases")
def _(study: Study) -> Answer:
    return _most(study, "Dir-ODIR", "TempS", many=True, measures=("cw-ECE",))


@_claim("4.2", "... and has a slightly higher log-loss than TempS there (by less than 5 %)")
def _(study: Study) -> Answer:
    networks = study.chosen(many=True)
    more = study.reduction("TempS", "Dir-ODIR", "log-loss", networks)
    if not more.values:
        raise NotRunError
    return 0 < more.value < 0.05, f"TempS is lower by {more}"


@_claim("4.2", "Dir-ODIR has the best average rank of the general methods, not significantly")
def _(study: Study) -> Answer:
    told, held = [], True
    for measure in _BOTH:
        ranking = study.ranking(measure, "general")
        if ranking is None:
            raise NotRunError
        alone = ranking.among_best() == ["Dir-ODIR"]
        held = held and ranking.order[0] == "Dir-ODIR" and not alone
        ranks = ", ".join(f"{name} {ranking.ranks[name]:.2f}" for name in ranking.order)
        told.append(f"{measure} ({ranking.n} sources): {ranks}; p {ranking.pvalue:.2g}")
    return held, "; ".join(told)


@_claim("4.2", "MS-ODIR is better than Dir-ODIR more often than not (8 and 11 of 14 in print)")
def _(study: Study) -> Answer:
    return _most(study, "MS-ODIR", "Dir-ODIR", logits=True)


@_claim("4.2", "... but by little: the mean relative reduction is below 1 %")
def _(study: Study) -> Answer:
    found = _reductions(study, "MS-ODIR", "Dir-ODIR")
    return all(value < 0.01 for value, _ in found.values()), _told(found)


@_claim("4.2", "From Uncal to MS-ODIR the mean relative reduction is above 30 %")
def _(study: Study) -> Answer:
    found = _reductions(study, "MS-ODIR", "Uncal")
    return all(value > 0.3 for value, _ in found.values()), _told(found)


@_claim("4.2", "By log-loss MS-ODIR has the best average rank of the six methods")
def _(study: Study) -> Answer:
    ranking = study.ranking("log-loss", "paper")
    if ranking is None:
        raise NotRunError
    ranks = ", ".join(f"{name} {ranking.ranks[name]:.2f}" for name in ranking.order)
    return ranking.order[0] == "MS-ODIR", f"{ranking.n} sources: {ranks}"


@_claim("4.2", "The cw-ECE of MS-ODIR is higher than that of VecS on average (by 2 % in print)")
def _(study: Study) -> Answer:
    found = study.reduction("MS-ODIR", "VecS", "cw-ECE", study.chosen(logits=True))
    if not found.values:
        raise NotRunError
    return found.value < 0, f"MS-ODIR is lower by {found}"


@_claim(
    "4.2", "On some networks zeros off the diagonal change MS-ODIR by less than 0.0001 (6 of 14)"
)
def _(study: Study) -> Answer:
    same, rest = _zero(study)
    return len(same) > 0, f"{Share(len(same), len(same) + len(rest))}: {', '.join(same)}"


@_claim("4.2", "... and on the rest they make it worse, by more than chance")
def _(study: Study) -> Answer:
    _, rest = _zero(study)
    worse = study.differences("MS-ODIR-zero", "MS-ODIR").loc[rest]
    surely = Share(int((worse["low"] > 0).sum()), len(rest))
    return surely.count == surely.n, f"{surely}, the interval of the difference above zero"


@_claim("4.2", "... and there MS-ODIR has a lower log-loss than VecS")
def _(study: Study) -> Answer:
    _, rest = _zero(study)
    wins = study.wins("MS-ODIR", "VecS", "log-loss", pd.Index(rest))
    return wins.count == wins.n, str(wins)


@_claim("4.2", "It stays so when LeNet-5 is trained anew on other splits (two replications)")
def _(study: Study) -> Answer:
    names = study.chosen(logits=True, kind="replication")
    wins = study.wins("MS-ODIR", "VecS", "log-loss", names)
    if not wins.n:
        raise NotRunError
    gaps = study.differences("MS-ODIR", "VecS").reindex(names).dropna()
    told = ", ".join(
        f"{name} {line.difference:+.5f} ({line.low:+.5f} to {line.high:+.5f})"
        for name, line in gaps.iterrows()
    )
    return wins.count == wins.n, told


# Section 5: conclusion


@_claim("5", "ODIR lets Dirichlet or matrix scaling beat TempS by log-loss on many networks (half)")
def _(study: Study) -> Answer:
    wins = {
        name: study.wins(name, "TempS", "log-loss", study.chosen(logits=name == "MS-ODIR"))
        for name in ("Dir-ODIR", "MS-ODIR")
    }
    if not all(share.n for share in wins.values()):
        raise NotRunError
    held = any(2 * share.count > share.n for share in wins.values())
    return held, "; ".join(f"{name} {share}" for name, share in wins.items())


@_claim(
    "5",
    f"On many networks Dir-ODIR is close to a temperature (a multiple of the identity explains "
    f"{_IS_TEMPERATURE:.0%} of its matrix, on half of them)",
)
def _(study: Study) -> Answer:
    found = study.column("Dir-ODIR", "identity_share")
    found = found[found.index.isin(study.chosen())]
    if found.empty:
        raise NotRunError
    share = Share(int((found >= _IS_TEMPERATURE).sum()), len(found))
    return (
        2 * share.count > share.n,
        f"{share}; median {found.median():.3f}, least {found.min():.3f}",
    )


# Supplement


@_claim("E", f"{EXAMPLE}: TempS leaves a class systematically wrong that Dir-ODIR gets closer to")
def _(study: Study) -> Answer:
    gaps = {
        (method, label): _gap(_bins(study, method, label))
        for method in ("TempS", "Dir-ODIR")
        for label in map(str, range(10))
    }
    worst = max(map(str, range(10)), key=lambda label: abs(gaps["TempS", label]))
    before, after = (gaps[method, worst] for method in ("TempS", "Dir-ODIR"))
    told = f"class {worst}: frequency minus mean probability {before:+.4f}, then {after:+.4f}"
    return abs(after) < abs(before), told


def _most(
    study: Study,
    method: str,
    other: str,
    *,
    many: bool | None = None,
    logits: bool = False,
    measures: tuple[str, ...] = _BOTH,
) -> Answer:
    """Whether the first is better on more than half of the networks, by all the measures."""
    networks = study.chosen(many=many, logits=logits)
    shares = {name: study.wins(method, other, name, networks) for name in measures}
    if not all(share.n for share in shares.values()):
        raise NotRunError
    held = all(2 * share.count > share.n for share in shares.values())
    return held, "; ".join(f"{name} {share}" for name, share in shares.items())


def _reductions(study: Study, method: str, other: str) -> dict[str, tuple[float, str]]:
    found = {}
    for measure in _BOTH:
        mean = study.reduction(method, other, measure, study.chosen(logits=True))
        if not mean.values:
            raise NotRunError
        found[measure] = (mean.value, str(mean))
    return found


def _told(found: dict[str, tuple[float, str]]) -> str:
    return "; ".join(f"{name} {text}" for name, (_, text) in found.items())


def _zero(study: Study) -> tuple[list[str], list[str]]:
    """Networks on which the off-diagonal entries do nothing, and the others."""
    gaps = study.differences("MS-ODIR-zero", "MS-ODIR")["difference"]
    gaps = gaps[gaps.index.isin(study.chosen(logits=True))]
    if gaps.empty:
        raise NotRunError
    same = gaps.abs() < _SAME
    return list(gaps[same].index), list(gaps[~same].index)


def _passed(study: Study, measure: str, method: str) -> Share:
    values = study.of(measure, method)
    values = values[values.index.isin(study.chosen())]
    return Share(int((values > 0.01).sum()), len(values))


def _value(study: Study, measure: str, method: str) -> float:
    found = study.of(measure, method)
    if EXAMPLE not in found.index:
        raise NotRunError
    return float(found[EXAMPLE])


def _bins(study: Study, method: str, curve: str) -> pd.DataFrame:
    table = study.results.read(bins_name())
    if table.empty:
        raise NotRunError
    return table[(table["method"] == method) & (table["curve"] == curve)]


def _gap(bins: pd.DataFrame) -> float:
    """Mean of frequency minus mean probability."""
    gap = (bins["frequency"] - bins["mean_predicted"]) * bins["rows"]
    return float(gap.sum() / bins["rows"].sum())
