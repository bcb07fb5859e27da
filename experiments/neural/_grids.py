"""Strengths to choose among, in the units of the authors' code."""

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Grid", "grid_of"]

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


_PAPER = Grid("paper")
_COARSE = Grid(
    "9 x 5", tuple(10.0**e for e in range(-2, 7)), tuple(10.0**e for e in range(-2, 7, 2))
)
# A fit of a million entries takes half a minute, and there are five for each pair. Near
# k (k - 1) / n and k / n, what structured matrix scaling takes with few rows; for L2 from the lower
# end of the paper's list.
_SMALL = Grid("2 x 1", (1e2, 1e4), (1e0,), (2.5e-3, 2.5e-2), tol=1e-6)
_QUICK = Grid("quick", (1e-2, 1e0, 1e2), (1e-2, 1e0), (1e-3, 1e-2, 1e-1))


def grid_of(n_classes: int, *, quick: bool = False, full: bool = False) -> Grid:
    """The paper's grid where it can be afforded; ``full`` asks for it up to hundreds of classes."""
    if quick:
        return _QUICK
    if n_classes >= _MANY_CLASSES:
        return _SMALL
    return _PAPER if full or n_classes <= _FEW_CLASSES else _COARSE
