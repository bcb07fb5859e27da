"""A map as an ONNX model."""

import json
import os
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dircal._files import write_whole
from dircal._version import __version__
from dircal.export import _expression as expr
from dircal.export._evaluate import single_expression
from dircal.export._expression import AbstractTarget, Expression, in_precision
from dircal.export._extras import need
from dircal.export._fitted import Fitted, check_fitted
from dircal.tables import check_option

__all__ = ["to_onnx"]

# Of 2021, and understood by what runs models today.
_OPSET = 17
_IR_VERSION = 8
_UNARY = {"log": "Log", "exp": "Exp", "abs": "Abs"}
_BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min"}
_REMEDY = "Use dtype='mixed', which is float32 outside and float64 inside."


def to_onnx(
    calibrator: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Literal["mixed", "float64", "float32"] = "mixed",
) -> Any:
    """Make an ONNX model of a fitted calibrator.

    Parameters
    ----------
    calibrator : calibrator
        A fitted calibrator. A `CalibratedClassifier` cannot be exported, and neither can isotonic
        or histogram calibration of logits, one class against the rest; the error says why.
    path : str or path, optional
        Where to write the model; None writes nothing.
    dtype : {"mixed", "float64", "float32"}, default="mixed"
        Type of the numbers. "mixed" takes and returns float32, as networks do, and computes in
        float64. "float32" is refused where it would not be exact enough, or not finite.

    Returns
    -------
    model : onnx.ModelProto
        The model, checked by ``onnx.checker``. Its input ``scores`` has shape (n, n_features), its
        output ``probabilities`` (n, n_classes).

    See Also
    --------
    to_torch : A layer that can be trained further.
    to_python : A file that needs nothing.

    Notes
    -----
    Columns of ``scores`` are those that the calibrator was fitted on, in that order; columns of
    ``probabilities`` follow ``classes_``. Both orders stand in the metadata of the model, as JSON,
    under ``dircal.columns`` and ``dircal.classes``. The model does not check its input. A logit
    of -inf masks its class, as in `predict_proba`; a row in which all are masked becomes NaN.

    "float64" agrees with `predict_proba` to 1e-12 times one plus the largest logit, "mixed" to the
    rounding of what comes out, "float32" to 1e-5 for probabilities of at least 1e-30 and logits of
    at most 50. Models are of opset 17.

    When not to use it: where `dircal` itself can be installed; `dircal.save` keeps more.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal import TemperatureScaling
    >>> from dircal.export import to_onnx
    >>> calibrator = TemperatureScaling().fit([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1, 1])
    >>> model = to_onnx(calibrator)
    >>> [node.op_type for node in model.graph.node]
    ['Cast', 'ReduceSum', 'Div', 'Max', 'Log', 'Mul', 'Softmax', 'Cast']
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(model.SerializeToString())
    >>> scores = np.array([[0.7, 0.3]], dtype=np.float32)
    >>> (probabilities,) = session.run(None, {"scores": scores})
    >>> np.allclose(probabilities, calibrator.predict_proba(scores))
    True
    """
    check_option("dtype", dtype, ("mixed", "float64", "float32"))
    onnx = need("onnx")
    fitted = check_fitted(calibrator)
    single = dtype == "float32"
    expression = single_expression(fitted, _REMEDY) if single else fitted.expression()
    graph = _Graph(onnx, dtype)
    graph.finish(expression)
    model = _model(onnx, graph, fitted, dtype)
    onnx.checker.check_model(model, full_check=True)
    if path is not None:
        write_whole(path, model.SerializeToString())
    return model


def _model(onnx: Any, graph: "_Graph", fitted: Fitted, dtype: str) -> Any:
    helper, outside = onnx.helper, graph.outside
    scores, proba = ["n", len(fitted.columns)], ["n", len(fitted.classes)]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            fitted.name,
            [helper.make_tensor_value_info("scores", outside, scores)],
            [helper.make_tensor_value_info("probabilities", outside, proba)],
            initializer=graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="dircal",
        producer_version=__version__,
    )
    helper.set_model_props(
        model,
        {
            "dircal.calibrator": fitted.name,
            "dircal.input_scale": fitted.input_scale,
            "dircal.columns": json.dumps(fitted.columns),
            "dircal.classes": json.dumps(fitted.classes),
            "dircal.dtype": dtype,
        },
    )
    return model


class _Graph(AbstractTarget[str]):
    """Nodes and constants of a graph, made from the inside out; a value is the name of its node."""

    def __init__(self, onnx: Any, dtype: str) -> None:
        super().__init__()
        self.onnx = onnx
        self.inside = np.float32 if dtype == "float32" else np.float64
        proto = onnx.TensorProto
        self.outside = proto.DOUBLE if dtype == "float64" else proto.FLOAT
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._names: dict[tuple[Any, ...], str] = {}
        self._scores = "scores"
        if dtype == "mixed":
            self._scores = self._node("Cast", "scores", to=proto.DOUBLE)

    def finish(self, expression: Expression) -> None:
        """Let the expression be the output."""
        name = self.of(expression)
        if self._scores != "scores":
            self._node("Cast", name, to=self.outside)
        # Nothing comes after the last node, so that its name is free.
        self.nodes[-1].output[0] = "probabilities"

    def _node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        # Nodes have names too: ONNX Runtime before 1.22 calls nodes that it fuses after them, and
        # refuses two that are called the same.
        node = self.onnx.helper.make_node(kind, inputs, [name], name=name, **attributes)
        self.nodes.append(node)
        return name

    def _constant(self, values: npt.NDArray[Any]) -> str:
        if values.dtype.kind == "f":
            values = in_precision(values, np.finfo(self.inside)).astype(self.inside)
        key = values.shape, values.dtype, values.tobytes()
        if key not in self._names:
            self._names[key] = f"constant_{len(self.constants)}"
            tensor = self.onnx.numpy_helper.from_array(
                np.ascontiguousarray(values).reshape(values.shape), self._names[key]
            )
            self.constants.append(tensor)
        return self._names[key]

    def _make(self, e: Expression) -> str:
        match e:
            case expr.Input():
                return self._scores
            case expr.Constant(values):
                return self._constant(values)
            case expr.Columns(x, indices):
                return self._node("Gather", self.of(x), self._constant(np.array(indices)), axis=1)
            case expr.Join(parts):
                return self._node("Concat", *map(self.of, parts), axis=1)
            case expr.Unary(name, x):
                return self._node(_UNARY[name], self.of(x))
            case expr.Binary(name, x, y):
                return self._node(_BINARY[name], self.of(x), self.of(y))
            case expr.Choose(low, high, yes, no):
                less = self._node("Less", self.of(low), self.of(high))
                return self._node("Where", less, self.of(yes), self.of(no))
            case expr.Linear(x, matrix, bias):
                product = self._node("MatMul", self.of(x), self._constant(matrix.values.T))
                return self._node("Add", product, self.of(bias))
            case expr.RowSum(x, in_order):
                return self._sum(x, in_order)
            case expr.RowMax(x):
                return self._node("ReduceMax", self.of(x), axes=[1], keepdims=1)
            case expr.Softmax(x):
                return self._node("Softmax", self.of(x), axis=1)
            case expr.Lookup():
                return self._lookup(e)
            case _:
                raise TypeError(f"{type(e).__name__} has no form in ONNX")

    def _sum(self, x: Expression, in_order: bool) -> str:
        if not in_order:
            return self._node("ReduceSum", self.of(x), self._constant(np.array([1])), keepdims=1)
        # Running sums are added in order; the last of them is wanted.
        running = self._node("CumSum", self.of(x), self._constant(np.array(1)))
        return self._node("Gather", running, self._constant(np.array([-1])), axis=1)

    def _lookup(self, e: expr.Lookup) -> str:
        """Binary search: how many edges are below, one binary digit at a time."""
        score = self.of(e.x)
        digits = max(1, len(e.edges).bit_length())
        padded = np.full(2**digits - 1, np.inf)
        padded[: len(e.edges)] = e.edges
        below = "Less" if e.at_edge == "below" else "LessOrEqual"
        place = None
        for digit in reversed(range(digits)):
            step = 2**digit
            if place is None:
                edge = self._constant(padded[step - 1 : step])
                hit = self._node(below, edge, score)
            else:
                ahead = self._constant(np.array(step - 1))
                at = self._node("Add", place, ahead)
                hit = self._node(
                    below, self._node("Gather", self._constant(padded), at, axis=0), score
                )
            more = self._node("Cast", hit, to=self.onnx.TensorProto.INT64)
            more = self._node("Mul", more, self._constant(np.array(step)))
            place = more if place is None else self._node("Add", place, more)
        rows = self._node("Gather", self._constant(e.table), str(place), axis=0)
        return self._node("Squeeze", rows, self._constant(np.array([1])))
