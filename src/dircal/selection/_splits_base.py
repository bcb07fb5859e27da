"""Folds: which rows are fitted and which are kept back."""

import numbers
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

from dircal._typing import ArrayLike, IntArray
from dircal._validation import check_integer

__all__ = ["Split", "check_cv", "deal_evenly", "deal_within_classes", "make_splits"]

Split: TypeAlias = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""Rows to fit and rows to score."""

# Folds are dealt at random, always in the same way.
_SEED = 0


def check_cv(cv: object) -> None:
    """Refuse what gives no folds."""
    if isinstance(cv, numbers.Integral):
        check_integer("cv", cv, at_least=2)
    elif isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ValueError(
            f"`cv` must be a number of folds, a splitter of scikit-learn, or pairs of indices; "
            f"got {cv!r}. Pass for example 5."
        )


def deal_evenly(n_folds: int, grouped: bool) -> Any:
    """Splitter that deals rows without looking at their labels."""
    del grouped
    return KFold(n_folds, shuffle=True, random_state=_SEED)


def deal_within_classes(n_folds: int, grouped: bool) -> Any:
    """Splitter that gives every fold its share of each class."""
    kind = StratifiedGroupKFold if grouped else StratifiedKFold
    return kind(n_folds, shuffle=True, random_state=_SEED)


def make_splits(
    cv: Any,
    labels: IntArray,
    used: npt.NDArray[np.intp],
    deal: Callable[[int, bool], Any],
    groups: ArrayLike | None = None,
) -> list[Split]:
    """Rows to fit and rows to score of each fold; only rows that are ``used`` are in either.

    ``deal`` makes the splitter where ``cv`` is a number. Pairs of indices count all rows.
    """
    if isinstance(cv, numbers.Integral):
        if len(used) < 2:
            raise ValueError(
                f"`cv` is {cv}, but there is only one sample (n_samples=1), which cannot be both "
                "fitted and scored. Pass more rows."
            )
        # With fewer rows than folds every row is a fold.
        cv = deal(min(int(cv), len(used)), groups is not None)
    if hasattr(cv, "split"):
        given = None if groups is None else np.asarray(groups)[used]
        with warnings.catch_warnings():
            # A class with fewer rows than there are folds is absent from some: that works here.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            folds = list(cv.split(np.zeros((len(used), 1)), labels[used], given))
        return [(used[fitting], used[scoring]) for fitting, scoring in folds]
    is_used = np.zeros(len(labels), dtype=bool)
    is_used[used] = True
    pairs = [_as_pair(pair, len(labels)) for pair in cv]
    splits = [(one[is_used[one]], other[is_used[other]]) for one, other in pairs]
    empty = [i for i, (one, other) in enumerate(splits) if not (len(one) and len(other))]
    if empty or not splits:
        what = f"pair {empty[0]} has no rows to fit or to score" if empty else "it has no pairs"
        raise ValueError(
            f"`cv` must hold pairs (rows to fit, rows to score), but {what}. "
            "Give both some rows of positive weight."
        )
    return splits


def _as_pair(pair: Any, n: int) -> Split:
    """Two arrays of row numbers, from numbers or truth values."""
    try:
        fitting, scoring = pair
    except (TypeError, ValueError):
        raise ValueError(
            f"`cv` must hold pairs (rows to fit, rows to score); got {pair!r}. "
            "Pass for example [(fit_rows, score_rows)]."
        ) from None
    return _as_rows(fitting, n), _as_rows(scoring, n)


def _as_rows(rows: ArrayLike, n: int) -> npt.NDArray[np.intp]:
    array = np.asarray(rows)
    if array.dtype.kind == "b" and array.shape == (n,):
        return np.flatnonzero(array)
    whole = array.ndim == 1 and (array.dtype.kind in "iu" or array.size == 0)
    if not whole or (array.size and not -n <= array.min() <= array.max() < n):
        raise ValueError(
            f"`cv` must hold numbers of rows below {n}, or one truth value for each row; got "
            f"{array.dtype} values of shape {array.shape}. Pass for example np.arange(100)."
        )
    return array.astype(np.intp)
