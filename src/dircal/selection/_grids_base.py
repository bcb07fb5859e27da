"""The grids of the paper, by name."""

from typing import Any

import numpy as np

from dircal.calibrators._base import AbstractCalibrator

__all__ = ["GRIDS", "named_grid"]

GRIDS = ("paper_uci", "paper_neural")

_UCI_STRENGTHS = tuple(10.0**e for e in range(3, -8, -1))
_UCI_BINS = (5, 10, 15, 20, 25, 30)
# The authors start the exponents of the neural grids higher for 100 classes.
_MANY_CLASSES = 100


def named_grid(name: str, calibrator: AbstractCalibrator, n_classes: int) -> list[dict[str, Any]]:
    """Settings in the order of the paper's code, in the units of the paper's formulas.

    ``"paper_uci"`` has the strengths of L2 and the numbers of bins of the experiment on UCI data,
    ``"paper_neural"`` the strengths of ODIR and L2 for networks. The authors' code does not divide
    the penalty of ODIR by k (k - 1) and k as the formula does, so its values are multiplied by
    that.
    """
    options = calibrator.get_params(deep=False)
    if name == "paper_uci" and "n_bins" in options:
        return [{"n_bins": n_bins} for n_bins in _UCI_BINS]
    if name == "paper_uci" and options.get("penalty") in ("l2", "l2_reference"):
        return [{"lam": lam} for lam in _UCI_STRENGTHS]
    if name == "paper_neural" and options.get("penalty") == "l2":
        return [{"lam": lam} for lam in _neural_strengths(n_classes)]
    if name == "paper_neural" and options.get("penalty") == "odir":
        pairs = n_classes * (n_classes - 1)
        return [
            {"lam": pairs * lam, "mu": n_classes * mu}
            for lam in _neural_strengths(n_classes)
            for mu in _neural_decades(n_classes)
        ]
    raise ValueError(
        f"`param_grid` {name!r} has no values for {calibrator!r}. 'paper_uci' is for L2 penalties "
        "and numbers of bins, 'paper_neural' for ODIR and L2; pass a grid of your own otherwise."
    )


def _neural_decades(n_classes: int) -> list[float]:
    lowest = -2 if n_classes >= _MANY_CLASSES else -5
    return [10.0**e for e in range(lowest, 7)]


def _neural_strengths(n_classes: int) -> list[float]:
    decades = np.array(_neural_decades(n_classes))
    strengths: list[float] = np.sort(np.concatenate([decades, decades / 2, decades / 4])).tolist()
    return strengths
