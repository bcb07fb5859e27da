"""Names of classes in pictures."""

import pytest

from dircal.plots._names import drawn, shorten
from dircal.plots._style import house_style


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("cat", "cat"),
        ("abcdefghij", "abcdefghij"),
        ("abcdefghijk", "abcde…hijk"),
        ("two  words\n", "two words"),
        ("猫猫猫猫猫", "猫猫猫猫猫"),
        ("猫犬猫犬猫犬", "猫犬…猫犬"),
        ("e\u0301" * 10, "e\u0301" * 10),
        ("tab\x07bell", "tab bell"),
    ],
)
def test_the_middle_of_long_names_is_left_out(name, short):
    assert shorten(name, 10) == short


def test_names_that_look_alike_are_told_apart():
    names = ["the first long name", "the fixed long name", "cat"]
    with house_style():
        short = drawn(names, 12)
    assert len(set(short)) == 3
    assert short[0].startswith("#0 ")
    assert short[2] == "cat"
    assert max(map(len, short)) <= 12


def test_letters_that_no_font_has_become_numbers():
    with house_style():
        assert drawn(["cat", "\U0001f9ff\u1200", " "], 12, [4, 5, 6])[0] == "cat"
        assert drawn(["cat", "\ufdd0\U000e0100x", " "], 12, [4, 5, 6])[1:] == ["#5", "#6"]


def test_names_from_right_to_left_stay_apart_from_numbers():
    with house_style():
        plain, arabic, hebrew = drawn(["cat", "قط كبير", "חתול"], 12)
    assert plain == "cat"
    assert arabic == "\N{LEFT-TO-RIGHT MARK}قط كبير\N{LEFT-TO-RIGHT MARK}"
    assert hebrew.strip("\N{LEFT-TO-RIGHT MARK}") == "חתול"
