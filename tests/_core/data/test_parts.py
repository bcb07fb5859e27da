"""Bundles and sums of parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dircal._core.data.parts import FAN_IN, add_up, add_up_tree, bundle_by_bytes

MEGABYTE = 2**20
LIMITS = 8 * MEGABYTE, 256 * MEGABYTE


@given(sizes=st.lists(st.integers(0, 600 * MEGABYTE), min_size=1, max_size=200))
def test_bundles_are_all_parts_in_their_order(sizes):
    bundles = bundle_by_bytes(sizes, *LIMITS)
    assert [i for bundle in bundles for i in bundle] == list(range(len(sizes)))
    assert all(len(bundle) > 0 for bundle in bundles)


def test_small_parts_share_a_bundle_and_large_ones_do_not():
    assert bundle_by_bytes([MEGABYTE] * 16, *LIMITS) == [range(8), range(8, 16)]
    assert len(bundle_by_bytes([300 * MEGABYTE] * 500, *LIMITS)) == 500
    assert len(bundle_by_bytes([MEGABYTE] * 100_000, *LIMITS)) == pytest.approx(390, abs=2)


def test_sums_go_along_a_tree_of_neighbours():
    n = FAN_IN**2 + 3
    told = add_up_tree([[i] for i in range(n)])
    assert told == list(range(n))
    numbers = np.random.default_rng(0).normal(size=n)
    groups = [sum(numbers[i : i + FAN_IN]) for i in range(0, n, FAN_IN)]
    again = [sum(groups[i : i + FAN_IN]) for i in range(0, len(groups), FAN_IN)]
    assert add_up_tree([np.array(x) for x in numbers]) == sum(again)


@given(n=st.integers(1, FAN_IN**3 + 2))
def test_a_tree_holds_few_sums_and_leaves_results_as_they_are(n):
    held, most = set(), [0]

    class Counted:
        """A number that knows how many of its kind there are."""

        def __init__(self, value):
            self.value = value
            held.add(id(self))
            most[0] = max(most[0], len(held))

        def __iadd__(self, other):
            self.value += other.value
            return self

        def __deepcopy__(self, memo):
            return Counted(self.value)

        def __del__(self):
            held.discard(id(self))

    total = add_up_tree(Counted(i) if i % 3 != 1 else None for i in range(n))
    assert total.value == sum(i for i in range(n) if i % 3 != 1)
    assert most[0] <= 6
    results = [np.ones(1) for _ in range(n)]
    assert add_up_tree(results) == n
    assert all(one == 1.0 for one in results)


def test_nothing_adds_nothing_and_the_first_stays_as_it_is():
    first = np.ones(2)
    first.setflags(write=False)
    assert add_up(iter([None, first, None, np.ones(2)])).tolist() == [2.0, 2.0]
    assert first.tolist() == [1.0, 1.0]
    assert add_up(iter([None, None])) is None
