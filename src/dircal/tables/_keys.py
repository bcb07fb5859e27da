"""Keys of rows, such as groups and names: strings, numbers or booleans, never converted."""

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, IntArray, LabelArray
from dircal.exceptions import UnknownGroupWarning, warn
from dircal.tables._conversion import reject_masked
from dircal.tables._labels import as_label_array, as_plain, is_missing
from dircal.tables._score_table import ScoreTable
from dircal.tables._values import eager_frame

__all__ = [
    "check_keys",
    "find_key",
    "groups_of_fit",
    "key_type",
    "known_groups",
    "split_groups",
    "unique_keys",
]

# True equals 1 and has its hash: in one table of keys they would be merged.
_TYPES = {str: "strings", int: "numbers", float: "numbers", bool: "booleans"}


def key_type(keys: Iterable[Any]) -> str | None:
    """Return the type of the first key; None if there is no key."""
    return next((_TYPES.get(type(key)) for key in keys), None)


def check_keys(
    name: str,
    given: ArrayLike,
    n_rows: int | None = None,
    of_type: str | None = None,
    *,
    allow_missing: bool = False,
) -> list[Any]:
    """Return a string, number or boolean for each row, all of one type, as objects of Python.

    Parameters
    ----------
    name : str
        Name of the argument.
    given : array
        Keys of rows.
    n_rows : int, optional
        Number of rows; any number by default.
    of_type : str, optional
        `key_type` of earlier keys, which these must have as well.
    allow_missing : bool, default=False
        Whether a key may be missing, such as None or NaN; it is None in the result.
    """
    reject_masked(name, given)
    if allow_missing:
        return _with_missing(name, given, n_rows, of_type)
    array = as_label_array(given, name).ravel()
    # Dates of NumPy would become integers.
    values = [*array] if array.dtype.kind in "mM" else array.tolist()
    keys = [value if type(value) in _TYPES else as_plain(value) for value in values]
    _check_number(name, len(keys), n_rows)
    for key in keys:
        if type(key) not in _TYPES or key != key:
            raise ValueError(
                f"`{name}` must contain strings, numbers or booleans; got {key!r}. Convert them, "
                "for example with str."
            )
    first = key_type(keys)
    other = next((key for key in keys if _TYPES[type(key)] != first), None)
    if other is not None:
        raise ValueError(
            f"`{name}` must contain values of one type; got {keys[0]!r} and {other!r}. Convert "
            "them, for example with str."
        )
    if keys and of_type not in (None, first):
        raise ValueError(
            f"`{name}` must contain {of_type}, as before; got {keys[0]!r}. Convert them to the "
            "type of the earlier ones."
        )
    return keys


def _with_missing(
    name: str, given: ArrayLike, n_rows: int | None, of_type: str | None
) -> list[Any]:
    keys = np.asarray(given, dtype=object).ravel()
    present = np.array([not is_missing(key) for key in keys], dtype=bool)
    if present.all():
        return check_keys(name, given, n_rows, of_type)
    _check_number(name, len(keys), n_rows)
    found = np.full(len(keys), None, dtype=object)
    found[present] = check_keys(name, keys[present].tolist(), None, of_type)
    return [*found]


def _check_number(name: str, n_keys: int, n_rows: int | None) -> None:
    if n_rows not in (None, n_keys):
        raise ValueError(
            f"`{name}` has {n_keys} entries, but there are {n_rows} rows. Pass one for each."
        )


def unique_keys(keys: Sequence[Any]) -> tuple[LabelArray, IntArray]:
    """Return the distinct keys, sorted, and the position of each key among them."""
    names = sorted(set(keys))
    places = {name: i for i, name in enumerate(names)}
    return _as_array(names), np.array([places[key] for key in keys], dtype=np.intp)


def _as_array(names: list[Any]) -> LabelArray:
    """Return keys as an array, or as objects if other arrays would round them."""
    try:
        return as_label_array(names)
    except ValueError:
        return np.array(names, dtype=object)


def find_key(name: str, key: Any, known: Sequence[Any], none: str) -> int:
    """Return the position of a key among ``known`` ones, or raise if it is not one of them."""
    plain = as_plain(key)
    if type(plain) in _TYPES and _TYPES[type(plain)] == key_type(known) and plain in known:
        return known.index(plain)
    raise ValueError(
        f"`{name}` must be one of the {len(known)} in `groups_`; got {key!r}. Pass one of them, or "
        f"None for {none}."
    )


def known_groups(keys: Sequence[Any], known: LabelArray) -> IntArray:
    """Return the position of each group among ``known`` ones.

    It is -1 for None, and with a warning for groups that are not among them.
    """
    places = {name: i for i, name in enumerate(known.tolist())}
    codes = np.array([places.get(key, -1) for key in keys], dtype=np.intp)
    new = [i for i in np.flatnonzero(codes < 0).tolist() if keys[i] is not None]
    if len(new):
        warn(
            f"`groups` has {len(new)} of {len(keys)} rows in groups that `fit` has not seen, such "
            f"as {keys[new[0]]!r}: they get the common map. Pass groups as in `fit`, or fit on "
            "rows of all groups.",
            UnknownGroupWarning,
        )
    return codes


def groups_of_fit(
    X: ArrayLike | ScoreTable, groups: ArrayLike | str | None
) -> tuple[ArrayLike | ScoreTable, list[Any] | None]:
    """Return the scores of a fit and the group of each row, which a table has itself."""
    if not isinstance(X, ScoreTable):
        return (X, None) if groups is None else split_groups(X, groups)
    if groups is not None:
        raise ValueError(
            "`groups` is given, but `X` is a table. Name its column of groups: "
            "scan(..., group=...)."
        )
    if X.group is None:
        return X, None
    if not X.is_in_memory:
        raise ValueError(
            f"{X.where} is read in parts, where groups are not supported. Pass a table that fits "
            "into memory."
        )
    return X, check_keys("groups", X.loaded.group, X.loaded.n_rows)


def split_groups(
    X: ArrayLike,
    groups: ArrayLike | str,
    of_type: str | None = None,
    *,
    names: tuple[str, str] = ("X", "groups"),
    allow_missing: bool = False,
) -> tuple[ArrayLike, list[Any]]:
    """Return scores without a column of groups, if its name is given, and the group of each row.

    Parameters
    ----------
    X : array or data frame
        Scores.
    groups : array or str
        Group of each row, or the name of their column.
    of_type : str, optional
        `key_type` of earlier groups.
    names : tuple of str
        Names of both arguments.
    allow_missing : bool, default=False
        Whether the group of a row may be missing.
    """
    scores, name = names
    if isinstance(groups, str):
        if not nw.dependencies.is_into_dataframe(X):
            raise ValueError(
                f"`{name}` is {groups!r}, but `{scores}` is no data frame that could have a column "
                "of that name. Pass an array with the group of each row."
            )
        frame = eager_frame("X", X)
        if groups not in frame.columns:
            raise ValueError(
                f"`{name}` is {groups!r}, and `{scores}` has no such column; it has "
                f"{frame.columns[:6]}. Name one of them, or pass an array."
            )
        values: npt.NDArray[Any] = frame[groups].to_numpy()
        return frame.drop(groups).to_native(), check_keys(
            name, values, len(values), of_type, allow_missing=allow_missing
        )
    n_rows = len(X) if hasattr(X, "__len__") else (*getattr(X, "shape", ()), 0)[0]
    return X, check_keys(name, groups, n_rows, of_type, allow_missing=allow_missing)
