"""Names of classes: full in tables, short and drawable in pictures."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from dircal._typing import LabelArray
from dircal.tables import show

__all__ = ["check_chosen", "drawn", "names_of", "shorten"]

_ELLIPSIS = "…"
# A mark without width.
_LEFT_TO_RIGHT = "\N{LEFT-TO-RIGHT MARK}"


def names_of(
    classes: LabelArray, class_names: Sequence[str] | Mapping[Any, str] | None
) -> tuple[str, ...]:
    """The full name of each class, in the sorted order of the labels."""
    labels = classes.tolist()
    if class_names is None:
        return tuple(str(label) for label in labels)
    if isinstance(class_names, Mapping):
        missing = [label for label in labels if label not in class_names]
        if missing:
            raise ValueError(
                f"`class_names` must have a name for each class; {missing[0]!r} has none. "
                f"Pass a name for each of {show(classes)}."
            )
        return tuple(str(class_names[label]) for label in labels)
    is_list = isinstance(class_names, Iterable) and not isinstance(class_names, str)
    names = tuple(str(name) for name in class_names) if is_list else None
    if names is None or len(names) != len(labels):
        got = repr(class_names) if names is None else f"{len(names)} names"
        raise ValueError(
            f"`class_names` must be {len(labels)} names, in the sorted order of the labels "
            f"{show(classes)}; got {got}. Pass a dict from labels to names to be sure."
        )
    return names


def check_chosen(name: str, chosen: Iterable[Any], classes: LabelArray) -> list[int]:
    """Positions of the labels that a user chose, in the order given."""
    labels = classes.tolist()
    wanted = [chosen] if isinstance(chosen, str) or not isinstance(chosen, Iterable) else chosen
    wanted = [one.item() if hasattr(one, "item") else one for one in wanted]
    unknown = [one for one in wanted if one not in labels]
    if unknown or not wanted or len(set(map(repr, wanted))) < len(wanted):
        got = repr(unknown[0]) if unknown else repr(wanted)
        raise ValueError(
            f"`{name}` must be distinct labels among the classes {show(classes)}; got {got}. "
            "Pass labels as they are in `y_true`."
        )
    return [labels.index(one) for one in wanted]


def shorten(name: str, width: int) -> str:
    """At most ``width`` columns of text: the middle of longer names is left out."""
    flat = "".join(c if c.isprintable() else " " for c in " ".join(name.split()))
    if _columns(flat) <= width:
        return flat
    room = width - 1
    head = _take(flat, (room + 1) // 2)
    tail = _take(flat[::-1], room - _columns(head))[::-1]
    return head + _ELLIPSIS + tail


def drawn(names: Sequence[str], width: int, numbers: Sequence[int] | None = None) -> list[str]:
    """What is drawn for each of some names: shortened, and still different from the others.

    Where no font has the letters of a name, its number (by default its place) is drawn instead;
    where two names look alike after they were shortened, the number is drawn, too.
    """
    places = range(len(names)) if numbers is None else numbers
    short = [shorten(name, width) for name in names]
    looks = Counter(short)
    result = []
    for name, look, number in zip(names, short, places, strict=True):
        tag = f"#{number}"
        if not look.strip() or any(ord(c) not in _letters() for c in look if not c.isspace()):
            result.append(tag)
        elif looks[look] > 1:
            result.append(f"{tag} {shorten(name, max(width - len(tag) - 1, 3))}")
        else:
            result.append(look)
    return [_set_apart(text) for text in result]


def _set_apart(text: str) -> str:
    """Names written from right to left do not turn the numbers beside them around."""
    is_turned = any(unicodedata.bidirectional(c) in ("R", "AL") for c in text)
    if not is_turned or ord(_LEFT_TO_RIGHT) not in _letters():
        return text
    return f"{_LEFT_TO_RIGHT}{text}{_LEFT_TO_RIGHT}"


def _letters() -> frozenset[int]:
    import matplotlib as mpl

    return _letters_of(tuple(mpl.rcParams["font.family"]))


@cache
def _letters_of(families: tuple[str, ...]) -> frozenset[int]:
    """Characters that the fonts in use have."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    found: set[int] = set()
    for family in families:
        found.update(FT2Font(font_manager.findfont(family)).get_charmap())
    return frozenset(found)


def _columns(text: str) -> int:
    """Width in columns: East Asian characters take two, marks on others none."""
    return sum(_width(c) for c in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _take(text: str, width: int) -> str:
    """As many characters as fit, from the left."""
    used = 0
    for i, character in enumerate(text):
        used += _width(character)
        if used > width:
            return text[:i]
    return text
