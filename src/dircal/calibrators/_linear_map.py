"""Maps that are, or are close to, softmax(W s + b): their methods and their estimators."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Iteration, Solution
from dircal._typing import ArrayLike, FloatArray, InputScale
from dircal.calibrators._base import AbstractCalibrator
from dircal.calibrators._fit import Fit
from dircal.calibrators._solver_options import AbstractSolverMethod
from dircal.explain import (
    Explanation,
    FittingRows,
    LazyRecord,
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
    WithCurves,
)
from dircal.tables import LabelledRows

__all__ = ["AbstractLinearMapCalibrator", "AbstractLinearMapMethod", "linear_step"]

_Log = LogProbability | LogSoftmax


@dataclass(frozen=True, eq=False, kw_only=True)
class AbstractLinearMapMethod(AbstractSolverMethod):
    """A method whose map ends in linear steps and a softmax."""

    reads_raw_logits: ClassVar[bool]
    """Whether ``input_scale="logit"`` means the logits unchanged, not their log-softmax."""
    has_matrix: ClassVar[bool] = False
    """Whether a class reads the scores of all others."""
    why_separated: ClassVar[str] = (
        "an unpenalised direction separates some classes without error "
        "(few rows, an absent class, or a classifier that makes no mistakes)."
    )
    remedy: ClassVar[str] = "Use more rows, or penalty='l2' with a larger `lam`."

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        super().check()
        if self.clip != "learned" and self.input_scale == "logit" and self.reads_raw_logits:
            raise ValueError(
                f"`clip` is a floor for probabilities, and {self.name} reads logits as "
                f"they are with `input_scale='logit'`; got clip={self.clip!r}. "
                "Leave `clip` at 'learned'."
            )

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless map and record belong together."""
        if not isinstance(fit.map.steps[-1], Softmax):
            raise ValueError("`map_` must end in a softmax")
        if fit.record is None:
            raise ValueError("the fit needs a record of its rows")
        if fit.record.known.comparison.additional_parameters > _n_entries(fit.map):
            raise ValueError("the record of the fit has more parameters than the map")

    def score_steps(self, clip: float) -> tuple[AbstractStep, ...]:
        """Return the steps from columns in the order of the classes to scores."""
        if self.input_scale == "probability":
            return Normalise(), LogProbability(clip)
        first = (MaskedAsLeast(),) if self.has_matrix else ()
        return first if self.reads_raw_logits else (*first, LogSoftmax(clip))

    def scores(self, rows: LabelledRows) -> Rows:
        """Return the rows as scores without a clip."""
        return self.read(rows, self.score_steps(0.0))

    def fit_from(
        self,
        rows: LabelledRows,
        scores: Rows,
        clip: float,
        steps: tuple[AbstractStep, ...],
        *,
        solution: Solution,
        temperature: Solution,
        n_more: int,
        details: Any,
    ) -> Fit:
        """Make a fit of the ``steps`` between scores, clipped already, and the softmax.

        The map has ``n_more`` parameters beyond those of the ``temperature`` map.
        """
        logits = CalibrationMap(scores.n_classes, steps)
        known = start_record(scores, temperature, solution.loss, n_more)
        record = LazyRecord(known, FittingRows.of(scores), logits.on_block)
        return Fit.from_steps(
            rows,
            self.input_scale,
            (*self.score_steps(clip), *steps, Softmax()),
            details=details,
            record=record,
            notices=self.notices(solution),
        )


def linear_step(chain: CalibrationMap) -> AbstractLinearStep:
    """Return the linear step of a map, with curves or without."""
    curved = chain.find(WithCurves)
    linear = chain.find(AbstractLinearStep)  # type: ignore[type-abstract]
    found = linear if curved is None else curved.linear_step
    if found is None:
        raise ValueError("`map_` has no step of the kind LinearStep")
    return found


def _n_entries(chain: CalibrationMap) -> int:
    """Return how many parameters a map has at most."""
    k, curved = chain.n_classes, chain.find(WithCurves)
    # Coefficients of a class may be shared ones plus its own.
    n_curves = 0 if curved is None else 2 * k * curved.coefficients.shape[1]
    return k * (k + 1) + n_curves


def _acting_steps(chain: CalibrationMap) -> tuple[AbstractStep, ...]:
    """Return the steps between clipped scores and the softmax."""
    steps, acting = chain.steps, (AbstractLinearStep, UniformMixture)
    return steps[next(i for i, step in enumerate(steps) if isinstance(step, acting)) : -1]


class AbstractLinearMapCalibrator(AbstractCalibrator):
    """Parameters of the map, their meaning and their effect on rows, read off the fit."""

    input_scale: InputScale
    n_iter_: int
    history_: tuple[Iteration, ...]

    method_class: ClassVar[type[AbstractLinearMapMethod]]

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
        """[W | b], (k, k + 1), which is not writeable: it is read off the map."""
        weights = linear_step(self.map_).weights(len(self.classes_))
        weights.setflags(write=False)
        return weights

    def linear_parameters(self) -> LinearParameters:
        """The fitted map as softmax(W ln q + b).

        Returns
        -------
        parameters : LinearParameters
            W is ``coef_`` and b is ``intercept_``; classes are in the order of ``classes_``.
        """
        check_is_fitted(self)
        if self.input_scale == "logit" and self.method_class.reads_raw_logits:
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
            record = self._record.complete()
            if not record.is_complete:
                raise ValueError(
                    f"`X` is needed here: the rows that this {name} was fitted on are no longer at "
                    "hand, or have changed since. Pass rows to explain the map on: explain(X)."
                )
            return record.explanation(name, self.classes_)
        inputs, column_classes = self.fit_.check_scores(X)
        whole, acting = self.fit_.map_of(column_classes), _acting_steps(self.map_)
        # Which class leads is decided by scores without a clip.
        steps = whole.steps[: len(whole.steps) - len(acting) - 1]
        bare = tuple(replace(s, clip=0.0) if isinstance(s, _Log) else s for s in steps)
        unknown = np.zeros(len(inputs), dtype=np.uint8)
        read = CalibrationMap(whole.n_columns, bare).read
        rows = Rows(ArraySource(inputs, unknown, None, read)).with_clip(self.clip_)
        logits_of: Callable[[FloatArray], FloatArray]
        logits_of = CalibrationMap(len(self.classes_), acting).on_block
        comparison = self._record.known.comparison
        return explain_rows(name, rows, self.classes_, comparison, logits_of)

    @property
    def _record(self) -> LazyRecord:
        record = self.fit_.record
        assert record is not None
        return record
