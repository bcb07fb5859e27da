"""Strengths to choose among, in the units of the authors' code."""

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["GRIDS", "Grid", "grid_of"]

_FEW_CLASSES = 20
_MANY_CLASSES = 1000


@dataclass(frozen=True)
class Grid:
    """Values of lambda and mu for ODIR, and of lambda for L2; the paper's where there are none."""

    name: str
    lams: tuple[float, ...] = ()
    mus: tuple[float, ...] = ()
    l2_lams: tuple[float, ...] = ()
    tol: float = 1e-12
    """Of the solver, on the mean loss."""
    told: str = ""
    """What the page says was tried."""

    def settings(self, penalty: Literal["odir", "l2"], n_classes: int) -> Any:
        """For `CalibratorCV`, in the units of the paper's formulas."""
        if penalty == "l2":
            return {"lam": list(self.l2_lams)} if self.l2_lams else "paper_neural"
        if not self.lams:
            return "paper_neural"
        pairs = n_classes * (n_classes - 1)
        return {
            "lam": [pairs * lam for lam in self.lams],
            "mu": [n_classes * mu for mu in self.mus],
        }


_PAPER = Grid("paper", told="the paper's whole grids")
_COARSE = Grid(
    "9 x 5",
    tuple(10.0**e for e in range(-2, 7)),
    tuple(10.0**e for e in range(-2, 7, 2)),
    told="9 values of lambda and 5 of mu for ODIR and the paper's whole list for L2",
)
# A fit of a million entries takes half a minute, and there are five for each pair. Near
# k (k - 1) / n and k / n, what structured matrix scaling takes with few rows; for L2 from the lower
# end of the paper's list.
_SMALL = Grid(
    "2 x 1",
    (1e2, 1e4),
    (1e0,),
    (2.5e-3, 2.5e-2),
    tol=1e-6,
    told="2 values of lambda and 1 of mu for ODIR and 2 for L2, solved to 1e-6,",
)
_QUICK = Grid(
    "quick",
    (1e-2, 1e0, 1e2),
    (1e-2, 1e0),
    (1e-3, 1e-2, 1e-1),
    told="3 values of lambda and 2 of mu for ODIR and 3 for L2, as a trial only",
)
GRIDS = {grid.name: grid for grid in (_PAPER, _COARSE, _SMALL, _QUICK)}
"""By the names that the tables have."""


def grid_of(n_classes: int, *, quick: bool = False, full: bool = False) -> Grid:
    """The paper's grid where it can be afforded; ``full`` asks for it up to hundreds of classes."""
    if quick:
        return _QUICK
    if n_classes >= _MANY_CLASSES:
        return _SMALL
    return _PAPER if full or n_classes <= _FEW_CLASSES else _COARSE
