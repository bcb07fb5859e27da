"""A fitted map: a chain of steps, as a value."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.caching import cached_property
from dircal._core.data.chunks import row_slices
from dircal._core.data.simplex import drop_masked, fill_masked
from dircal._threads import limited_blas
from dircal._typing import FloatArray, InputScale
from dircal.maps._columns import Columns, ZeroLogit
from dircal.maps._log import LogProbability, LogSoftmax, MaskedAsLeast
from dircal.maps._step import AbstractStep

__all__ = ["CalibrationMap"]

# Numbers of a chunk where every class is a step of Python's.
_LONG_CHUNK = 2_000_000

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

    A logit of -inf masks its class: it gets no probability, and the others sum to one. Unless the
    steps say otherwise, it is read as a probability of zero.

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
        if inputs.ndim != 2 or inputs.shape[1] != self.n_columns:
            raise ValueError(
                f"`X` must have rows of {self.n_columns} numbers; got shape {inputs.shape}. "
                "Pass the columns that the map was fitted on."
            )
        proba = np.empty((len(inputs), self.n_classes))
        with limited_blas(proba.shape):
            for part in self._chunks(inputs.shape):
                proba[part] = self.without_masked(self.read(inputs[part]), inputs[part]).T
        return proba

    def read(self, inputs: npt.NDArray[Any]) -> FloatArray:
        """What comes out of rows (m, n_columns), as a block (k, m): how a source makes scores.

        Masked classes are read like any other.
        """
        if self.input_scale != "logit":
            return self.on_block(as_block(inputs))
        _, others = self.after_columns()
        block = self.arrange(inputs)
        return others.on_block(block if others.fills_masked else fill_masked(block))

    def arrange(self, inputs: npt.NDArray[Any]) -> FloatArray:
        """Rows (m, n_columns) of logits as a block (k, m) in the order of the classes, as given."""
        arranged, _ = self.after_columns()
        return arranged.on_block(as_block(inputs))

    def without_masked(self, proba: FloatArray, inputs: npt.NDArray[Any]) -> FloatArray:
        """Probabilities (k, m) of rows (m, n_columns), none of them of a masked class; in place.

        What comes out of a part of a map, which are no probabilities, stays as it is.
        """
        if self.input_scale != "logit" or not self.steps[-1].gives_proba:
            return proba
        if inputs.min() > -np.inf:
            return proba
        return drop_masked(proba, np.isneginf(self.arrange(inputs)))

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

    def after_columns(self) -> tuple[Self, Self]:
        """The steps that only arrange columns of logits, and the map of what comes out of them."""
        kept = (not isinstance(step, Columns | ZeroLogit) for step in self.steps)
        n = next((i for i, other in enumerate(kept) if other), len(self.steps))
        arranged = replace(self, steps=self.steps[:n])
        return arranged, replace(self, n_columns=arranged.n_classes, steps=self.steps[n:])

    @property
    def fills_masked(self) -> bool:
        """Whether the first step says what masked classes are read as."""
        return isinstance(next(iter(self.steps), None), MaskedAsLeast)

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


def as_block(inputs: npt.NDArray[Any]) -> FloatArray:
    """Rows (m, d) as a block (d, m) of their own, in double precision."""
    return np.array(inputs.T, dtype=np.float64, order="C")
