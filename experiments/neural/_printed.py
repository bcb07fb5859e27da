"""Numbers of the paper, and the files they are of."""

from functools import cache
from pathlib import Path

import pandas as pd

__all__ = ["name_by_file", "name_by_hash", "printed"]


@cache
def printed(name: str) -> pd.DataFrame:
    """A table of printed numbers."""
    return pd.read_csv(Path(__file__).parent / "printed" / f"{name}.csv", keep_default_na=False)


def name_by_hash(sha256: str) -> str | None:
    """The paper's name for one of its files whose hash is published; None for any other file."""
    names = printed("files").set_index("sha256")["network"]
    return str(names[sha256]) if sha256 in names.index else None


def name_by_file(stem: str) -> str | None:
    """The paper's name that a file goes by, which proves nothing: anybody can call a file so."""
    files = printed("files")
    names = {name: name for name in printed("scores")["network"]}
    names |= dict(zip(files["file"].str.removesuffix(".p"), files["network"], strict=True))
    return names.get(stem)
