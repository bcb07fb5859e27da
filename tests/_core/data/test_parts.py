"""Bundles and sums of parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dircal._core.data.parts import FAN_IN, add_up, add_up_tree, bundle_by_bytes

MEGABYTE = 2**20


@given(sizes=st.lists(st.integers(0, 600 * MEGABYTE), min_size=1, max_size=200))
def test_bundles_are_all_parts_in_their_order(sizes):
    bundles = bundle_by_bytes(sizes)
    assert [i for bundle in bundles for i in bundle] == list(range(len(sizes)))
    assert all(len(bundle) > 0 for bundle in bundles)


def test_small_parts_share_a_bundle_and_large_ones_do_not():
    assert bundle_by_bytes([MEGABYTE] * 16) == [range(8), range(8, 16)]
    assert len(bundle_by_bytes([300 * MEGABYTE] * 500)) == 500
    assert len(bundle_by_bytes([MEGABYTE] * 100_000)) == pytest.approx(390, abs=2)


def test_sums_go_along_a_tree_of_neighbours():
    n = FAN_IN**2 + 3
    told = add_up_tree([[i] for i in range(n)])
    assert told == list(range(n))
    numbers = np.random.default_rng(0).normal(size=n)
    groups = [sum(numbers[i : i + FAN_IN]) for i in range(0, n, FAN_IN)]
    again = [sum(groups[i : i + FAN_IN]) for i in range(0, len(groups), FAN_IN)]
    assert add_up_tree([np.array(x) for x in numbers]) == sum(again)


def test_nothing_adds_nothing_and_the_first_stays_as_it_is():
    first = np.ones(2)
    first.setflags(write=False)
    assert add_up(iter([None, first, None, np.ones(2)])).tolist() == [2.0, 2.0]
    assert first.tolist() == [1.0, 1.0]
    assert add_up(iter([None, None])) is None
