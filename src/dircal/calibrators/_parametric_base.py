"""What calibrators share whose map is a linear one of scores: reading and explaining it."""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._core.bayes.mixture import Softening
from dircal._core.data.chunks import Reader, Rows, Source, log_of_floor
from dircal._core.data.simplex import log_probability, log_softmax
from dircal._core.model.structure import Structure
from dircal._core.optim.newton import Solution, Status
from dircal._core.stats.effects import Effects, measure_effects
from dircal._typing import ArrayLike, FloatArray
from dircal.calibrators._base import AbstractMapCalibrator, Complaint, column_order
from dircal.calibrators._solver_base import Clip, check_solver_options, complaints_about
from dircal.maps import (
    CanonicalParameters,
    Explanation,
    FitRecord,
    GenerativeParameters,
    InterpretationPoints,
    LinearParameters,
    TemperatureComparison,
    make_explanation,
)
from dircal.validation import LabelledScores

__all__ = ["AbstractParametricCalibrator"]


class AbstractParametricCalibrator(AbstractMapCalibrator):
    """A map that is, or is close to, softmax(W s + b) of log-probabilities or logits s."""

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
            self._softening(),
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

    def _rows(self, data: LabelledScores) -> Rows:
        read = Reader(self._transform(), column_order(data.column_classes))
        return Rows(Source(data.inputs, data.labels, data.sample_weight, read))

    def _remember(
        self,
        rows: Rows,
        structure: Structure,
        params: FloatArray,
        loss: float,
        temperature: Solution,
        soften: Softening | None = None,
    ) -> FitRecord:
        """What `explain` will need of the fitting rows."""
        slope = float(temperature.params[0])
        more = structure.n_params - len(structure.flat) - 1
        observed = np.zeros(rows.n_classes)
        for chunk in rows.source:
            np.add.at(observed, chunk.labels, chunk.weight)
        # Shares that were added up may miss one by rounding.
        observed /= observed.sum()
        effects: Effects | None = None
        uncalibrated, tempered = None, temperature.loss
        if more > 0:
            # Effects are told in a few digits.
            effects = measure_effects(
                rows.source.in_single() if rows.fit_in_single else rows.source,
                rows.log_floor,
                structure,
                params,
                slope,
                rows.n_classes,
                soften,
            )
            uncalibrated, tempered, loss = effects.losses
        ratio = 2.0 * rows.total_weight * (tempered - loss)
        comparison = TemperatureComparison(1.0 / slope, uncalibrated, tempered, loss, ratio, more)
        return FitRecord(rows.total_weight, observed, effects, comparison)

    @abstractmethod
    def _structure_and_params(self) -> tuple[Structure, FloatArray]:
        """The fitted map of the scores, or of softened ones."""

    def _softening(self) -> Softening | None:
        """How scores are softened before the map, if they are."""
        return None

    def _transform(self) -> Callable[[FloatArray], FloatArray] | None:
        if self.input_scale == "probability":
            return log_probability
        return None if self._reads_raw_logits else log_softmax

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
