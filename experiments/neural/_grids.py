"""Strengths to choose among, in the units of the authors' code."""

from dataclasses import dataclass
from typing import Any, Literal

from ._networks import Network, known

__all__ = ["Grid", "grid_of"]

_FEW_CLASSES = 20
_MANY_CLASSES = 1000


@dataclass(frozen=True)
class Grid:
    """Values of lambda and mu; the paper's where there are none."""

    name: str
    lams: tuple[float, ...] = ()
    mus: tuple[float, ...] = ()

    def settings(self, penalty: Literal["odir", "l2"], n_classes: int) -> Any:
        """For `CalibratorCV`, in the units of the paper's formulas."""
        if not self.lams:
            return "paper_neural"
        if penalty == "l2":
            return {"lam": list(self.lams)}
        pairs = n_classes * (n_classes - 1)
        return {
            "lam": [pairs * lam for lam in self.lams],
            "mu": [n_classes * mu for mu in self.mus],
        }


_PAPER = Grid("paper")
_COARSE = Grid(
    "9 x 5", tuple(10.0**e for e in range(-2, 7)), tuple(10.0**e for e in range(-2, 7, 2))
)
_SMALL = Grid("3 x 2", (1e2, 1e4, 1e6), (1e0, 1e4))


def grid_of(network: Network, *, quick: bool = False, of_paper: bool = False) -> Grid:
    """The paper's grid where it can be afforded, and always for the paper's own networks."""
    full = of_paper or network.n_classes <= _FEW_CLASSES or known(network.name).grid == "full"
    if network.n_classes >= _MANY_CLASSES or quick:
        return _SMALL
    return _PAPER if full else _COARSE
