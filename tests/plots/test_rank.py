"""The critical-difference diagram."""

import numpy as np
import pytest

from dircal import critical_difference, friedman
from dircal.inference import average_ranks, rank_groups
from dircal.plots import RankDisplay


@pytest.fixture
def losses():
    shift = np.array([0.0, 1.5, 0.2, 0.9, 1.4, 0.4])
    return np.random.default_rng(0).normal(size=(40, 6)) + shift


def test_it_holds_ranks_and_groups(losses):
    display = RankDisplay.from_values(losses, names=list("abcdef"))
    ranks = average_ranks(losses)
    order = np.argsort(ranks)
    frame = display.to_frame()
    assert frame["method"] == [list("abcdef")[j] for j in order]
    np.testing.assert_array_equal(frame["rank"], ranks[order])
    difference = critical_difference(6, 40)
    assert set(frame["critical_difference"]) == {difference}
    assert display.groups == rank_groups(ranks, difference)
    for g, members in enumerate(display.groups):
        inside = [str(g + 1) in group.split() for group in frame["group"]]
        assert np.array_equal(np.isin(order, members), inside)
    assert display.pvalue == friedman(losses).pvalue


def test_bars_join_the_groups_and_the_ruler_is_as_long_as_the_difference(losses):
    display = RankDisplay.from_values(losses).plot()
    assert len(display.bars_) == len(display.groups) > 1
    for bar, members in zip(display.bars_, display.groups, strict=True):
        x = bar.get_xdata()
        ranks = display.ranks[members]
        np.testing.assert_allclose(x, [ranks.min(), ranks.max()], atol=0.03)
        assert bar.get_linewidth() > 3
    heights = {}
    for bar in display.bars_:
        low, high = bar.get_xdata()
        for other_low, other_high in heights.get(bar.get_ydata()[0], []):
            assert high < other_low or other_high < low
        heights.setdefault(bar.get_ydata()[0], []).append((low, high))
    assert np.isclose(np.ptp(display.ruler_.get_xdata()), display.difference)
    assert "40 datasets" in display.ax_.get_title()
    assert [name.get_text().split()[0] for name in display.names_[:1]] == ["method"]


def test_methods_that_all_differ_have_no_bars():
    losses = np.arange(4) + np.zeros((200, 1))
    display = RankDisplay.from_values(losses).plot()
    assert display.bars_ == []
    assert set(display.to_frame()["group"]) == {""}


def test_ranks_from_elsewhere_and_the_other_side(losses):
    whole = RankDisplay.from_values(-losses, best="highest", method="nemenyi", alpha=0.1)
    ranks = average_ranks(losses)
    taken = RankDisplay.from_ranks(ranks, 40, method="nemenyi", alpha=0.1)
    assert taken.to_frame() == whole.to_frame()
    assert taken.plot().ax_.get_title() == "40 datasets"
    told = RankDisplay.from_ranks(ranks, 40, pvalue=1.25e-9).plot()
    assert told.ax_.get_title() == "Friedman p = 1.3e-09, 40 datasets"


@pytest.mark.parametrize("m", [2, 7, 11, 25])
def test_names_do_not_overlap_even_at_equal_ranks(m):
    ranks = np.full(m, (m + 1) / 2)
    names = [f"a long name of the method number {j}" for j in range(m)]
    display = RankDisplay.from_ranks(ranks, 30, names=names).plot()
    display.figure_.draw_without_rendering()
    boxes = [name.get_window_extent() for name in display.names_]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert box.x0 >= 0
        assert box.x1 <= display.figure_.bbox.width


def test_names_fit_into_given_axes():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 4))
    names = [f"a long name of the method number {j}" for j in range(6)]
    display = RankDisplay.from_ranks([3.5] * 6, 30, names=names).plot(axes[1])
    figure.draw_without_rendering()
    place = axes[1].get_window_extent()
    for name in display.names_:
        box = name.get_window_extent()
        assert place.x0 - 2 <= box.x0
        assert box.x1 <= place.x1 + 2


def test_what_makes_no_sense():
    with pytest.raises(ValueError, match="`names` must be 2 names, one for each method; got 1"):
        RankDisplay.from_ranks([1.2, 1.8], 10, names=["a"])
    with pytest.raises(ValueError, match="got 'ab'"):
        RankDisplay.from_ranks([1.2, 1.8], 10, names="ab")
    with pytest.raises(ValueError, match="must lie between 1 and 2, the number of methods; got 3"):
        RankDisplay.from_ranks([1.2, 3], 10)
