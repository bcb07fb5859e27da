"""What the page says in sentences, every one made from the rows."""

import pandas as pd

from ._calibrate import MEASURES
from ._splits import N_REPETITIONS
from ._study import Study
from ._tables import printed
from ._words import with_reach

__all__ = ["count_turned", "tell_ranks", "tell_repetitions", "tell_ties_in_print"]

_IN_PRINT = f"while the paper draws them {N_REPETITIONS} times for all"


def tell_repetitions(study: Study) -> str:
    """Which pairs were repeated how often; the paper repeated all."""
    counts = study.repetitions
    if counts.nunique() == 1:
        same = counts.iloc[0] == N_REPETITIONS
        return f"{_times(counts.iloc[0])}{', as in the paper' if same else f', {_IN_PRINT}'}"
    often = counts[counts == counts.max()]
    by_dataset, by_classifier = (counts.groupby(name).size() for name in counts.index.names)
    datasets = _whole(often, by_dataset, "dataset")
    classifiers = _whole(often, by_classifier, "classifier")
    told = [f"{c} on all datasets" for c in classifiers]
    told += [f"{c} on {d}" for d, c in often.index if d not in datasets and c not in classifiers]
    told += [f"all classifiers on {_and(datasets)}"] if datasets else []
    return (
        f"{_times(counts.max())} for {_pairs(len(often))} ({', '.join(told)}) and "
        f"{_times(counts.min())} for the other {len(counts) - len(often)}, {_IN_PRINT}"
    )


def _pairs(n: int) -> str:
    return "one pair" if n == 1 else f"{n} pairs"


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _whole(often: pd.Series, sizes: pd.Series, level: str) -> list[str]:
    """Of which datasets or classifiers all pairs were repeated most often."""
    found = often.groupby(level).size()
    return [str(name) for name in found.index if found[name] == sizes[name]]


def tell_ranks(study: Study) -> list[str]:
    """What a reader wants to know first."""
    lines = []
    for measure in MEASURES:
        ranking = study.ranking(measure)
        best, group = ranking.order[0], ranking.among_best()
        others = [name for name in ranking.order if name in group and name != best]
        told = f"{measure}: {best} has the best average rank, {ranking.ranks[best]:.2f}, "
        told += f"not significantly ahead of {_and(others)}" if others else "significantly"
        told += f" (critical difference {ranking.difference:.2f}). Next is "
        told += _behind(study, measure, ranking.order[1], best)
        if "DirL2" not in ranking.order[:2]:
            told += f"; {_ordinal(ranking.order.index('DirL2') + 1)} is "
            told += _behind(study, measure, "DirL2", best)
        lines.append(f"{told}.")
    return lines


def _behind(study: Study, measure: str, name: str, best: str) -> str:
    rank = study.ranking(measure).ranks[name]
    gap, reach = study.rank_gap(measure, name, best)
    may_be = ", which may be nothing" if reach >= gap else ""
    return f"{name} with {rank:.2f}, {with_reach(gap, reach)} behind{may_be}"


def count_turned(orders: pd.DataFrame, study: Study) -> int:
    """How many orders that differ from print are told apart by our critical difference."""
    lost = orders[(orders["kept"] == "no") & (orders["temperature"] == "converged")]
    limits = [study.ranking(name).difference for name in lost["measure"]]
    return int((-lost["our_gap"].astype(float) > limits).sum())


def tell_ties_in_print() -> str:
    """On how many datasets temperature scaling and nothing are tied in the printed table S4."""
    ranks = printed("naive_bayes").pivot(index="dataset", columns="method", values="rank")
    return f"{(ranks['TempS'] == ranks['Uncal']).sum()} of {len(ranks)}"


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _ordinal(position: int) -> str:
    return f"{position}{({1: 'st', 2: 'nd', 3: 'rd'}).get(position, 'th')}"
