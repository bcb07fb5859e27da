"""What annotations allow, and what the registry makes of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import GenericAlias
from typing import Any, Literal, TypeVar

import numpy as np
import pytest

from dircal import calibrators, llm, maps, selection, shift
from dircal._typing import FloatArray, IntArray, LabelArray
from dircal.io._check import SHAPES
from dircal.io._registry import (
    SPLITTERS,
    dataclasses_by_name,
    enums_by_name,
    estimators_by_name,
)
from dircal.io._types import FormatError, check_type, field_types


class Colour(Enum):
    RED = 1


@dataclass(frozen=True)
class Record:
    n: int
    inner: "Record | None" = None


Scalar = TypeVar("Scalar", bound=np.generic)


class Alias:
    """What ``type Alias[Scalar] = ...`` makes, also where Python has no such statement yet."""

    __value__ = np.ndarray[Any, np.dtype[Scalar]]


class PlainAlias:
    __value__ = Literal["a", "b"]


FINE = [
    (1, float),
    (np.float64(0.5), float),
    (np.float32(0.5), float),
    (10**300, float),
    (0, int),
    (np.int64(3), int),
    (True, bool),
    (np.bool_(False), bool),
    ("a", str),
    (None, float | None),
    (0.5, float | None),
    (0.5, float | Literal["learned"]),
    ("learned", float | Literal["learned"]),
    (np.str_("a"), Literal["a", "b"]),
    ([1.0], list[float]),
    ([], list[float]),
    ((1, 2, 3), tuple[int, ...]),
    ((1.0, 2.0), tuple[float, float]),
    ({"a": 1.0}, dict[str, float]),
    ({"a": 1.0}, Mapping[str, float]),
    ({"a": [1, "b"]}, dict[str, list[Any]]),
    (range(3), Iterable[Any]),
    (np.arange(3), Iterable[Any] | None),
    ((1, 2), Sequence[Any] | None),
    (np.zeros((2, 2)), FloatArray),
    (np.arange(3, dtype=np.uint8), IntArray),
    (np.array(["a"]), LabelArray),
    (Colour.RED, Colour),
    (Record(1, Record(2)), Record),
    (maps.Scale(0.5), maps.AbstractStep),
    (object(), Any),
    (np.zeros(2), GenericAlias(Alias, (np.float64,))),
    ("a", PlainAlias),
]
WRONG = [
    (True, float, "needs a finite number; got True"),
    (float("nan"), float, "needs a finite number; got nan"),
    (float("-inf"), float, "needs a finite number"),
    (10**400, float, "needs a finite number"),
    ("1", float, "needs a finite number; got '1'"),
    (1j, float, "needs a finite number; got a complex"),
    (-1, int, "needs a whole number of at least 0; got -1"),
    (1.0, int, "needs a whole number"),
    (False, int, "needs a whole number"),
    (1, bool, "needs true or false; got 1"),
    (None, float, "needs a finite number; got None"),
    (1, str, "needs str; got 1"),
    ("c", Literal["a", "b"], "needs one of 'a', 'b'; got 'c'"),
    (["a"], Literal["a", "b"], "needs one of 'a', 'b'; got a list"),
    ("x", float | Literal["learned"] | None, "needs float or 'learned' or None; got 'x'"),
    ("x", float | None, "needs a finite number; got 'x'"),
    ((1.0,), list[float], "needs a list; got a tuple"),
    ([1.0, "a"], list[float], r"here\[1\] needs a finite number"),
    ((1.0,), tuple[float, float], "needs 2 entries; got 1"),
    ([1], tuple[int, ...], "needs a tuple; got a list"),
    ({"a": "b"}, dict[str, float], "here.a needs a finite number"),
    ("abc", Iterable[Any], "needs a list; got 'abc'"),
    ({"a": 1}, Iterable[Any], "needs a list; got a dict"),
    ([1.0], FloatArray, "needs an array; got a list"),
    (np.zeros(2, dtype=np.float32), FloatArray, "needs float64; got float32"),
    (np.array([np.inf]), FloatArray, "needs finite numbers"),
    (np.zeros(2), IntArray, "needs integer; got float64"),
    (np.ma.MaskedArray([1.0]), FloatArray, "needs an array; got a MaskedArray"),
    (1, Colour, "needs Colour; got 1"),
    (Record(-1), Record, "here.n needs a whole number"),
    (Record(1, Record(True)), Record, "here.inner.n needs a whole number"),
    (maps.Softmax, maps.AbstractStep, "needs AbstractStep"),
    (np.zeros(2, dtype=np.float32), GenericAlias(Alias, (np.float64,)), "needs float64"),
    ("c", PlainAlias, "needs one of 'a', 'b'"),
]


@pytest.mark.parametrize(("value", "hint"), FINE)
def test_what_is_of_its_type(value, hint):
    check_type(value, hint, "here")
    with pytest.raises(FormatError, match="here"):
        check_type(Record(-1), hint if hint is not Any else Record, "here")


@pytest.mark.parametrize(("value", "hint", "message"), WRONG)
def test_what_is_not(value, hint, message):
    with pytest.raises(FormatError, match=message):
        check_type(value, hint, "here")


def test_all_that_is_published_can_be_saved():
    others = {
        name
        for room in (shift, llm)
        for name in room.__all__
        if hasattr(getattr(room, name), "get_params")
    }
    assert set(estimators_by_name()) == {
        *calibrators.__all__,
        *(name for name in selection.__all__ if name != "CalibratedClassifier"),
        *others,
    }
    assert set(maps.STEPS) < set(dataclasses_by_name())


def test_names_in_files_mean_one_thing():
    rooms = [estimators_by_name(), dataclasses_by_name(), enums_by_name(), SPLITTERS]
    names = [name for room in rooms for name in room]
    assert len(names) == len(set(names))


def test_every_array_of_a_record_has_a_shape():
    records = set(dataclasses_by_name()) - set(maps.STEPS)
    arrays = {
        name: {
            field
            for field, hint in field_types(dataclasses_by_name()[name]).items()
            if hint in (FloatArray, IntArray, LabelArray)
        }
        for name in records
    }
    assert {name: set(shapes) for name, shapes in SHAPES.items()} == {
        name: fields for name, fields in arrays.items() if fields
    }
