"""What is wrong, and where, with something that is read or written."""

from typing import TypeAlias

__all__ = ["FormatError", "Place"]

Place: TypeAlias = str
"""Names from the outside in, joined by dots; empty for the whole."""


class FormatError(ValueError):
    """What a place in a file, or in an object to be written, cannot be."""

    def __init__(self, place: Place, what: str, advice: str = "") -> None:
        super().__init__(f"{place} {what}" if place else what)
        self.advice = advice
        """What to do about it, where that is known."""
