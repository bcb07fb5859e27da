"""Errors and warnings of dircal.

::

    UserWarning
    └── DircalWarning
        ├── ColumnOrderWarning    the labels fit another order of the columns far better
        ├── ConvergenceWarning    the fit did not converge (also scikit-learn's ConvergenceWarning)
        ├── GridEdgeWarning       the best value of a search lies on the edge of its grid
        ├── RowSumWarning         rows were far enough from summing to one to be worth a look
        ├── SampleWeightWarning   weights reached the calibrators, but not the classifier
        ├── SmallSampleWarning    fewer rows than a guarantee needs; the message says how many
        └── UnknownGroupWarning   rows of groups that the fit has not seen got the common map

Invalid input raises a plain ``ValueError``, a call before ``fit`` scikit-learn's
``NotFittedError``.
"""

import sys
import warnings
from types import FrameType

from sklearn import exceptions as sklearn_exceptions

__all__ = [
    "ColumnOrderWarning",
    "ConvergenceWarning",
    "DircalWarning",
    "GridEdgeWarning",
    "RowSumWarning",
    "SampleWeightWarning",
    "SmallSampleWarning",
    "UnknownGroupWarning",
    "warn",
]


class DircalWarning(UserWarning):
    """Every warning that dircal gives."""


class ColumnOrderWarning(DircalWarning):
    """The labels fit another order of the columns far better; the message names it."""


class ConvergenceWarning(DircalWarning, sklearn_exceptions.ConvergenceWarning):  # type: ignore[misc]
    """A fit did not converge, or its optimum is at infinity; the message says what to do."""


class GridEdgeWarning(DircalWarning):
    """A search chose the smallest or the largest value: a better one may lie beyond."""


class RowSumWarning(DircalWarning):
    """Rows of probabilities were renormalised by more than rounding explains."""


class SampleWeightWarning(DircalWarning):
    """A classifier was trained without the weights that its calibrator got."""


class SmallSampleWarning(DircalWarning):
    """There are fewer rows than an interval needs to cover; the message says how many it needs."""


class UnknownGroupWarning(DircalWarning):
    """Rows of groups without a fitted map got the common map; the message contains their number."""


def warn(message: str, category: type[DircalWarning]) -> None:
    """Warn at the line of the first caller outside this package."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").startswith("dircal."):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
