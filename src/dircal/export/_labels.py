"""Labels as other programs can hold them."""

from typing import Any

from dircal._typing import LabelArray

__all__ = ["plain_labels"]


def plain_labels(labels: LabelArray) -> list[Any]:
    """Strings, whole numbers, fractions and truth values as they are, anything else as text."""
    values = labels.tolist()
    return [
        value if isinstance(value, str | int | float | bool) else _text(value) for value in values
    ]


def _text(value: object) -> str:
    return value.decode("latin1") if isinstance(value, bytes) else str(value)
