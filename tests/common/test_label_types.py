"""Labels of every type: plain in exported code, the same after saving, or refused with advice."""

import ast
import enum
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
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


def in_objects(labels):
    array = np.empty(len(labels), dtype=object)
    array[:] = list(labels)
    return array


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
    "object": ([Odd("a"), Odd("b")], ["a", "b"], r"\[str\(label\) for label in y\]"),
    "nanoseconds": (
        [pd.Timestamp(1, tz="UTC"), pd.Timestamp(2, tz="UTC")],
        ["1970-01-01 00:00:00.000000001+00:00", "1970-01-01 00:00:00.000000002+00:00"],
        r"datetime64\[ns\]",
    ),
}
# Labels that files contain, and other programs get as texts.
SAVED = {
    "Decimal": ([Decimal("1.5"), Decimal("2.5")], ["1.5", "2.5"]),
    "date": ([date(2020, 1, 1), date(2020, 1, 2)], ["2020-01-01", "2020-01-02"]),
    "datetime": (
        [datetime(2020, 1, 1, 3), datetime(2020, 1, 2)],
        ["2020-01-01 03:00:00", "2020-01-02 00:00:00"],
    ),
    "microseconds": (
        [datetime(2020, 1, 1, 0, 0, 0, 1), datetime(2020, 1, 1, 0, 0, 0, 2)],
        ["2020-01-01 00:00:00.000001", "2020-01-01 00:00:00.000002"],
    ),
    "time zone": (
        [datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 2, tzinfo=UTC)],
        ["2020-01-01 00:00:00+00:00", "2020-01-02 00:00:00+00:00"],
    ),
    "Timestamp": (
        [pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2020-01-02", tz="UTC")],
        ["2020-01-01 00:00:00+00:00", "2020-01-02 00:00:00+00:00"],
    ),
    "time": ([time(1), time(2, 3, 4, 5)], ["01:00:00", "02:03:04.000005"]),
    "timedelta": (
        [timedelta(microseconds=-1), timedelta(days=2)],
        ["-1 day, 23:59:59.999999", "2 days, 0:00:00"],
    ),
    "bytes": ([b"a", b"b"], ["a", "b"]),
    "any bytes": ([b"a\0", b"\xff"], ["a\0", "\xff"]),
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
        with pytest.raises(ValueError, match=f"classes holds values of the type .*{advice}"):
            write(calibrator)
    given, _ = fit(labels, classes=list(labels))
    if not isinstance(labels[0], Odd):
        with pytest.raises(ValueError, match=f"classes.* which cannot be written.*{advice}"):
            dircal.io.to_bytes(given)


@pytest.mark.parametrize(("labels", "text"), SAVED.values(), ids=SAVED)
@pytest.mark.parametrize("given", [False, True], ids=["seen", "given"])
def test_dates_bytes_and_decimals_are_texts_elsewhere_and_saved(labels, text, given, fit):
    calibrator, problem = fit(labels, **({"classes": list(labels)} if given else {}))
    for found in literals(to_python(calibrator)):
        assert_exact(found, text)
    assert_exact(to_torch(calibrator).classes, text)
    content = dircal.io.to_bytes(calibrator)
    again = dircal.io.from_bytes(content)
    assert again.classes_.tolist() == labels
    assert (again.predict(problem.proba) == calibrator.predict(problem.proba)).all()
    assert again.classes == calibrator.classes
    assert dircal.io.to_bytes(again) == content


NATIVE = {
    "datetime64": (in_objects(np.array([1, 2], "M8[D]")), "datetime64[D]"),
    "timedelta64": (in_objects(np.array([1, 2], "m8[s]")), "timedelta64[s]"),
    "several steps": (np.array([1, 2], "M8[10s]"), "datetime64[10s]"),
    "no unit": (np.array([1, 2], "m8"), "timedelta64"),
    "extended precision": (np.array([1, 2], np.longdouble), "float64"),
    "variable width": (np.array(["a", "b"], np.dtypes.StringDType()), "object"),
}


@pytest.mark.parametrize(("labels", "dtype"), NATIVE.values(), ids=NATIVE)
@pytest.mark.parametrize("given", [False, True], ids=["seen", "given"])
def test_labels_of_every_type_of_numpy_are_saved(labels, dtype, given, make_problem):
    problem = make_problem(0, n=100, k=2)
    options = {"classes": labels} if given else {}
    calibrator = TemperatureScaling(**options).fit(problem.proba, labels[problem.y])
    again = dircal.io.from_bytes(dircal.io.to_bytes(calibrator))
    assert again.classes_.tolist() == calibrator.classes_.tolist() == np.sort(labels).tolist()
    if not given:
        assert again.classes_.dtype == calibrator.classes_.dtype == dtype


def test_records_are_not_labels(make_problem):
    problem = make_problem(0, n=100, k=2)
    records = np.array([(1,), (2,)], dtype=[("a", int)])
    with pytest.raises(ValueError, match=r"`y` must hold labels; got values of type \[\('a'"):
        TemperatureScaling().fit(problem.proba, records[problem.y])


def test_times_with_and_without_a_zone_have_no_order(fit):
    labels = [datetime(2020, 1, 1), datetime(2020, 1, 2, tzinfo=UTC)]
    with pytest.raises(
        ValueError, match="`y` holds labels of the type datetime, which have no ord"
    ):
        fit(labels)


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
