"""Counting how often a fit goes over the data."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from dircal.core import Objective

__all__ = ["Passes", "count_passes"]

# Methods of the objective that read all rows once and compute probabilities.
_EVALUATIONS = ("loss_and_gradient", "second_order", "hessian_diagonal")


@dataclass
class Passes:
    """Evaluations of the objective, products with its Hessian, and warnings of the fit."""

    evaluations: int = 0
    products: int = 0
    warning: str = ""


def count_passes(fit: Callable[[], object]) -> Passes:
    """Passes that calling ``fit`` makes, and the first sentence of a warning it gives."""
    with _counting() as passes, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    if caught:
        passes.warning = str(caught[0].message).split(":")[0].split(". ")[0]
    return passes


@contextmanager
def _counting() -> Iterator[Passes]:
    passes = Passes()

    def evaluation(method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            passes.evaluations += 1
            return method(*args)

        return counted

    def product(method: Callable[..., Any]) -> Callable[..., Any]:
        def prepared(*args: Any) -> Any:
            passes.evaluations += 1
            multiply = method(*args)

            def counted(vector: Any) -> Any:
                passes.products += 1
                return multiply(vector)

            return counted

        return prepared

    with ExitStack() as stack:
        for name in _EVALUATIONS:
            method = evaluation(getattr(Objective, name))
            stack.enter_context(mock.patch.object(Objective, name, method))
        method = product(Objective.hessian_product)
        stack.enter_context(mock.patch.object(Objective, "hessian_product", method))
        yield passes
