"""One map for each group: better than one for all, and never a guess."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

import dircal
from dircal import AutoCalibrator, TemperatureScaling
from dircal.exceptions import UnknownGroupWarning
from dircal.export import to_python
from dircal.metrics import log_loss
from dircal.shift import GroupedCalibrator


def world(seed, sizes, spread, k=3):
    """Groups that differ in slope and intercepts, by so much."""
    rng = np.random.default_rng(seed)
    slopes = np.exp(rng.normal(scale=spread, size=len(sizes)))
    intercepts = rng.normal(scale=spread, size=(len(sizes), k))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    q = rng.dirichlet(np.ones(k), len(groups))
    truth = softmax(slopes[groups, None] * np.log(q) + intercepts[groups], axis=1)
    y = (truth.cumsum(axis=1) > rng.random((len(groups), 1))).argmax(axis=1)
    return q, y, groups, truth


def losses(q, y, groups, test):
    fit, grouped = ~test, GroupedCalibrator(TemperatureScaling())
    grouped.fit(q[fit], y[fit], groups=groups[fit])
    common = log_loss(y[test], grouped.calibrator_.predict_proba(q[test]))
    apart = np.empty((test.sum(), q.shape[1]))
    for group in np.unique(groups):
        own = AutoCalibrator(classes=[0, 1, 2]).fit(
            q[fit & (groups == group)], y[fit & (groups == group)]
        )
        apart[groups[test] == group] = own.predict_proba(q[test & (groups == group)])
    together = log_loss(y[test], grouped.predict_proba(q[test], groups=groups[test]))
    return together, common, log_loss(y[test], apart)


def test_better_than_one_map_and_than_separate_maps():
    q, y, groups, _ = world(0, [120] * 15, 0.4)
    test = np.random.default_rng(1).random(len(y)) < 0.5
    together, common, apart = losses(q, y, groups, test)
    assert together < common
    assert together < apart


def test_groups_that_do_not_differ_get_the_common_map():
    q, y, groups, _ = world(2, [25] * 40, 0.0)
    grouped = GroupedCalibrator(TemperatureScaling()).fit(q, y, groups=groups)
    common = grouped.calibrator_.predict_proba(q)
    assert np.abs(grouped.predict_proba(q, groups=groups) - common).mean() < 0.002
    assert grouped.effective_parameters_["slopes"] < 1.0


def test_groups_of_five_rows_are_safe_and_large_ones_go_their_way():
    q, y, groups, truth = world(3, [5] * 20 + [2000], 0.5)
    grouped = GroupedCalibrator(TemperatureScaling()).fit(q, y, groups=groups)
    proba = grouped.predict_proba(q, groups=groups)
    large = groups == 20
    assert np.abs(proba[large] - truth[large]).mean() < 0.03
    assert log_loss(y[~large], proba[~large]) < log_loss(y[~large], q[~large]) + 0.02


def test_new_groups_and_no_groups_get_the_common_map():
    q, y, groups, _ = world(4, [50] * 4, 0.5)
    names = np.array(["a", "b", "c", "d"])[groups]
    grouped = GroupedCalibrator(TemperatureScaling()).fit(q, y, groups=names)
    common = grouped.calibrator_.predict_proba(q)
    assert_array_equal(grouped.predict_proba(q), common)
    with pytest.warns(UnknownGroupWarning, match=r"150 of 200 rows .* such as 'new'"):
        proba = grouped.predict_proba(q, groups=["new"] * 150 + ["a"] * 50)
    assert_array_equal(proba[:150], common[:150])
    assert_array_equal(grouped.groups_, ["a", "b", "c", "d"])
    assert set(grouped.precisions_) == {"slopes", "matrices", "intercepts"}
    alone = GroupedCalibrator(TemperatureScaling()).fit(q, y)
    assert_array_equal(alone.predict_proba(q), common)
    assert_array_equal(grouped.predict(q), common.argmax(axis=1))


def test_a_column_of_a_frame_names_the_groups():
    q, y, groups, _ = world(5, [60, 60], 0.5)
    frame = pd.DataFrame(q, columns=["0", "1", "2"])
    with_sites = frame.assign(site=np.array(["n", "s"])[groups])
    by_name = GroupedCalibrator(TemperatureScaling()).fit(with_sites, y, groups="site")
    expected = by_name.predict_proba(frame, groups=with_sites["site"])
    assert_array_equal(by_name.predict_proba(with_sites, groups="site"), expected)
    turned = with_sites[["2", "site", "0", "1"]]
    assert_allclose(by_name.predict_proba(turned, groups="site"), expected, rtol=1e-12)


def test_files_and_exports(tmp_path):
    q, y, groups, _ = world(6, [60, 300, 5], 0.5)
    grouped = GroupedCalibrator(AutoCalibrator()).fit(q, y, groups=groups)
    expected = grouped.predict_proba(q, groups=groups)
    dircal.save(grouped, tmp_path / "map.json")
    loaded = dircal.load(tmp_path / "map.json")
    assert_array_equal(loaded.predict_proba(q, groups=groups), expected)
    with pytest.raises(ValueError, match=r"a map for each of 3 groups.*calibrator_of\(group\)"):
        to_python(grouped)
    for group in range(3):
        module = {}
        exec(to_python(grouped.calibrator_of(group)), module)
        rows = groups == group
        found = module["predict_proba"](q[rows][:5].tolist())
        assert_allclose(found, expected[rows][:5], atol=1e-9)
    new = grouped.calibrator_of(None)
    assert_array_equal(new.predict_proba(q), grouped.predict_proba(q))
    dircal.save(new, tmp_path / "new.json")


def test_weights_count_as_rows():
    q, y, groups, _ = world(7, [20, 50], 0.5)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = GroupedCalibrator(TemperatureScaling()).fit(q, y, weight, groups=groups)
    again = np.repeat(np.arange(len(y)), weight)
    repeated = GroupedCalibrator(TemperatureScaling()).fit(q[again], y[again], groups=groups[again])
    found = weighted.predict_proba(q, groups=groups)
    assert_allclose(found, repeated.predict_proba(q, groups=groups), atol=1e-4)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_rows_without_a_group_get_the_common_map(missing, recwarn):
    q, y, _, _ = world(8, [40, 40], 0.8)
    fitted = GroupedCalibrator(TemperatureScaling()).fit(q, y, groups=["x"] * 40 + ["y"] * 40)
    groups = ["x", missing, "y", missing]
    found = fitted.predict_proba(q[:4], groups=groups)
    assert_array_equal(found[1::2], fitted.predict_proba(q[1:4:2]))
    assert_array_equal(found[::2], fitted.predict_proba(q[[0, 2]], groups=["x", "y"]))
    frame = pd.DataFrame(q[:4]).assign(site=groups)
    frame.columns = frame.columns.astype(str)
    assert_array_equal(fitted.predict_proba(frame, groups="site"), found)
    assert_array_equal(
        fitted.predict_proba(q[:2], groups=[missing] * 2), fitted.predict_proba(q[:2])
    )
    assert not recwarn
    with pytest.raises(ValueError, match="`groups` must contain values of one type; got 'x' and 1"):
        fitted.predict_proba(q[:3], groups=["x", missing, 1])
    with pytest.raises(ValueError, match="`groups` has 2 entries, but there are 3 rows"):
        fitted.predict_proba(q[:3], groups=["x", missing])
    with pytest.raises(ValueError, match="`groups` must contain strings, numbers or booleans; got"):
        fitted.fit(q, y, groups=[missing] * 80)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"] * 3, "`groups` has 3 entries, but there are 40 rows"),
        ([1, "x"] * 20, "`groups` must contain values of one type; got 1 and 'x'"),
        (np.array([1, "x"] * 20, dtype=object), "`groups` must contain values of one type"),
        ([True, 1] * 20, "`groups` must contain values of one type; got True and 1"),
        (np.array(["2020"] * 40, "M8[ns]"), "`groups` must contain strings, numbers or booleans"),
        (np.ma.array(["x"] * 40, mask=[True] * 40), "`groups` is a masked array"),
        ("site", "`groups` is 'site', but `X` is no data frame"),
    ],
)
def test_bad_groups(groups, message):
    q, y, _, _ = world(8, [40], 0.5)
    with pytest.raises(ValueError, match=message):
        GroupedCalibrator(TemperatureScaling()).fit(q, y, groups=groups)
    fitted = GroupedCalibrator(TemperatureScaling()).fit(q, y, groups=["x"] * 40)
    with pytest.raises(ValueError, match=message):
        fitted.predict_proba(q, groups=groups)
    with pytest.raises(ValueError, match="`group` must be one of the 1 in `groups_`; got 'y'"):
        fitted.calibrator_of("y")
    with pytest.raises(ValueError, match="`X` has no such column"):
        fitted.predict_proba(pd.DataFrame(q), groups="site")
    with pytest.raises(ValueError, match="`X` must have distinct column names; got 'a' more"):
        fitted.predict_proba(pd.DataFrame(q, columns=["a"] * q.shape[1]), groups="site")


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("total", [1e12, 1e15, 1e25])
@pytest.mark.parametrize("k", [3, 10])
def test_counts_beyond_all_digits_give_the_map_of_large_ones(k, total):
    q, _, groups, _ = world(9, [40, 40], 0.5, k)
    counts = np.random.default_rng(0).integers(1, 5, size=q.shape)
    fits = [
        GroupedCalibrator(TemperatureScaling()).fit(q, counts * one, groups=groups, counts=True)
        for one in (1e9, total)
    ]
    large, beyond = (each.predict_proba(q, groups=groups) for each in fits)
    assert_allclose(beyond, large, atol=1e-4)
    assert all(1e-8 <= value <= 1e8 for value in fits[1].precisions_.values())


@pytest.mark.parametrize("seed", range(5))
def test_weights_that_span_thirty_decades(seed):
    q, y, groups, _ = world(seed, [30, 40, 30], 0.5)
    weight = 10.0 ** np.random.default_rng(seed).uniform(-15, 15, len(y))
    grouped = GroupedCalibrator(TemperatureScaling()).fit(q, y, weight, groups=groups)
    assert_allclose(grouped.predict_proba(q, groups=groups).sum(axis=1), 1.0)


MIXED = {
    "strings": (["7", "12", "3"], [7, 12, 3], "must contain strings, as before; got 7"),
    "integers": ([7, 12, 3], ["7", "12", "3"], "must contain numbers, as before; got '7'"),
    "booleans": ([True, False, True], [1, 0, 1], "must contain booleans, as before; got 1"),
}


@pytest.mark.parametrize("kind", [list, np.array, lambda g: np.array(g, dtype=object), pd.Series])
@pytest.mark.parametrize(("groups", "others", "message"), MIXED.values(), ids=MIXED)
def test_groups_keep_their_type(kind, groups, others, message):
    q, y, _, _ = world(9, [90], 0.5)
    rows = np.arange(90) % 3
    y[rows == 0] = (y[rows == 0] + 1) % 3
    grouped = GroupedCalibrator(TemperatureScaling())
    grouped.fit(q, y, groups=kind([groups[i] for i in rows]))
    assert grouped.groups_.tolist() == sorted(set(groups))
    own = grouped.calibrator_of(kind(groups)[0])
    proba = grouped.predict_proba(q, groups=kind([groups[i] for i in rows]))
    assert_array_equal(proba[rows == 0], own.predict_proba(q[rows == 0]))
    for given in (others, others[:1] * 3):
        with pytest.raises(ValueError, match=f"`groups` {message}"):
            grouped.predict_proba(q, groups=kind([given[i] for i in rows]))
    for group in (others[0], [groups[0]], {}):
        with pytest.raises(ValueError, match="`group` must be one of the"):
            grouped.calibrator_of(group)


@pytest.mark.parametrize("groups", [[-1, 2**63, 2**63 + 1], ["a", "a\0", "b"]])
def test_groups_are_never_merged(groups):
    q, y, _, _ = world(10, [90], 0.5)
    keys = np.array(groups, dtype=object)[np.arange(90) % 3]
    assert GroupedCalibrator(TemperatureScaling()).fit(q, y, groups=keys).groups_.tolist() == groups
