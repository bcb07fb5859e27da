"""Where the fits leave their files, and what these are of."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Cache", "Setting"]


@dataclass(frozen=True)
class Setting:
    """What the outcome of a method depends on."""

    sha256: str
    """The file that it was fitted on."""
    grid: str
    draws: int
    """How many of them are behind the p-values."""

    def made(self, outcome: Mapping[str, Any]) -> bool:
        """Whether an outcome or a line of a table is of this setting; early ones tell less."""
        told = {name: str(outcome.get(name, "")) for name in asdict(self)}
        return all(told[name] in ("", str(value)) for name, value in asdict(self).items())


@dataclass(frozen=True)
class Cache:
    """Outcomes of every network and method, in a folder outside version control."""

    folder: Path

    def outcome(self, network: str, method: str) -> Path:
        """Measures of one method."""
        return self.folder / "outcomes" / network / f"{method}.json"

    def no_outcome(self, network: str, method: str) -> Path:
        """Why the method could not be fitted or measured."""
        return self.folder / "outcomes" / network / f"{method}.failure.json"

    def calibrated(self, network: str, method: str) -> Path:
        """Probabilities (m, k) of the test rows, for the examples and for differences."""
        return self.folder / "outcomes" / network / f"{method}.npz"

    def published(self, network: str, method: str, order: int) -> Path:
        """Measures of the published procedure in one order of rows; its probabilities beside."""
        return self.folder / "published" / network / f"{method}.{order}.json"
