"""The clip for a map that is learned by evidence.

A temperature map is easily hurt by a small probability that was wrong; a full map can make up for
that, and read the small ones that were right. So its clip is chosen by its own marginal likelihood:
the smallest on a grid for which the evidence is not clearly below the best.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dircal._core.bayes.evidence import evidence_of_one_step, maximise_evidence
from dircal._core.bayes.features import MixturePrior
from dircal._core.bayes.prior import GroupedGaussianPrior
from dircal._core.clip.by_likelihood import CLIPS, LearnedClip, learn_clip
from dircal._core.clip.grid import GridEvaluation, TemperatureMap
from dircal._core.clip.limits import CLIP_LIMITS
from dircal._core.data.chunks import Chunk
from dircal._core.data.rows import Rows, fold_together
from dircal._core.data.simplex import TINY
from dircal._core.model.objective import Evaluation, evaluate_with_hessian
from dircal._core.model.structure import Full
from dircal._core.optim.newton import forms_hessian
from dircal._core.optim.temperature import fit_temperature

__all__ = ["clip_by_evidence"]

# Below the grid of the temperature map: zeros of single precision, and one between them and ours.
_GRID = (*CLIPS[:-1], float(np.finfo(np.float32).tiny), 1e-100, TINY)


def clip_by_evidence(rows: Rows, prior: MixturePrior, *, max_iter: int) -> LearnedClip:
    """The smallest clip whose evidence is not clearly below the best.

    Candidates are compared by one step from the temperature map. One that would not be the smallest
    is confirmed by the evidence of whole fits. Where the Hessian is too large to be formed, the
    clip is that of the temperature map.
    """
    limits = CLIP_LIMITS.get()
    k, prior = rows.n_classes, prior.without_curves()
    if not forms_hessian(Full(k, k).n_params):
        return learn_clip(rows, max_iter=max_iter)
    lowest, _ = rows.source.span
    # A clip above 1/k would lift unlikely classes above the uniform probability.
    clips = [clip for clip in _GRID if clip * k <= 1.0]
    # Where no score lies below, all smaller clips give the same map; TINY stands for it.
    n_above = sum(np.log(clip) > lowest for clip in clips)
    clips = clips[: n_above + 1]
    slopes = _slopes(rows, clips, max_iter)
    names = [*clips[:n_above], TINY][: len(clips)]
    learned = [LearnedClip(name, slope, 0) for name, slope in zip(names, slopes, strict=True)]
    every = prior.around_each(rows, list(zip(clips, slopes, strict=True)))
    at_centres = fold_together([(each.rows, _at_centre(each.prior)) for each in every])
    found = [
        (each, evidence_of_one_step(mixed.rows, mixed.prior, at))
        for each, mixed, at in zip(learned, every, at_centres, strict=True)
    ]
    best = max(evidence for _, evidence in found)
    chosen = [each for each, evidence in found if evidence >= best - limits.min_log_evidence_lead][
        -1
    ]
    smallest = found[-1][0]
    if chosen is smallest:
        return smallest

    def evidence_of_fit(each: LearnedClip) -> float:
        mixed = prior.around(rows, each.clip, each.slope)
        fit = maximise_evidence(mixed.rows, mixed.prior, tol=limits.evidence_tol, max_iter=max_iter)
        return fit.log_evidence

    clear = evidence_of_fit(chosen) > evidence_of_fit(smallest) + limits.min_log_evidence_lead
    return chosen if clear else smallest


def _slopes(rows: Rows, clips: Sequence[float], max_iter: int) -> list[float]:
    """Slopes of the temperature maps with these clips; those of a subsample are where to start."""
    limits = CLIP_LIMITS.get()
    slopes: list[float] = []
    few = rows.subsample()
    if few is None:
        for clip in clips:
            start = slopes[-1] if slopes else None
            fit = fit_temperature(
                rows.with_clip(clip), tol=limits.evidence_slope_tol, max_iter=max_iter, start=start
            )
            slopes.append(fit.slope)
        return slopes
    starts = zip(clips, _slopes(few, clips, max_iter), strict=True)
    grid = GridEvaluation.of(rows, [TemperatureMap(*each) for each in starts])
    for each, at in zip(grid.maps, grid.evaluations, strict=True):
        fit = fit_temperature(
            rows.with_clip(each.clip),
            tol=limits.evidence_start_tol,
            max_iter=max_iter,
            start=each.slope,
            at_start=at,
        )
        slopes.append(fit.slope)
    return slopes


def _at_centre(prior: GroupedGaussianPrior) -> Callable[[Chunk], Evaluation]:
    return partial(evaluate_with_hessian, prior.structure, prior.centre)
