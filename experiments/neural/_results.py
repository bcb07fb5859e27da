"""The committed tables of the experiment on networks."""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments._shared.tables import AbstractTables

from ._files import Setting

__all__ = ["Results"]

# Last those that say that the others are there.
_OF_NETWORKS = (
    *("rows", "choices", "differences", "failures", "published", "defaults"),
    *("networks", "fits"),
)


@dataclass(frozen=True)
class Results(AbstractTables):
    """A folder with what was measured, and the tables that are made from it."""

    def done(self, settings: Mapping[str, Setting] | None = None) -> set[tuple[str, str]]:
        """Networks and methods that have their rows, of the present setting where it is given."""
        fits = self.read("fits.csv")
        if fits.empty:
            return set()
        present = settings or {}
        lines = fits.merge(self.read("networks.csv")[["network", "sha256"]], "left", "network")
        return {
            (line["network"], line["method"])
            for line in lines.to_dict("records")
            if line["network"] not in present or present[line["network"]].made(line)
        }

    def forget(self, network: str) -> None:
        """Drop the lines of a network whose file or setting is another one now."""
        for name in _OF_NETWORKS:
            table = self.read(f"{name}.csv")
            if len(table):
                self.write(f"{name}.csv", table[table["network"] != network])
