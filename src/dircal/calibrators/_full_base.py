"""What the calibrators with a full matrix share."""

from dircal._core.model.penalty import Penalty, off_diagonal
from dircal._core.model.structure import Full, Structure
from dircal.calibrators._linear_base import (
    AbstractLinearCalibrator,
    check_penalty,
    simple_penalty,
)
from dircal.validation import check_number

__all__ = ["AbstractFullCalibrator"]


class AbstractFullCalibrator(AbstractLinearCalibrator):
    """A linear map with a full matrix: Dirichlet calibration and matrix scaling."""

    penalty: str
    lam: float | None
    mu: float | None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_penalty(self.penalty, self.lam, ("odir", "l2", "l2_reference", "none"))
        if self.mu is not None:
            if self.penalty != "odir":
                raise ValueError(
                    f"`mu` weighs the intercepts of penalty='odir' only; got mu={self.mu!r} with "
                    f"penalty={self.penalty!r}. Leave `mu` at None, or set penalty='odir'."
                )
            check_number("mu", self.mu, at_least=0.0)

    def _structure(self, n_classes: int) -> Structure:
        held = self.penalty == "l2_reference"
        return Full(n_classes, n_classes - 1 if held else n_classes)

    def _penalty(self, n_classes: int, n: float) -> Penalty:
        if self.penalty == "odir":
            pairs = n_classes * (n_classes - 1)
            lam = pairs**2 / n if self.lam is None else self.lam
            mu = n_classes**2 / n if self.mu is None else self.mu
            return off_diagonal(n_classes, lam, mu)
        return simple_penalty(self.penalty, self.lam, n_classes)
