"""A map as a Python file that needs nothing."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._files import write_whole
from dircal._version import __version__
from dircal.export import _expression as expr
from dircal.export._expression import AbstractTarget, Expression
from dircal.export._fitted import Fitted, check_fitted

__all__ = ["to_python"]

_UNARY = {"log": "math.log", "exp": "math.exp", "abs": "abs"}
_BINARY = {
    "add": "{x} + {y}",
    "sub": "{x} - {y}",
    "mul": "{x} * {y}",
    "div": "{x} / {y}",
    "max": "max({x}, {y})",
    "min": "min({x}, {y})",
}
# What a row may hold; a logit of minus infinity masks its class.
_FINE = {
    "probability": "all(math.isfinite(a) for a in x)",
    "logit": "all(a < math.inf for a in x)",
}
_WANTED = {"probability": "finite numbers", "logit": "logits, finite or -inf for a masked class"}
_NONE_LEFT = """\
    if max(x) == -math.inf:
        raise ValueError("a row needs a class that is not masked; got %r" % (row,))
"""
_HELPERS = {
    "softmax": """
def softmax(x):
    top = max(x)
    odds = [math.exp(a - top) for a in x]
    total = sum(odds)
    return [a / total for a in odds]
""",
    "linear": """
def linear(x, weights, intercepts):
    return [sum(w * a for w, a in zip(row, x)) + b for row, b in zip(weights, intercepts)]
""",
    "add_up": """
def add_up(x):
    total = 0.0
    for a in x:
        total += a
    return total
""",
    "count_below": """
def count_below(edges, x, equal_counts):
    low, high = 0, len(edges)
    while low < high:
        middle = (low + high) // 2
        if edges[middle] < x or (equal_counts and edges[middle] == x):
            low = middle + 1
        else:
            high = middle
    return low
""",
}


def to_python(calibrator: Any, path: str | os.PathLike[str] | None = None) -> str:
    """Make a Python file of a fitted calibrator that needs no other package.

    Parameters
    ----------
    calibrator : calibrator
        A fitted calibrator. A `CalibratedClassifier` cannot be exported, and neither can isotonic
        or histogram calibration of logits, one class against the rest; the error says why.
    path : str or path, optional
        Where to write the file; None writes nothing.

    Returns
    -------
    code : str
        The content of the file. It has ``COLUMNS`` and ``CLASSES``, the labels of what goes in and
        of what comes out, and the functions ``predict_proba(rows)`` and ``predict(rows)``, for
        lists of rows.

    See Also
    --------
    to_onnx : Faster, for other languages.

    Notes
    -----
    It agrees with `predict_proba` to 1e-12 times one plus the largest logit. It runs in Python 3,
    imports `math` and nothing else, and is meant for a few rows at a time. Rows of a wrong length
    and numbers that are not finite raise a ValueError; nothing else is checked. A logit of -inf
    masks its class, as in `predict_proba`, unless all of a row are masked.

    When not to use it: for many rows or many classes. It is a hundred times slower than
    `predict_proba`, and a matrix for 1000 classes is a file of 20 MB.

    Examples
    --------
    >>> from dircal import TemperatureScaling
    >>> from dircal.export import to_python
    >>> calibrator = TemperatureScaling().fit(
    ...     [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["no", "yes", "yes"]
    ... )
    >>> code = to_python(calibrator)
    >>> module = {}
    >>> exec(code, module)
    >>> module["CLASSES"], module["predict"]([[0.9, 0.1]])
    (['no', 'yes'], ['no'])
    """
    code = _write(check_fitted(calibrator), _Code())
    if path is not None:
        write_whole(path, code.encode())
    return code


def _write(fitted: Fitted, body: "_Code") -> str:
    result = body.of(fitted.expression())
    kind = "logits" if fitted.input_scale == "logit" else "probabilities"
    helpers = [text for name, text in _HELPERS.items() if name in body.used]
    parts = [
        f'"""Calibrated probabilities: a {fitted.name}, written by dircal '
        f"{__version__}.\n\nRows are {kind}, with a column for each of COLUMNS; results have one "
        'for each of CLASSES.\n"""\n\nimport math\n',
        f"COLUMNS = {_labels(fitted.columns)}\nCLASSES = {_labels(fitted.classes)}\n",
        "\n".join(f"{name} = {text}" for name, text in body.constants) + "\n",
        *helpers,
        "\ndef calibrate(row):\n"
        '    """Probabilities of CLASSES for one row."""\n'
        "    x = [float(a) for a in row]\n"
        f"    if len(x) != len(COLUMNS) or not {_FINE[fitted.input_scale]}:\n"
        f'        raise ValueError("a row needs %d {_WANTED[fitted.input_scale]}; got %r"'
        " % (len(COLUMNS), row))\n"
        # One column leaves the other class.
        + (_NONE_LEFT if fitted.input_scale == "logit" and len(fitted.columns) > 1 else "")
        + "".join(f"    {line}\n" for line in body.lines)
        + f"    return {result}\n",
        "\ndef predict_proba(rows):\n"
        '    """Probabilities of CLASSES, for each row."""\n'
        "    return [calibrate(row) for row in rows]\n",
        "\ndef predict(rows):\n"
        '    """Most probable of CLASSES, for each row; the first of equals."""\n'
        "    proba = predict_proba(rows)\n"
        "    return [CLASSES[p.index(max(p))] for p in proba]\n",
    ]
    return "\n".join(parts)


class _Code(AbstractTarget[str]):
    """Lines of a function whose values are lists with a number for each column.

    The value of an expression is the name of such a list; that of a single constant is itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.constants: list[tuple[str, str]] = []
        self.used: set[str] = set()

    def _line(self, text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _constant(self, values: npt.NDArray[Any]) -> str:
        name = f"C{len(self.constants)}"
        self.constants.append((name, _as_code(values)))
        return name

    def _use(self, helper: str) -> str:
        self.used.add(helper)
        return helper

    def _make(self, e: Expression) -> str:
        match e:
            case expr.Input():
                return "x"
            case expr.Constant(values):
                return self._constant(values) if len(values) > 1 else _number(values.item())
            case expr.Columns(x, indices):
                return self._line(f"[{', '.join(f'{self.of(x)}[{int(i)}]' for i in indices)}]")
            case expr.Join(parts):
                return self._line(f"[{', '.join(f'{self.of(part)}[0]' for part in parts)}]")
            case expr.Unary(name, x):
                return self._each(f"{_UNARY[name]}({{x}})", x=x)
            case expr.Binary(name, x, y):
                return self._each(_BINARY[name], x=x, y=y)
            case expr.Choose(low, high, yes, no):
                return self._each(
                    "{yes} if {low} < {high} else {no}", low=low, high=high, yes=yes, no=no
                )
            case expr.Linear(x, matrix, bias):
                weights, intercepts = map(self._constant, (matrix.values, bias.values))
                return self._line(f"{self._use('linear')}({self.of(x)}, {weights}, {intercepts})")
            case expr.RowSum(x, _):
                return self._line(f"[{self._use('add_up')}({self.of(x)})]")
            case expr.RowMax(x):
                return self._line(f"[max({self.of(x)})]")
            case expr.Softmax(x):
                return self._line(f"{self._use('softmax')}({self.of(x)})")
            case expr.Lookup(x, edges, at_edge, table):
                places = f"{self._constant(edges)}, {self.of(x)}[0], {at_edge == 'above'}"
                rows = self._constant(table)
                return self._line(f"{rows}[{self._use('count_below')}({places})]")
            case _:
                raise TypeError(f"{type(e).__name__} has no form in Python")

    def _each(self, pattern: str, **operands: Expression) -> str:
        """A list with ``pattern`` for each column; operands of one column are repeated."""
        # Every operand of several columns gets a letter.
        wide = dict.fromkeys(self.of(e) for e in operands.values() if e.width > 1)
        letters = dict(zip(wide, "abcd", strict=False))
        places = {
            key: letters[self.of(e)] if e.width > 1 else self._single(e)
            for key, e in operands.items()
        }
        text = pattern.format(**places)
        if not letters:
            return self._line(f"[{text}]")
        if len(letters) == 1:
            (name,) = letters
            return self._line(f"[{text} for a in {name}]")
        names = ", ".join(letters)
        return self._line(f"[{text} for {', '.join(letters.values())} in zip({names})]")

    def _single(self, e: Expression) -> str:
        """The number of an expression of one column."""
        return self.of(e) if isinstance(e, expr.Constant) else f"{self.of(e)}[0]"


def _labels(labels: list[Any]) -> str:
    """Labels as Python writes them, never as they write themselves: that may be anything."""
    assert all(type(label) in (str, int, float, bool) for label in labels)
    return repr(labels)


def _as_code(values: npt.NDArray[Any]) -> str:
    """Numbers as Python writes them, which is exact."""
    if values.ndim == 2:
        return "[\n" + "".join(f"    {_as_code(row)},\n" for row in values) + "]"
    return f"[{', '.join(_number(value) for value in values.tolist())}]"


def _number(value: float) -> str:
    if np.isfinite(value):
        return repr(value)
    return "math.inf" if value > 0 else "-math.inf"
