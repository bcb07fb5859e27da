"""What the linear calibrators share: input scale x structure x penalty, solved by the engine."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dircal._typing import ArrayLike, FloatArray, IntArray
from dircal._validation import LabelledScores, check_number, check_option
from dircal.calibrators._base import AbstractMapCalibrator, Complaint, column_order, limited_blas
from dircal.calibrators._solver_base import (
    Clip,
    check_solver_options,
    choose_floor,
    complaints_about,
)
from dircal.core import (
    Effects,
    Objective,
    Penalty,
    Reader,
    Rows,
    Solution,
    Source,
    Status,
    Structure,
    fit_temperature,
    l2,
    log_of_floor,
    log_probability,
    log_softmax,
    measure_effects,
    no_penalty,
    order_of_path,
    softmax,
    solve,
    solve_path,
)
from dircal.explanation import (
    Explanation,
    FitRecord,
    TemperatureComparison,
    make_explanation,
)
from dircal.parameters import (
    CanonicalParameters,
    GenerativeParameters,
    InterpretationPoints,
    LinearParameters,
)

__all__ = ["AbstractLinearCalibrator", "Clip", "check_penalty", "simple_penalty"]

_DEFAULT_L2 = 1e-3
# What the last step of the temperature map that `explain` compares with may promise; what is left
# after it is far less.
_COMPARISON_TOLERANCE = 1e-5
# How far from its best the objective of a setting may be that is only compared with others.
_SEARCH_TOLERANCE = 1e-10


class AbstractLinearCalibrator(AbstractMapCalibrator):
    """A map softmax(W s + b) of log-probabilities or logits s."""

    clip: Clip
    max_iter: int
    tol: float
    coef_: FloatArray
    intercept_: FloatArray
    clip_: float
    n_iter_: int
    _status: Status
    _record: FitRecord

    _reads_raw_logits: ClassVar[bool]
    """Whether ``input_scale="logit"`` means the logits as they are, not their log-softmax."""

    def linear_parameters(self) -> LinearParameters:
        """The fitted map as softmax(W ln q + b).

        Returns
        -------
        parameters : LinearParameters
            W is ``coef_`` and b is ``intercept_``; classes are in the order of ``classes_``.
        """
        check_is_fitted(self)
        if self.input_scale == "logit" and self._reads_raw_logits:
            raise ValueError(
                f"`input_scale` must be 'probability' for this: parameters belong to maps of "
                f"log-probabilities, and {type(self).__name__} reads logits as they are; got "
                "input_scale='logit'. Use DirichletCalibrator(input_scale='logit'), which reads "
                "their log-softmax, or take `coef_` and `intercept_`."
            )
        return LinearParameters(self.coef_, self.intercept_)

    def canonical_parameters(self) -> CanonicalParameters:
        """The fitted map in the one form that is unique, for reading.

        Returns
        -------
        parameters : CanonicalParameters
            A and c; classes are in the order of ``classes_``. They describe the map of
            probabilities that are not below the floor ``clip_``.
        """
        return self.linear_parameters().to_canonical()

    def generative_parameters(self) -> GenerativeParameters:
        """The fitted map as Bayes' rule: a Dirichlet distribution of predictions for each class.

        Returns
        -------
        parameters : GenerativeParameters
            alpha = A + 1 and the pi that belongs to it; classes are in the order of ``classes_``.
            Other pairs give the same map, so pi need not be the shares of the classes in the data.
        """
        return self.canonical_parameters().to_generative()

    def interpretation_points(self, eps: float = 1e-2) -> InterpretationPoints:
        """Where the fitted map sends the centre of the simplex and the centres of its facets.

        Parameters
        ----------
        eps : float, default=0.01
            Probability of class j in point j, between 0 and 1.

        Returns
        -------
        points : InterpretationPoints
            The k + 1 points, their images and the leading exponents.
        """
        return self.canonical_parameters().interpretation_points(eps)

    def explain(self, X: ArrayLike | None = None) -> Explanation:
        """What the fitted map corrects, in sentences and a small table.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes), optional
            Rows on which the effects are measured; by default the fitting rows.

        Returns
        -------
        explanation : Explanation
            Print it to read it; its attributes hold the numbers.
        """
        check_is_fitted(self)
        record, name = self._record, type(self).__name__
        if X is None:
            return make_explanation(
                name,
                "the fitting rows",
                record.n_rows,
                record.effects,
                self.classes_,
                record.observed,
                record.comparison,
            )
        inputs, column_classes = self._check_scores(X)
        read = Reader(self._transform(), column_order(column_classes))
        unknown = np.zeros(len(inputs), dtype=np.uint8)
        structure, params = self._structure_and_params()
        effects = measure_effects(
            Source(inputs, unknown, None, read),
            log_of_floor(self.clip_),
            structure,
            params,
            1.0 / record.comparison.temperature,
            len(self.classes_),
        )
        return make_explanation(
            name, "the given rows", len(inputs), effects, self.classes_, None, record.comparison
        )

    def _check_parameters(self) -> None:
        check_solver_options(self.clip, self.max_iter, self.tol)
        if self.clip != "learned" and self.input_scale == "logit" and self._reads_raw_logits:
            raise ValueError(
                f"`clip` is a floor for probabilities, and {type(self).__name__} reads logits as "
                f"they are with `input_scale='logit'`; got clip={self.clip!r}. "
                "Leave `clip` at 'learned'."
            )

    def _find(self, data: LabelledScores) -> dict[str, Any]:
        rows = self._rows(data)
        start = choose_floor(rows, self.clip, self.input_scale, self.max_iter)
        rows = rows.with_floor(start.floor)
        structure = self._structure(rows.n_classes)
        # One slope has its own solver. The others are only compared with it; they start from the
        # rough slope, which is moderate also where the best one is at infinity.
        only_slope = structure.n_params == 1
        tol = self.tol if only_slope else _COMPARISON_TOLERANCE
        temperature = fit_temperature(
            rows, tol=tol, max_iter=self.max_iter, start=start.slope
        ).solution
        # Where every row is right, larger slopes are always better: if they are free there is no
        # finite optimum, wherever a solver would end.
        endless = _is_endless(temperature)
        solution = temperature
        if endless or not only_slope:
            solution = self._solve(rows, structure, start.slope, endless)
        record = self._remember(rows, structure, solution, temperature)
        return _fitted(structure, solution, start.floor) | {"_record": record}

    def _fit_settings(
        self, data: LabelledScores, settings: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[int, Self]]:
        """Strengths share rows, floor and curvature; they are walked from strong to weak."""
        candidates = [clone(self).set_params(**setting) for setting in settings]
        for candidate in candidates:
            candidate._check_all_parameters()
        structure = self._structure(len(data.classes))
        strengths = all(set(setting) <= {"lam", "mu"} for setting in settings)
        if not strengths or structure.n_params == 1:
            yield from super()._fit_settings(data, settings)
            return
        with limited_blas(data.inputs.shape):
            rows = self._rows(data)
            chosen = choose_floor(rows, self.clip, self.input_scale, self.max_iter)
            rows = rows.with_floor(chosen.floor)
            k, n = rows.n_classes, rows.total_weight
            penalties = [candidate._penalty(k, n) for candidate in candidates]
            order = order_of_path(penalties)
            temperature = fit_temperature(
                rows, tol=_COMPARISON_TOLERANCE, max_iter=self.max_iter, start=chosen.slope
            )
            solutions = solve_path(
                rows,
                structure,
                [penalties[i] for i in order],
                structure.pack(chosen.slope * np.eye(k, k + 1)),
                every_row_right=_is_endless(temperature.solution),
                tol=max(self.tol, _SEARCH_TOLERANCE),
                max_iter=self.max_iter,
            )
            for i, solution in zip(order, solutions, strict=True):
                candidates[i]._store(data, _fitted(structure, solution, chosen.floor))
                yield i, candidates[i]

    def _rows(self, data: LabelledScores) -> Rows:
        read = Reader(self._transform(), column_order(data.column_classes))
        return Rows(Source(data.inputs, data.labels, data.sample_weight, read))

    def _solve(
        self, rows: Rows, structure: Structure, slope: float, every_row_right: bool
    ) -> Solution:
        """Best parameters, starting from the temperature map with the given slope."""
        k = rows.n_classes
        return solve(
            Objective(rows, structure, self._penalty(k, rows.total_weight)),
            structure.pack(slope * np.eye(k, k + 1)),
            every_row_right=every_row_right,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _remember(
        self, rows: Rows, structure: Structure, solution: Solution, temperature: Solution
    ) -> FitRecord:
        """What `explain` will need of the fitting rows."""
        slope = float(temperature.params[0])
        more = structure.n_params - len(structure.flat) - 1
        observed = np.zeros(rows.n_classes)
        for chunk in rows.source:
            np.add.at(observed, chunk.labels, chunk.weight)
        effects: Effects | None = None
        uncalibrated, tempered, loss = None, temperature.loss, solution.loss
        if more > 0:
            # Effects are told in a few digits.
            effects = measure_effects(
                rows.source.in_single() if rows.fit_in_single else rows.source,
                rows.log_floor,
                structure,
                solution.params,
                slope,
                rows.n_classes,
            )
            uncalibrated, tempered, loss = effects.losses
        ratio = 2.0 * rows.total_weight * (tempered - loss)
        comparison = TemperatureComparison(1.0 / slope, uncalibrated, tempered, loss, ratio, more)
        return FitRecord(rows.total_weight, observed, effects, comparison)

    @abstractmethod
    def _structure(self, n_classes: int) -> Structure:
        """Which entries of W and b are free."""

    @abstractmethod
    def _penalty(self, n_classes: int, n: float) -> Penalty:
        """Penalty for ``n`` rows, counted by weight."""

    def _transform(self) -> Callable[[FloatArray], FloatArray] | None:
        if self.input_scale == "probability":
            return log_probability
        return None if self._reads_raw_logits else log_softmax

    def _reader(self, columns: IntArray | None) -> Reader:
        return Reader(self._transform(), columns, log_of_floor(self.clip_))

    def _structure_and_params(self) -> tuple[Structure, FloatArray]:
        structure = self._structure(len(self.classes_))
        return structure, structure.pack(np.column_stack([self.coef_, self.intercept_]))

    def _map(self) -> Callable[[FloatArray], FloatArray]:
        structure, params = self._structure_and_params()
        return lambda scores: softmax(structure.logits(params, scores))

    def _complaints(self) -> list[Complaint]:
        return complaints_about(
            self._status,
            type(self).__name__,
            max_iter=self.max_iter,
            why_infinite=self._why_infinite,
            remedy=self._remedy,
        )

    _why_infinite: ClassVar[str] = (
        "an unpenalised direction separates some classes without error "
        "(few rows, an absent class, or a classifier that makes no mistakes)."
    )
    _remedy: ClassVar[str] = "Use more rows, or penalty='l2' with a larger `lam`."


def _is_endless(temperature: Solution) -> bool:
    """Whether the best slope is infinite, and not zero: every row is right."""
    return temperature.status is Status.AT_INFINITY and bool(temperature.loss < np.log(2.0))


def _fitted(structure: Structure, solution: Solution, floor: float) -> dict[str, Any]:
    """What every linear calibrator stores of a solution."""
    weights = structure.unpack(solution.params)
    return {
        "coef_": weights[:, :-1].copy(),
        "intercept_": weights[:, -1].copy(),
        "clip_": floor,
        "n_iter_": solution.n_iter,
        "_status": solution.status,
    }


def check_penalty(penalty: str, lam: float | None, allowed: tuple[str, ...]) -> None:
    """Refuse an unknown penalty, a bad strength, or a strength for no penalty."""
    check_option("penalty", penalty, allowed)
    if lam is None:
        return
    if penalty == "none":
        raise ValueError(
            f"`lam` has no effect with penalty='none'; got lam={lam!r}. "
            "Leave `lam` at None, or choose a penalty."
        )
    check_number("lam", lam, at_least=0.0)


def simple_penalty(penalty: str, lam: float | None, n_classes: int) -> Penalty:
    """No penalty, or the same weight on every free entry."""
    if penalty == "none":
        return no_penalty(n_classes)
    return l2(n_classes, _DEFAULT_L2 if lam is None else lam)
