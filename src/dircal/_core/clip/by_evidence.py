r"""The clip for a map that is learned by evidence, chosen by its own marginal likelihood.

A temperature map is easily hurt by a small probability that was wrong, while a full map can correct
it and use the small probabilities that were right. So the clip of a full map is chosen by its own
evidence. With a prior of the slope s, the evidence of a clip c contains the Occam factor of its
temperature map, so that a clip whose logarithm dominates all scores and flattens the map has to
pay for its tiny slope.

Exact zeros have no logarithm, and rows in which zero was never the true class cannot distinguish
"rare" from "impossible". So one more row is imagined in which a wrong class has probability one,
as in `learn_clip`: by its temperature map it costs about :math:`s \, |\ln c|` nats. Values above
zero are used unchanged unless a clip leads by three nats.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dircal._core.bayes.evidence import evidence_of_one_step, evidence_of_rough_fit
from dircal._core.bayes.features import MixedRows, MixturePrior
from dircal._core.bayes.prior import GroupedGaussianPrior
from dircal._core.bayes.slope import ProbableSlope, most_probable_slope
from dircal._core.clip.by_likelihood import (
    CLIPS,
    LearnedClip,
    learn_clip,
    loss_of_wrong_certainty,
)
from dircal._core.clip.grid import GridEvaluation, TemperatureMap
from dircal._core.clip.limits import CLIP_LIMITS
from dircal._core.data.chunks import Chunk
from dircal._core.data.rows import Rows, fold_together
from dircal._core.data.simplex import TINY
from dircal._core.model.objective import Evaluation, evaluate_with_hessian
from dircal._core.model.structure import Full
from dircal._core.optim.newton import forms_hessian
from dircal._core.optim.temperature import fit_temperature
from dircal._typing import FloatArray

__all__ = ["clip_by_evidence"]

# Below the grid of the temperature map: zeros of single precision, and one between them and ours.
_GRID = (*CLIPS[:-1], float(np.finfo(np.float32).tiny), 1e-100, TINY)


def clip_by_evidence(rows: Rows, prior: MixturePrior, *, max_iter: int) -> LearnedClip:
    """The clip with the largest evidence, or the smallest where none is clearly better.

    The search begins at the best clip by one step from the temperature maps, and at the best by
    these maps alone, and follows the evidence of linear fits from one candidate to the next. Where
    the Hessian is too large to be formed, the clip is that of the temperature map.
    """
    k, prior = rows.n_classes, prior.without_curves()
    if not forms_hessian(Full(k, k).n_params):
        return learn_clip(rows, max_iter=max_iter)
    lowest, _ = rows.source.span
    # A clip above 1/k would lift unlikely classes above the uniform probability.
    clips = [clip for clip in _GRID if clip * k <= 1.0]
    # Where no score lies below, all smaller clips give the same map; TINY stands for it.
    n_above = sum(np.log(clip) > lowest for clip in clips)
    clips = clips[: n_above + 1]
    has_zeros = bool(lowest <= np.log(TINY))
    slopes = _slopes(rows, clips, max_iter)
    names = [*clips[:n_above], TINY][: len(clips)]
    learned = [LearnedClip(name, slope, 0) for name, slope in zip(names, slopes, strict=True)]
    if len(learned) == 1:
        return learned[0]
    maps = [TemperatureMap(*each) for each in zip(clips, slopes, strict=True)]
    return learned[_Candidates.of(rows, maps, prior, has_zeros, max_iter).best()]


@dataclass(frozen=True)
class _Candidates:
    """Clips from the largest down, each with its centre, its mixed rows and what comes on top.

    ``extra`` is the part of the evidence that no fit changes: the Occam factor of the slope, and
    the imagined row.
    """

    mixed: Sequence[MixedRows]
    extra: Sequence[float]
    has_zeros: bool
    max_iter: int

    @classmethod
    def of(
        cls,
        rows: Rows,
        maps: Sequence[TemperatureMap],
        prior: MixturePrior,
        has_zeros: bool,
        max_iter: int,
    ) -> "_Candidates":
        """Candidates around their most probable slopes, or around those of largest likelihood."""
        tol, k = CLIP_LIMITS.get().evidence_slope_tol, rows.n_classes
        centres = [ProbableSlope(each.slope, 0.0) for each in maps]
        few = rows.subsample()
        if not prior.normalised:
            for i, each in enumerate(maps):
                some = (rows if few is None else few).with_clip(each.clip)
                found = most_probable_slope(some, start=each.slope, tol=tol, max_iter=max_iter)
                # With many rows, the prior moves no slope; factors differ by a common constant.
                centres[i] = found if few is None else replace(found, slope=each.slope)
        both = list(zip(maps, centres, strict=True))
        extra = [
            at.log_occam_factor - has_zeros * loss_of_wrong_certainty(each.clip, at.slope, k)
            for each, at in both
        ]
        mixed = prior.around_each(rows, [(each.clip, at.slope) for each, at in both])
        return cls(mixed, extra, has_zeros, max_iter)

    def best(self) -> int:
        """Number of the clip with the largest evidence.

        Values above zero are used unchanged unless that clip is clearly ahead of the smallest.
        """
        lead = 0.0 if self.has_zeros else CLIP_LIMITS.get().min_log_evidence_lead
        by_one_step, of_centres = self._guesses()
        last = len(self.mixed) - 1
        start = int(np.flatnonzero(by_one_step >= by_one_step.max() - lead)[-1])
        if start == last and not self.has_zeros:
            return last
        found: dict[int, float] = {}
        # The evidence may have one peak where zeros are flattened, and another where they are not.
        ends = {self._climb(each, found) for each in (start, int(of_centres.argmax()))}
        here = max(sorted(ends, reverse=True), key=found.__getitem__)
        return here if self._of_fit(here, found) > self._of_fit(last, found) + lead else last

    def _climb(self, here: int, found: dict[int, float]) -> int:
        """Number of the clip from which no neighbour is better; of equal ones, the smallest."""
        while self._of_fit(here + 1, found) >= self._of_fit(here, found):
            here += 1
        while self._of_fit(here - 1, found) > self._of_fit(here, found):
            here -= 1
        return here

    def _guesses(self) -> tuple[FloatArray, FloatArray]:
        """Log-evidence of each candidate by one step, and that of its temperature map alone."""
        at_centres = fold_together([(each.rows, _at_centre(each.prior)) for each in self.mixed])
        both = list(zip(self.mixed, at_centres, strict=True))
        by_one_step = [evidence_of_one_step(mixed.rows, mixed.prior, at) for mixed, at in both]
        of_centres = [-mixed.rows.total_weight * at.loss for mixed, at in both]
        extra = np.array(self.extra)
        return extra + by_one_step, extra + of_centres

    def _of_fit(self, i: int, found: dict[int, float]) -> float:
        """Log-evidence of a linear fit, kept in ``found``; minus infinity beyond the grid."""
        if not 0 <= i < len(self.mixed):
            return -np.inf
        if i not in found:
            mixed, tol = self.mixed[i], CLIP_LIMITS.get().evidence_tol
            rough = evidence_of_rough_fit(mixed.rows, mixed.prior, tol=tol, max_iter=self.max_iter)
            found[i] = rough + self.extra[i]
        return found[i]


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
