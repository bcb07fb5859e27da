"""Where the fits leave their files."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cache"]


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
