"""Which method wins: ranks over datasets, and which differences are more than chance."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from dircal._typing import ArrayLike, FloatArray
from dircal.tables import check_integer, check_number, check_option, check_ranks, check_table

__all__ = ["FriedmanTest", "average_ranks", "critical_difference", "friedman", "rank_groups"]


@dataclass(frozen=True)
class FriedmanTest:
    """Result of `friedman`.

    Parameters
    ----------
    statistic : float
        Chi-square statistic, corrected for ties.
    pvalue : float
        Chance of one as large if all methods were alike.
    average_ranks : array (m,)
        Mean rank of each method; 1 is best.
    n_datasets : int
        Number of rows that were ranked.
    """

    statistic: float
    pvalue: float
    average_ranks: FloatArray
    n_datasets: int


def average_ranks(
    values: ArrayLike, *, best: Literal["lowest", "highest"] = "lowest"
) -> FloatArray:
    """Mean rank of each method over the datasets; 1 is best.

    Parameters
    ----------
    values : array-like (n, m)
        A row for each dataset, a column for each method.
    best : {"lowest", "highest"}, default="lowest"
        Which values are good.

    Returns
    -------
    array (m,)
        Values that are exactly equal share the mean of their ranks.

    Examples
    --------
    >>> from dircal.inference import average_ranks
    >>> average_ranks([[0.1, 0.2, 0.3], [0.4, 0.4, 0.5]]).tolist()
    [1.25, 1.75, 3.0]
    """
    means: FloatArray = _ranks(values, best).mean(axis=0)
    return means


def friedman(values: ArrayLike, *, best: Literal["lowest", "highest"] = "lowest") -> FriedmanTest:
    r"""Whether some methods rank better than others over the datasets.

    Parameters
    ----------
    values : array-like (n, m)
        A row for each dataset, a column for each method.
    best : {"lowest", "highest"}, default="lowest"
        Which values are good.

    Returns
    -------
    FriedmanTest
        With ``statistic``, ``pvalue`` and ``average_ranks``.

    Notes
    -----
    With ranks :math:`r_{ij}` of m methods on n datasets and mean ranks :math:`\bar r_j`

    .. math:: \chi^2 = \frac{n^2 (m - 1) \sum_j \left(\bar r_j - \frac{m + 1}{2}\right)^2}
              {\sum_{ij} r_{ij}^2 - \frac{n m (m + 1)^2}{4}}

    which without ties is the textbook formula; the p-value is that of a chi-square with m - 1
    degrees of freedom. If all methods tie on every dataset, the p-value is one.

    **When not to use it.** On few datasets (n below 10) the chi-square is rough. Datasets must be
    independent: several networks measured on one test set are not.

    Examples
    --------
    >>> from dircal import friedman
    >>> result = friedman([[0.1, 0.2, 0.3], [0.2, 0.4, 0.5], [0.1, 0.3, 0.2]])
    >>> round(result.statistic, 3), round(result.pvalue, 3)
    (4.667, 0.097)
    """
    ranks = _ranks(values, best)
    n, m = ranks.shape
    means = ranks.mean(axis=0)
    centre = (m + 1) / 2
    spread = ((ranks - centre) ** 2).sum()
    statistic = float(n**2 * (m - 1) * ((means - centre) ** 2).sum() / spread) if spread else 0.0
    return FriedmanTest(statistic, float(stats.chi2.sf(statistic, m - 1)), means, n)


def critical_difference(
    n_methods: int,
    n_datasets: int,
    *,
    alpha: float = 0.05,
    method: Literal["bonferroni_dunn", "nemenyi"] = "bonferroni_dunn",
) -> float:
    r"""Difference of two average ranks beyond which it is more than chance.

    Parameters
    ----------
    n_methods : int
        Number of methods m.
    n_datasets : int
        Number of datasets n.
    alpha : float, default=0.05
        Chance of a false alarm that is accepted.
    method : {"bonferroni_dunn", "nemenyi"}, default="bonferroni_dunn"
        Compare every method with one, as the paper's figures do, or all with all.

    Returns
    -------
    float
        In units of ranks.

    Notes
    -----
    .. math:: q \sqrt{\frac{m (m + 1)}{6 n}}

    with the normal quantile :math:`q = z_{1 - \alpha / (2 (m - 1))}` (Bonferroni-Dunn, two-sided:
    the constants behind the paper's figures, although its text says one-tailed), or the quantile
    of the studentised range of m independent values divided by :math:`\sqrt 2` (Nemenyi; the
    paper's figure of 11 classifiers).

    **When not to use it.** Bonferroni-Dunn allows for m - 1 comparisons with one method chosen
    beforehand. To compare all with all, use "nemenyi".

    Examples
    --------
    >>> from dircal import critical_difference
    >>> round(critical_difference(7, 231), 3)
    0.53
    >>> round(critical_difference(11, 17, method="nemenyi"), 3)
    3.662
    """
    check_integer("n_methods", n_methods, at_least=2)
    check_integer("n_datasets", n_datasets, at_least=1)
    check_number("alpha", alpha, above=0.0, below=1.0)
    check_option("method", method, ("bonferroni_dunn", "nemenyi"))
    if method == "bonferroni_dunn":
        quantile = stats.norm.isf(alpha / (2 * (n_methods - 1)))
    else:
        quantile = stats.studentized_range.isf(alpha, n_methods, np.inf) / np.sqrt(2.0)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_datasets)))


def rank_groups(average_ranks: ArrayLike, difference: float) -> list[list[int]]:
    """Maximal groups of methods of which no two differ by more than the critical difference.

    Parameters
    ----------
    average_ranks : array-like (m,)
        Average rank of each method.
    difference : float
        The critical difference.

    Returns
    -------
    list of lists of int
        Positions of the methods in each group of at least two, best first. These are the thick
        bars of a critical-difference diagram.

    Examples
    --------
    >>> from dircal.inference import rank_groups
    >>> rank_groups([3.5, 1.0, 1.4, 1.8], 0.5)
    [[1, 2], [2, 3]]
    """
    ranks = check_ranks("average_ranks", average_ranks)
    check_number("difference", difference, at_least=0.0)
    order = ranks.argsort(kind="stable")
    # A difference that equals the critical one up to rounding is none.
    reach = np.searchsorted(ranks[order], ranks[order] + difference + 1e-12, side="right")
    groups: list[list[int]] = []
    farthest = 0
    for first, end in enumerate(reach.tolist()):
        if end > max(farthest, first + 1):
            groups.append(order[first:end].tolist())
        farthest = max(farthest, end)
    return groups


def _ranks(values: ArrayLike, best: str) -> FloatArray:
    table = check_table(
        "values",
        values,
        row="dataset",
        columns="methods",
        fix="Drop the rows that a method did not complete.",
    )
    check_option("best", best, ("lowest", "highest"))
    ranks: FloatArray = stats.rankdata(table if best == "lowest" else -table, axis=1)
    return ranks
