"""Columns that are called after labels: exactly, or but for case, blanks and a common affix."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dircal._typing import LabelArray
from dircal.tables._labels import show

__all__ = [
    "as_classes",
    "find_columns",
    "label_text",
    "like_labels",
    "match_exactly",
    "match_names",
    "match_with_absent",
]


def _as_written(text: str) -> str:
    return text


def _without_case(text: str) -> str:
    return text.strip().casefold()


# How texts are compared, the strictest way first.
_FORMS: tuple[Callable[[str], str], ...] = (_as_written, str.strip, _without_case)


def label_text(label: object) -> str:
    """A label as a column would be named after it: 1.0 is '1'."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def as_classes(labels: LabelArray, classes: LabelArray, where: str, fix: str) -> LabelArray:
    """Return labels with the type of the classes, by their texts."""
    known = {label_text(label): label for label in classes.tolist()}
    texts = [label_text(label) for label in labels.tolist()]
    unknown = [text for text in texts if text not in known]
    if unknown:
        raise ValueError(
            f"{where} holds the label {unknown[0]!r}, which is none of {show(classes)}. {fix}"
        )
    return np.array([known[text] for text in texts], dtype=classes.dtype)


def match_exactly(names: LabelArray, labels: LabelArray) -> LabelArray | None:
    """``labels`` in the order of the columns called like them; None if they are not."""
    by_text = {label_text(label): i for i, label in enumerate(labels.tolist())}
    positions = [by_text.get(str(name)) for name in names]
    if None in positions or len(set(positions)) != len(labels):
        return None
    matched: LabelArray = labels[np.array(positions)]
    return matched


def match_names(names: LabelArray, labels: LabelArray) -> LabelArray | None:
    """The same, where names may differ by case, by blanks around them or by a common affix.

    'proba_a' and 'proba_b' are called after 'a' and 'b', and '0' and '1' after 'class_0' and
    'class_1'. Where names can be read in two ways they are not matched.
    """
    matched = match_exactly(names, labels)
    if matched is not None or len(names) != len(labels) or len(names) == 0:
        return matched
    columns, texts = [str(name) for name in names], [*map(label_text, labels.tolist())]
    for form in _FORMS:
        short, long = ([form(text) for text in each] for each in (texts, columns))
        pairs = [
            ([_cut(column, affix) for column in long], short) for affix in _affixes(long, short)
        ]
        # Labels with an affix, columns without.
        pairs += [(long, [_cut(text, affix) for text in short]) for affix in _affixes(short, long)]
        places = {tuple(map(stems.index, called)) for called, stems in pairs}
        if len(places) == 1:
            found: LabelArray = labels[np.array(places.pop())]
            return found
    return None


def match_with_absent(names: LabelArray, observed: LabelArray) -> LabelArray | None:
    """Labels of columns among which are those of absent classes; None if some label has none.

    For labels 1 and 2, columns called '1', '2' and '3' say that the third label is 3, not '3'.
    """
    columns, texts = [str(name) for name in names], [*map(label_text, observed.tolist())]
    for form in _FORMS:
        shorter = [form(text) for text in texts]
        # As written: stems become labels of absent classes.
        affixes = {*_affixes([form(column) for column in columns], shorter)}
        read = {tuple(_typed(columns, affix, form, texts, observed) or ()) for affix in affixes}
        if len(read) == 1 and (found := read.pop()):
            numeric = observed.dtype.kind in "iu"
            return np.array(found) if numeric else np.array(found, dtype=object)
    return None


def find_columns(names: Sequence[str], labels: LabelArray) -> list[int] | None:
    """Columns of a table that are called after the labels, in their order; others may be there.

    None where some label has no column, and where there is a choice: 'p_a' and 'p_b' beside 'q_a'
    and 'q_b'. For tables of scores alone there is `match_names`.
    """
    for form in _FORMS:
        columns = [form(name) for name in names]
        texts = [form(label_text(label)) for label in labels.tolist()]
        if len({*texts}) < len(texts):
            continue
        n_called, found = Counter(columns), []
        affixes = {around for column in columns for around in _around(column, max(texts, key=len))}
        for before, after in affixes:
            called = [before + text + after for text in texts]
            apart = all(_apart(before, text, after) for text in texts)
            if apart and all(name in n_called for name in called):
                found.append(called)
        if found:
            clear = len(found) == 1 and all(n_called[name] == 1 for name in found[0])
            return [columns.index(name) for name in found[0]] if clear else None
    return None


def like_labels(names: LabelArray, labels: LabelArray) -> list[int]:
    """Which columns seem to be called after labels; none, or some whose rest is then a riddle.

    One that is called so but for case and blanks is enough, and two with the same affix.
    """
    texts = {_without_case(label_text(label)) for label in labels.tolist()} - {""}
    columns = [_without_case(str(name)) for name in names]
    exact = [i for i, column in enumerate(columns) if column in texts]
    if exact:
        return exact
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for i, column in enumerate(columns):
        for text in texts:
            for before, after in _around(column, text):
                if _apart(before, text, after):
                    found[before, after].add(i)
    most = max(found.values(), key=len, default=set())
    return sorted(most) if len(most) > 1 else []


def _typed(
    columns: list[str],
    affix: tuple[int, int],
    form: Callable[[str], str],
    texts: list[str],
    observed: LabelArray,
) -> list[object] | None:
    """Labels of the columns without the affix; None where a stem can be no label."""
    known = {form(text): label for text, label in zip(texts, observed.tolist(), strict=True)}
    stems = [_cut(column if form is _as_written else column.strip(), affix) for column in columns]
    if observed.dtype.kind in "iu":
        whole = all(stem.lstrip("-").isdecimal() for stem in stems)
        return [int(stem) for stem in stems] if whole else None
    if observed.dtype.kind not in "UO" or not all(isinstance(one, str) for one in known.values()):
        return None
    return [known.get(form(stem), stem) for stem in stems]


def _affixes(columns: Sequence[str], labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Lengths of the text around the stems of all columns, if every label is one of these."""
    if len({*labels}) < len(labels) or len({*columns}) < len(columns):
        return
    longest = max(labels, key=len)
    for before, after in {around for column in columns for around in _around(column, longest)}:
        n_around = len(before) + len(after)
        if all(
            len(column) > n_around and column.startswith(before) and column.endswith(after)
            for column in columns
        ):
            stems = [_cut(column, (len(before), len(after))) for column in columns]
            if all(_apart(before, stem, after) for stem in stems) and {*labels} <= {*stems}:
                yield len(before), len(after)


def _around(column: str, text: str) -> Iterator[tuple[str, str]]:
    """What stands before and after a text, wherever it occurs in the name of a column."""
    start = column.find(text)
    while start >= 0:
        yield column[:start], column[start + len(text) :]
        start = column.find(text, start + 1)


def _cut(column: str, affix: tuple[int, int]) -> str:
    return column[affix[0] : len(column) - affix[1]]


def _apart(before: str, stem: str, after: str) -> bool:
    """Whether the stem is whole: a number does not begin or end within another."""
    if stem == "":
        return False
    cut = (before[-1:].isdigit() and stem[0].isdigit(), after[:1].isdigit() and stem[-1].isdigit())
    return not any(cut)
