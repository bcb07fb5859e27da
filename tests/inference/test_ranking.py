"""Ranks, the Friedman test and critical differences, against the paper and against SciPy."""

import csv
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from dircal import critical_difference, friedman
from dircal.inference import average_ranks, rank_groups

DATA = Path(__file__).parent.parent / "data"


def rows_of(name):
    with (DATA / name).open() as file:
        return list(csv.DictReader(file))


def test_table_s4():
    rows = rows_of("nbayes_ranks.csv")
    methods = list(dict.fromkeys(row["calibrator"] for row in rows))
    ranks = np.array([float(row["rank"]) for row in rows]).reshape(-1, len(methods))
    result = friedman(ranks)
    assert result.n_datasets == 20
    assert f"{result.statistic:.2f}" == "73.82"
    assert f"{result.pvalue:.2e}" == "6.71e-14"
    assert dict(zip(methods, result.average_ranks.round(3), strict=True))["DirL2"] == 1.05


@pytest.mark.parametrize(
    "row", rows_of("cd_groups.csv"), ids=lambda r: f"{r['table_file']}-{r['N']}"
)
def test_groups_of_the_paper(row):
    pairs = [entry.rsplit(" ", 1) for entry in row["order_by_average_rank"].split(" < ")]
    names, ranks = [name for name, _ in pairs], [float(rank) for _, rank in pairs]
    # The constants behind the stored numbers have three decimals.
    difference = critical_difference(int(row["k"]), int(row["N"]))
    assert difference == pytest.approx(float(row["critical_difference"]), rel=5e-4)
    # In any order the groups are the same.
    shuffled = np.random.default_rng(0).permutation(len(names))
    groups = rank_groups(np.array(ranks)[shuffled], difference)
    found = [{names[shuffled[i]] for i in group} for group in groups]
    stored = row["maximal_non_significant_groups"].split(" | ")
    assert found == [set(group.split(" ~ ")) for group in stored]


@pytest.mark.parametrize(
    ("m", "n", "method", "expected"),
    [
        (7, 231, "bonferroni_dunn", 0.530),
        (7, 218, "bonferroni_dunn", 0.546),
        (7, 20, "bonferroni_dunn", 1.802),
        (6, 14, "bonferroni_dunn", 1.822),
        (6, 15, "bonferroni_dunn", 1.760),
        (11, 17, "nemenyi", 3.662),
    ],
)
def test_critical_differences_of_the_paper(m, n, method, expected):
    assert critical_difference(m, n, method=method) == pytest.approx(expected, abs=7e-4)


def test_constants_are_computed_not_copied():
    # The printed constant for nine methods, 2.724, is a misprint.
    unit = np.sqrt(9 * 10 / 6)
    assert critical_difference(9, 1) / unit == pytest.approx(2.7344, abs=1e-4)
    assert critical_difference(2, 1) == pytest.approx(1.959964, abs=1e-6)
    assert critical_difference(40, 10, method="nemenyi") > critical_difference(11, 10)
    assert critical_difference(5, 10, alpha=0.01) > critical_difference(5, 10, alpha=0.1)
    nemenyi = critical_difference(11, 1, method="nemenyi") / np.sqrt(11 * 12 / 6)
    assert nemenyi == pytest.approx(3.218654, abs=1e-5)


@given(st.integers(0, 2**32 - 1), st.integers(3, 8), st.integers(2, 30))
def test_equal_to_scipy(seed, m, n):
    values = np.random.default_rng(seed).integers(0, 6, (n, m)) / 7
    values[0] = np.arange(m)
    theirs = stats.friedmanchisquare(*values.T)
    ours = friedman(values)
    assert_allclose(ours.statistic, theirs.statistic, rtol=1e-10)
    assert_allclose(ours.pvalue, theirs.pvalue, rtol=1e-8)


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.floats(0, 3))
def test_groups_are_maximal_sets_without_a_large_difference(seed, m, difference):
    ranks = np.random.default_rng(seed).integers(10, 60, m) / 10
    groups = [set(group) for group in rank_groups(ranks, difference)]
    close = [
        {*subset}
        for size in range(2, m + 1)
        for subset in combinations(range(m), size)
        if np.ptp(ranks[list(subset)]) <= difference + 1e-12
    ]
    maximal = [one for one in close if not any(one < other for other in close)]
    assert sorted(map(sorted, groups)) == sorted(map(sorted, maximal))


def test_a_difference_that_equals_the_critical_one_is_none():
    assert rank_groups([1.0, 1.5, 2.0], 0.5) == [[0, 1], [1, 2]]
    assert rank_groups([1.1, 1.4], 0.3) == [[0, 1]]


def test_ranks_share_ties_and_know_what_is_good():
    values = [[0.1, 0.2, 0.2, 0.9]]
    assert average_ranks(values).tolist() == [1.0, 2.5, 2.5, 4.0]
    assert average_ranks(values, best="highest").tolist() == [4.0, 2.5, 2.5, 1.0]
    assert friedman(values, best="highest").average_ranks.tolist() == [4.0, 2.5, 2.5, 1.0]


def test_only_exactly_equal_values_tie():
    assert average_ranks([[0.3, 0.1 + 0.2]]).tolist() == [1.0, 2.0]


def test_methods_that_are_all_alike_do_not_differ():
    result = friedman(np.ones((5, 3)))
    assert (result.statistic, result.pvalue) == (0.0, 1.0)


def test_two_methods_are_enough():
    result = friedman([[1, 2], [1, 2], [1, 2], [2, 1]])
    assert result.statistic == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: friedman([[0.1, np.nan]]), r"`values` must be finite.*nan"),
        (lambda: friedman([0.1, 0.2]), r"`values` must be a table.*shape \(2,\)"),
        (lambda: friedman([[0.1], [0.2]]), r"`values`.*at least two methods.*shape \(2, 1\)"),
        (lambda: friedman(np.empty((0, 3))), r"`values` must be a table.*shape \(0, 3\)"),
        (lambda: friedman([["a", "b"]]), r"`values` must hold real numbers"),
        (lambda: average_ranks([[1, 2]], best="small"), r"`best` must be one of 'lowest'"),
        (lambda: critical_difference(1, 5), r"`n_methods` must be .* at least 2; got 1"),
        (lambda: critical_difference(3, 0), r"`n_datasets` must be .* at least 1; got 0"),
        (lambda: critical_difference(3, 5, alpha=1.0), r"`alpha` must be a finite number above 0"),
        (lambda: critical_difference(3, 5, method="dunn"), r"`method` must be one of 'bonf"),
        (lambda: rank_groups([1.0], 0.5), r"`average_ranks` must be one number for each"),
        (lambda: rank_groups([1.0, 2.0], -1), r"`difference` must be a finite number at least 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
