"""Which columns of a file are the scores of which class: decided here for every command."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._typing import LabelArray
from dircal.cli._source import column_called, items_of, list_names, list_of_columns
from dircal.cli.tables import AbstractTable
from dircal.tables import (
    find_columns,
    label_text,
    like_labels,
    match_exactly,
    match_names,
    show,
)

__all__ = ["ClassColumns", "columns_of_classes", "columns_of_map"]


@dataclass(frozen=True)
class ClassColumns:
    """Positions of the columns with scores, and the label of each."""

    positions: list[int]
    classes: LabelArray


def _columns_called(table: AbstractTable, names: str) -> list[int]:
    """Positions of columns that are named one by one."""
    positions: list[int] = []
    for name in items_of(names):
        position = column_called(table, name, "--columns")
        if position in positions:
            raise ValueError(f"--columns names the column {name!r} twice. Name each once.")
        positions.append(position)
    return positions


def columns_of_classes(
    table: AbstractTable,
    columns: str | None,
    classes: str | None,
    labels: LabelArray,
    aside: Iterable[int],
) -> ClassColumns:
    """Columns of a file whose labels are known; those ``aside`` are labels and weights.

    ``columns`` and ``classes`` are the options of the command line, as typed.
    """
    given = None if classes is None else _as_typed(items_of(classes), labels)
    _refuse_unknown(labels, given)
    if table.score_columns is not None:
        return _by_order(table, list(table.score_columns), given, labels)
    candidates = [i for i in range(len(table.names)) if i not in set(aside)]
    if columns is None:
        wanted = labels if given is None else given
        if len(wanted) == 1:
            raise ValueError(
                f"{str(table.path)!r}: the only label is {wanted.tolist()[0]!r}. Name those that "
                "do not occur as well: --classes."
            )
        return ClassColumns(_columns_after(table, candidates, wanted), wanted)
    if "*" in columns:
        return _by_pattern(table, candidates, columns, given, labels)
    return _by_name_or_order(table, _columns_called(table, columns), given, labels)


def columns_of_map(table: AbstractTable, columns: str | None, calibrator: Any) -> list[int]:
    """Columns of a file in the order that a fitted map reads them."""
    n_features = calibrator.n_features_in_
    labels = calibrator.column_classes_[-n_features:]
    fitted_on = getattr(calibrator, "feature_names_in_", None)
    if table.score_columns is not None:
        return _of_right_number(table, list(table.score_columns), labels)
    if columns is None:
        names = [label_text(label) for label in labels.tolist()]
        fitted = names if fitted_on is None else [str(name) for name in fitted_on]
        for known in (fitted, names):
            if all(table.names.count(name) == 1 for name in known):
                return [table.names.index(name) for name in known]
        near = find_columns(table.names, labels) if _near_will_do(labels, fitted_on) else None
        if near is not None:
            return near
        raise ValueError(
            f"{str(table.path)!r} lacks columns that the map reads: {list_names(fitted)}. "
            f"{list_of_columns(table)} Name them with --columns, in this order, or as a pattern "
            "such as 'prob_*'."
        )
    if "*" in columns:
        found = _by_pattern(table, range(len(table.names)), columns, labels, labels)
    else:
        positions = _of_right_number(table, _columns_called(table, columns), labels)
        names = [table.names[i] for i in positions]
        if fitted_on is not None and sorted(names) == sorted(map(str, fitted_on)):
            return [positions[names.index(str(name))] for name in fitted_on]
        found = _by_name_or_order(table, positions, None, labels)
    place = {label: i for i, label in zip(found.positions, found.classes.tolist(), strict=True)}
    return [place[label] for label in labels.tolist()]


def _near_will_do(labels: LabelArray, fitted_on: LabelArray | None) -> bool:
    """Whether a map may go by names that are like labels: not where those of its fit were not.

    One label alone is part of too many names.
    """
    if fitted_on is None or len(labels) == 1:
        return len(labels) > 1
    then = match_names(fitted_on, labels)
    return then is not None and np.array_equal(then, labels)


def _of_right_number(table: AbstractTable, positions: list[int], labels: LabelArray) -> list[int]:
    if len(positions) != len(labels):
        raise ValueError(
            f"{str(table.path)!r}: {len(positions)} columns are chosen, but the map reads "
            f"{len(labels)}: {show(labels)}."
        )
    return positions


def _by_name_or_order(
    table: AbstractTable, positions: list[int], given: LabelArray | None, labels: LabelArray
) -> ClassColumns:
    """Columns given one by one: by name if they are called like the labels."""
    names = np.array([table.names[i] for i in positions], dtype=object)
    matched = match_names(names, labels) if given is None else match_exactly(names, given)
    if matched is not None:
        return ClassColumns(positions, matched)
    if given is None and {label_text(label) for label in labels.tolist()} <= set(names):
        return ClassColumns(positions, _as_typed(list(names), labels))
    if given is None and len(names) > 1 and like_labels(names, labels):
        raise ValueError(
            f"--columns: {list_names(list(names))} seem to be named after the labels "
            f"{show(labels)}, but do not match them one to one. Name the label of each column, in "
            "their order: --classes."
        )
    return _by_order(table, positions, given, labels)


def _by_order(
    table: AbstractTable, positions: list[int], given: LabelArray | None, labels: LabelArray
) -> ClassColumns:
    classes = labels if given is None else given
    if len(positions) == 1 and len(classes) == 2:
        # One column speaks of the last of two labels, unless it is called like the first.
        is_first = table.names[positions[0]] == label_text(classes.tolist()[0])
        return ClassColumns(positions, classes[::-1] if is_first else classes)
    if len(positions) != len(classes):
        source = "the labels are" if given is None else "--classes names"
        raise ValueError(
            f"{str(table.path)!r} has {len(positions)} columns of scores, but {source} "
            f"{len(classes)}: {show(classes)}. Name the label of each column, in their order: "
            "--classes."
        )
    return ClassColumns(positions, classes)


def _by_pattern(
    table: AbstractTable,
    candidates: Iterable[int],
    pattern: str,
    given: LabelArray | None,
    labels: LabelArray,
) -> ClassColumns:
    """Columns whose names are the pattern with a label in the place of the star."""
    before, _, after = pattern.partition("*")
    if "*" in after:
        raise ValueError(f"--columns {pattern!r} must have one star, which stands for the label.")
    shortest = len(before) + len(after)
    stems = {
        table.names[i][len(before) : len(table.names[i]) - len(after)]: i
        for i in candidates
        if len(table.names[i]) > shortest
        and table.names[i].startswith(before)
        and table.names[i].endswith(after)
    }
    wanted = labels if given is None else given
    missing = [label for label in wanted.tolist() if label_text(label) not in stems]
    if missing:
        raise ValueError(
            f"--columns {pattern!r}: there is no column for the label {missing[0]!r}. "
            f"{list_of_columns(table)} Name the columns one by one, and --classes in their order."
        )
    for position in stems.values():
        column_called(table, table.names[position], "--columns")
    if given is not None:
        return ClassColumns([stems[label_text(label)] for label in given.tolist()], given)
    return ClassColumns(list(stems.values()), _as_typed(list(stems), labels))


def _columns_after(
    table: AbstractTable, candidates: Sequence[int], wanted: LabelArray
) -> list[int]:
    """Columns called like the labels, or else the only ones that nearly are."""
    names = [table.names[i] for i in candidates]
    if not {*names}.issuperset(map(label_text, wanted.tolist())):
        near = find_columns(names, wanted)
        if near is not None:
            return [candidates[i] for i in near]
    return [_column_of(table, candidates, label, wanted) for label in wanted.tolist()]


def _column_of(
    table: AbstractTable, candidates: Sequence[int], label: Any, wanted: LabelArray
) -> int:
    found = [i for i in candidates if table.names[i] == label_text(label)]
    if len(found) == 1:
        return found[0]
    problem = f"{len(found)} columns are" if found else "no column is"
    raise ValueError(
        f"{str(table.path)!r}: the labels are {show(wanted)}, but {problem} called "
        f"{label_text(label)!r}. {list_of_columns(table)} Choose the columns with the scores by "
        "name (--columns a,b,c with --classes in their order) or by pattern (--columns 'prob_*')."
    )


def _refuse_unknown(labels: LabelArray, given: LabelArray | None) -> None:
    if given is None:
        return
    if len(np.unique(given)) != len(given):
        raise ValueError(f"--classes {show(given)} names a label twice.")
    unknown = [label for label in labels.tolist() if label not in set(given.tolist())]
    if unknown:
        raise ValueError(
            f"--classes {show(given)} lacks the label {unknown[0]!r}, which the file holds. "
            "Add it, or drop its rows."
        )


def _as_typed(texts: list[str], labels: LabelArray) -> LabelArray:
    """Texts as labels of the type that the file has; as they are where that cannot be."""
    typed = {label_text(label): label for label in labels.tolist()}
    if labels.dtype.kind in "iu" and all(text.lstrip("-").isdecimal() for text in texts):
        return np.array([int(text) for text in texts])
    if all(text in typed for text in texts):
        return np.array([typed[text] for text in texts])
    if labels.dtype.kind not in "US":
        raise ValueError(
            f"the labels of the file are {show(labels)}, of another kind than {list_names(texts)}. "
            "Choose the columns with the scores, and --classes, to fit the labels."
        )
    return np.array(texts)
