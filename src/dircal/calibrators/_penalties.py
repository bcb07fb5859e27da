"""Penalties as users name them: each knows its table, its free entries and the paper's grids.

A new penalty is one class here and a line in `PENALTIES`; names are compared nowhere else.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from dircal._core.bayes.strengths import learn_strengths
from dircal._core.clip.by_likelihood import LearnedClip
from dircal._core.data.rows import Rows
from dircal._core.model.penalty import Penalty, l2, no_penalty, off_diagonal
from dircal._core.model.structure import Full, Structure
from dircal.tables import check_number, check_option

__all__ = ["AbstractPenalty", "PenaltyInUse", "PenaltyName", "penalty_named"]

PenaltyName: TypeAlias = Literal["odir", "l2", "l2_reference", "none"]
Grid: TypeAlias = list[dict[str, Any]]

_DEFAULT_L2 = 1e-3
# The grid of the experiment on UCI data, in the order of the paper's code.
_UCI_STRENGTHS = tuple(10.0**e for e in range(3, -8, -1))
# Of one entry of the matrix on the mean loss. Learned strengths of real classifiers lie between.
_MATRIX_DECADES = np.logspace(2, -5, 8)
_INTERCEPT_DECADES = np.logspace(2, -4, 4)
# The authors start the exponents of the neural grids higher for 100 classes.
_MANY_CLASSES = 100


@dataclass(frozen=True)
class PenaltyInUse:
    """Weights and centres of the entries of [W | b], and the strengths behind them by name."""

    table: Penalty
    strengths: dict[str, float]


@dataclass(frozen=True)
class AbstractPenalty(ABC):
    """A penalty with its strengths; None stands for a default, or for one that is learned."""

    lam: float | None
    mu: float | None

    has_strength: ClassVar[bool] = True
    """Whether ``lam`` means anything."""
    weighs_intercepts: ClassVar[bool] = False
    """Whether ``mu`` does."""

    @property
    def is_learned(self) -> bool:
        """Whether rows decide on a strength."""
        return False

    @abstractmethod
    def given(self, n_classes: int) -> PenaltyInUse:
        """The penalty with strengths that no rows are asked for."""

    def for_rows(self, rows: Rows, chosen: LearnedClip, max_iter: int) -> PenaltyInUse:
        """The penalty of a fit to rows; the clip comes with the slope of their temperature map."""
        del chosen, max_iter
        return self.given(rows.n_classes)

    def full_structure(self, n_classes: int) -> Structure:
        """The free entries of a map with a whole matrix."""
        return Full(n_classes, n_classes)

    def paper_grid(self, name: str, n_classes: int) -> Grid | None:
        """Settings that the paper tries, in the units of its formulas; None where it tries none."""
        del name, n_classes
        return None

    def default_grid(self, n_classes: int) -> Grid | None:
        """Settings that a search tries by default; None if there are none."""
        return self.paper_grid("paper_uci", n_classes)


@dataclass(frozen=True)
class _NoPenalty(AbstractPenalty):
    """Nothing is penalised."""

    has_strength: ClassVar[bool] = False

    def given(self, n_classes: int) -> PenaltyInUse:
        """Zeros."""
        return PenaltyInUse(no_penalty(n_classes), {})

    def default_grid(self, n_classes: int) -> Grid | None:
        """None, and L2 by decades."""
        del n_classes
        strengths = [{"penalty": "l2", "lam": float(lam)} for lam in _MATRIX_DECADES]
        return [*strengths, {"penalty": "none", "lam": None}]


@dataclass(frozen=True)
class _L2(AbstractPenalty):
    """The same weight on every entry, intercepts included."""

    def given(self, n_classes: int) -> PenaltyInUse:
        """``lam`` everywhere."""
        return _same_weight(n_classes, self.lam)

    def paper_grid(self, name: str, n_classes: int) -> Grid | None:
        """Decades for UCI data, with halves and quarters between them for networks."""
        uci = name == "paper_uci"
        return [{"lam": lam} for lam in (_UCI_STRENGTHS if uci else _neural_strengths(n_classes))]


@dataclass(frozen=True)
class _L2Reference(AbstractPenalty):
    """The same with the last row of [W | b] held at zero, as in the experiment on UCI data."""

    def given(self, n_classes: int) -> PenaltyInUse:
        """``lam`` everywhere."""
        return _same_weight(n_classes, self.lam)

    def full_structure(self, n_classes: int) -> Structure:
        """All rows but the last."""
        return Full(n_classes, n_classes - 1)

    def paper_grid(self, name: str, n_classes: int) -> Grid | None:
        """Decades, for UCI data only."""
        del n_classes
        return [{"lam": lam} for lam in _UCI_STRENGTHS] if name == "paper_uci" else None


@dataclass(frozen=True)
class _Odir(AbstractPenalty):
    """Off-diagonal and intercept regularisation, section 3 of the paper."""

    weighs_intercepts: ClassVar[bool] = True

    @property
    def is_learned(self) -> bool:
        """Whether a strength is left open."""
        return self.lam is None or self.mu is None

    def given(self, n_classes: int) -> PenaltyInUse:
        """``lam`` over k (k - 1) on off-diagonal entries and ``mu`` over k on intercepts."""
        assert self.lam is not None
        assert self.mu is not None
        lam, mu = float(self.lam), float(self.mu)
        return PenaltyInUse(off_diagonal(n_classes, lam, mu), {"lam": lam, "mu": mu})

    def for_rows(self, rows: Rows, chosen: LearnedClip, max_iter: int) -> PenaltyInUse:
        """The same; strengths that are left open are those with the largest evidence."""
        if not self.is_learned:
            return self.given(rows.n_classes)
        learned = learn_strengths(
            rows.with_clip(chosen.clip),
            slope=chosen.slope,
            lam=self.lam,
            mu=self.mu,
            max_iter=max_iter,
        )
        strengths = {"lam": learned.lam, "mu": learned.mu, "nu": learned.nu}
        return PenaltyInUse(learned.table(rows.n_classes), strengths)

    def paper_grid(self, name: str, n_classes: int) -> Grid | None:
        """For networks only.

        The authors' code does not divide by k (k - 1) and k as the formula does, so its values are
        multiplied by that.
        """
        if name == "paper_uci":
            return None
        pairs = n_classes * (n_classes - 1)
        return [
            {"lam": pairs * lam, "mu": n_classes * mu}
            for lam in _neural_strengths(n_classes)
            for mu in _neural_decades(n_classes)
        ]

    def default_grid(self, n_classes: int) -> Grid | None:
        """Both strengths by decades; the formula divides by the number of entries."""
        pairs = n_classes * (n_classes - 1)
        return [
            {"lam": float(pairs * lam), "mu": float(n_classes * mu)}
            for lam in _MATRIX_DECADES
            for mu in _INTERCEPT_DECADES
        ]


_PENALTIES: Mapping[str, type[AbstractPenalty]] = {
    "odir": _Odir,
    "l2": _L2,
    "l2_reference": _L2Reference,
    "none": _NoPenalty,
}


def penalty_named(
    name: str,
    lam: float | None,
    mu: float | None = None,
    *,
    allowed: tuple[str, ...] = tuple(_PENALTIES),
) -> AbstractPenalty:
    """The penalty, or a ValueError about its name or its strengths."""
    check_option("penalty", name, allowed)
    kind = _PENALTIES[name]
    if lam is not None:
        if not kind.has_strength:
            raise ValueError(
                f"`lam` has no effect with penalty={name!r}; got lam={lam!r}. "
                "Leave `lam` at None, or choose a penalty."
            )
        check_number("lam", lam, at_least=0.0)
    if mu is not None:
        if not kind.weighs_intercepts:
            raise ValueError(
                f"`mu` weighs the intercepts of penalty='odir' only; got mu={mu!r} with "
                f"penalty={name!r}. Leave `mu` at None, or set penalty='odir'."
            )
        check_number("mu", mu, at_least=0.0)
    return kind(lam, mu)


def _same_weight(n_classes: int, lam: float | None) -> PenaltyInUse:
    used = _DEFAULT_L2 if lam is None else float(lam)
    return PenaltyInUse(l2(n_classes, used), {"lam": used})


def _neural_decades(n_classes: int) -> list[float]:
    lowest = -2 if n_classes >= _MANY_CLASSES else -5
    return [10.0**e for e in range(lowest, 7)]


def _neural_strengths(n_classes: int) -> list[float]:
    decades = np.array(_neural_decades(n_classes))
    strengths: list[float] = np.sort(np.concatenate([decades, decades / 2, decades / 4])).tolist()
    return strengths
