"""The grids of the paper, by name, and one for whoever names none."""

from typing import Any

import numpy as np

from dircal.calibrators import AbstractCalibrator

__all__ = ["GRIDS", "default_grid", "named_grid"]

GRIDS = ("paper_uci", "paper_neural")
# Of one entry of the matrix on the mean loss. Learned strengths of real classifiers lie between.
_MATRIX_DECADES = np.logspace(2, -5, 8)
_INTERCEPT_DECADES = np.logspace(2, -4, 4)


def default_grid(calibrator: AbstractCalibrator, n_classes: int) -> list[dict[str, Any]]:
    """Settings to try where nobody says which: strengths by decades, numbers of bins, slopes."""
    parameters = calibrator.get_params(deep=False)
    if isinstance(parameters.get("calibrator"), AbstractCalibrator):
        inner = default_grid(parameters["calibrator"], 2)
        return [{f"calibrator__{name}": x for name, x in one.items()} for one in inner]
    penalty = parameters.get("penalty")
    if penalty == "odir":
        # The formula divides by the number of entries.
        pairs = n_classes * (n_classes - 1)
        return [
            {"lam": float(pairs * lam), "mu": float(n_classes * mu)}
            for lam in _MATRIX_DECADES
            for mu in _INTERCEPT_DECADES
        ]
    if penalty == "none":
        strengths = [{"penalty": "l2", "lam": float(lam)} for lam in _MATRIX_DECADES]
        return [*strengths, {"penalty": "none", "lam": None}]
    if "slopes" in parameters:
        return [{"slopes": "free"}, {"slopes": "nonnegative"}]
    grid = calibrator._paper_grid("paper_uci", n_classes)
    if grid is None:
        raise ValueError(
            f"`param_grid` is None, but {type(calibrator).__name__} has nothing that is worth "
            "trying. Fit it as it is, or pass a grid of your own, for example "
            "{'clip': [1e-6, 1e-4]}."
        )
    return grid


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
