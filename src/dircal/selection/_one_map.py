"""What estimators share that may come down to one fitted calibrator."""

from typing import TYPE_CHECKING, Any

from dircal._typing import ArrayLike
from dircal.explain import Explanation
from dircal.maps import (
    CanonicalParameters,
    GenerativeParameters,
    InterpretationPoints,
    LinearParameters,
)

__all__ = ["OneMapMixin"]


class OneMapMixin:
    """Asks the one map inside for its parameters and its explanation."""

    if TYPE_CHECKING:

        def _only_map(self) -> Any:
            """The one fitted calibrator; a ValueError where there is none that can be asked."""

    def linear_parameters(self) -> LinearParameters:
        """The fitted map as softmax(W ln q + b), if there is one map; see the calibrator."""
        parameters: LinearParameters = self._only_map().linear_parameters()
        return parameters

    def canonical_parameters(self) -> CanonicalParameters:
        """The fitted map in canonical form, if there is one map; see the calibrator."""
        parameters: CanonicalParameters = self._only_map().canonical_parameters()
        return parameters

    def generative_parameters(self) -> GenerativeParameters:
        """The fitted map as Bayes' rule, if there is one map; see the calibrator."""
        parameters: GenerativeParameters = self._only_map().generative_parameters()
        return parameters

    def interpretation_points(self, eps: float = 1e-2) -> InterpretationPoints:
        """Where the fitted map sends k + 1 points, if there is one map; see the calibrator."""
        points: InterpretationPoints = self._only_map().interpretation_points(eps)
        return points

    def explain(self, X: ArrayLike | None = None) -> Explanation:
        """What the fitted map corrects, if there is one map; see the calibrator."""
        explanation: Explanation = self._only_map().explain(X)
        return explanation
