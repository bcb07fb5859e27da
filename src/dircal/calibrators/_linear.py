"""Linear calibrators: input scale x structure x penalty, solved by the engine."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dircal._core.data.rows import Rows
from dircal._core.model.structure import Structure
from dircal._threads import limited_blas
from dircal.calibrators._fit import Fit
from dircal.calibrators._linear_fit import LinearFit, fit_linear, fit_linear_path, is_of
from dircal.calibrators._linear_map import AbstractLinearMapMethod, linear_step
from dircal.calibrators._penalties import AbstractPenalty, PenaltyInUse
from dircal.calibrators._solver_options import SolverDetails
from dircal.tables import LabelledRows

__all__ = ["AbstractLinearMethod", "LinearDetails"]


@dataclass(frozen=True)
class LinearDetails(SolverDetails):
    """Diagnostics of the solver, and the strengths of the penalty by name."""

    strengths: dict[str, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class AbstractLinearMethod(AbstractLinearMapMethod):
    """A map softmax(W s + b) of log-probabilities or logits s, by penalised likelihood."""

    details: ClassVar[type] = LinearDetails

    @abstractmethod
    def structure(self, n_classes: int) -> Structure:
        """Return which entries of W and b are free."""

    @abstractmethod
    def penalty_in_use(self) -> AbstractPenalty:
        """Return the penalty; raise a ValueError if its parameters are invalid."""

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        super().check()
        self.penalty_in_use()

    def paper_grid(self, name: str, n_classes: int) -> list[dict[str, Any]] | None:
        """Return the strengths that the paper's experiment of this name tries."""
        return self.penalty_in_use().paper_grid(name, n_classes)

    def default_grid(self, n_classes: int) -> list[dict[str, Any]] | None:
        """Return the strengths that a search tries by default."""
        return self.penalty_in_use().default_grid(n_classes)

    def learn(self, rows: LabelledRows) -> Fit:
        """Find the map of these rows."""
        scores = self.scores(rows)
        chosen = self.choose_clip(scores)
        penalty = self.penalty_in_use().for_rows(scores, chosen, self.max_iter)
        fit = fit_linear(
            scores,
            self.structure(scores.n_classes),
            penalty.table,
            chosen,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return self._fit_of(rows, scores, fit, penalty)

    def fit_each(self, rows: LabelledRows, others: Sequence[Self]) -> Iterator[tuple[int, Fit]]:
        """Share rows, clip and curvature between strengths, from strong to weak."""
        structure = self.structure(len(rows.classes))
        learned = any(other.penalty_in_use().is_learned for other in others)
        if learned or structure.n_params == 1 or not all(map(self._differs_in_strength, others)):
            yield from super().fit_each(rows, others)
            return
        with limited_blas(rows.shape):
            scores = self.scores(rows)
            penalties = [other.penalty_in_use().given(scores.n_classes) for other in others]
            fits = fit_linear_path(
                scores,
                structure,
                [penalty.table for penalty in penalties],
                self.choose_clip(scores),
                tol=self.tol,
                max_iter=self.max_iter,
            )
            for i, fit in fits:
                yield i, others[i]._fit_of(rows, scores, fit, penalties[i])

    def _differs_in_strength(self, other: Self) -> bool:
        """Whether another method has the same parameters except for strengths."""
        names = set(vars(self)) - {"lam", "mu", "classes"}
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless the map has the structure of this method."""
        super().check_fit(fit)
        if not is_of(self.structure(fit.map.n_classes), linear_step(fit.map)):
            raise ValueError(f"`map_` has a matrix that {self.name} cannot have")

    def _fit_of(
        self, rows: LabelledRows, scores: Rows, fit: LinearFit, penalty: PenaltyInUse
    ) -> Fit:
        n_more = fit.structure.n_params - len(fit.structure.null_directions) - 1
        found = fit.solution
        return self.fit_from(
            rows,
            scores.with_clip(fit.clip),
            fit.clip,
            (fit.step,),
            solution=found,
            temperature=fit.temperature if n_more > 0 else found,
            n_more=n_more,
            details=LinearDetails(
                found.n_iter, tuple(found.history), found.status, penalty.strengths
            ),
        )
