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

from dircal._core.data.chunks import AbstractSums, Chunk, clipped, log_of_clip
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import TINY
from dircal._core.optim.newton import Status
from dircal._core.optim.temperature import fit_temperature
from dircal._core.stats.paired import paired_from_moments
from dircal._typing import AnyFloatArray

__all__ = ["CLIPS", "LearnedClip", "learn_clip"]

CLIPS = (3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-6, 1e-9, 1e-15, TINY)
"""Candidates, from the largest down to the paper's value; finer where counts put their zeros."""
_COARSE = (1e-2, 1e-4, 1e-9, TINY)

# A gain is real when it exceeds so many standard errors of the paired difference ...
_STANDARD_ERRORS = 2.0
_STANDARD_ERRORS_WITH_ZEROS = 1.0
# ... and this many nats.
_SMALLEST_GAIN = 1e-3
# The slope of a candidate is good enough when the predicted decrease is below this part of the
# loss: that decrease itself is counted, so the error is of third order.
_SLOPE_TOLERANCE = 1e-2
# After so many candidates in a row that are really worse, smaller ones are not tried.
_PATIENCE = 2


@dataclass(frozen=True)
class LearnedClip:
    """The chosen clip, the slope of the temperature map with it, and the passes spent."""

    clip: float
    slope: float
    n_passes: int


@dataclass(frozen=True)
class _Candidate:
    """A clip, the slope of its temperature map, its mean loss, and the passes spent.

    ``evaluated`` is the slope at which the rows were read last, close to the best one.
    """

    clip: float
    slope: float
    evaluated: float
    loss: float
    n_passes: int


def learn_clip(rows: Rows, *, max_iter: int) -> LearnedClip:
    """The smallest clip that is not really worse than the best.

    A few candidates far apart come first. Where the smallest of all will not do, those around the
    choice are looked at.
    """
    grid = _Grid(rows, max_iter)
    best, chosen, n_passes = grid.choose(_COARSE)
    if chosen.clip == TINY:
        return LearnedClip(chosen.clip, chosen.slope, n_passes)
    above = [clip for clip in _COARSE if clip > best.clip]
    below = [clip for clip in _COARSE if clip < chosen.clip]
    around = [clip for clip in CLIPS if below[0] < clip < min([*above, 1.0])]
    _, chosen, more_passes = grid.choose(around)
    return LearnedClip(chosen.clip, chosen.slope, n_passes + more_passes)


class _Grid:
    """The temperature maps of the same rows with different clips."""

    def __init__(self, rows: Rows, max_iter: int) -> None:
        # Clips are told apart by more than a thousandth: single precision is enough.
        self.rows = rows.as_float32()
        self.max_iter = max_iter
        self.lowest, _ = rows.source.span
        # Scores of exact zeros stand at the logarithm of TINY.
        has_zeros = self.lowest <= np.log(TINY)
        self.n_errors = _STANDARD_ERRORS_WITH_ZEROS if has_zeros else _STANDARD_ERRORS
        # Weights that sum to one stand for as many rows as there are.
        self.n = max(rows.total_weight, float(rows.source.survey.n_rows))
        self.imagined = 1.0 / (self.n + 1.0) if has_zeros else 0.0
        self.few_rows = self.rows.subsample()

    def choose(self, clips: Sequence[float]) -> tuple[_Candidate, _Candidate, int]:
        """The best of the clips, the smallest that is not really worse, and the passes spent."""
        candidates = self._walk_down(clips)
        best = chosen = next(candidates)
        n_passes, n_worse = best.n_passes, 0
        for candidate in candidates:
            n_passes += candidate.n_passes
            if candidate.loss <= best.loss:
                best = chosen = candidate
                n_worse = 0
            elif not self._is_really_worse(candidate, best):
                chosen, n_worse = candidate, 0
            elif (n_worse := n_worse + 1) == _PATIENCE:
                break
        return best, chosen, n_passes

    def _is_really_worse(self, candidate: _Candidate, best: _Candidate) -> bool:
        gap = candidate.loss - best.loss
        if gap <= _SMALLEST_GAIN:
            return False
        sums = self.rows.fold(
            partial(
                _paired_losses,
                (log_of_clip(candidate.clip), candidate.evaluated),
                (log_of_clip(best.clip), best.evaluated),
            )
        )
        difference = paired_from_moments(sums.mean, sums.mean_square, self.n)
        return gap > self.n_errors * difference.standard_error

    def _walk_down(self, clips: Sequence[float]) -> Iterator[_Candidate]:
        """Candidates from the largest clip down, each started from where the last ones point."""
        k = self.rows.n_classes
        start, slope, loss = None, None, float(np.log(k))
        guess: float | None = None
        # A clip above 1/k would lift unlikely classes above the uniform probability.
        for clip in (clip for clip in clips if clip * k <= 1.0 or clip == clips[-1]):
            tol = _SLOPE_TOLERANCE * max(loss, _SMALLEST_GAIN)
            guess = self._guess(clip, tol, guess)
            fit = fit_temperature(
                self.rows.with_clip(clip),
                tol=tol,
                max_iter=self.max_iter,
                start=start if guess is None else guess,
            )
            loss = (1.0 - self.imagined) * fit.solution.loss
            loss += self.imagined * _loss_of_wrong_certainty(clip, fit.slope, k)
            # Where no score lies below, all smaller clips give the same map; TINY stands for it.
            last = np.log(clip) <= self.lowest
            name, n_passes = TINY if last else clip, fit.solution.n_passes
            yield _Candidate(name, fit.slope, fit.evaluated_slope, loss, n_passes)
            if last:
                return
            separated = fit.solution.status is Status.SEPARATED
            start = fit.slope if slope is None or separated else fit.slope**2 / slope
            slope = fit.slope

    def _guess(self, clip: float, tol: float, start: float | None) -> float | None:
        """The slope of some of the rows; None where they are too few to have one."""
        if self.few_rows is None:
            return None
        fit = fit_temperature(
            self.few_rows.with_clip(clip),
            tol=tol,
            max_iter=self.max_iter,
            start=start,
        )
        return fit.slope if fit.solution.status is Status.CONVERGED else None


@dataclass
class _PairedSums(AbstractSums):
    """Weighted means of the difference of two losses and of its square."""

    mean: float
    mean_square: float


def _paired_losses(
    one: tuple[float, float], other: tuple[float, float], chunk: Chunk
) -> _PairedSums:
    """Of the losses of two temperature maps, each given by its logarithm of the clip and slope."""
    difference = _losses(chunk, *one).astype(np.float64) - _losses(chunk, *other)
    return _PairedSums(float(chunk.weight @ difference), float(chunk.weight @ difference**2))


def _losses(chunk: Chunk, log_clip: float, slope: float) -> AnyFloatArray:
    """Loss (m,) of each row."""
    logits = slope * clipped(chunk.scores, log_clip)
    picked = logits[chunk.labels, np.arange(len(chunk.labels))]
    top = logits.max(axis=0)
    logits -= top
    losses: AnyFloatArray = np.log(np.exp(logits, out=logits).sum(axis=0)) + (top - picked)
    return losses


def _loss_of_wrong_certainty(clip: float, slope: float, n_classes: int) -> float:
    """Loss of the temperature map on a row that gives a wrong class probability one."""
    down = slope * np.log(clip)
    return float(np.log1p((n_classes - 1) * np.exp(down)) - down)
