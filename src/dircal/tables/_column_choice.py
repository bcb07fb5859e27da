"""Which columns of a table are the scores of which class: decided here for every kind of table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._suggestions import did_you_mean
from dircal._typing import LabelArray
from dircal.tables._labels import as_label_array, show
from dircal.tables._names import (
    find_columns,
    label_text,
    like_labels,
    match_exactly,
    match_names,
)

__all__ = ["PYTHON", "ClassColumns", "TableColumns", "Wording"]


@dataclass(frozen=True)
class Wording:
    """What the user calls the arguments that choose rows and columns."""

    scores: str = "`scores`"
    label: str = "`label`"
    label_columns: str = "`label_columns`"
    classes: str = "`classes`"
    weight: str = "`weight`"
    group: str = "`group`"
    skip: str = "`skip_unlabelled=True`"
    scale: str = "`input_scale='logit'`"
    names: str = "scores=['a', 'b'] with `classes` in their order"
    pattern: str = "scores='prob_*'"
    single: str = "scores=['p'], and classes=[LABEL], whose probability it is"
    delimiter: str = "`delimiter`"
    decimal: str = "`decimal`"
    encoding: str = "`encoding`"


PYTHON = Wording()


@dataclass(frozen=True)
class ClassColumns:
    """Positions of the columns with scores, and the label of each.

    A single column of two classes has both labels, its own last.
    """

    positions: list[int]
    classes: LabelArray


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table, among which those with scores are found.

    Parameters
    ----------
    where : str
        What a message calls the table.
    names : tuple of str
        Names of all columns.
    by_nature : range or None
        Columns that can only be scores, as those of an array are.
    words : Wording
        What the user calls the arguments.
    """

    where: str
    names: tuple[str, ...]
    by_nature: range | None = None
    words: Wording = PYTHON

    def position(self, name: str, argument: str) -> int:
        """Return the position of the one column of a name that an argument passed."""
        found = [i for i, one in enumerate(self.names) if one == name]
        if len(found) == 1:
            return found[0]
        problem = f"{len(found)} columns" if found else "no column"
        near = "" if found or not isinstance(name, str) else did_you_mean(name, self.names)
        raise ValueError(
            f"{argument}: {self.where} has {problem} called {name!r}.{near} {self.listed()}"
        )

    def check_names(self, names: str | Sequence[str] | None, argument: str) -> None:
        """Raise unless each of the names is a column; patterns are left for later."""
        if isinstance(names, str) and "*" not in names:
            raise ValueError(
                f"{argument} must be a list of names or a pattern with a star; got {names!r}."
            )
        if names is not None and not isinstance(names, str):
            for name in names:
                self.position(name, argument)

    def label_positions(self, names: str | Sequence[str], argument: str) -> dict[str, int]:
        """Find the columns of soft labels, by what they are called after."""
        if isinstance(names, str):
            found = self.stems(names, range(len(self.names)), argument)
            if len(found) < 2:
                raise ValueError(
                    f"{argument} {names!r} must have one star, in the place of the label, and fit "
                    f"two columns or more; it fits {len(found)}. {self.listed()}"
                )
            return found
        if len({*names}) < len(names) or len(names) < 2:
            raise ValueError(
                f"{argument} {','.join(names)!r} must name two columns or more, each once. One "
                f"column with the label itself is {self.words.label}."
            )
        return {name: self.position(name, argument) for name in names}

    def listed(self) -> str:
        """List the columns in a sentence; of one column, tell what may be wrong."""
        text = f"Its columns: {list_names(self.names)}."
        one = len(self.names) == 1
        return f"{text} Pass what separates them: {self.words.delimiter}." if one else text

    def of_classes(
        self,
        scores: str | Sequence[str] | None,
        classes: Sequence[Any] | None,
        labels: LabelArray,
        aside: Iterable[int],
    ) -> ClassColumns:
        """Find the columns of classes whose observed ``labels`` are known.

        ``scores`` are names or a pattern with a star, and ``classes`` the labels of the columns, as
        far as the user passed them; columns ``aside`` are labels, weights and groups.
        """
        given = None if classes is None else self._as_typed(list(classes), labels)
        if given is not None and len(given) == 1 < len(labels) == 2:
            # Of a single column, only its own label was passed.
            if given[0] not in labels:
                raise ValueError(
                    f"{self.where} has the labels {show(labels)}; got {given.tolist()[0]!r}. Pass "
                    f"one of them: {self.words.single}."
                )
            given = np.concatenate([labels[labels != given[0]], given])
        self._reject_unknown(labels, given)
        if self.by_nature is not None:
            return self._by_order(list(self.by_nature), given, labels)
        taken = set(aside)
        candidates = [i for i in range(len(self.names)) if i not in taken]
        if scores is None:
            wanted = labels if given is None else given
            if len(wanted) == 1:
                raise ValueError(
                    f"{self.where}: the only label is {wanted.tolist()[0]!r}. Pass the labels that "
                    f"do not occur as well: {self.words.classes}."
                )
            return self._called_like(candidates, wanted)
        if isinstance(scores, str) and "*" in scores:
            return self._by_pattern(candidates, scores, given, labels)
        return self._by_name_or_order(self.named(scores), given, labels)

    def of_map(
        self,
        scores: str | Sequence[str] | None,
        labels: LabelArray,
        fitted_on: LabelArray | None,
    ) -> list[int]:
        """Find the columns that a fitted map reads, in its order.

        ``labels`` are those of its columns, ``fitted_on`` the names of the columns of its fit.
        """
        if self.by_nature is not None:
            return self._of_right_number(list(self.by_nature), labels)
        if scores is None:
            return self._read_by_map(labels, fitted_on)
        if isinstance(scores, str) and "*" in scores:
            found = self._by_pattern(range(len(self.names)), scores, labels, labels)
        else:
            positions = self._of_right_number(self.named(scores), labels)
            names = [self.names[i] for i in positions]
            if fitted_on is not None and sorted(names) == sorted(map(str, fitted_on)):
                return [positions[names.index(str(name))] for name in fitted_on]
            found = self._by_name_or_order(positions, None, labels)
        place = {label: i for i, label in zip(found.positions, found.classes.tolist(), strict=True)}
        return [place[label] for label in labels.tolist()]

    def _read_by_map(self, labels: LabelArray, fitted_on: LabelArray | None) -> list[int]:
        names = [label_text(label) for label in labels.tolist()]
        fitted = names if fitted_on is None else [str(name) for name in fitted_on]
        for known in (fitted, names):
            if all(self.names.count(name) == 1 for name in known):
                return [self.names.index(name) for name in known]
        near = find_columns(self.names, labels) if _allows_fuzzy_match(labels, fitted_on) else None
        if near is not None:
            return near
        raise ValueError(
            f"{self.where} lacks columns that the map reads: {list_names(fitted)}. "
            f"{self.listed()} Name them with {self.words.scores}, in this order, or as a pattern: "
            f"{self.words.pattern}."
        )

    def named(self, scores: str | Sequence[str]) -> list[int]:
        """Find columns that are named one by one."""
        positions: list[int] = []
        for name in [scores] if isinstance(scores, str) else scores:
            position = self.position(name, self.words.scores)
            if position in positions:
                raise ValueError(
                    f"{self.words.scores} names the column {name!r} twice. Name each once."
                )
            positions.append(position)
        if not positions:
            raise ValueError(
                f"{self.words.scores} must name the columns with the scores; got none."
            )
        return positions

    def _of_right_number(self, positions: list[int], labels: LabelArray) -> list[int]:
        if len(positions) != len(labels):
            raise ValueError(
                f"{self.where}: {len(positions)} columns are chosen, but the map reads "
                f"{len(labels)}: {show(labels)}."
            )
        return positions

    def _by_name_or_order(
        self, positions: list[int], given: LabelArray | None, labels: LabelArray
    ) -> ClassColumns:
        """Columns given one by one: by name if they are called like the labels."""
        names = np.array([self.names[i] for i in positions], dtype=object)
        matched = match_names(names, labels) if given is None else match_exactly(names, given)
        if matched is not None:
            return ClassColumns(positions, matched)
        if given is None and {label_text(label) for label in labels.tolist()} <= set(names):
            return ClassColumns(positions, self._as_typed(list(names), labels))
        if given is None and len(names) > 1 and like_labels(names, labels):
            raise ValueError(
                f"{self.words.scores}: {list_names(list(names))} seem to be named after the labels "
                f"{show(labels)}, but do not match them one to one. Name the label of each column, "
                f"in their order: {self.words.classes}."
            )
        return self._by_order(positions, given, labels)

    def _by_order(
        self, positions: list[int], given: LabelArray | None, labels: LabelArray
    ) -> ClassColumns:
        classes = labels if given is None else given
        if len(positions) == 1 and len(classes) == 2:
            # One column is that of the last of two labels, unless it is named after the first.
            is_first = self.names[positions[0]] == label_text(classes.tolist()[0])
            return ClassColumns(positions, classes[::-1] if is_first else classes)
        if len(positions) != len(classes):
            source = "the labels are" if given is None else f"{self.words.classes} names"
            raise ValueError(
                f"{self.where} has {len(positions)} columns of scores, but {source} "
                f"{len(classes)}: {show(classes)}. Name the label of each column, in their order: "
                f"{self.words.classes}."
            )
        return ClassColumns(positions, classes)

    def _by_pattern(
        self,
        candidates: Iterable[int],
        pattern: str,
        given: LabelArray | None,
        labels: LabelArray,
    ) -> ClassColumns:
        """Columns whose names are the pattern with a label in the place of the star."""
        stems = self.stems(pattern, candidates, self.words.scores)
        wanted = labels if given is None else given
        missing = [label for label in wanted.tolist() if label_text(label) not in stems]
        if missing:
            raise ValueError(
                f"{self.words.scores} {pattern!r}: there is no column for the label "
                f"{missing[0]!r}. {self.listed()} Name the columns one by one, and "
                f"{self.words.classes} in their order."
            )
        for position in stems.values():
            self.position(self.names[position], self.words.scores)
        if given is not None:
            return ClassColumns([stems[label_text(label)] for label in given.tolist()], given)
        return ClassColumns(list(stems.values()), self._as_typed(list(stems), labels))

    def stems(self, pattern: str, candidates: Iterable[int], argument: str) -> dict[str, int]:
        """Find what stands at the star of a pattern in the names that fit it, with positions."""
        before, _, after = pattern.partition("*")
        if "*" in after:
            raise ValueError(
                f"{argument} {pattern!r} must have one star, which stands for the label."
            )
        return {
            name[len(before) : len(name) - len(after)]: i
            for i in candidates
            if len(name := self.names[i]) > len(before) + len(after)
            and name.startswith(before)
            and name.endswith(after)
        }

    def _called_like(self, candidates: Sequence[int], wanted: LabelArray) -> ClassColumns:
        """Columns called like the labels, or else the only ones that nearly are."""
        names = [self.names[i] for i in candidates]
        if not {*names}.issuperset(map(label_text, wanted.tolist())):
            near = find_columns(names, wanted)
            if near is not None:
                return ClassColumns([candidates[i] for i in near], wanted)
            if len(candidates) == 1 and len(wanted) == 2:
                return self._by_order(list(candidates), wanted, wanted)
        return ClassColumns(
            [self._column_of(candidates, label, wanted) for label in wanted.tolist()], wanted
        )

    def _column_of(self, candidates: Sequence[int], label: Any, wanted: LabelArray) -> int:
        found = [i for i in candidates if self.names[i] == label_text(label)]
        if len(found) == 1:
            return found[0]
        problem = f"{len(found)} columns are" if found else "no column is"
        single = f" For two classes one column is enough: {self.words.single}."
        single = single if len(wanted) == 2 else ""
        raise ValueError(
            f"{self.where}: the labels are {show(wanted)}, but {problem} called "
            f"{label_text(label)!r}. {self.listed()} Choose the columns with the scores by name "
            f"({self.words.names}) or by pattern ({self.words.pattern}).{single}"
        )

    def _reject_unknown(self, labels: LabelArray, given: LabelArray | None) -> None:
        if given is None:
            return
        if len(np.unique(given)) != len(given):
            raise ValueError(f"{self.words.classes} {show(given)} names a label twice.")
        unknown = [label for label in labels.tolist() if label not in set(given.tolist())]
        if unknown:
            raise ValueError(
                f"{self.words.classes} {show(given)} lacks the label {unknown[0]!r}, which the "
                "table contains. Add it, or drop its rows."
            )

    def _as_typed(self, given: list[Any], labels: LabelArray) -> LabelArray:
        """Labels that may be text as those of the table; unchanged if that is not possible."""
        if not all(isinstance(one, str) for one in given):
            return as_label_array(given, self.words.classes)
        typed = {label_text(label): label for label in labels.tolist()}
        if labels.dtype.kind in "iuf" and all(text.lstrip("-").isdecimal() for text in given):
            return np.array(
                [int(text) for text in given], float if labels.dtype.kind == "f" else int
            )
        if all(text in typed for text in given):
            return np.array([typed[text] for text in given])
        if labels.dtype.kind not in "USO":
            raise ValueError(
                f"the labels of the table are {show(labels)}, of another kind than "
                f"{list_names(given)}. Choose the columns with the scores, and "
                f"{self.words.classes}, to fit the labels."
            )
        return np.array(given)


def _allows_fuzzy_match(labels: LabelArray, fitted_on: LabelArray | None) -> bool:
    """Whether names that are only similar to labels may be matched, as those of the fit were.

    One label alone is part of too many names.
    """
    if fitted_on is None or len(labels) == 1:
        return len(labels) > 1
    then = match_names(fitted_on, labels)
    return then is not None and np.array_equal(then, labels)


def list_names(names: Sequence[str]) -> str:
    """List the first of many names."""
    shown = [repr(name[:60]) for name in names[:12]]
    return ", ".join([*shown, "..."] if len(names) > 12 else shown)
