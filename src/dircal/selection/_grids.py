"""The grids of the paper, by name, and one for whoever names none."""

from typing import Any, TypeAlias

from dircal.calibrators import AbstractCalibrator

__all__ = ["GRIDS", "default_grid", "named_grid"]

Grid: TypeAlias = list[dict[str, Any]]
GRIDS = ("paper_uci", "paper_neural")


def default_grid(calibrator: AbstractCalibrator, n_classes: int) -> Grid:
    """Return the settings that a search tries by default."""
    grid: Grid | None = calibrator.method().default_grid(n_classes)
    if grid is None:
        raise ValueError(
            f"`param_grid` is None, but {type(calibrator).__name__} has nothing that is worth "
            "trying. Fit it as it is, or pass a grid of your own, for example "
            "{'clip': [1e-6, 1e-4]}."
        )
    return grid


def named_grid(name: str, calibrator: AbstractCalibrator, n_classes: int) -> Grid:
    """Settings in the order of the paper's code, in the units of the paper's formulas.

    ``"paper_uci"`` has the strengths of L2 and the numbers of bins of the experiment on UCI data,
    ``"paper_neural"`` the strengths of ODIR and L2 for networks.
    """
    grid: Grid | None = calibrator.method().paper_grid(name, n_classes)
    if grid is None:
        raise ValueError(
            f"`param_grid` {name!r} has no values for {calibrator!r}. 'paper_uci' is for L2 "
            "penalties and numbers of bins, 'paper_neural' for ODIR and L2; pass a grid of your "
            "own otherwise."
        )
    return grid
