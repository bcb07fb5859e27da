"""The committed tables of the experiment on networks."""

from dataclasses import dataclass

from experiments._shared.tables import AbstractTables

__all__ = ["Results"]


@dataclass(frozen=True)
class Results(AbstractTables):
    """A folder with what was measured, and the tables that are made from it."""

    def done(self) -> set[tuple[str, str]]:
        """Networks and methods that have their rows."""
        fits = self.read("fits.csv")
        if fits.empty:
            return set()
        return set(fits[["network", "method"]].itertuples(index=False, name=None))
