"""Every result that the paper claims of deep networks, asked of our rows.

Claims are in our words; what we ask where the paper speaks vaguely is part of the claim. Counts
and means come with intervals of 95 %: the networks are a sample, and a small one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ._asking import (
    BOTH,
    Answer,
    Held,
    OpenError,
    best_ranked,
    bins_of_example,
    by_zeros,
    gap,
    gaps_by_class,
    judged,
    listed,
    lower_in_example,
    most,
    off_diagonal,
    passed,
    reductions,
    tell_ranks,
    value_of_example,
    where_zeros_matter,
)
from ._example import EXAMPLE, OF_EFFECTS
from ._study import Family, Study

__all__ = ["claims"]

_THREE = ("TempS", "Dir-L2", "Dir-ODIR")
"""The general methods of the paper."""
_IS_TEMPERATURE = 0.95
"""Where a multiple of the identity explains so much of a matrix, we call it close."""
_STILL = 1e-3
"""Probabilities that move by less on average (total variation) practically stay."""


@dataclass(frozen=True)
class _Claim:
    section: str
    text: str
    ask: Callable[[Study], Answer]

    def answer(self, study: Study) -> list[str]:
        """Yes or no, whether surely, and why; nothing of it where the rows do not say."""
        try:
            answer = self.ask(study)
        except OpenError as why:
            return ["", "", str(why)]
        surely = "" if answer.surely is None else _yes(answer.surely)
        return [_yes(answer.holds), surely, answer.numbers]


def _yes(held: bool) -> str:
    return "yes" if held else "no"


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
    return pd.DataFrame(lines, columns=["claim", "section", "text", "holds", "surely", "numbers"])


# Section 2: one network looked at


@_claim("2", f"{EXAMPLE}, Uncal: accuracy is below confidence in most bins (over-confidence)")
def _(study: Study) -> Answer:
    bins = bins_of_example(study, "Uncal", "confidence")
    count = int((bins["frequency"] < bins["mean_predicted"]).sum())
    mean = gap(bins)
    told = f"{count} of {len(bins)} bins; accuracy minus mean confidence {mean}"
    holds = 2 * count > len(bins)
    return Answer(holds, told, mean.high < 0.0 if holds else mean.low > 0.0)


@_claim("2", f"{EXAMPLE}: TempS lowers conf-ECE")
def _(study: Study) -> Answer:
    return lower_in_example(study, "conf-ECE", "TempS", "Uncal")


@_claim("2", f"{EXAMPLE}: TempS passes the test of confidence at 0.01, but not that of classes")
def _(study: Study) -> Answer:
    conf, cw = (value_of_example(study, name, "TempS") for name in ("p-conf-ECE", "p-cw-ECE"))
    return Answer(conf > 0.01 >= cw, f"p-conf-ECE {conf:.4f}, p-cw-ECE {cw:.4f}")


@_claim("2, E", f"{EXAMPLE}: TempS over-estimates one class and under-estimates another")
def _(study: Study) -> Answer:
    gaps = gaps_by_class(study, "TempS")
    over, under = min(gaps, key=lambda j: gaps[j].value), max(gaps, key=lambda j: gaps[j].value)
    told = ", ".join(f"class {j} {gaps[j]}" for j in (over, under))
    told = f"frequency minus mean probability: {told}; intervals for all classes together"
    # The intervals are asked themselves: that the smallest is below the largest says nothing.
    held = gaps[over].high < 0 < gaps[under].low
    return Answer(held, told, held)


@_claim("2, E", f"... and Dir-ODIR gets closer on both of these classes of {EXAMPLE}")
def _(study: Study) -> Answer:
    before, after = (gaps_by_class(study, method) for method in ("TempS", "Dir-ODIR"))
    found = sorted(before, key=lambda j: before[j].value)
    extremes = (found[0], found[-1])
    told = ", ".join(f"class {j} {before[j].value:+.4f}, then {after[j]}" for j in extremes)
    return Answer(all(abs(after[j].value) < abs(before[j].value) for j in extremes), told)


@_claim("2", f"{EXAMPLE}: Dir-ODIR has a lower cw-ECE than TempS")
def _(study: Study) -> Answer:
    return lower_in_example(study, "cw-ECE", "Dir-ODIR", "TempS")


@_claim("2", f"{EXAMPLE}: Dir-ODIR passes the test of classes at 0.01")
def _(study: Study) -> Answer:
    found = value_of_example(study, "p-cw-ECE", "Dir-ODIR")
    return Answer(found > 0.01, f"p-cw-ECE {found:.4f}")


@_claim("2", "Over all networks TempS passes the test of confidence more often than of classes")
def _(study: Study) -> Answer:
    conf, cw = (passed(study, name, "TempS") for name in ("p-conf-ECE", "p-cw-ECE"))
    told = listed({"at 0.01: confidence": conf, "classes": cw})
    more, fewer = (conf, cw) if conf.count > cw.count else (cw, conf)
    return Answer(conf.count > cw.count, told, more.interval[0] > fewer.interval[1])


# Section 3: interpretation of one network, and regularisation


@_claim(
    "3", f"{OF_EFFECTS}: larger off-diagonal a_ij go with larger changes of the confusion matrix"
)
def _(study: Study) -> Answer:
    own = off_diagonal(study)
    r = own["a"].corr(own["change"].abs(), "spearman")
    # Fisher's transformation, with the variance of a rank correlation.
    low, high = np.tanh(np.arctanh(r) + np.array([-1.96, 1.96]) * np.sqrt(1.06 / (len(own) - 3)))
    told = f"Spearman's correlation {r:.2f} ({low:.2f} to {high:.2f}), {len(own)} pairs"
    return Answer(low > 0, told, low > 0 or high < 0)


@_claim("3", f"{OF_EFFECTS}: with the largest off-diagonal a_ij fewer of class i are taken for j")
def _(study: Study) -> Answer:
    own = off_diagonal(study)
    top = own.loc[own["a"].idxmax()]
    before, after = top["confusions_before"], top["confusions_after"]
    told = (
        f"a = {top['a']:.2f}: {top['row']} taken for {top['column']} {before} times, then {after}"
    )
    return Answer(after < before, told)


@_claim(
    "3",
    "With 100 classes and more, too, there are sources on which Dir-ODIR beats TempS, and sources "
    "on which MS-ODIR does (by cw-ECE and by log-loss)",
)
def _(study: Study) -> Answer:
    shares = {
        f"{name} by {measure}": study.wins(
            name, "TempS", measure, study.chosen(many=True, logits=name == "MS-ODIR")
        )
        for name in ("Dir-ODIR", "MS-ODIR")
        for measure in BOTH
    }
    return Answer(all(share.count > 0 for share in shares.values()), listed(shares))


# Section 4.2


@_claim(
    "4.2",
    "Which of TempS, Dir-L2 and Dir-ODIR is best depends on the network (each on some source, "
    "none on more than three quarters)",
)
def _(study: Study) -> Answer:
    three = Family(_THREE, False, "")
    told, held = [], True
    for measure in BOTH:
        values = study.by_source(measure, three)
        if values.empty:
            raise OpenError
        best = values.idxmin(axis=1).value_counts().reindex(_THREE, fill_value=0)
        held = held and best.min() > 0 and best.max() <= 0.75 * len(values)
        shares = ", ".join(f"{name} {count}" for name, count in best.items())
        told.append(f"{measure}: {shares} of {len(values)} sources")
    return Answer(held, "; ".join(told))


@_claim("4.2", "With few classes Dir-L2 is better than TempS in most cases")
def _(study: Study) -> Answer:
    return most(study, "Dir-L2", "TempS", many=False)


@_claim("4.2", "With few classes Dir-ODIR is better than TempS in most cases")
def _(study: Study) -> Answer:
    return most(study, "Dir-ODIR", "TempS", many=False)


@_claim("4.2", "With 100 classes and more Dir-L2 is poor (worse than TempS in most cases)")
def _(study: Study) -> Answer:
    return most(study, "TempS", "Dir-L2", many=True)


@_claim("4.2", "With 100 classes and more Dir-ODIR is better than TempS in cw-ECE in most cases")
def _(study: Study) -> Answer:
    return most(study, "Dir-ODIR", "TempS", many=True, measures=("cw-ECE",))


@_claim("4.2", "... and has a slightly higher log-loss than TempS there (by less than 5 %)")
def _(study: Study) -> Answer:
    # In parts of TempS, as the summary has it: in parts of Dir-ODIR much more looks like little.
    less = study.reduction("Dir-ODIR", "TempS", "log-loss", study.chosen(many=True))
    told = listed({"Dir-ODIR is lower by": less})
    return judged([Held.within(less.value, less.interval, -0.05, 0.0)], told)


@_claim(
    "4.2",
    "Dir-ODIR has the best average rank of the methods without logits, but is not significantly "
    "ahead of all others",
)
def _(study: Study) -> Answer:
    told, held = [], True
    for measure in BOTH:
        ranking = study.ranking(measure, "general")
        if ranking is None:
            raise OpenError
        near = ranking.among_best()
        held = held and ranking.order[0] == "Dir-ODIR" and near != ["Dir-ODIR"]
        behind = [name for name in ranking.order if name not in near]
        ahead = f"{ranking.order[0]} is significantly ahead of {', '.join(behind) or 'none'}"
        told.append(f"{measure}: {tell_ranks(ranking)}; p {ranking.pvalue:.2g}, {ahead}")
    return Answer(held, "; ".join(told))


@_claim("4.2", "MS-ODIR is better than Dir-ODIR more often than not (8 and 11 of 14 in print)")
def _(study: Study) -> Answer:
    return most(study, "MS-ODIR", "Dir-ODIR", logits=True)


@_claim("4.2", "... but by little: the mean relative difference is below 1 % either way")
def _(study: Study) -> Answer:
    found = reductions(study, "MS-ODIR", "Dir-ODIR")
    told = listed(found)
    small = (Held.within(one.value, one.interval, -0.01, 0.01) for one in found.values())
    return judged(small, told)


@_claim("4.2", "From Uncal to MS-ODIR the mean relative reduction is above 30 %")
def _(study: Study) -> Answer:
    found = reductions(study, "MS-ODIR", "Uncal")
    told = listed(found)
    return judged((Held.within(one.value, one.interval, 0.3) for one in found.values()), told)


@_claim("4.2", "By cw-ECE VecS has the best average rank of the six methods")
def _(study: Study) -> Answer:
    return best_ranked(study, "cw-ECE", "VecS")


@_claim("4.2", "VecS pays with log-loss: that of MS-ODIR is lower on average")
def _(study: Study) -> Answer:
    found = reductions(study, "MS-ODIR", "VecS")["log-loss"]
    told = listed({"MS-ODIR is lower by": found})
    return judged([Held.within(found.value, found.interval, 0.0)], told)


@_claim("4.2", "By log-loss MS-ODIR has the best average rank of the six methods")
def _(study: Study) -> Answer:
    return best_ranked(study, "log-loss", "MS-ODIR")


@_claim("4.2", "The cw-ECE of MS-ODIR is higher than that of VecS on average (by 2 % in print)")
def _(study: Study) -> Answer:
    found = reductions(study, "MS-ODIR", "VecS")["cw-ECE"]
    told = listed({"MS-ODIR is lower by": found})
    return judged([Held.within(found.value, found.interval, high=0.0)], told)


@_claim(
    "4.2", "On some networks zeros off the diagonal change MS-ODIR by less than 0.0001 (6 of 14)"
)
def _(study: Study) -> Answer:
    same, rest = by_zeros(study)
    share = study.agree(pd.Series(True, same).reindex([*same, *rest], fill_value=False))
    told = f"{len(same)} of {len(same) + len(rest)} networks ({', '.join(same) or 'none'}), "
    told += f"most or all networks on {share}; a source may have networks of both kinds"
    return Answer(len(same) > 0, told)


@_claim(
    "4.2",
    f"... because there they are practically zero (without them the probabilities move by less "
    f"than {_STILL:g} on average)",
)
def _(study: Study) -> Answer:
    same, _ = by_zeros(study)
    if not same:
        raise OpenError("there is no such network here")
    moved = study.differences("MS-ODIR-zero", "MS-ODIR")["moved"].loc[same]
    still = study.agree(moved < _STILL)
    return Answer(still.count == still.n, f"{still}; they move by {moved.max():.5f} at most")


@_claim("4.2", "... and on the rest they make it worse, by more than chance")
def _(study: Study) -> Answer:
    rest = where_zeros_matter(study)
    worse = study.differences("MS-ODIR-zero", "MS-ODIR").loc[rest]
    above, below = (study.agree(found) for found in (worse["low"] > 0, worse["high"] < 0))
    told = f"the interval of the difference is above zero on {above} and below on {below}"
    holds = above.count == above.n
    return Answer(holds, told, holds or below.count > 0)


@_claim("4.2", "... and there MS-ODIR has a lower log-loss than VecS")
def _(study: Study) -> Answer:
    rest = where_zeros_matter(study)
    wins = study.wins("MS-ODIR", "VecS", "log-loss", pd.Index(rest))
    told = listed({"lower on": wins})
    gaps = study.differences("MS-ODIR", "VecS").reindex(rest).dropna()
    below, above = (study.agree(found) for found in (gaps["high"] < 0, gaps["low"] > 0))
    told += f"; the interval of the difference is below zero on {below} and above on {above}"
    holds = wins.count == wins.n
    return Answer(holds, told, below.count == below.n if holds else above.count > 0)


@_claim(
    "4.2",
    "It stays so when LeNet-5 is trained anew on other splits (two replications; in print MS-ODIR "
    "is above VecS on one of them, 0.67974 against 0.67955)",
)
def _(study: Study) -> Answer:
    names = study.chosen(logits=True, kind="replication")
    gaps = study.differences("MS-ODIR", "VecS").reindex(names).dropna()
    if gaps.empty:
        raise OpenError
    told = ", ".join(
        f"{name} {line.difference:+.5f} ({line.low:+.5f} to {line.high:+.5f})"
        for name, line in gaps.iterrows()
    )
    below = (
        Held.within(line.difference, (line.low, line.high), high=0.0) for line in gaps.itertuples()
    )
    return judged(below, f"MS-ODIR minus VecS: {told}")


# Section 5: conclusion


@_claim(
    "5",
    "ODIR lets both Dirichlet and matrix scaling beat TempS by log-loss on many networks (on half "
    "of the sources or more)",
)
def _(study: Study) -> Answer:
    wins = {
        name: study.wins(name, "TempS", "log-loss", study.chosen(logits=name == "MS-ODIR"))
        for name in ("Dir-ODIR", "MS-ODIR")
    }
    told = listed(wins)
    half = (Held.within(one.value, one.interval, 0.5, ends=True) for one in wins.values())
    return judged(half, told)


@_claim(
    "5",
    f"On many networks Dir-ODIR is close to a temperature (a multiple of the identity explains "
    f"{100 * _IS_TEMPERATURE:.0f} % of its matrix, intercepts aside, on half of the sources)",
)
def _(study: Study) -> Answer:
    found = study.column("Dir-ODIR", "identity_share")
    found = found[found.index.isin(study.chosen())]
    if found.empty:
        raise OpenError
    share, least = study.agree(found >= _IS_TEMPERATURE), found.idxmin()
    rows = study.networks.loc[least, "n_fit"]
    told = f"{share}; median {found.median():.3f}, least {found.min():.3f} ({least}, {rows} rows)"
    moved = study.differences("Dir-ODIR", "TempS")["moved"]
    moved = moved[moved.index.isin(found.index)]
    if len(moved):
        told += f"; probabilities are {moved.median():.3f} from those of TempS (median)"
    return judged([Held.within(share.value, share.interval, 0.5, ends=True)], told)
