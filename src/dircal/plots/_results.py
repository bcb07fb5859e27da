"""Results by the name of a method, as users pass them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dircal._typing import ArrayLike, FloatArray

__all__ = ["check_mapping", "check_method_names", "numbers_of", "shares_of"]


def check_mapping(name: str, value: Any, what: str) -> dict[str, Any]:
    """A dict with at least one entry, by the names of the methods."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError(
            f"`{name}` must be a dict from the name of each method to {what}; got "
            f"{type(value).__name__ if not isinstance(value, Mapping) else 'an empty one'}. "
            f"Pass for example {{'Dirichlet': ...}}."
        )
    return {str(key): entry for key, entry in value.items()}


def check_method_names(names: Sequence[str] | None, n: int) -> tuple[str, ...]:
    """A name for each of ``n`` methods."""
    if names is None:
        return tuple(f"method {j}" for j in range(n))
    given = None if isinstance(names, str) else tuple(str(name) for name in names)
    if given is None or len(given) != n:
        got = repr(names) if given is None else f"{len(given)}"
        raise ValueError(
            f"`names` must be {n} names, one for each method; got {got}. "
            "Pass them in the order of the columns."
        )
    return given


def numbers_of(name: str, key: str, value: ArrayLike) -> FloatArray:
    """Finite numbers (n,) of one method."""
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`{name}` must hold numbers; {key!r} does not ({error}). Pass one for each result."
        ) from error
    if numbers.ndim != 1 or len(numbers) == 0 or not np.isfinite(numbers).all():
        raise ValueError(
            f"`{name}` must hold at least one finite number for each method; {key!r} has shape "
            f"{numbers.shape}{'' if np.isfinite(numbers).all() else ' and NaN or infinity'}. "
            "Drop the rows that a method did not complete."
        )
    return numbers


def shares_of(name: str, key: str, value: ArrayLike) -> FloatArray:
    """Numbers between 0 and 1 of one method."""
    numbers = numbers_of(name, key, value)
    if numbers.min() < 0 or numbers.max() > 1:
        wrong = numbers[(numbers < 0) | (numbers > 1)][0]
        raise ValueError(
            f"`{name}` must lie between 0 and 1; {key!r} holds {wrong:g}. Pass p-values or shares."
        )
    return numbers
