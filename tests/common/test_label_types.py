"""Labels of every type: plain in exported code, the same after saving, or refused with advice."""

import ast
import enum
import json
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest

import dircal
from dircal import TemperatureScaling
from dircal.export import to_onnx, to_python, to_torch


class Text(enum.StrEnum):
    A = "a"
    B = "b"


class PrintedText(str, enum.Enum):  # noqa: UP042 - it prints another text than it holds
    A = "a"
    B = "b"


class Number(enum.IntEnum):
    A = 1
    B = 2


@enum.unique
class Ordered(enum.Enum):
    A = 1
    B = 2

    def __lt__(self, other):
        return self.value < other.value


class Unordered(enum.Enum):
    A = 1
    B = 2


class HostileText(str):
    def __repr__(self):
        return "__import__('os').abort()"

    def __format__(self, spec):
        return "]; __import__('os').abort()"


class HostileNumber(int):
    def __repr__(self):
        return "__import__('os').abort()"

    __str__ = __format__ = lambda self, *_: "__import__('os').abort()"


class HostileFloat(float):
    def __repr__(self):
        return "__import__('os').abort()"


class Odd:
    """Its text writes itself as code."""

    def __init__(self, text):
        self.text = text

    def __lt__(self, other):
        return self.text < other.text

    def __str__(self):
        return HostileText(self.text)


# Labels as objects, and what they are elsewhere.
PLAIN = {
    "np.str_": ([np.str_("a"), np.str_("b")], ["a", "b"]),
    "np.int64": ([np.int64(1), np.int64(2)], [1, 2]),
    "np.float64": ([np.float64(1), np.float64(2)], [1.0, 2.0]),
    "np.bool": ([np.False_, np.True_], [False, True]),
    "StrEnum": ([Text.A, Text.B], ["a", "b"]),
    "str and Enum": ([PrintedText.A, PrintedText.B], ["a", "b"]),
    "IntEnum": ([Number.A, Number.B], [1, 2]),
    "hostile str": ([HostileText("a"), HostileText("b")], ["a", "b"]),
    "hostile int": ([HostileNumber(1), HostileNumber(2)], [1, 2]),
    "hostile float": ([HostileFloat(1), HostileFloat(2)], [1.0, 2.0]),
}
# What other programs get, and what is to be done for files.
REFUSED = {
    "Enum": ([Ordered.A, Ordered.B], ["Ordered.A", "Ordered.B"], r"\[label\.name for label in y\]"),
    "Decimal": ([Decimal("1.5"), Decimal("2.5")], ["1.5", "2.5"], r"\[str\(label\) for label"),
    "date": (
        [date(2020, 1, 1), date(2020, 1, 2)],
        ["2020-01-01", "2020-01-02"],
        r"datetime64\[s\]",
    ),
    "datetime": (
        [datetime(2020, 1, 1, 3), datetime(2020, 1, 2)],
        ["2020-01-01 03:00:00", "2020-01-02 00:00:00"],
        r"datetime64\[s\]",
    ),
    "bytes": ([b"a", b"b"], ["a", "b"], r"\[label\.decode\(\) for label in y\]"),
    "object": ([Odd("a"), Odd("b")], ["a", "b"], r"\[str\(label\) for label in y\]"),
}


@pytest.fixture
def fit(make_problem):
    problem = make_problem(0, n=100, k=2)

    def fit_(labels, **options):
        objects = np.empty(2, dtype=object)
        objects[:] = labels
        return TemperatureScaling(**options).fit(problem.proba, objects[problem.y]), problem

    return fit_


def literals(code):
    """Labels as they stand in the file: nothing of it is run."""
    body = {node.targets[0].id: node.value for node in ast.parse(code).body[2:4]}
    return [ast.literal_eval(body[name]) for name in ("COLUMNS", "CLASSES")]


def assert_exact(found, expected):
    assert found == expected
    assert [type(one) for one in found] == [type(one) for one in expected]


@pytest.mark.parametrize(("labels", "plain"), PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("given", [False, True], ids=["seen", "given"])
def test_text_and_numbers_of_any_class(labels, plain, given, fit, tmp_path):
    calibrator, problem = fit(labels, **({"classes": list(labels)} if given else {}))
    for found in literals(to_python(calibrator)):
        assert_exact(found, plain)
    told = {each.key: each.value for each in to_onnx(calibrator).metadata_props}
    assert_exact(json.loads(told["dircal.classes"]), plain)
    assert_exact(to_torch(calibrator).classes, plain)
    dircal.save(calibrator, tmp_path / "map.json")
    again = dircal.load(tmp_path / "map.json")
    assert_exact(again.classes_.tolist(), plain)
    assert (again.predict(problem.proba) == calibrator.predict(problem.proba)).all()


@pytest.mark.parametrize(("labels", "plain"), PLAIN.values(), ids=PLAIN)
def test_lists_of_text_and_numbers(labels, plain, make_problem):
    problem = make_problem(0, n=100, k=2)
    y = [labels[i] for i in problem.y]
    for options in ({}, {"classes": labels}, {"classes": tuple(labels)}):
        assert TemperatureScaling(**options).fit(problem.proba, y).classes_.tolist() == plain


@pytest.mark.parametrize(("labels", "text", "advice"), REFUSED.values(), ids=REFUSED)
def test_other_labels_are_texts_elsewhere_and_refused_in_files(labels, text, advice, fit, tmp_path):
    calibrator, _ = fit(labels)
    for found in literals(to_python(calibrator)):
        assert_exact(found, text)
    for write in (dircal.io.to_bytes, to_torch):
        with pytest.raises(ValueError, match=f"classes_ holds values of the type .*{advice}"):
            write(calibrator)
    given, _ = fit(labels, classes=list(labels))
    if not isinstance(labels[0], bytes | Odd):
        with pytest.raises(ValueError, match=f"classes.* which cannot be written.*{advice}"):
            dircal.io.to_bytes(given)


def test_dates_of_numpy_keep_their_unit(make_problem):
    problem = make_problem(0, n=100, k=2)
    days = np.array(["2020-01-01T03", "2020-01-02T00"], dtype="datetime64[ns]")
    calibrator = TemperatureScaling().fit(problem.proba, days[problem.y])
    assert (dircal.io.from_bytes(dircal.io.to_bytes(calibrator)).classes_ == days).all()
    first = "2020-01-01T03:00:00.000000000"
    assert literals(to_python(calibrator))[1][0] == first


def test_labels_without_an_order_are_refused_with_advice(fit):
    with pytest.raises(ValueError, match=r"type Unordered, which have no order.*label\.name"):
        fit([Unordered.A, Unordered.B])


def test_labels_with_the_same_text_cannot_be_told_apart(fit):
    class Same(Odd):
        def __str__(self):
            return "same"

    calibrator, _ = fit([Same("a"), Same("b")])
    for export in (to_python, to_onnx):
        with pytest.raises(ValueError, match="some have the same text"):
            export(calibrator)


def test_the_name_of_a_class_is_never_code(fit):
    calibrator, _ = fit(["a", "b"])
    calibrator.__class__ = type('"""\nimport os; os.abort()\n"""', (TemperatureScaling,), {})
    code = to_python(calibrator)
    assert "os.abort" not in code
    assert ast.get_docstring(ast.parse(code)).startswith("Calibrated probabilities: a calibrator")
