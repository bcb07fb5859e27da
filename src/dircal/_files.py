"""Files that are written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["check_target", "whole_file", "write_whole"]


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file at once; see `whole_file`."""
    with whole_file(path) as temporary, temporary.open("xb") as file:
        file.write(content)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Another name in the same folder to write to, which becomes ``path`` at the end.

    Whatever happens on the way, a file that was there before is still there, and no half of a new
    one. A link is followed, and an existing file keeps its permissions.
    """
    target = check_target(path)
    # Not by `tempfile`, whose files nobody else may read. Names have at most 255 bytes, and a
    # character up to 4.
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(6)}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def check_target(path: str | os.PathLike[str]) -> Path:
    """Where a file of this name would really be; refuses what cannot be one."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(
            f"`path` {str(path)!r} is a folder. Pass the name of a file, for example "
            f"{str(Path(path) / 'map.json')!r}."
        )
    # By the name as given: /dev/stdout leads to a pipe by way of a place that does not exist.
    if Path(path).exists() and not Path(path).is_file():
        raise OSError(f"`path` {str(path)!r} is a device or a pipe. Pass the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"`path` {str(path)!r} lies in a folder that does not exist. Make the folder first."
        )
    return target
