"""The module of a calibrator: its map as a graph of PyTorch operations.

Importing this file imports torch: only `_torch` does, when it is asked to.
"""

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx, nn

from dircal import maps
from dircal._typing import FloatArray
from dircal.export import _expression as expr
from dircal.export._expression import AbstractTarget, Expression, in_precision
from dircal.export._fitted import Fitted
from dircal.export._lower import lower_with_logits

__all__ = ["CalibratorModule", "Graph"]

# Products of logits this large with moderate weights are finite in numbers of the type.
_LARGEST = {torch.float64: 1e100, torch.float32: 1e30, torch.bfloat16: 1e30, torch.float16: 1e3}
_UNARY = {"log": torch.log, "exp": torch.exp, "abs": torch.abs}
_BINARY: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "max": torch.maximum,
    "min": torch.minimum,
}


class CalibratorModule(nn.Module):
    """A map from scores to probabilities, and the calibrator it was made from.

    ``classes`` are the labels of the columns that come out, ``columns`` those of what goes in.
    ``source`` is the calibrator as a file holds it. ``steps`` is the graph of the map, with the
    parameters of each step under its name.
    """

    constants: Tensor

    def __init__(self, fitted: Fitted, source: bytes, *, returns_input_type: bool) -> None:
        super().__init__()
        self.source, self.chain = source, fitted.chain
        self.columns, self.classes = fitted.columns, fitted.classes
        self.reads_logits = fitted.input_scale == "logit"
        self.returns_input_type = returns_input_type
        graph = Graph()
        n_columns = len(fitted.columns)
        self.steps = graph.module(lower_with_logits(fitted.chain.with_masks, expr.Input(n_columns)))
        self.trained, self.numbers = graph.steps, np.array(graph.numbers, dtype=np.float64)
        # Part of the map, not of its state: a state has the parameters only.
        self.register_buffer("constants", torch.tensor(self.numbers), persistent=False)
        self.largest_logit = _LARGEST[torch.float64]

    def forward(self, scores: Tensor) -> Tensor:
        """Calibrated probabilities (n, n_classes) of scores (n, n_features)."""
        return self._result(self._run(scores)[0], scores)

    def logits(self, scores: Tensor) -> Tensor:
        """Logits whose softmax is the probabilities: for losses such as cross-entropy."""
        return self._result(self._run(scores)[1], scores)

    def _run(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        x = scores.to(self.constants.dtype)
        if self.reads_logits:
            bounded = x.clamp(-self.largest_logit, self.largest_logit)
            x = torch.where(x == float("-inf"), x, bounded)
        result: tuple[Tensor, Tensor] = self.steps(x, self.constants)
        return result

    def _result(self, values: Tensor, scores: Tensor) -> Tensor:
        if self.returns_input_type and scores.is_floating_point():
            return values.to(scores.dtype)
        return values

    def _apply(self, fn: Any, recurse: bool = True) -> "CalibratorModule":
        """Follow `float`, `half` and `to`: constants are rounded so that logarithms exist."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        dtype, device = self.constants.dtype, self.constants.device
        fitting = in_precision(self.numbers, torch.finfo(dtype))
        self.constants = torch.tensor(fitting, dtype=dtype, device=device)
        self.largest_logit = _LARGEST[dtype]
        return self

    def trained_map(self) -> maps.CalibrationMap:
        """The map with the parameters of today."""
        values = {
            id(step): {
                field: _numbers(parameter)
                for field, parameter in self.steps.get_submodule(name).named_parameters()
            }
            for name, step in self.trained.items()
        }
        trained: maps.CalibrationMap = _with_fields(self.chain, values)
        return trained


class Graph(AbstractTarget[fx.Node]):
    """A graph of PyTorch operations; the value of an expression is its node.

    The graph reads ``scores`` and a vector of ``constants``. ``numbers`` are these constants in
    double precision, and ``steps`` are the steps with parameters, by name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.steps: dict[str, maps.AbstractStep] = {}
        self.numbers: list[float] = []
        self._root = nn.Module()
        self._graph = fx.Graph()
        self._scores, self._constants = map(self._graph.placeholder, ("scores", "constants"))
        self._places: dict[bytes, fx.Node] = {}
        self._names: dict[int, str] = {}
        self._count: Counter[str] = Counter()

    def module(self, results: Sequence[Expression]) -> fx.GraphModule:
        """The graph of all results as a module that returns them as a tuple."""
        self._graph.output(tuple(map(self.of, results)))
        return fx.GraphModule(self._root, self._graph, class_name="Steps")

    def _make(self, e: Expression) -> fx.Node:
        match e:
            case expr.Input():
                return self._scores
            case expr.Parameter():
                return self._parameter(e)
            case expr.Constant(values):
                return self._constant(values)
            case expr.Columns(x, (index,)):
                return self._call(torch.narrow, self.of(x), -1, index, 1)
            case expr.Columns(x, indices):
                device = self._call(getattr, self._scores, "device")
                places = self._call(torch.tensor, list(indices), device=device)
                return self._call(torch.index_select, self.of(x), -1, places)
            case expr.Join(parts):
                return self._call(torch.cat, [self.of(part) for part in parts], -1)
            case expr.Unary(name, x):
                return self._call(_UNARY[name], self.of(x))
            case expr.Binary(name, x, y):
                return self._call(_BINARY[name], self.of(x), self.of(y))
            case expr.Choose(low, high, yes, no):
                less = self._call(operator.lt, self.of(low), self.of(high))
                return self._call(torch.where, less, self.of(yes), self.of(no))
            case expr.Linear(x, matrix, bias):
                operands = map(self.of, (x, matrix, bias))
                return self._call(nn.functional.linear, *operands)
            case expr.RowSum(x, _):
                return self._call(torch.sum, self.of(x), -1, True)
            case expr.RowMax(x):
                return self._call(torch.amax, self.of(x), -1, True)
            case expr.Softmax(x):
                return self._call(torch.softmax, self.of(x), -1)
            case expr.Lookup():
                raise ValueError(
                    "`calibrator` has a curve with edges, which has no gradient, so that there "
                    "would be nothing to train. Use to_onnx or to_python."
                )
            case _:
                raise TypeError(f"{type(e).__name__} has no form in PyTorch")

    def _call(self, function: Callable[..., Any], *args: Any, **options: Any) -> fx.Node:
        return self._graph.call_function(function, args, options)

    def _constant(self, values: FloatArray) -> fx.Node:
        key = values.tobytes()
        if key not in self._places:
            place = self._call(torch.narrow, self._constants, 0, len(self.numbers), len(values))
            self._places[key] = place
            self.numbers += values.tolist()
        return self._places[key]

    def _parameter(self, e: expr.Parameter) -> fx.Node:
        name = self._name(e.step)
        holder = self._root.get_submodule(name)
        if not hasattr(holder, e.field):
            values = torch.tensor(getattr(e.step, e.field), dtype=torch.float64)
            holder.register_parameter(e.field, nn.Parameter(values))
        node = self._graph.get_attr(f"{name}.{e.field}")
        return node if e.column is None else self._call(torch.select, node, -1, e.column)

    def _name(self, step: maps.AbstractStep) -> str:
        """The class in lower case, with a number from the second of its kind on."""
        if id(step) not in self._names:
            kind = type(step).__name__
            snake = "".join(f"_{a.lower()}" if a.isupper() else a for a in kind).lstrip("_")
            self._count[snake] += 1
            name = f"{snake}_{self._count[snake]}" if self._count[snake] > 1 else snake
            self._names[id(step)] = name
            self.steps[name] = step
            self._root.add_module(name, nn.Module())
        return self._names[id(step)]


def _numbers(parameter: Tensor) -> Any:
    array: FloatArray = parameter.detach().double().cpu().numpy()
    return array if array.ndim else array.item()


def _with_fields(value: Any, changed: dict[int, dict[str, Any]]) -> Any:
    """A map with other fields of some steps, also of steps inside others."""
    if isinstance(value, tuple):
        return tuple(_with_fields(part, changed) for part in value)
    if isinstance(value, maps.CalibrationMap):
        steps = _with_fields(value.steps, changed)
        linear = zip(value.steps, steps, value.steps[1:], strict=False)
        kept = [_keep_reference(*each) for each in linear]
        return replace(value, steps=(*kept, *steps[-1:]))
    if isinstance(value, maps.AbstractStep):
        same: list[Any] = [each.name for each in fields(value)]  # type: ignore[arg-type]
        values = {name: _with_fields(getattr(value, name), changed) for name in same}
        return type(value)(**values | changed.get(id(value), {}))
    return value


def _keep_reference(
    origin: maps.AbstractStep, step: maps.AbstractStep, following: maps.AbstractStep
) -> maps.AbstractStep:
    """A linear map before a softmax, with a last row of zeros if it had one before training.

    The softmax does not see what all rows have in common: the last row can be taken from each.
    """
    if not (isinstance(origin, maps.Affine) and isinstance(step, maps.Affine)):
        return step
    before_softmax = isinstance(following, maps.Softmax)
    if not before_softmax or origin.matrix[-1].any() or origin.intercepts[-1] != 0.0:
        return step
    return maps.Affine(step.matrix - step.matrix[-1], step.intercepts - step.intercepts[-1])
