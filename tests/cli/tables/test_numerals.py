import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dircal.cli.tables._numerals import numerals


def check(values):
    assert numerals(values).to_pylist() == [repr(value) for value in values.tolist()]


@given(st.lists(st.floats() | st.floats(0, 1) | st.floats(1e-10, 1e-3)))
def test_any_number(values):
    check(np.array(values, dtype=float))


def test_powers_and_their_neighbours():
    powers = np.concatenate([2.0 ** np.arange(-1074, 1024), 10.0 ** np.arange(-323, 309)])
    for values in (powers, np.nextafter(powers, 0), np.nextafter(powers, np.inf), 3e-7 * powers):
        check(values)


def test_small_probabilities():
    rng = np.random.default_rng(0)
    check(rng.random(20_000) * 10.0 ** -rng.uniform(0, 12, 20_000))
    check(np.round(rng.random(1000), 2))
    check(np.array([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e-300, 0.1, 5e-324]))
