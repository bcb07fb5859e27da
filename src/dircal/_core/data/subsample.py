"""Which rows are enough for a first guess: a rule that depends on how many there are, and no more.

Solvers start from the optimum of a subsample, and its Hessian stands for that of all rows. Whatever
holds the rows, one array, the parts of a file or of a distributed table, the same rows are picked,
so that the same steps lead to the same answer.
"""

import numpy as np

from dircal._core.data.limits import DATA_LIMITS
from dircal._typing import IntArray

__all__ = ["GOLDEN_SECTION", "spread_rows", "subsample_size"]

GOLDEN_SECTION = (5.0**0.5 - 1.0) / 2.0
"""Its multiples leave the integers as evenly as any number's do."""


def subsample_size(n_samples: int, n_classes: int) -> int | None:
    """How many of ``n_samples`` rows are enough for a first guess; None where all of them are few.

    With p parameters and m rows picked, the mean loss of their optimum is above that of all rows by
    about p / (2 m), and their Hessian differs from that of all rows by the part sqrt(p / m).
    """
    limits = DATA_LIMITS.get()
    if n_samples < limits.subsample_stride * limits.min_subsample_rows:
        return None
    return max(
        limits.min_subsample_rows,
        min(n_samples // limits.subsample_stride, limits.max_subsample_elements // n_classes),
    )


def spread_rows(n_samples: int, n_picked: int) -> IntArray:
    """Indices of rows spread evenly, one from each of equal stretches, in ascending order.

    The place within a stretch moves by the golden section, so that a period in the rows, such as
    classes that take turns, does not repeat in those picked.
    """
    steps = np.arange(n_picked)
    places = (steps + (steps * GOLDEN_SECTION) % 1.0) * (n_samples / n_picked)
    return np.minimum(places.astype(np.int64), n_samples - 1)
