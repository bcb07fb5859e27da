"""What the linear calibrators share: input scale x structure x penalty, solved by the engine."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from sklearn.base import clone

from dircal._core.data.rows import Rows
from dircal._core.model.structure import Structure
from dircal._threads import limited_blas
from dircal.calibrators._base import AbstractCalibrator, Fitted
from dircal.calibrators._linear_fit import LinearFit, fit_linear, fit_linear_path, is_of
from dircal.calibrators._linear_map import LinearMapMixin
from dircal.calibrators._penalties import AbstractPenalty, PenaltyInUse
from dircal.calibrators._solver_options import choose_clip
from dircal.maps import Softmax
from dircal.tables import ArrayRows, LabelledRows

__all__ = ["AbstractLinearCalibrator"]


class AbstractLinearCalibrator(LinearMapMixin, AbstractCalibrator):
    """A map softmax(W s + b) of log-probabilities or logits s, by penalised likelihood."""

    _has_penalty: ClassVar[bool] = True
    """Whether users choose a penalty, and its strengths are part of a fit."""

    @abstractmethod
    def _structure(self, n_classes: int) -> Structure:
        """Which entries of W and b are free."""

    @abstractmethod
    def _penalty(self) -> AbstractPenalty:
        """The penalty; a ValueError where its parameters are not valid."""

    def _check_options(self) -> None:
        super()._check_options()
        self._penalty()

    def _paper_grid(self, name: str, n_classes: int) -> list[dict[str, Any]] | None:
        return self._penalty().paper_grid(name, n_classes)

    def _fit(self, data: LabelledRows) -> Fitted:
        rows = self._rows(data)
        chosen = choose_clip(rows, self.clip, self.input_scale, self.max_iter)
        penalty = self._penalty().for_rows(rows, chosen, self.max_iter)
        fit = fit_linear(
            rows,
            self._structure(rows.n_classes),
            penalty.table,
            chosen,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return self._fitted(rows, fit, penalty)

    def _fit_settings(
        self, data: ArrayRows, settings: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[int, Self]]:
        """Strengths share rows, clip and curvature; they are walked from strong to weak."""
        structure = self._structure(len(data.classes))
        candidates = [clone(self).set_params(**setting) for setting in settings]
        strengths = all(set(setting) <= {"lam", "mu"} for setting in settings)
        learned = any(candidate._penalty().is_learned for candidate in candidates)
        if not strengths or learned or structure.n_params == 1:
            yield from super()._fit_settings(data, settings)
            return
        with limited_blas(data.shape):
            rows = self._rows(data)
            penalties = [candidate._penalty().given(rows.n_classes) for candidate in candidates]
            fits = fit_linear_path(
                rows,
                structure,
                [penalty.table for penalty in penalties],
                choose_clip(rows, self.clip, self.input_scale, self.max_iter),
                tol=self.tol,
                max_iter=self.max_iter,
            )
            for i, fit in fits:
                fitted = candidates[i]._fitted(rows, fit, penalties[i])
                candidates[i]._store(data, fitted)
                yield i, candidates[i]

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if not is_of(self._structure(len(self.classes_)), self._linear_step):
            raise ValueError(f"`map_` has a matrix that {type(self).__name__} cannot have")

    def _fitted(self, rows: Rows, fit: LinearFit, penalty: PenaltyInUse) -> Fitted:
        n_more = fit.structure.n_params - len(fit.structure.null_directions) - 1
        temperature = fit.temperature if n_more > 0 else fit.solution
        clipped = rows.with_clip(fit.clip)
        return Fitted(
            (*self._score_steps(fit.clip), fit.step, Softmax()),
            {
                **({"strengths_": penalty.strengths} if self._has_penalty else {}),
                **self._attributes(clipped, fit.solution, temperature, n_more),
            },
        )
