"""What is wrong, and where, with something that is read or written."""

from typing import TypeAlias

__all__ = ["Damage", "Place"]

Place: TypeAlias = str
"""Names from the outside in, joined by dots."""


class Damage(Exception):  # noqa: N818 - never leaves this room
    """Raised inside; `save` and `load` make a ValueError of it that names the file."""

    def __init__(self, place: Place, what: str) -> None:
        super().__init__(what)
        self.place = place
        self.what = what
