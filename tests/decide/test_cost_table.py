import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dircal.decide import CostTable


def test_rows_are_sorted_by_label():
    table = CostTable.from_matrix([[0, 9], [5, 0]], classes=["sick", "fit"], actions=["a", "b"])
    assert table.classes.tolist() == ["fit", "sick"]
    assert_array_equal(table.matrix, [[5, 0], [0, 9]])
    assert table.actions == ("a", "b")


def test_ways_to_make_one():
    mapping = CostTable.from_mapping({"b": {"x": 1, "y": 2}, "a": {"y": 4, "x": 3}})
    assert mapping.actions == ("x", "y")
    assert_array_equal(mapping.matrix, [[3, 4], [1, 2]])
    gains = CostTable.from_utilities([[1.0, 0.0], [0.0, 2.0]], classes=[0, 1])
    assert_array_equal(gains.matrix, [[-1, 0], [0, -2]])
    assert gains.actions == ("0", "1")
    errors = CostTable.of_errors(["c", "a", "b"])
    # Actions keep the order that was given, rows are sorted.
    assert errors.actions == ("c", "a", "b")
    assert_array_equal(errors.matrix, [[1, 0, 1], [1, 1, 0], [0, 1, 1]])


def test_a_question_costs_the_same_everywhere():
    table = CostTable.of_errors([0, 1]).with_question(0.25, name="person")
    assert table.actions == ("0", "1", "person")
    assert_array_equal(table.matrix[:, -1], 0.25)
    with pytest.raises(ValueError, match="`cost` must be a finite number"):
        table.with_question(np.nan)
    with pytest.raises(ValueError, match="`actions` must be distinct names"):
        table.with_question(1.0, name="person")


@pytest.mark.parametrize(
    ("costs", "options", "message"),
    [
        ([[0, 1]], {"classes": ["a", "b"]}, r"`costs` must have a row for each of 2 classes"),
        ([[0, 1, 2], [1, 0, 2]], {"classes": ["a", "b"]}, "Pass `actions="),
        ([[0, np.nan], [1, 0]], {"classes": ["a", "b"]}, "`costs` must be finite"),
        ([[0, 1], [1, 0]], {"classes": ["a", "a"]}, "`classes` must be at least two distinct"),
        ([[0, 1], [1, 0]], {"classes": ["a", "b"], "actions": ["x", "x"]}, "`actions` must be"),
        (
            [[0], [1]],
            {"classes": ["a", "b"]},
            r"`costs` .* row for each class .* at least two actions; got shape \(2, 1\)",
        ),
        (["no", "numbers"], {"classes": ["a", "b"]}, "`costs` must hold real numbers"),
    ],
)
def test_bad_tables(costs, options, message):
    with pytest.raises(ValueError, match=message):
        CostTable.from_matrix(costs, **options)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"a": {"x": 1, "y": 2}, "b": {"x": 1}}, "must name the same actions for every class"),
        ({"a": 1, "b": 2}, "must be a dict from classes to dicts"),
        ({"a": {"x": 1}, "b": {"x": 2}}, "at least two actions"),
        ({}, "at least two actions"),
        ([[1, 2]], "must be a dict from classes to dicts"),
    ],
)
def test_bad_mappings(costs, message):
    with pytest.raises(ValueError, match=message):
        CostTable.from_mapping(costs)


def test_it_prints_in_a_line():
    assert repr(CostTable.of_errors(range(9))) == (
        "<CostTable: 9 classes, 9 actions: 0, 1, 2, 3, 4, 5, ...>"
    )
