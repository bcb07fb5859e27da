"""How a text file writes its table: what separates cells, and what stands before decimals."""

import re

__all__ = ["found_delimiter", "plain_number", "written_number"]

_CANDIDATES = (",", ";", "\t", "|")
_QUOTED = re.compile('"[^"]*"')


def found_delimiter(line: str, usual: str) -> str:
    """What separates the names in the first line: the usual, or the one of others that occurs.

    Only where the usual one does not occur outside quotes is any other taken, so that no file that
    could be read is read in another way.
    """
    bare = _QUOTED.sub("", line)
    counts = {one: bare.count(one) for one in (usual, *_CANDIDATES)}
    return usual if counts[usual] else max(counts, key=counts.__getitem__)


def plain_number(cell: str, decimal: str) -> float:
    """The number in a cell; a ValueError where it is none."""
    # Python reads 1_000 as a number, and nobody else does. Before a decimal comma a point would
    # set off thousands.
    if "_" in cell or (decimal != "." and "." in cell):
        raise ValueError
    return float(cell if decimal == "." else cell.replace(decimal, "."))


def written_number(number: float, decimal: str, delimiter: str) -> str:
    """The cell of a number, with all its digits."""
    text = repr(number)
    if decimal == ".":
        return text
    text = text.replace(".", decimal)
    return f'"{text}"' if decimal == delimiter else text
