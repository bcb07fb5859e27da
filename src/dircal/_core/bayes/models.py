r"""Maps from the simplest to the most general, weighed by how well each foretold the labels.

The identity, the temperature map, one with a diagonal matrix, one with a full matrix and one with
curves are nested. With :math:`\pi_m` the prior probability of map m and :math:`Z_m` its evidence,
the probability of the labels averaged over what m can do, its posterior probability is

.. math:: \frac{\pi_m Z_m}{\sum_l \pi_l Z_l},

and parameters are averaged with these weights (Bayesian model averaging; Hoeting et al., 1999). All
maps but the identity share the slope of the temperature map and the price of not knowing it, its
Occam factor. Maps that are twenty times less probable than the best have no part in the average
(Occam's window; Madigan and Raftery, 1994).

The identity stands alone where it is more probable than the others together, so that what is right
already stays exactly as it is. Elsewhere it is averaged like the others: with few rows that hardly
speak against it, the average stays near it, which costs raw classifiers nothing and halves the
damage to calibrated ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from dircal._core.bayes.average import average_from
from dircal._core.bayes.features import MixedRows
from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.bayes.posterior import ExactPosterior, Posterior
from dircal._core.bayes.slope import ProbableSlope
from dircal._core.bayes.state import EvidenceState, GroupFit
from dircal._core.data.chunks import AbstractSums, Chunk
from dircal._core.data.losses import label_losses
from dircal._core.data.rows import Rows, View
from dircal._core.data.simplex import TINY
from dircal._core.model.objective import forward
from dircal._core.model.structure import Full, Scalar, Structure
from dircal._core.optim.newton import Status, with_history
from dircal._core.optim.temperature import SlopeLoss
from dircal._typing import FloatArray

__all__ = [
    "MODELS",
    "JudgedModels",
    "ModelAverage",
    "average_models",
    "joint_log_evidence",
]

MODELS = {"identity": 15.0, "temperature": 3.0, "vector": 3.0, "full": 3.0, "curved": 90.0}
"""Names, and how probable each is before any row is seen, up to a constant: nine in ten of the maps
that change anything are curved, and one classifier in eight has nothing to repair. That share was
chosen on networks of at most 20 classes, raw and calibrated before, with the UCI tasks of both
halves visible: a smaller one changes calibrated inputs of 50 to 500 rows more often, a larger one
costs raw classifiers more."""


@dataclass
class JudgedModels(AbstractSums):
    """What maps do to the rows of the fit: the identity first, the average last.

    The identity is judged by the rows as they are, without clip or mixture.

    ``changes`` (m + 1,) are mean losses less that of the identity, ``products`` (m + 1, m + 1) the
    means over rows of products of such differences, and ``loss`` is that of the identity.
    """

    loss: float
    changes: FloatArray
    products: FloatArray


@dataclass(frozen=True)
class ModelAverage:
    """The average of m maps, and what it was made by.

    Parameters
    ----------
    names : tuple of str
        Of the maps, from the simplest on; with very many classes there is no full matrix.
    log_evidence : array of shape (m,)
        Logarithm of the probability of the labels by each map.
    probabilities : array of shape (m,)
        Posterior ones.
    shares : array of shape (m,)
        Part of each map in the average.
    effective_dof : array of shape (m,)
        Number of parameters that the rows determine in each map, the slope included.
    judged : JudgedModels
        What the maps, and last their average, do to the rows.
    mixed : MixedRows
        What the average reads; without curves where the curved map has no part in it.
    fit : GroupFit
        The average, with the precisions of the most general map that it is written as.
    """

    names: tuple[str, ...]
    log_evidence: FloatArray
    probabilities: FloatArray
    shares: FloatArray
    effective_dof: FloatArray
    judged: JudgedModels
    mixed: MixedRows
    fit: GroupFit


def average_models(
    rows: Rows, mixed: MixedRows, slope: ProbableSlope, *, tol: float, max_iter: int
) -> ModelAverage:
    """The average of maps around the temperature map of ``slope``, for ``rows`` mixed for it.

    The identity is judged by the rows as they are, without a clip.
    """
    family = _Family(mixed, tol, max_iter)
    models = family.models(slope.slope, _log_likelihood_as_they_are(rows))
    # What each map can do beyond the identity, in which no slope is unknown.
    has_slope = np.array([name != "identity" for name in models])
    log_evidence = np.array([model.log_evidence for model in models.values()])
    log_evidence += has_slope * slope.log_occam_factor
    scores = joint_log_evidence(models, log_evidence)
    total = float(np.logaddexp.reduce(scores))
    probabilities = np.exp(scores - total)
    shares = _shares(probabilities, has_slope)
    every = [model.params for model in models.values()]
    average: FloatArray = shares @ every
    judge = partial(_judge, mixed.rows.view, mixed.prior.structure, [*every[1:], average])
    judged = rows.fold(judge)
    loss = judged.loss + float(judged.changes[-1])
    general = "curved" if shares[list(models).index("curved")] > 0.0 else family.linear
    effective_dof = np.array([model.effective_dof.sum() for model in models.values()])
    return ModelAverage(
        tuple(models),
        log_evidence,
        probabilities,
        shares,
        effective_dof + has_slope,
        judged,
        family.mixed[general],
        replace(family.average(general, models, shares, average, loss), log_evidence=total),
    )


def joint_log_evidence(names: Iterable[str], log_evidence: npt.ArrayLike) -> FloatArray:
    """Log-evidence (m,) of these maps, each with its prior among them.

    The logarithm of the sum of their exponentials is the evidence averaged over the maps.
    """
    prior = np.array([MODELS[name] for name in names])
    scores: FloatArray = np.asarray(log_evidence) + np.log(prior / prior.sum())
    return scores


def _shares(probabilities: FloatArray, has_slope: npt.NDArray[np.bool_]) -> FloatArray:
    """Parts in the average: all for an identity that leads, or the probabilities in the window."""
    if probabilities[~has_slope].sum() > 0.5:
        return (~has_slope).astype(np.float64)
    kept = probabilities.copy()
    kept[BAYES_LIMITS.get().occam_window * kept < kept.max()] = 0.0
    shares: FloatArray = kept / kept.sum()
    return shares


@dataclass(frozen=True)
class _Model:
    """A map as one with curves: parameters (p,), and effective ones (g,) by group."""

    params: FloatArray
    log_evidence: float
    effective_dof: FloatArray
    covariance: FloatArray | None = None


class _Family:
    """The fits of the maps that have more than a slope, by name."""

    def __init__(self, mixed: MixedRows, tol: float, max_iter: int) -> None:
        self.mixed = {"vector": mixed.with_slopes_only()}
        # With very many classes all matrices are diagonal.
        self.linear = "vector"
        if isinstance(mixed.prior.base, Full):
            self.linear = "full"
            self.mixed["full"] = mixed.without_curves()
        self.mixed["curved"] = mixed
        self.states: dict[str, EvidenceState] = {}
        self.fits: dict[str, GroupFit] = {}
        # One after another: chunks keep what one of them makes of the scores.
        for name, each in self.mixed.items():
            state = self.states[name] = EvidenceState(each.rows, each.prior, tol, max_iter)
            loose = name != "curved" and not state.path.forms_hessian
            self.fits[name] = average_from(
                state, each.prior, max(tol, BAYES_LIMITS.get().simple_map_tol) if loose else tol
            )

    def models(self, slope: float, of_identity: float) -> dict[str, _Model]:
        """All maps, from the simplest on, each written as one with curves.

        The log-likelihood of the identity comes from elsewhere.
        """
        state, prior = self.states["curved"], self.mixed["curved"].prior
        centre, none = prior.centre, np.zeros(len(prior.names))
        of_centre = -state.rows.total_weight * state.loss_of_centre
        models = {
            # Scores are those of the temperature map, which the identity takes back.
            "identity": _Model(centre / slope, of_identity, none),
            "temperature": _Model(centre, of_centre, none),
        }
        for name in MODELS:
            if name in self.fits:
                models[name] = self._embed(name)
        return models

    def average(
        self,
        general: str,
        models: dict[str, _Model],
        shares: FloatArray,
        mean: FloatArray,
        loss: float,
    ) -> GroupFit:
        """The average, with parameters ``mean`` (p,), as a map of the kind called ``general``.

        Precisions and their power are those of that map.
        """
        carrier, state = self.fits[general], self.states[general]
        n_params, n_groups = len(carrier.solution.params), len(carrier.effective_dof)
        dof: FloatArray = shares @ [model.effective_dof for model in models.values()]
        steps = [step for fit in self.fits.values() for step in fit.solution.history]
        statuses = {fit.solution.status for fit in self.fits.values()} - {Status.CONVERGED}
        solution = replace(
            carrier.solution,
            params=mean[:n_params],
            loss=loss,
            status=statuses.pop() if statuses else Status.CONVERGED,
            history=(),
        )
        posterior: Posterior | None = None
        if isinstance(self.fits["curved"].posterior, ExactPosterior):
            posterior = _mixed_posterior(list(models.values()), shares, mean, n_params)
        fit = replace(
            carrier,
            solution=with_history(solution, steps),
            effective_dof=dof[:n_groups],
            posterior=posterior,
        )
        return state.with_posterior(fit)

    def _embed(self, name: str) -> _Model:
        """A map with parameters in the places that they have in one with curves."""
        fit, prior = self.fits[name], self.mixed["curved"].prior
        dof = np.zeros(len(prior.names))
        dof[: len(fit.effective_dof)] = fit.effective_dof
        covariance = None
        # Where that of the most general map is not known, the others are of no use.
        if isinstance(self.fits["curved"].posterior, ExactPosterior):
            assert isinstance(fit.posterior, ExactPosterior)
            covariance = fit.posterior.covariance
        if name == "curved":
            return _Model(fit.solution.params, fit.log_evidence, dof, covariance)
        pack, unpack = prior.structure.pack, self.mixed[name].prior.structure.unpack
        params = pack(unpack(fit.solution.params))
        if covariance is not None:
            places = np.array([pack(unpack(each)) for each in np.eye(len(covariance))])
            covariance = places.T @ covariance @ places
        return _Model(params, fit.log_evidence, dof, covariance)


def _log_likelihood_as_they_are(rows: Rows) -> float:
    """That of the identity.

    Exact zeros that were never the true class may be so in the next row. By Laplace's rule of
    succession one such row is imagined, as for the clip.
    """
    lowest, _ = rows.source.span
    loss = SlopeLoss.of(rows).evaluate(np.ones(1)).loss
    return -rows.total_weight * loss + (lowest if lowest <= np.log(TINY) else 0.0)


def _mixed_posterior(
    models: Sequence[_Model], shares: FloatArray, mean: FloatArray, n_params: int
) -> ExactPosterior:
    """Moments of the mixture of posteriors; that of a map without parameters is a point."""
    covariance = np.zeros((n_params, n_params))
    for model, share in zip(models, shares, strict=True):
        away = (model.params - mean)[:n_params]
        covariance += share * np.outer(away, away)
        if model.covariance is not None:
            covariance += share * model.covariance[:n_params, :n_params]
    return ExactPosterior(covariance)


def _judge(
    view: View, structure: Structure, every: Sequence[FloatArray], chunk: Chunk
) -> JudgedModels:
    """What the identity does to the rows of a chunk, and maps of these parameters in a view."""
    seen = view.of(chunk)
    first = label_losses(chunk, *forward(Scalar(len(chunk.scores)), np.ones(1), chunk))
    losses = np.zeros((len(every) + 1, len(first)))
    for i, params in enumerate(every, 1):
        losses[i] = label_losses(seen, *forward(structure, params, seen)) - first
    weight = chunk.label_weight
    weighted = losses * weight
    return JudgedModels(float(weight @ first), weighted.sum(axis=1), weighted @ losses.T)
