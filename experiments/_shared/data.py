"""Real data that are no part of the repository, in the folder that `DIRCAL_DATA` names."""

import os
from pathlib import Path

__all__ = ["data_folders"]


def data_folders(name: str) -> tuple[Path, ...]:
    """The subfolder called ``name``; none where nobody has named the folder."""
    given = os.environ.get("DIRCAL_DATA")
    return (Path(given) / name,) if given else ()
