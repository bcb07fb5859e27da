"""What calibrators can tell whose map is, or is close to, softmax(W s + b)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Iteration, Solution, Status
from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.calibrators._base import FitWarning, rows_of
from dircal.calibrators._solver_options import Clip, check_solver_options, warnings_about
from dircal.explain import (
    Explanation,
    FitRecord,
    FittingRows,
    complete_record,
    explain_rows,
    start_record,
)
from dircal.maps import (
    AbstractLinearStep,
    AbstractStep,
    CalibrationMap,
    CanonicalParameters,
    GenerativeParameters,
    InterpretationPoints,
    LinearParameters,
    LogProbability,
    LogSoftmax,
    MaskedAsLeast,
    Normalise,
    Softmax,
    UniformMixture,
)
from dircal.tables import LabelledRows

__all__ = ["LinearMapMixin"]

_Log = LogProbability | LogSoftmax


class LinearMapMixin:
    """Parameters, their meaning and what they do to rows, read off the fitted map."""

    input_scale: InputScale
    clip: Clip
    max_iter: int
    tol: float
    classes_: LabelArray
    column_classes_: LabelArray
    n_features_in_: int
    map_: CalibrationMap
    n_iter_: int
    history_: tuple[Iteration, ...]
    _status: Status
    _record: FitRecord
    _fitting: FittingRows | None = None
    """The rows of the fit, until the record is complete; never part of a file."""

    _reads_raw_logits: ClassVar[bool]
    """Whether ``input_scale="logit"`` means the logits as they are, not their log-softmax."""
    _has_matrix: ClassVar[bool] = False
    """Whether a class reads the scores of all others."""
    _why_separated: ClassVar[str] = (
        "an unpenalised direction separates some classes without error "
        "(few rows, an absent class, or a classifier that makes no mistakes)."
    )
    _remedy: ClassVar[str] = "Use more rows, or penalty='l2' with a larger `lam`."

    @property
    def coef_(self) -> FloatArray:
        """The matrix W."""
        return self._weights()[:, :-1]

    @property
    def intercept_(self) -> FloatArray:
        """The vector b."""
        return self._weights()[:, -1]

    @property
    def clip_(self) -> float:
        """The floor of probabilities in use; 0 where there is none."""
        return self.map_.clip

    def _weights(self) -> FloatArray:
        """[W | b], (k, k + 1), which nobody can write to: it is read off the map."""
        weights = self._linear_step.weights(len(self.classes_))
        weights.setflags(write=False)
        return weights

    @property
    def _linear_step(self) -> AbstractLinearStep:
        step: AbstractLinearStep = self._step(AbstractLinearStep)  # type: ignore[attr-defined]
        return step

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
            Rows on which the effects are measured; by default the fitting rows, which the
            calibrator refers to until it is asked, saved or pickled.

        Returns
        -------
        explanation : Explanation
            Print it to read it; its attributes hold the numbers.
        """
        check_is_fitted(self)
        name = type(self).__name__
        if X is None:
            self._complete_record()
            if not self._record.is_complete:
                raise ValueError(
                    f"`X` is needed here: the rows that this {name} was fitted on are no longer at "
                    "hand, or have changed since. Pass rows to explain the map on: explain(X)."
                )
            return self._record.explanation(name, self.classes_)
        inputs, column_classes = self._check_scores(X)  # type: ignore[attr-defined]
        whole: CalibrationMap = self._map_of(column_classes)  # type: ignore[attr-defined]
        # Which class leads is told by scores without a clip.
        steps = whole.steps[: len(whole.steps) - len(self._acting_steps()) - 1]
        bare = tuple(replace(s, clip=0.0) if isinstance(s, _Log) else s for s in steps)
        unknown = np.zeros(len(inputs), dtype=np.uint8)
        read = CalibrationMap(whole.n_columns, bare).read
        rows = Rows(ArraySource(inputs, unknown, None, read)).with_clip(self.clip_)
        return explain_rows(name, rows, self.classes_, self._record.comparison, self._logits_map())

    def _complete_record(self) -> None:
        record, fitting = self._record, self._fitting
        if not record.is_complete and fitting is not None:
            # One assignment each, in this order: other threads may ask at the same time.
            self._record = complete_record(record, fitting, self._logits_map())
            self._fitting = None

    def _let_go_of_rows(self) -> None:
        self._fitting = None

    def __getstate__(self) -> dict[str, Any]:
        # Rows stay behind: what is pickled, copied or saved has been asked about them.
        if self._fitting is not None:
            self._complete_record()
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        state.pop("_fitting", None)
        return state

    def _score_steps(self, clip: float) -> tuple[AbstractStep, ...]:
        """From columns in the order of the classes to scores."""
        if self.input_scale == "probability":
            return Normalise(), LogProbability(clip)
        first = (MaskedAsLeast(),) if self._has_matrix else ()
        return first if self._reads_raw_logits else (*first, LogSoftmax(clip))

    @property
    def _fits_parts(self) -> bool:
        return True

    def _rows(self, data: LabelledRows) -> Rows:
        """The rows of a fit as scores without a clip."""
        return rows_of(data, self.input_scale, self._score_steps(0.0))

    def _acting_steps(self) -> tuple[AbstractStep, ...]:
        """The steps between clipped scores and the softmax."""
        steps, acting = self.map_.steps, (AbstractLinearStep, UniformMixture)
        return steps[next(i for i, step in enumerate(steps) if isinstance(step, acting)) : -1]

    def _logits_map(self) -> Callable[[FloatArray], FloatArray]:
        """What the softmax is taken of, from clipped scores (k, m), which may be used up."""
        return CalibrationMap(len(self.classes_), self._acting_steps()).on_block

    def _attributes(
        self,
        rows: Rows,
        solution: Solution,
        temperature: Solution,
        n_more: int,
    ) -> dict[str, Any]:
        """What every such fit stores; ``n_more`` parameters beyond those of a temperature map."""
        return {
            "n_iter_": solution.n_iter,
            "history_": tuple(solution.history),
            "_status": solution.status,
            "_record": start_record(rows, temperature, solution.loss, n_more),
            "_fitting": FittingRows.of(rows) if n_more > 0 else None,
        }

    def _check_options(self) -> None:
        check_solver_options(self.clip, self.max_iter, self.tol)
        if self.clip != "learned" and self.input_scale == "logit" and self._reads_raw_logits:
            raise ValueError(
                f"`clip` is a floor for probabilities, and {type(self).__name__} reads logits as "
                f"they are with `input_scale='logit'`; got clip={self.clip!r}. "
                "Leave `clip` at 'learned'."
            )

    def _fit_warnings(self) -> list[FitWarning]:
        return warnings_about(
            self._status,
            type(self).__name__,
            max_iter=self.max_iter,
            why_separated=self._why_separated,
            remedy=self._remedy,
        )

    def _check_fitted(self) -> None:
        if not isinstance(self.map_.steps[-1], Softmax):
            raise ValueError("`map_` must end in a softmax")
        if self._record.comparison.additional_parameters > self._n_entries():
            raise ValueError("the record of the fit has more parameters than the map")

    def _n_entries(self) -> int:
        """How many parameters the map has at most."""
        return len(self.classes_) * (len(self.classes_) + 1)
