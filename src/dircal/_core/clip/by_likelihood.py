"""The clip, the floor of probabilities before the logarithm, learned from the fitting rows.

The logarithm of a probability near zero is a bet of unlimited size on something that was counted
or rounded. How far down the values can be taken at their word is a question to the data: the clip
is the smallest on a grid with which the temperature map is not really worse than with the best.

Values above zero are believed unless the gain of lifting them is two standard errors. Exact zeros
cannot be believed, since they have no logarithm; there one standard error decides. And rows in
which zero was never the true class cannot tell "rare" from "impossible": so one more row is
imagined, in which a wrong class has probability one. It is Laplace's rule of succession, applied to
the event that zero was wrong.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dircal._core.clip.grid import GridEvaluation, TemperatureMap
from dircal._core.clip.limits import CLIP_LIMITS
from dircal._core.data.chunks import AbstractSums, Chunk, clipped, log_of_clip
from dircal._core.data.rows import Rows, smallest_subsample
from dircal._core.data.simplex import TINY
from dircal._core.optim.newton import Status
from dircal._core.optim.temperature import TemperatureFit, fit_temperature
from dircal._core.stats.paired import paired_from_moments
from dircal._typing import AnyFloatArray

__all__ = ["CLIPS", "LearnedClip", "learn_clip", "loss_of_wrong_certainty"]

CLIPS = (3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-6, 1e-9, 1e-15, TINY)
"""Candidates, from the largest down to the paper's value; finer where counts put their zeros."""
_COARSE = (1e-2, 1e-4, 1e-9, TINY)


@dataclass(frozen=True)
class LearnedClip:
    """The chosen clip, the slope of the temperature map with it, and the passes spent.

    ``temperature`` is that map, where all rows have been looked at with the slope of a subsample.
    """

    clip: float
    slope: float
    n_passes: int
    temperature: TemperatureFit | None = None


@dataclass(frozen=True)
class _Candidate:
    """A clip, its temperature map, and the mean loss with what is imagined.

    ``evaluated`` is the map with which the rows were read last, close to the best one.
    """

    clip: float
    fit: TemperatureFit
    evaluated: TemperatureMap
    loss: float


def learn_clip(rows: Rows, *, max_iter: int) -> LearnedClip:
    """The smallest clip that is not really worse than the best.

    A few candidates far apart come first. Where the smallest of all will not do, those around the
    choice are looked at. Of many rows a subsample is asked first. The slopes that it finds, for
    all candidates that it looks at, are where the maps of all rows are looked at, in one pass; most
    often nothing is left to do then but to choose.
    """
    return _Grid.of(rows, max_iter).learn()


class _Grid:
    """The temperature maps of the same rows with different clips.

    ``known`` is what one pass has told of some of them.
    """

    def __init__(
        self,
        rows: Rows,
        max_iter: int,
        tolerance: float | None = None,
        known: GridEvaluation | None = None,
    ) -> None:
        # Clips are told apart by more than a thousandth: single precision is enough.
        limits = CLIP_LIMITS.get()
        self.rows = rows.as_float32()
        self.max_iter = max_iter
        self.tolerance = limits.slope_tol if tolerance is None else tolerance
        self.known = known
        self.lowest, _ = rows.source.span
        # Scores of exact zeros stand at the logarithm of TINY.
        has_zeros = self.lowest <= np.log(TINY)
        self.n_errors = (
            limits.min_standard_errors_with_zeros if has_zeros else limits.min_standard_errors
        )
        # Weights that sum to one stand for as many rows as there are.
        self.n = max(rows.total_weight, float(rows.source.survey.n_rows))
        self.imagined = 1.0 / (self.n + 1.0) if has_zeros else 0.0
        self.slopes: dict[float, float] = {}

    @classmethod
    def of(cls, rows: Rows, max_iter: int) -> "_Grid":
        """That of rows of which a subsample, if there is one, has been asked before."""
        few = smallest_subsample(rows)
        if few is None:
            return cls(rows, max_iter)
        first = cls(few, max_iter, CLIP_LIMITS.get().start_slope_tol)
        first.learn()
        maps = [TemperatureMap(clip, slope) for clip, slope in first.slopes.items()]
        known = GridEvaluation.of(rows.as_float32(), maps) if maps else None
        return cls(rows, max_iter, known=known)

    def learn(self) -> LearnedClip:
        """The choice, and the passes over these rows that it took."""
        best, chosen, n_passes = self.choose(_COARSE)
        if chosen.clip != TINY:
            above = [clip for clip in _COARSE if clip > best.clip]
            below = [clip for clip in _COARSE if clip < chosen.clip]
            around = [clip for clip in CLIPS if below[0] < clip < min([*above, 1.0])]
            _, chosen, more_passes = self.choose(around)
            n_passes += more_passes
        if self.known is None:
            return LearnedClip(chosen.clip, chosen.fit.slope, n_passes)
        return LearnedClip(chosen.clip, chosen.fit.slope, n_passes + 1, chosen.fit)

    def choose(self, clips: Sequence[float]) -> tuple[_Candidate, _Candidate, int]:
        """The best of the clips, the smallest that is not really worse, and the passes spent."""
        candidates = self._walk_down(clips)
        best = chosen = next(candidates)
        n_passes, n_worse = best.fit.solution.n_passes, 0
        for candidate in candidates:
            n_passes += candidate.fit.solution.n_passes
            if candidate.loss <= best.loss:
                best = chosen = candidate
                n_worse = 0
            elif not self._is_really_worse(candidate, best):
                chosen, n_worse = candidate, 0
            elif (n_worse := n_worse + 1) == CLIP_LIMITS.get().patience:
                break
        return best, chosen, n_passes

    def _is_really_worse(self, candidate: _Candidate, best: _Candidate) -> bool:
        gap = candidate.loss - best.loss
        if gap <= CLIP_LIMITS.get().min_gain:
            return False
        one, other = candidate.evaluated, best.evaluated
        difference = None if self.known is None else self.known.paired(one, other, self.n)
        if difference is None:
            sums = self.rows.fold(partial(_paired_losses, one, other))
            difference = paired_from_moments(sums.mean, sums.mean_square, self.n)
        return gap > self.n_errors * difference.standard_error

    def _walk_down(self, clips: Sequence[float]) -> Iterator[_Candidate]:
        """Candidates from the largest clip down, each started from where the last ones point."""
        k = self.rows.n_classes
        start, slope, loss = None, None, float(np.log(k))
        # A clip above 1/k would lift unlikely classes above the uniform probability.
        for clip in (clip for clip in clips if clip * k <= 1.0 or clip == clips[-1]):
            fit = self._fit(clip, self.tolerance * max(loss, CLIP_LIMITS.get().min_gain), start)
            loss = (1.0 - self.imagined) * fit.solution.loss
            loss += self.imagined * loss_of_wrong_certainty(clip, fit.slope, k)
            # Where no score lies below, all smaller clips give the same map; TINY stands for it.
            last = np.log(clip) <= self.lowest
            converged = fit.solution.status is Status.CONVERGED
            if converged:
                # More rows may have lower scores, and ask for the next clip too.
                following = [c for c in clips if c < clip][:1] if last else []
                self.slopes.update(dict.fromkeys([clip, *following], fit.slope))
            evaluated = TemperatureMap(clip, fit.evaluated_slope)
            yield _Candidate(TINY if last else clip, fit, evaluated, loss)
            if last:
                return
            separated = fit.solution.status is Status.SEPARATED
            start = fit.slope if slope is None or separated else fit.slope**2 / slope
            slope = fit.slope

    def _fit(self, clip: float, tol: float, start: float | None) -> TemperatureFit:
        known = None if self.known is None else self.known.at(clip)
        slope, at = (start, None) if known is None else known
        return fit_temperature(
            self.rows.with_clip(clip), tol=tol, max_iter=self.max_iter, start=slope, at_start=at
        )


@dataclass
class _PairedSums(AbstractSums):
    """Weighted means of the difference of two losses and of its square."""

    mean: float
    mean_square: float


def _paired_losses(one: TemperatureMap, other: TemperatureMap, chunk: Chunk) -> _PairedSums:
    """Of the losses of two temperature maps."""
    difference = _losses(chunk, one).astype(np.float64) - _losses(chunk, other)
    weight = chunk.label_weight
    return _PairedSums(float(weight @ difference), float(weight @ difference**2))


def _losses(chunk: Chunk, of: TemperatureMap) -> AnyFloatArray:
    """Loss of each label that rows may have, in the order of its weights."""
    logits = of.slope * clipped(chunk.scores, log_of_clip(of.clip))
    soft = chunk.targets is not None
    picked = logits.copy() if soft else logits[chunk.labels, np.arange(len(chunk.labels))]
    top = logits.max(axis=0)
    logits -= top
    losses: AnyFloatArray = np.log(np.exp(logits, out=logits).sum(axis=0)) + (top - picked)
    return losses.ravel()


def loss_of_wrong_certainty(clip: float, slope: float, n_classes: int) -> float:
    """Loss of the temperature map on a row that gives a wrong class probability one."""
    down = slope * np.log(clip)
    return float(np.log1p((n_classes - 1) * np.exp(down)) - down)
