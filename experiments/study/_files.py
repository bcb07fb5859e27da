"""Where the study keeps what it measured."""

from dataclasses import dataclass
from pathlib import Path

from experiments._shared.tables import AbstractTables

__all__ = ["Cache", "Results"]


@dataclass(frozen=True)
class Cache:
    """Outcomes by network, in a folder outside version control."""

    folder: Path

    def outcome(self, network: str) -> Path:
        """Comparisons, tests and evidence."""
        return self.folder / "outcomes" / f"{network}.json"

    def losses(self, network: str) -> Path:
        """What each test row loses by each map."""
        return self.folder / "outcomes" / f"{network}.npz"


@dataclass(frozen=True)
class Results(AbstractTables):
    """The committed tables."""

    def done(self) -> dict[str, str]:
        """The networks that have their lines, and the hash of the file that these are of."""
        networks = self.read("networks.csv")
        if networks.empty:
            return {}
        return dict(zip(networks["network"], networks["sha256"], strict=True))

    def forget(self, network: str) -> None:
        """Drop the lines of a network before it gets new ones: it may get fewer."""
        # First the one that says that the others are there.
        for name in ("networks", "comparisons", "ratios", "evidence"):
            table = self.read(f"{name}.csv")
            if len(table):
                self.write(f"{name}.csv", table[table["network"] != network])
