"""The mean of two maps: that of a wide prior and that of a narrow one.

With few rows nobody can know how far a map may go from the temperature map, and the precisions that
are learned stay near those that were expected. So there are two expectations, and what comes of
them is weighted by how well each foretold the labels: by evidence, and by the prior of precisions.
Parameters are averaged, not probabilities, so that the mean is a map of the same kind.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.bayes.posterior import ExactPosterior, Posterior
from dircal._core.bayes.prior import GroupedGaussianPrior
from dircal._core.bayes.state import EvidenceState, GroupFit
from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Status, with_history
from dircal._typing import FloatArray

__all__ = ["average_by_evidence", "average_from", "wide_and_narrow"]


def average_by_evidence(
    rows: Rows, prior: GroupedGaussianPrior, *, tol: float, max_iter: int
) -> GroupFit:
    """The mean of the maps of the prior and of a narrow one, weighted by their evidence.

    Precisions and the power are those of the weightier one.
    """
    state = EvidenceState(rows, prior, tol, max_iter)
    return state.with_posterior(average_from(state, prior, tol))


def average_from(state: EvidenceState, prior: GroupedGaussianPrior, tol: float) -> GroupFit:
    """The same from a state, with a posterior only where covariances are known."""
    coupling = state.moments_of_centre.coupling
    # What rounding holds at least is what there is to expect.
    prior = replace(prior.with_coupling(coupling), mode=np.maximum(prior.mode, state.least))
    return _mean(state, wide_and_narrow(state, prior, tol))


def wide_and_narrow(
    state: EvidenceState, prior: GroupedGaussianPrior, tol: float
) -> list[GroupFit]:
    """Fits with the prior and with a narrow one.

    One that is out of the question by the curvature at the optimum of the wide one is left out.
    """
    limits = BAYES_LIMITS.get()
    wide = state.learn(prior)
    assert wide.curvature is not None
    of_narrow = replace(
        wide.curvature, prior=replace(prior, mode=limits.narrow_factor * prior.mode)
    )
    narrow = state.learn_at(of_narrow, wide.power)
    ahead = wide.log_evidence - narrow.log_evidence
    fits = []
    if ahead > -limits.max_log_evidence_gap:
        fits.append(_expected(state.finish(wide, tol), 1.0))
    if ahead < limits.max_log_evidence_gap:
        if state.path.forms_hessian:
            # The curvature of the wide one was only the first guess.
            narrow = state.learn(narrow.prior, narrow.precisions, narrow.power)
        fits.append(_expected(state.finish(narrow, tol), limits.narrow_odds))
    return fits


def _expected(fit: GroupFit, odds: float) -> GroupFit:
    """A fit whose evidence counts how probable its prior is, one of two."""
    share = odds / (1.0 + BAYES_LIMITS.get().narrow_odds)
    return replace(fit, log_evidence=fit.log_evidence + float(np.log(share)))


def _mean(state: EvidenceState, fits: Sequence[GroupFit]) -> GroupFit:
    """The mean of fits, weighted by evidence; what has no mean is that of the weightiest."""
    scores = np.array([fit.log_evidence + fit.log_hyperprior for fit in fits])
    # What was left out has no evidence to speak of.
    evidence = float(np.logaddexp.reduce(scores))
    best = fits[int(scores.argmax())]
    if len(fits) == 1:
        return replace(best, log_evidence=evidence)
    shares = np.exp(scores - np.logaddexp.reduce(scores))
    params = shares @ [fit.solution.params for fit in fits]
    loss = state.likelihood.evaluate(params).loss
    steps = [step for fit in fits for step in fit.solution.history]
    statuses = {fit.solution.status for fit in fits} - {Status.CONVERGED}
    solution = replace(
        best.solution,
        params=params,
        loss=loss,
        status=statuses.pop() if statuses else Status.CONVERGED,
        history=(),
    )
    return replace(
        best,
        solution=with_history(solution, steps),
        effective_dof=shares @ [fit.effective_dof for fit in fits],
        log_evidence=evidence,
        posterior=_mixed(fits, shares, params),
    )


def _mixed(fits: Sequence[GroupFit], shares: FloatArray, mean: FloatArray) -> Posterior | None:
    """Moments of the mixture of posteriors, where covariances are known."""
    covariance = np.zeros((len(mean), len(mean)))
    for fit, share in zip(fits, shares, strict=True):
        if not isinstance(fit.posterior, ExactPosterior):
            return None
        away = fit.solution.params - mean
        covariance += share * (fit.posterior.covariance + np.outer(away, away))
    return ExactPosterior(covariance)
