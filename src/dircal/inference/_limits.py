"""Numbers that steer `dircal.inference`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["INFERENCE_LIMITS", "InferenceLimits"]


@dataclass(frozen=True)
class InferenceLimits:
    """Limits of tests, intervals and comparisons.

    The levels are conventions. The others decide the cost and the length of what is printed.
    """

    # Level at which the score test names classes and pairs.
    alpha: float = 0.05
    # Rows of a table in parts up to which every fold is scored; with more rows, one fold is.
    max_fold_rows: int = 1_000_000
    # Folds of a comparison, the convention of scikit-learn.
    n_folds: int = 5
    # Statistics are of the size of the number of parameters, and their inverse Hessian magnifies
    # rounding. A smaller relative difference is a tie.
    statistic_tol: float = 1e-5
    # Bars of a histogram in a notebook.
    n_bars: int = 24
    # p-values below it are printed in the colour of an alarm.
    alarm_level: float = 0.05
    # Folds by which `dircal fit` estimates what its map changes.
    n_fit_folds: int = 5
    # Rows for each class from which intervals of `classwise_ece` are meant: of 10
    # overconfident classes, 81 % covered with 20 and 87 % with 50, and 95 % with 100.
    min_class_rows: int = 100
    # Seconds that these folds may take; `compare` is for longer runs.
    max_fold_seconds: float = 5.0
    # Lines about classes, at most.
    max_shown: int = 12


INFERENCE_LIMITS = in_context(InferenceLimits())
