"""Folds: which rows are fitted and which are kept back."""

import numbers
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from dircal._typing import ArrayLike, FloatArray, IntArray
from dircal.tables import check_integer

__all__ = [
    "Split",
    "check_cv",
    "deal_evenly",
    "deal_within_classes",
    "make_splits",
    "splits_to_choose_by",
    "used_rows",
]

Split: TypeAlias = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""Rows to fit and rows to score."""

# Folds are dealt at random, always in the same way.
_SEED = 0


def used_rows(sample_weight: FloatArray | None, n_rows: int) -> npt.NDArray[np.intp]:
    """Numbers of the rows of positive weight."""
    return np.arange(n_rows) if sample_weight is None else np.flatnonzero(sample_weight)


def check_cv(cv: object) -> None:
    """Refuse what gives no folds."""
    if isinstance(cv, numbers.Integral):
        check_integer("cv", cv, at_least=2)
    elif isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ValueError(
            f"`cv` must be a number of folds, a splitter of scikit-learn, or pairs of indices; "
            f"got {cv!r}. Pass for example 5."
        )


def deal_evenly(n_folds: int, labels: IntArray, groups: npt.NDArray[Any] | None) -> Any:
    """Splitter that deals rows without looking at their labels."""
    del labels
    if groups is not None:
        return GroupKFold(n_folds)
    return KFold(n_folds, shuffle=True, random_state=_SEED)


def deal_within_classes(n_folds: int, labels: IntArray, groups: npt.NDArray[Any] | None) -> Any:
    """Splitter that gives every fold its share of each class."""
    # Some class has to be in every fold; where all are single rows there is nothing to share.
    largest = int(np.bincount(labels).max())
    if largest < 2:
        return deal_evenly(n_folds, labels, groups)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(min(n_folds, largest), shuffle=True, random_state=_SEED)


def make_splits(
    cv: Any,
    labels: IntArray,
    used: npt.NDArray[np.intp],
    deal: Callable[[int, IntArray, npt.NDArray[Any] | None], Any],
    groups: ArrayLike | None = None,
    *,
    X: Any = None,
    options: Mapping[str, Any] | None = None,
) -> list[Split]:
    """Rows to fit and rows to score of each fold; only rows that are ``used`` are in either.

    ``deal`` makes the splitter where ``cv`` is a number, for the rows that are used. A splitter is
    asked about all rows, since it may know them by their number; pairs of indices count all, too.
    It is shown ``X``, where that is given, and gets ``options`` besides.
    """
    together = None if groups is None else np.asarray(groups)
    if isinstance(cv, numbers.Integral):
        within = None if together is None else together[used]
        splitter = deal(_n_folds(int(cv), len(used), within), labels[used], within)
        dealt = _ask(splitter, labels[used], within)
        return [(used[one], used[other]) for one, other in dealt if len(one) and len(other)]
    is_used = np.zeros(len(labels), dtype=bool)
    is_used[used] = True
    if hasattr(cv, "split"):
        dealt = _ask(cv, labels, together, X, options)
        folds = [(one[is_used[one]], other[is_used[other]]) for one, other in dealt]
        kept = [(one, other) for one, other in folds if len(one) and len(other)]
        if not kept:
            raise ValueError(
                f"`cv` is {cv!r}, but no fold has rows to fit and rows to score. "
                "Give both some rows of positive weight."
            )
        return kept
    if together is not None:
        raise ValueError(
            f"`groups` has {len(together)} entries, but `cv` holds pairs of indices, which decide "
            "already which rows stay together. Leave out `groups`, or pass a splitter as `cv`."
        )
    return _from_pairs(cv, is_used)


def splits_to_choose_by(cv: Any, labels: IntArray, sample_weight: FloatArray | None) -> list[Split]:
    """Folds dealt without a look at the labels; one row alone has to judge itself."""
    used = used_rows(sample_weight, len(labels))
    if len(used) == 1 and isinstance(cv, numbers.Integral):
        return [(used, used)]
    return make_splits(cv, labels, used, deal_evenly)


def _n_folds(wanted: int, n_rows: int, groups: npt.NDArray[Any] | None) -> int:
    """With fewer rows, or groups, than folds every one of them is a fold."""
    if n_rows < 2:
        raise ValueError(
            f"`cv` is {wanted}, but there is only one sample (n_samples=1), which cannot be both "
            "fitted and scored. Pass more rows."
        )
    n_groups = n_rows if groups is None else len(np.unique(groups))
    if n_groups < 2:
        raise ValueError(
            "`groups` holds only one group, whose rows cannot be both fitted and scored. "
            "Pass rows of another group, or no groups."
        )
    return min(wanted, n_groups)


def _ask(
    splitter: Any,
    labels: IntArray,
    groups: npt.NDArray[Any] | None,
    X: Any = None,
    options: Mapping[str, Any] | None = None,
) -> list[Split]:
    """The folds that a splitter of scikit-learn makes."""
    rows = np.zeros((len(labels), 1)) if X is None else X
    given = dict(options or {}) | ({} if groups is None else {"groups": groups})
    with warnings.catch_warnings():
        # A class with fewer rows than there are folds is absent from some: that works here.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        try:
            folds = list(splitter.split(rows, labels, **given))
        except ValueError as error:
            if groups is not None or "groups" not in str(error):
                raise ValueError(
                    f"`cv` is {splitter!r}, which cannot divide {len(labels)} rows: {error} "
                    "Pass another splitter or a number of folds."
                ) from error
            raise ValueError(
                f"`cv` is {splitter!r}, which needs groups. Pass `groups` to `fit` of a "
                "CalibratedClassifier; to others pass the pairs, "
                f"cv=list({type(splitter).__name__}(...).split(X, y, groups))."
            ) from error
    return [_as_pair(fold, len(labels)) for fold in folds]


def _from_pairs(cv: Iterable[Any], is_used: npt.NDArray[np.bool_]) -> list[Split]:
    """Folds that the user made."""
    pairs = [_as_pair(pair, len(is_used)) for pair in cv]
    if not pairs and isinstance(cv, Iterator):
        raise ValueError(
            f"`cv` is a {type(cv).__name__} that is used up: its pairs can be read only once. "
            "Pass a list of them."
        )
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
    # Negative numbers count from the end.
    return array.astype(np.intp) % n
