"""What a Bayesian map is made of: the prior it starts from, its steps, and its intervals."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, logit, ndtri

from dircal._core.bayes.features import MixedRows, MixturePrior
from dircal._core.bayes.mixture import shrink_row_mean, weights_of_whole_scores
from dircal._core.bayes.posterior import Posterior
from dircal._core.data.chunks import row_slices
from dircal._core.data.simplex import rest_of_proba
from dircal._core.model.curved import Curved
from dircal._core.model.statistics import KNOTS, N_OWN_KNOTS, curve_statistics
from dircal._core.model.structure import Full
from dircal._threads import limited_blas
from dircal._typing import FloatArray
from dircal.maps import (
    AbstractLinearStep,
    Affine,
    CalibrationMap,
    Diagonal,
    WithCurves,
)

__all__ = ["BayesianIntervals", "check_posterior", "expected", "step_of"]

# A prediction without doubt that is wrong surprises as much as a tenth of a row.
_SURPRISE = 0.1
# Precisions of curves that are expected: a unit of each statistic moves a logit by one, give or
# take, and all hinges of a curve together by as much.
_CURVATURE_MODE = 1.0
_SHARED_CURVE_MODE = 8.0


def expected(k: int, prior: Literal["learned", "fixed"], *, curved: bool) -> MixturePrior:
    """What is expected of a map of ``k`` classes; with a fixed prior, it is SMS."""
    # With these, the three groups move a logit equally far; SMS has twice as much of each.
    mode = np.array([k, k * (k - 1.0), k])
    if prior == "fixed":
        return MixturePrior(2.0 * mode, normalised=True)
    if curved:
        mode = np.append(mode, [_CURVATURE_MODE, _SHARED_CURVE_MODE, k * _SHARED_CURVE_MODE])
    return MixturePrior(mode, normalised=False, surprise=_SURPRISE)


def step_of(mixed: MixedRows, params: FloatArray) -> AbstractLinearStep | WithCurves:
    """The step from mixed scores to logits."""
    structure, base = mixed.prior.structure, mixed.prior.base
    weights = structure.unpack(params)
    linear: AbstractLinearStep
    if isinstance(base, Full):
        weights = weights_of_whole_scores(weights, mixed.row_mean_factor)
        linear = Affine(weights[:, :-1], weights[:, -1])
    else:
        linear = Diagonal(weights.diagonal(), weights[:, -1])
    if not isinstance(structure, Curved):
        return linear
    coefficients = structure.coefficients(params)
    if structure.n_own == 0:
        coefficients = coefficients[:1]
    return WithCurves(CalibrationMap(structure.n_classes, (linear,)), coefficients, np.array(KNOTS))


def check_posterior(
    posterior: Posterior | None, k: int, linear: AbstractLinearStep, curved: WithCurves | None
) -> None:
    """Refuse a posterior that is not one of the parameters of the map; None if a file left it out.

    Curves are part of it where the whole covariance is known.
    """
    if posterior is None:
        return
    n_linear = 2 * k if isinstance(linear, Diagonal) else k * (k + 1)
    possible = {n_linear}
    if curved is not None:
        n_own = k * N_OWN_KNOTS if len(curved.coefficients) > 1 else 0
        possible.add(n_linear + curved.coefficients.shape[1] + n_own)
    if posterior.n_entries not in possible:
        raise ValueError(
            f"its posterior needs {' or '.join(map(str, sorted(possible)))} entries; "
            f"got {posterior.n_entries}"
        )


@dataclass(frozen=True)
class BayesianIntervals:
    """Credible intervals of what a map predicts.

    Parameters
    ----------
    whole : CalibrationMap
        The map.
    row_mean_factor : float
        The part of the mean of a row that the prior has seen.
    posterior : Posterior, optional
        Of the coefficients of scores, and of statistics where the map is curved; None where it was
        not kept, and there are no intervals.
    """

    whole: CalibrationMap
    row_mean_factor: float
    posterior: Posterior | None

    def of(self, inputs: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends (n, k), of inputs (n, d) as users pass them."""
        if self.posterior is None:
            raise ValueError(
                "This map was loaded from a file without the uncertainty of its parameters, so it "
                "has no intervals. Save the fitted calibrator with "
                "dircal.save(calibrator, path, uncertainty='posterior'), or on the command line "
                "with dircal fit --uncertainty posterior."
            )
        width = float(ndtri(0.5 + 0.5 * level))
        lower, upper = np.empty((2, len(inputs), self.whole.n_classes))
        with limited_blas(inputs.shape):
            for part in row_slices(inputs.shape):
                lower[part], upper[part] = self._ends(inputs[part], width)
        return lower, upper

    def _ends(self, inputs: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
        curved = self.whole.find(WithCurves)
        scores_of = self.whole.before(AbstractLinearStep if curved is None else WithCurves)
        scores, proba = scores_of.read(inputs), self.whole.read(inputs)
        assert self.posterior is not None
        spread = width * self.posterior.spread_of_log_odds(proba, self._features(scores, curved))
        # Where a probability is one in floating point, the rest still has a logarithm.
        with np.errstate(divide="ignore"):
            odds = np.where(proba > 0.5, np.log(proba) - np.log(rest_of_proba(proba)), logit(proba))
        # The way through the odds and back may miss the last digit.
        lower = np.minimum(expit(odds - spread), proba)
        upper = np.maximum(expit(odds + spread), proba)
        return lower.T, upper.T

    def _features(self, scores: FloatArray, curved: WithCurves | None) -> FloatArray:
        """Scores with a part of their row means, and below them statistics."""
        if curved is None:
            return shrink_row_mean(scores, self.row_mean_factor)
        statistics = curve_statistics(scores, curved.knots)
        plain = shrink_row_mean(scores, self.row_mean_factor)
        return np.concatenate([plain, statistics.reshape(-1, scores.shape[1])])
