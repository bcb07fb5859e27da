"""The clip for a map that is learned by evidence.

A temperature map is easily hurt by a small probability that was wrong; a full map can make up for
that, and read the small ones that were right. So its clip is chosen by its own marginal likelihood:
the smallest on a grid for which the evidence is not clearly below the best.
"""

import numpy as np

from dircal._core.bayes.evidence import evidence_of_one_step, maximise_evidence
from dircal._core.bayes.features import MixturePrior
from dircal._core.clip.by_likelihood import CLIPS, LearnedClip, learn_clip
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import TINY
from dircal._core.model.structure import Full
from dircal._core.optim.newton import forms_hessian
from dircal._core.optim.temperature import fit_temperature

__all__ = ["clip_by_evidence"]

# Below the grid of the temperature map: zeros of single precision, and one between them and ours.
_GRID = (*CLIPS[:-1], float(np.finfo(np.float32).tiny), 1e-100, TINY)
# A lead of so many nats is clear: odds of twenty to one (Kass & Raftery's "strong").
_CLEAR = 3.0
_SLOPE_TOLERANCE = 1e-8
_LOOSE = 1e-7


def clip_by_evidence(rows: Rows, prior: MixturePrior, *, max_iter: int) -> LearnedClip:
    """The smallest clip whose evidence is not clearly below the best.

    Candidates are compared by one step from the temperature map. One that would not be the smallest
    is confirmed by the evidence of whole fits. Where the Hessian is too large to be formed, the
    clip is that of the temperature map.
    """
    k, prior = rows.n_classes, prior.without_curves()
    if not forms_hessian(Full(k, k).n_params):
        return learn_clip(rows, max_iter=max_iter)
    lowest, _ = rows.source.span
    found: list[tuple[LearnedClip, float]] = []
    slope = None
    for clip in _GRID:
        # A clip above 1/k would lift unlikely classes above the uniform probability.
        if clip * k > 1.0:
            continue
        fit = fit_temperature(
            rows.with_clip(clip), tol=_SLOPE_TOLERANCE, max_iter=max_iter, start=slope
        )
        slope = fit.slope
        mixed = prior.around(rows, clip, slope)
        # Where no score lies below, all smaller clips give the same map; TINY stands for it.
        last = np.log(clip) <= lowest
        learned = LearnedClip(TINY if last else clip, slope, 0)
        found.append((learned, evidence_of_one_step(mixed.rows, mixed.prior)))
        if last:
            break
    best = max(evidence for _, evidence in found)
    chosen = [each for each, evidence in found if evidence >= best - _CLEAR][-1]
    smallest = found[-1][0]
    if chosen is smallest:
        return smallest

    def evidence_of_fit(each: LearnedClip) -> float:
        mixed = prior.around(rows, each.clip, each.slope)
        fit = maximise_evidence(mixed.rows, mixed.prior, tol=_LOOSE, max_iter=max_iter)
        return fit.log_evidence

    clear = evidence_of_fit(chosen) > evidence_of_fit(smallest) + _CLEAR
    return chosen if clear else smallest
