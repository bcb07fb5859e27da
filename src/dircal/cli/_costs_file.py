"""A file with what each action costs in each class."""

import csv
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dircal._json import JSONError, parse_json
from dircal._typing import LabelArray
from dircal.cli._utf8 import open_utf8
from dircal.decide import CostTable
from dircal.tables import ScoreTable, label_text, parse_whole_numbers

__all__ = ["CostsFile", "read_costs", "table_of_costs"]

_EXAMPLE = (
    'Write for example {"fraud": {"block": 0, "pass": 100}, "honest": {"block": 15, "pass": 0}}.'
)


@dataclass(frozen=True)
class CostsFile:
    """Costs by the texts of classes and actions, as they stand in a file."""

    path: Path
    costs: dict[str, dict[str, float]]

    @property
    def classes(self) -> list[str]:
        """The classes of the file, sorted; as numbers if they are."""
        texts = np.array(list(self.costs))
        numbers = parse_whole_numbers(texts)
        found: list[str] = texts[np.argsort(texts if numbers is None else numbers)].tolist()
        return found

    def table(self, classes: LabelArray) -> CostTable:
        """The costs of these classes, whose labels need not be texts."""
        by_text = {label_text(label): label for label in classes.tolist()}
        missing = [text for text in by_text if text not in self.costs]
        strangers = [text for text in self.costs if text not in by_text]
        if missing or strangers:
            what = f"lacks the class {missing[0]!r}" if missing else f"has {strangers[0]!r}"
            raise ValueError(
                f"--costs {str(self.path)!r} {what}, but the classes are {', '.join(by_text)}. "
                "Write a line for each class."
            )
        return CostTable.from_mapping({label: self.costs[text] for text, label in by_text.items()})


def table_of_costs(path: Path | None, ask: float | None, table: ScoreTable) -> CostTable | None:
    """Return the costs of the classes of a table; None without the option."""
    if path is None:
        if ask is not None:
            raise ValueError("--ask belongs to --costs, which says what the other actions cost.")
        return None
    costs = read_costs(path).table(np.sort(table.found.classes))
    return costs if ask is None else costs.with_question(ask)


def read_costs(path: Path) -> CostsFile:
    """Costs from JSON, ``{class: {action: cost}}``, or from a table with a line for each class.

    The first column of the table has the classes, the others are called after the actions.
    """
    with open_utf8(path, f"--costs {str(path)!r}") as file:
        if path.suffix.lower() == ".json":
            return CostsFile(path, _from_json(path, file.read()))
        return CostsFile(path, _from_table(path, file))


def _from_table(path: Path, file: Iterable[str]) -> dict[str, dict[str, float]]:
    reader = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    try:
        numbered = [(reader.line_num, line) for line in reader if line]
    except csv.Error as error:
        raise ValueError(
            f"--costs {str(path)!r} cannot be read ({error} in line {reader.line_num}). Save it as "
            "CSV."
        ) from None
    lines = [[cell.strip() for cell in line] for _, line in numbered]
    if len(lines) < 3 or len(lines[0]) < 3:
        raise ValueError(
            f"--costs {str(path)!r} must have a header, a line for each of at least two classes "
            "and a column for each of at least two actions. Write for example "
            "'class,block,pass', 'fraud,0,100', 'honest,15,0'."
        )
    numbers = [number for number, _ in numbered]
    header, *rows = lines
    _refuse_twice(path, "action", header[1:], numbers[:1] * len(header))
    _refuse_twice(path, "class", [row[0] for row in rows], numbers[1:])
    return {row[0]: _row(path, header, row) for row in rows}


def _refuse_twice(path: Path, what: str, names: Sequence[str], lines: Sequence[int]) -> None:
    """Reject names that are repeated; ``lines`` are the numbers of the lines that hold them."""
    for i, (name, line) in enumerate(zip(names, lines, strict=False)):
        if name in names[:i]:
            raise ValueError(
                f"--costs {str(path)!r} has the {what} {name!r} twice, in line {line}. Write each "
                f"{what} once."
            )


def _row(path: Path, header: Sequence[str], row: Sequence[str]) -> dict[str, float]:
    if len(row) != len(header):
        raise ValueError(
            f"--costs {str(path)!r}: the line of {row[0]!r} has {len(row)} cells, the header "
            f"{len(header)}. Write a cost for each action."
        )
    cells = zip(header[1:], row[1:], strict=True)
    return {name: _number(path, cell, row[0]) for name, cell in cells}


def _number(path: Path, cell: Any, label: str) -> float:
    with suppress(TypeError, ValueError, OverflowError):
        if math.isfinite(number := float(cell)):
            return number
    raise ValueError(
        f"--costs {str(path)!r}: {cell!r:.60}, in the line of {label!r}, is not a finite number. "
        "Write what the action costs there."
    )


def _from_json(path: Path, text: str) -> dict[str, dict[str, float]]:
    try:
        found = parse_json(text, constants=False)
    except JSONError as error:
        raise ValueError(f"--costs {str(path)!r} {error}. Correct it.") from None
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise ValueError(f"--costs {str(path)!r} must hold costs by class and action. {_EXAMPLE}")
    actions = list(next(iter(found.values()), {}))
    for label, each in found.items():
        if set(each) != set(actions):
            raise ValueError(
                f"--costs {str(path)!r}: {label!r} does not name the same actions as the others. "
                "Write a cost for each action."
            )
    costs = {
        label: {action: _number(path, each[action], label) for action in actions}
        for label, each in found.items()
    }
    if len(costs) < 2 or len(actions) < 2:
        raise ValueError(
            f"--costs {str(path)!r} must have at least two classes and two actions; got "
            f"{len(costs)} and {len(actions)}. {_EXAMPLE}"
        )
    return costs
