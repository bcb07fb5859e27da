"""The grids of the paper, by name."""

from typing import Any

from dircal.calibrators import AbstractCalibrator

__all__ = ["GRIDS", "named_grid"]

GRIDS = ("paper_uci", "paper_neural")


def named_grid(name: str, calibrator: AbstractCalibrator, n_classes: int) -> list[dict[str, Any]]:
    """Settings in the order of the paper's code, in the units of the paper's formulas.

    ``"paper_uci"`` has the strengths of L2 and the numbers of bins of the experiment on UCI data,
    ``"paper_neural"`` the strengths of ODIR and L2 for networks.
    """
    grid = calibrator._paper_grid(name, n_classes)
    if grid is None:
        raise ValueError(
            f"`param_grid` {name!r} has no values for {calibrator!r}. 'paper_uci' is for L2 "
            "penalties and numbers of bins, 'paper_neural' for ODIR and L2; pass a grid of your "
            "own otherwise."
        )
    return grid
