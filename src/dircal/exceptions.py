"""Errors and warnings of dircal.

::

    UserWarning
    └── DircalWarning
        ├── ConvergenceWarning    the fit did not converge (also scikit-learn's ConvergenceWarning)
        └── RowSumWarning         rows were far enough from summing to one to be worth a look

Invalid input raises a plain ``ValueError``, a call before ``fit`` scikit-learn's
``NotFittedError``.
"""

from sklearn import exceptions as sklearn_exceptions

__all__ = ["ConvergenceWarning", "DircalWarning", "RowSumWarning"]


class DircalWarning(UserWarning):
    """Every warning that dircal gives."""


class ConvergenceWarning(DircalWarning, sklearn_exceptions.ConvergenceWarning):  # type: ignore[misc]
    """A fit did not converge, or its optimum is at infinity; the message says what to do."""


class RowSumWarning(DircalWarning):
    """Rows of probabilities were renormalised by more than rounding explains."""
