"""Counting how often a fit goes over the data."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

from dircal._core.data.array_source import ArraySource

__all__ = ["Passes", "count_folds", "count_passes"]


@dataclass
class Passes:
    """Hessian products, all other passes over the rows, and a warning."""

    evaluations: int = 0
    products: int = 0
    warning: str = ""

    def __str__(self) -> str:
        counted = f"{self.evaluations} evaluations, {self.products} Hessian products"
        return f"{counted}; {self.warning}" if self.warning else counted


def count_passes(
    fit: Callable[[], object], say: Callable[[Passes], object] = lambda passes: None
) -> Passes:
    """Passes that calling ``fit`` makes, and the first sentence of a warning it gives.

    ``say`` is called at each of them.
    """
    with _counting(say) as passes, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    if caught:
        passes.warning = str(caught[0].message).split(":")[0].split(". ")[0]
    return passes


def count_folds(fit: Callable[[], object], n_samples: int) -> int:
    """How often calling ``fit`` goes over a source of so many rows; subsamples do not count."""
    sizes: list[int] = []
    fold = ArraySource.fold

    def counted(source: ArraySource, function: Callable[..., Any]) -> Any:
        sizes.append(source.n_samples)
        return fold(source, function)

    with mock.patch.object(ArraySource, "fold", counted), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit()
    return sizes.count(n_samples)


@contextmanager
def _counting(say: Callable[[Passes], object]) -> Iterator[Passes]:
    passes, fold = Passes(), ArraySource.fold

    def counted(source: ArraySource, function: Callable[..., Any]) -> Any:
        if "_hessian_product" in _names(function):
            passes.products += 1
        else:
            passes.evaluations += 1
        say(passes)
        return fold(source, function)

    with mock.patch.object(ArraySource, "fold", counted):
        yield passes


def _names(function: Any) -> Iterator[str]:
    """The function that is folded, and those that it is given."""
    if isinstance(function, partial):
        yield from _names(function.func)
        for argument in function.args:
            yield from _names(argument)
    elif callable(function):
        yield getattr(function, "__name__", "")
