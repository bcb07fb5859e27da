"""How long the cells will take."""

from dataclasses import dataclass
from typing import Self

from ._grid import Cell
from ._results import Results

__all__ = ["Costs"]


@dataclass(frozen=True)
class Costs:
    """Expected seconds of a cell, from earlier runs of the same pair or the same classifier."""

    by_pair: dict[tuple[str, str], float]
    by_classifier: dict[str, float]

    @classmethod
    def of(cls, earlier: Results, column: str) -> Self:
        """Read from the committed table; columns are those of ``cells.csv``."""
        lines = earlier.read("cells.csv")
        if lines.empty:
            return cls({}, {})
        pairs = lines.groupby(["dataset", "classifier"])[column].mean()
        return cls(pairs.to_dict(), lines.groupby("classifier")[column].mean().to_dict())

    def __call__(self, cell: Cell) -> float:
        guess = self.by_classifier.get(cell.classifier, 1.0)
        return self.by_pair.get((cell.dataset, cell.classifier), guess)
