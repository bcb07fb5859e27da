"""Files that are written whole or not at all.

Modules that only writing needs are loaded then: `dircal --help` passes here as well.
"""

import errno
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

__all__ = [
    "NO_ROOM",
    "WrittenFiles",
    "check_target",
    "no_temporary_room",
    "remove_abandoned",
    "temporary_folder",
    "whole_file",
    "write_whole",
]

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a file cannot grow."""
# Name of the file that is being written, then who writes it: machine, process and when it began.
_TEMPORARY = r"(?s)\..*\.dircal-([0-9a-f]{8})-([0-9]{1,9})-([0-9]{1,15})-[0-9a-f]{8}"
# A file of another machine that nobody wrote to for a day, in seconds, is being written by nobody.
_ABANDONED_AFTER = 86_400.0


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file at once; see `whole_file`."""
    with whole_file(path) as temporary, temporary.open("xb") as file:
        file.write(content)


@contextmanager
def whole_file(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[Path]:
    """Another name in the same folder to write to, which becomes ``path`` at the end.

    Whatever happens on the way, a file that was there before is still there, and no half of a new
    one. A link is followed, and an existing file keeps its permissions. Without ``replace`` a file
    that is there at the end, whoever made it and when, stays as it is, and is an error.
    """
    target = check_target(path)
    # Not by `tempfile`, whose files nobody else may read.
    temporary = target.with_name(_temporary_name(target.name))
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        _remember(path, target, temporary)
        if replace:
            if target.exists():
                import shutil

                shutil.copymode(target, temporary)
            temporary.replace(target)
        elif not _rename_to_new(temporary, target):
            raise FileExistsError(
                f"`path` {str(path)!r} exists by now, and was not replaced. Pass another name."
            )
    except OSError as error:
        # The system does not say which file it speaks of.
        if error.errno not in NO_ROOM or error.filename not in (None, str(temporary)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _rename_to_new(temporary: Path, target: Path) -> bool:
    """Rename unless there is a file of that name, which a plain rename would replace."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        return False
    except OSError:
        # A file system without links: take the name first.
        try:
            target.open("xb").close()
        except FileExistsError:
            return False
        try:
            temporary.replace(target)
        except BaseException:
            target.unlink()
            raise
    return True


def no_temporary_room(error: OSError, what: str) -> OSError:
    """An error that names the folder for temporary files, where something large goes on."""
    import tempfile

    return OSError(
        error.errno,
        f"{error.strerror} in the folder for temporary files, where {what} (set TMPDIR to a folder "
        "with more room)",
        tempfile.gettempdir(),
    )


def check_target(path: str | os.PathLike[str]) -> Path:
    """Where a file of this name would really be; refuses what cannot be one."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(
            f"`path` {str(path)!r} is a link that leads back to itself. Remove it, or pass another "
            "name."
        )
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


@dataclass
class WrittenFiles:
    """Remembers, while it is a context, which files have come to be what was written.

    A file is written with its last step, the rename: before it there is nothing, after it all.
    Since a signal may come between the two and a note of it, what is noted is which file is about
    to get which name; `names` looks whether it has.
    """

    _renamed: list[tuple[str, Path, tuple[int, int]]] = field(default_factory=list)

    def __enter__(self) -> "WrittenFiles":
        self._token = _REMEMBERED.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _REMEMBERED.reset(self._token)

    def add(self, path: str, target: Path, temporary: Path) -> None:
        """The temporary file is about to be called like the target."""
        self._renamed.append((path, target, _identity(temporary)))

    def names(self) -> list[str]:
        """Names of the files that are there, as they were given."""
        found = []
        for path, target, identity in self._renamed:
            with suppress(OSError):
                if _identity(target) == identity:
                    found.append(path)
        return list(dict.fromkeys(found))


_REMEMBERED: ContextVar[WrittenFiles | None] = ContextVar("_REMEMBERED", default=None)


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _remember(path: str | os.PathLike[str], target: Path, temporary: Path) -> None:
    remembered = _REMEMBERED.get()
    if remembered is not None:
        remembered.add(str(path), target, temporary)


def remove_abandoned(folder: Path) -> None:
    """Remove what was being written in a folder by processes that were killed.

    Reads the whole folder, so that it is for the beginning of a command and not for every file.
    What cannot be read or removed stays.
    """
    import shutil

    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            owner = re.fullmatch(_TEMPORARY, entry.name)
            if owner is None:
                continue
            with suppress(OSError):
                if entry.is_symlink() or not _is_abandoned(entry, *owner.groups()):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    Path(entry.path).unlink()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder where the system has temporary files, for nobody else to read.

    Those that killed processes have left there go first.
    """
    import shutil
    import tempfile

    parent = Path(tempfile.gettempdir())
    remove_abandoned(parent)
    folder = parent / _temporary_name("folder")
    folder.mkdir(0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _temporary_name(name: str) -> str:
    import secrets

    # Names have at most 255 bytes, and a character up to 4.
    pid = os.getpid()
    owner = f"{_machine()}-{pid}-{_start_of(pid) or 0}"
    return f".{name[:45]}.dircal-{owner}-{secrets.token_hex(4)}"


def _is_abandoned(entry: os.DirEntry[str], machine: str, pid: str, start: str) -> bool:
    if machine == _machine() and os.name != "nt":
        return not _is_alive(int(pid), start)
    return time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED_AFTER


def _is_alive(pid: int, start: str) -> bool:
    """Whether a process is there that began at this time, in doubt yes."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return _start_of(pid) in (None, start)


def _start_of(pid: int) -> str | None:
    """When a process began, in ticks since the machine did; of a dead one "", None if unknown."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()
        # The third and the 22nd word; the second may hold blanks, but ends with the bracket.
        return "" if state in "ZX" else rest[18]
    except (OSError, ValueError, IndexError):
        return None


@cache
def _machine() -> str:
    """Something else on every machine, after every start of it, and in every container.

    Within it a number and a beginning are of one process.
    """
    import hashlib
    import platform

    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]
