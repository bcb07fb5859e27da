"""A file with what each action costs in each class."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dircal._typing import LabelArray
from dircal.decide import CostTable
from dircal.tables import label_text

__all__ = ["CostsFile", "read_costs", "table_of_costs"]


@dataclass(frozen=True)
class CostsFile:
    """Costs by the texts of classes and actions, as they stand in a file."""

    path: Path
    costs: dict[str, dict[str, float]]

    def classes_like(self, labels: LabelArray | None) -> LabelArray:
        """The classes of the file, sorted; numbers where these ``labels`` of rows are numbers."""
        texts = np.array(list(self.costs))
        if labels is not None and labels.dtype.kind in "iufb":
            try:
                return np.sort(texts.astype(np.float64).astype(labels.dtype))
            except ValueError:
                pass
        return np.sort(texts)

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


def table_of_costs(path: Path | None, ask: float | None, classes: LabelArray) -> CostTable | None:
    """What two options say of these classes; None without them."""
    if path is None:
        if ask is not None:
            raise ValueError("--ask belongs to --costs, which says what the other actions cost.")
        return None
    costs = read_costs(path).table(np.sort(classes))
    return costs if ask is None else costs.with_question(ask)


def read_costs(path: Path) -> CostsFile:
    """Costs from JSON, ``{class: {action: cost}}``, or from a table with a line for each class.

    The first column of the table has the classes, the others are called after the actions.
    """
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix.lower() == ".json":
        return CostsFile(path, _from_json(path, text))
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    lines = [line for line in csv.reader(text.splitlines(), delimiter=delimiter) if line]
    if len(lines) < 3 or len(lines[0]) < 3:
        raise ValueError(
            f"--costs {str(path)!r} must have a header, a line for each of at least two classes "
            "and a column for each of at least two actions. Write for example "
            "'class,block,pass', 'fraud,0,100', 'honest,15,0'."
        )
    header, *rows = lines
    return CostsFile(path, dict(_row(path, header, row) for row in rows))


def _row(path: Path, header: Sequence[str], row: Sequence[str]) -> tuple[str, dict[str, float]]:
    if len(row) != len(header):
        raise ValueError(
            f"--costs {str(path)!r}: the line of {row[0]!r} has {len(row)} cells, the header "
            f"{len(header)}. Write a cost for each action."
        )
    cells = zip(header[1:], row[1:], strict=True)
    return row[0].strip(), {name.strip(): _number(path, cell, row[0]) for name, cell in cells}


def _number(path: Path, cell: Any, label: str) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise ValueError(
            f"--costs {str(path)!r}: {cell!r}, in the line of {label!r}, is no number. Write what "
            "the action costs there."
        ) from None


def _from_json(path: Path, text: str) -> dict[str, dict[str, float]]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--costs {str(path)!r} is no JSON: {error}. Correct it.") from error
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise ValueError(
            f"--costs {str(path)!r} must hold costs by class and action. Write for example "
            '{"fraud": {"block": 0, "pass": 100}, "honest": {"block": 15, "pass": 0}}.'
        )
    actions = list(next(iter(found.values()), {}))
    for label, each in found.items():
        if set(each) != set(actions):
            raise ValueError(
                f"--costs {str(path)!r}: {label!r} does not name the same actions as the others. "
                "Write a cost for each action."
            )
    return {
        label: {action: _number(path, each[action], label) for action in actions}
        for label, each in found.items()
    }
