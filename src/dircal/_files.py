"""Files that are written whole or not at all."""

import os
import secrets
import shutil
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write under another name in the same folder, then rename.

    Whatever happens on the way, a file that was there before is still there, and no half of a new
    one. A link is followed, and an existing file keeps its permissions.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(
            f"`path` {str(path)!r} is a folder. Pass the name of a file, for example "
            f"{str(Path(path) / 'map.json')!r}."
        )
    if target.exists() and not target.is_file():
        raise OSError(f"`path` {str(path)!r} is a device or a pipe. Pass the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"`path` {str(path)!r} lies in a folder that does not exist. Make the folder first."
        )
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}")
    try:
        # Not by `tempfile`, whose files nobody else may read.
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
