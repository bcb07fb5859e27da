"""What a terminal would obey is shown to people instead."""

from dircal._terminal import printable


def test_only_what_would_be_obeyed_changes():
    assert printable("a\x1b[31m\x07\x9b\x7f\r\u202e\u2028\udcff") == (
        "a\\x1b[31m\\x07\\x9b\\x7f\\r\\u202e\\u2028\\udcff"
    )
    plain = "né 漢 \U0001f469\u200d\U0001f52c\ttab\nline \\x1b"
    assert printable(plain) == plain
