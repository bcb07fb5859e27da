"""Which numbers come from draws of rows, and which from what stands for them."""

from collections.abc import Iterable

from dircal.inference._drawn_sums import Source

__all__ = ["tell_sources"]

# In the order in which they are told.
_TOLD: dict[Source, str] = {
    "moments": "from moments of sums over rows",
    "multipliers": "from rows with random signs",
    "draws": "from draws",
}


def tell_sources(n_rows: int, found: Iterable[tuple[str, Source]], what: str = "these") -> str:
    """A sentence about numbers, each with its source; empty where all are drawn."""
    by_source: dict[Source, dict[str, None]] = {source: {} for source in _TOLD}
    for name, source in found:
        by_source[source][name] = None
    if not by_source["moments"] and not by_source["multipliers"]:
        return ""
    told = [f"{_TOLD[one]}: {', '.join(names)}" for one, names in by_source.items() if names]
    return f"With {n_rows:,} rows {what} come {'; '.join(told)}."
