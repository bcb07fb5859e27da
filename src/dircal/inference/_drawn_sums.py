"""Sums over rows drawn again, of several measures of several predictions, in one pass."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from dircal._core.data.chunks import AbstractSums, SeveralSums
from dircal._core.stats.bootstrap import DrawnSums, RowTerms, draw_sums, split_sums
from dircal._core.stats.confidence import Moments, powers_beyond
from dircal._core.stats.moments import (
    SumMoments,
    are_normal,
    have_covariance,
    moment_rows,
    sum_moments,
    sums_from_moments,
)
from dircal._core.stats.multipliers import SignedSums, sign_rows, signed_stride
from dircal._core.stats.row_blocks import RowBlocks, drawing_rows
from dircal._progress import Progress
from dircal._threads import limited_blas
from dircal._typing import FloatArray
from dircal.inference._chosen_measure import ChosenMeasure
from dircal.inference._draws import Draws, MeanDraws, draws_of_sums, watcher_of
from dircal.metrics import Block, IntervalRule, Predictions, Summed, fold_together

__all__ = ["Drawn", "Source", "SummedMeasure", "moments_of_difference", "resample", "source_of"]

Source: TypeAlias = Literal["draws", "moments", "multipliers"]
"""Where draws come from: rows or labels, moments of their sums, or rows with random signs."""


def source_of(n_rows: int, n_sums: int) -> Source:
    """Of so many sums over so many rows."""
    if not are_normal(n_rows):
        return "draws"
    return "moments" if have_covariance(n_sums) else "multipliers"


@dataclass(frozen=True, eq=False)
class SummedMeasure:
    """One measure of one of several predictions, by their positions, with its sums and value."""

    predictions: int
    measure: int
    rule: IntervalRule | None
    summed: Summed
    value: float


@dataclass(frozen=True, eq=False)
class Drawn:
    """Draws of a measure, and a ``pair`` of it and of the first predictions, drawn together.

    There is no pair where all draws are of the same rows: each then goes with each.
    """

    own: Draws
    pair: tuple[Draws, Draws] | None = None


def resample(
    summed: Sequence[SummedMeasure],
    several: Sequence[Predictions],
    n_resamples: int,
    seed: int,
    source: Source = "draws",
) -> Iterator[tuple[SummedMeasure, Drawn]]:
    """Draws of each measure, all of the same rows, or of sums with the moments of such draws.

    Either way its own are what they would be for the measure alone.
    """
    n, k = several[0].n_samples, several[0].n_classes
    means = _means_of(summed)
    terms = tuple((one.predictions, one.summed.terms) for one in summed)
    with (
        # Products with some hundred columns are too small for a second thread to pay.
        limited_blas((n, 1)),
        Progress("Drawing rows", n * n_resamples, "rows") as progress,
    ):
        pairs = tuple(_pairs_of(summed))
        add_up: Callable[[Sequence[RowTerms], int | None], Any] = partial(_moments_of_block, pairs)
        chunk_rows = moment_rows(k, max(sum(one.summed.size) for one in summed))
        if source == "multipliers":
            chunk_rows = drawing_rows(k)
            add_up = partial(
                sign_rows,
                blocks=RowBlocks(n, seed),
                n_resamples=n_resamples,
                every=signed_stride(n),
            )
        if source == "draws":
            chunk_rows = drawing_rows(k)
            add_up = partial(
                draw_sums,
                blocks=RowBlocks(n, seed),
                n_resamples=n_resamples,
                advance=watcher_of(several, progress),
            )
        sums = fold_together(several, _SumRows(terms, tuple(means), add_up), chunk_rows)
    moments = {
        (mean.mine, mean.first): Moments(n, mean.mean, powers)
        for mean, powers in zip(means, sums.powers, strict=True)
    }
    drawn_by_measure = _sums_by_measure(sums.rows, summed, n_resamples, seed)
    for i, (one, rows) in enumerate(zip(summed, drawn_by_measure, strict=True)):
        if one.rule is IntervalRule.BCA:
            values = one.summed.read(rows[0].drawn)
            beyond = [found for (mine, first), found in moments.items() if mine == i != first]
            found = MeanDraws(values[:, 0], moments[i, i], beyond[0] if beyond else None)
            yield one, Drawn(found)
            continue
        own = _draws_of(one, rows[0])
        if len(rows) == 1:
            yield one, Drawn(own)
        else:
            yield one, Drawn(own, (_draws_of(one, rows[2]), _draws_of(summed[pairs[i]], rows[1])))


def _draws_of(one: SummedMeasure, sums: DrawnSums) -> Draws:
    assert one.rule is not None
    return draws_of_sums(one.rule, one.summed.read(sums.total), one.summed.read(sums.drawn))


def _sums_by_measure(
    rows: "DrawnSums | SignedSums | SeveralSums",
    summed: Sequence[SummedMeasure],
    n_resamples: int,
    seed: int,
) -> Iterator[list[DrawnSums]]:
    """The sums of each measure over draws, and over all rows.

    From moments, also those of the first predictions and again its own, which belong together.
    """
    if isinstance(rows, SignedSums):
        rows = rows.as_drawn
    if isinstance(rows, DrawnSums):
        sizes = [one.summed.size for one in summed]
        both = (split_sums(sizes, each) for each in (rows.drawn, rows.total))
        yield from ([DrawnSums(*pair)] for pair in zip(*both, strict=True))
        return
    for i, first, moments in zip(range(len(summed)), _pairs_of(summed), rows.values, strict=True):
        if first == i:
            yield [_from_moments(moments, n_resamples, seed)]
            continue
        sizes = [summed[first].summed.size, summed[i].summed.size]
        places = split_sums(sizes, np.arange(float(len(moments.sums))))
        alone = moments.some(places[1].astype(np.intp))
        joint = _from_moments(moments, n_resamples, seed)
        both = (split_sums(sizes, each) for each in (joint.drawn, joint.total))
        yield [
            _from_moments(alone, n_resamples, seed),
            *(DrawnSums(*pair) for pair in zip(*both, strict=True)),
        ]


def _from_moments(moments: SumMoments, n_resamples: int, seed: int) -> DrawnSums:
    drawn = sums_from_moments(moments, n_resamples, np.random.default_rng(seed))
    return DrawnSums(drawn, moments.sums)


def _pairs_of(summed: Sequence[SummedMeasure]) -> Iterator[int]:
    """For each measure, where that of the first predictions is that it has to be drawn with.

    Its own place where there is none, and for means, whose differences are means.
    """
    first_of: dict[int, int] = {}
    for i, one in enumerate(summed):
        first = first_of.setdefault(one.measure, i)
        yield i if one.rule is IntervalRule.BCA else first


def moments_of_difference(
    measure: ChosenMeasure, both: Sequence[Predictions], difference: float
) -> Moments:
    """Of what rows lose by the first predictions less what they lose by the second."""
    losses = []
    for one in both:
        summed = measure.sums(one)
        assert summed is not None
        losses.append(summed.terms)
    powers = fold_together(both, _PowersOfDifference(tuple(losses), difference))
    return Moments(both[0].n_samples, difference, powers)


@dataclass(frozen=True)
class _Mean:
    """The mean of what rows lose by one of the terms, less what they lose by the ``first`` ones.

    Of the terms alone where both are the same.
    """

    mine: int
    first: int
    mean: float


def _means_of(summed: Sequence[SummedMeasure]) -> list[_Mean]:
    """Means whose moments are wanted: of each measure that is one, and of differences."""
    found: list[_Mean] = []
    first_of: dict[int, int] = {}
    for i, one in enumerate(summed):
        if one.rule is not IntervalRule.BCA:
            continue
        found.append(_Mean(i, i, one.value))
        first = first_of.setdefault(one.measure, i)
        if first != i:
            found.append(_Mean(i, first, one.value - summed[first].value))
    return found


@dataclass
class _Sums(AbstractSums):
    """Sums over draws, and of powers (means, 5) of what rows lose."""

    rows: "DrawnSums | SignedSums | SeveralSums"
    powers: FloatArray


@dataclass(frozen=True, eq=False)
class _SumRows:
    """What a block of rows adds to the sums of all terms, each of one of the predictions."""

    terms: tuple[tuple[int, Callable[[Block], RowTerms]], ...]
    means: tuple[_Mean, ...]
    add_up: Callable[[Sequence[RowTerms], int | None], Any]

    def __call__(self, blocks: tuple[Block, ...]) -> _Sums:
        terms = [terms_of(blocks[at]) for at, terms_of in self.terms]
        rows = self.add_up(terms, blocks[0].start)
        powers = np.empty((len(self.means), 5))
        for found, mean in zip(powers, self.means, strict=True):
            losses = terms[mean.mine].dense[0]
            if mean.first != mean.mine:
                losses = losses - terms[mean.first].dense[0]
            found[:] = powers_beyond(losses, mean.mean)
        return _Sums(rows, powers)


def _moments_of_block(
    pairs: Sequence[int], terms: Sequence[RowTerms], start: int | None
) -> SeveralSums:
    del start
    both = ([terms[i]] if first == i else [terms[first], terms[i]] for i, first in enumerate(pairs))
    return SeveralSums([sum_moments(one) for one in both])


@dataclass(frozen=True, eq=False)
class _PowersOfDifference:
    """Powers (5,) of what rows lose by one predictions more than by the other."""

    terms: tuple[Callable[[Block], RowTerms], ...]
    mean: float

    def __call__(self, blocks: tuple[Block, ...]) -> FloatArray:
        mine, others = (one(block).dense[0] for one, block in zip(self.terms, blocks, strict=True))
        return powers_beyond(mine - others, self.mean)
