"""Which pictures train a network, which fit its calibrators, and which test them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

__all__ = ["Divided", "Parts", "few_of_training", "half_of_test", "resplit", "tenth_of_training"]

Rows = npt.NDArray[np.intp]

_VALIDATION = 0.1
_SEED = 333


@dataclass(frozen=True)
class Divided:
    """Rows of the pictures.

    Where ``fits`` is None the test rows are still to be divided, as the experiment does with
    every file that comes without a division.
    """

    trains: Rows
    fits: Rows | None
    tests: Rows


Parts = Callable[[int, int], Divided]
"""From the number of pictures and how many of them, the last ones, are for testing."""


def tenth_of_training(n: int, n_test: int) -> Divided:
    """A tenth of the training pictures fits calibrators."""
    trains, fits = train_test_split(
        np.arange(n - n_test), test_size=_VALIDATION, random_state=_SEED
    )
    return Divided(trains, fits, np.arange(n - n_test, n))


def half_of_test(n: int, n_test: int) -> Divided:
    """All training pictures train; the others are left together."""
    return Divided(np.arange(n - n_test), None, np.arange(n - n_test, n))


def resplit(n: int, n_test: int, *, seed: int) -> Divided:
    """All pictures thrown together and divided anew, as in the paper's replications."""
    rest, tests = train_test_split(np.arange(n), test_size=n_test, random_state=seed)
    trains, fits = train_test_split(rest, test_size=_VALIDATION, random_state=_SEED)
    return Divided(trains, fits, tests)


def few_of_training(n: int, n_test: int, *, n_trains: int, n_fits: int) -> Divided:
    """So many of the training pictures train, and so many others fit calibrators."""
    trains, fits = train_test_split(
        np.arange(n - n_test), train_size=n_trains, test_size=n_fits, random_state=_SEED
    )
    return Divided(trains, fits, np.arange(n - n_test, n))
