"""A fitted map: a chain of steps, as a value."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.caching import cached_property
from dircal._core.data.chunks import row_slices
from dircal._core.data.simplex import TINY, normalise, sums_of_columns
from dircal._threads import limited_blas
from dircal._typing import FloatArray, InputScale
from dircal.maps._columns import Columns, ZeroLogit
from dircal.maps._log import LogProbability, LogSoftmax, MaskedAsLeast
from dircal.maps._step import AbstractStep

__all__ = ["CalibrationMap", "Masked"]

# Numbers of a chunk where every class is a step of Python's.
_LONG_CHUNK = 2_000_000
# For fewer multiplications BLAS uses one thread without being told.
_SMALL_WORK = 9_000

_Step = TypeVar("_Step", bound=AbstractStep)


@dataclass(frozen=True, repr=False)
class CalibrationMap:
    r"""What a fit returns: steps from rows of scores to calibrated probabilities.

    It is a value: two maps of the same steps are equal, it can be pickled and printed, and nothing
    can change it. Files and exports are written from its steps.

    Parameters
    ----------
    n_columns : int
        Columns of the rows that go in.
    steps : tuple of steps
        What is done to them, in this order.

    Notes
    -----
    With steps :math:`f_1, \dots, f_s` the map is :math:`f_s \circ \dots \circ f_1`; for
    Dirichlet calibration these are division by the sum, the logarithm with its clip,
    :math:`W s + b`, and the softmax.

    In a map of logits, `Masked` wraps the steps that follow the columns (`with_masks`): a class
    with a logit of -inf has a probability of zero, and the others sum to one.

    When not to use it: for rows as users have them. `predict_proba` checks them and knows columns
    by name; the map takes numbers as they come, with the columns of the fit.

    Examples
    --------
    >>> from dircal import TemperatureScaling
    >>> scaling = TemperatureScaling().fit([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1, 1])
    >>> scaling.map_
    Normalise() > LogProbability(clip=...) > Scale(slope=...) > Softmax()
    >>> scaling.map_([[0.5, 0.5]])
    array([[0.5, 0.5]])
    """

    n_columns: int
    steps: tuple[AbstractStep, ...]

    def __call__(self, X: npt.ArrayLike) -> FloatArray:
        """Calibrated probabilities (n, k) of rows (n, n_columns), a chunk at a time."""
        inputs: npt.NDArray[Any] = X if isinstance(X, np.ndarray) else np.asarray(X)
        if self.n_columns == 1 and inputs.ndim == 1:
            inputs = inputs[:, None]
        if inputs.ndim != 2 or inputs.shape[1] != self.n_columns:
            raise ValueError(
                f"`X` must have rows of {self.n_columns} numbers; got shape {inputs.shape}. "
                "Pass the columns that the map was fitted on."
            )
        proba = np.empty((len(inputs), self.n_classes))
        is_small = proba.size * self.n_classes < _SMALL_WORK
        with nullcontext() if is_small else limited_blas(proba.shape):
            for part in self._chunks(inputs.shape):
                proba[part] = self.read(inputs[part]).T
        return proba

    def read(self, inputs: npt.NDArray[Any]) -> FloatArray:
        """Result for rows (m, n_columns), as a block (k, m)."""
        return self.with_masks.arrange(inputs)

    def arrange(self, inputs: npt.NDArray[Any]) -> FloatArray:
        """The same without masks: columns of logits keep -inf."""
        return self.on_block(as_block(inputs))

    def on_block(self, block: FloatArray) -> FloatArray:
        """What comes out of a block (n_columns, m), which may be used up."""
        for step in self.steps:
            block = step.apply(block)
        return block

    @cached_property
    def n_classes(self) -> int:
        """Classes k of what comes out; a ValueError where the steps do not fit together."""
        n = self.n_columns
        for i, step in enumerate(self.steps):
            try:
                n = step.n_out(n)
            except ValueError as error:
                raise ValueError(f"step {i}, {type(step).__name__}: {error}") from None
        return n

    @property
    def with_masks(self) -> Self:
        """The map as it is applied: `Masked` around all steps that read logits."""
        if self.input_scale != "logit":
            return self
        columns = tuple(takewhile(lambda step: isinstance(step, Columns | ZeroLogit), self.steps))
        arranged = replace(self, steps=columns)
        inner = replace(self, n_columns=arranged.n_classes, steps=self.steps[len(columns) :])
        return arranged.then(Masked(inner))

    @property
    def input_scale(self) -> InputScale:
        """What goes in, by the first step that reads one scale only."""
        scales = (step.input_scale for step in self.steps)
        return next((scale for scale in scales if scale is not None), "logit")

    @property
    def clip(self) -> float:
        """The floor of probabilities before the logarithm; 0 where there is none."""
        log = self.find(LogProbability) or self.find(LogSoftmax)
        return 0.0 if log is None else log.clip

    def find(self, kind: type[_Step]) -> _Step | None:
        """The last step of a kind; None if there is none."""
        return next((step for step in reversed(self.steps) if isinstance(step, kind)), None)

    def before(self, kind: type[AbstractStep]) -> Self:
        """The part of the map that comes before the last step of a kind."""
        places = [i for i, step in enumerate(self.steps) if isinstance(step, kind)]
        return replace(self, steps=self.steps[: places[-1]])

    def then(self, *steps: AbstractStep) -> Self:
        """The map with more steps after its own."""
        return replace(self, steps=(*self.steps, *steps))

    def with_columns(self, order: Sequence[int]) -> Self:
        """The same map of rows whose columns stand in another order.

        Column ``order[i]`` of the new rows is column i of the old ones. Where one column stands for
        two, the two are what is ordered.
        """
        if list(order) == list(range(len(order))):
            return self
        first = 1 if self.n_columns == 1 else 0
        columns = Columns(tuple(map(int, order)))
        return replace(self, steps=(*self.steps[:first], columns, *self.steps[first:]))

    def _chunks(self, shape: tuple[int, ...]) -> Any:
        long = any(step.long_chunks for step in self.steps)
        return row_slices(shape, max(1, _LONG_CHUNK // (4 * shape[1])) if long else None)

    def __hash__(self) -> int:
        return hash((self.n_columns, self.steps))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.n_columns, self.steps)

    def __repr__(self) -> str:
        return " > ".join(map(repr, self.steps))


@dataclass(frozen=True, eq=False, repr=False)
class Masked(AbstractStep):
    """A map of logits, with a probability of exactly zero for masked classes.

    The ``inner`` map reads a masked class as a probability of zero, unless its first step is
    `MaskedAsLeast`. If it ends in probabilities, those of the other classes are divided by their
    sum, and are equal if that is zero; scores stay unchanged. `CalibrationMap.with_masks` adds this
    step, and files do not contain it.
    """

    inner: CalibrationMap

    @property
    def fills(self) -> bool:
        """Whether masked classes have to be filled before the first step."""
        return not isinstance(next(iter(self.inner.steps), None), MaskedAsLeast)

    @property
    def drops(self) -> bool:
        """Whether the inner map ends in probabilities."""
        return any(step.gives_proba for step in self.inner.steps[-1:])

    def apply(self, block: FloatArray) -> FloatArray:
        """Result of the inner map, with zeros for masked classes."""
        if block.min() > -np.inf:
            return self.inner.on_block(block)
        masked = np.isneginf(block)
        if self.fills:
            block = np.where(masked, block.max(axis=0) + np.log(TINY), block)
        block = self.inner.on_block(block)
        if not self.drops:
            return block
        block[masked] = 0.0
        none = sums_of_columns(block) == 0.0
        block[:, none] = ~masked[:, none]
        return normalise(block)

    def n_out(self, n_in: int) -> int:
        """Classes of the inner map."""
        del n_in
        return self.inner.n_classes


def as_block(inputs: npt.NDArray[Any]) -> FloatArray:
    """Rows (m, d) as a block (d, m) of their own, in double precision."""
    return np.array(inputs.T, dtype=np.float64, order="C")
