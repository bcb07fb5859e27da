"""Counting how often a fit goes over the data."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from dircal._core.model.logistic import LogisticObjective
from dircal._core.model.objective import LocalModel, Objective

__all__ = ["Passes", "count_passes"]

# Public methods of the objective and its local models that do not read the rows. Every other one
# counts as a pass, also one that this file has never heard of: better one too many than too few.
_NOT_PASSES = {"unpenalised_shifts", "from_penalty", "held"}


@dataclass
class Passes:
    """Evaluations of the objective and its derivatives, Hessian products, and a warning."""

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


@contextmanager
def _counting(say: Callable[[Passes], object]) -> Iterator[Passes]:
    passes = Passes()

    def evaluation(method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            passes.evaluations += 1
            say(passes)
            return method(*args)

        return counted

    def product(method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            passes.products += 1
            say(passes)
            return method(*args)

        return counted

    with ExitStack() as stack:
        for kind in (Objective, LogisticObjective, LocalModel):
            for name, method in list(vars(kind).items()):
                if name.startswith("_") or name in _NOT_PASSES or not callable(method):
                    continue
                counted = product(method) if name == "product" else evaluation(method)
                stack.enter_context(mock.patch.object(kind, name, counted))
        yield passes
