"""Text from elsewhere, made safe to print."""

import re

__all__ = ["OBEYED", "printable"]

OBEYED = re.compile(
    # C0 but for the tab and the end of a line; DEL and C1; what separates lines or turns their
    # direction around; halves of characters, which no stream can write.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that a terminal obeys instead of showing them."""


def printable(text: str) -> str:
    r"""The text with what a terminal would obey as escapes: an ESC becomes ``\x1b``.

    Names of classes, columns and files come from elsewhere: what is printed of them must not move
    the cursor, set colours or retitle the window. When not to use it: for data, which stays as it
    is.
    """
    return OBEYED.sub(lambda found: ascii(found.group())[1:-1], text)
