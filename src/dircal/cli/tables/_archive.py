"""NPZ: arrays in a ZIP archive, unpacked where they are needed and nowhere else."""

import copy
import errno
import os
import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from dircal._files import NO_ROOM, no_temporary_room
from dircal.cli.tables._stored import StoredArray, stored_array

__all__ = ["Archive", "unpacking"]

_COPY_BYTES = 2**20
_IS_ENCRYPTED = 0x1
_SIZES_FOLLOW = 0x8
_LOCAL_HEADER = 30


class Archive(AbstractContextManager["Archive"]):
    """An NPZ file.

    ``arrays`` are those that it holds by their names, or why they cannot be read, which matters
    to those who need them. No more of an array is unpacked than its header, until it is asked for.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with ExitStack() as stack:
            self._file = stack.enter_context(path.open("rb"))
            with unpacking(path):
                self._zip = stack.enter_context(zipfile.ZipFile(self._file))
            self._check_members()
            self.arrays = {
                info.filename.removesuffix(".npy"): self._array(info)
                for info in self._zip.infolist()
                if info.filename.endswith(".npy")
            }
            self._stack = stack.pop_all()

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def comment(self) -> bytes:
        """What is written into the file beside its members."""
        return self._zip.comment

    def copy_to(
        self,
        target: IO[bytes],
        name: str,
        added: str | None,
        write: Callable[[IO[bytes]], None],
        comment: bytes,
    ) -> None:
        """The archive with the array of this ``name`` written anew, or ``added`` under another.

        All else is copied as it is, packed.
        """
        member = f"{name}.npy"
        with zipfile.ZipFile(target, "w") as out:
            out.comment = comment
            for info in self._zip.infolist():
                if added is not None or info.filename != member:
                    self._copy_member(info, out, target)
                    continue
                with out.open(_like(info, member), "w", force_zip64=True) as new:
                    write(new)
            if added is not None:
                like = _like(self._zip.getinfo(member), f"{added}.npy")
                with out.open(like, "w", force_zip64=True) as new:
                    write(new)

    def _check_members(self) -> None:
        members, size = self._zip.infolist(), os.fstat(self._file.fileno()).st_size
        names = Counter(info.filename for info in members)
        twice = [name for name, n in names.items() if n > 1]
        if twice:
            raise ValueError(f"{str(self.path)!r} holds {twice[0]!r:.80} twice. Write it again.")
        # Members that share their bytes are how a small file becomes a huge one.
        if sum(info.compress_size for info in members) > size:
            raise ValueError(
                f"{str(self.path)!r} is damaged: its members are larger than the file. Write or "
                "copy it again."
            )

    def _array(self, info: zipfile.ZipInfo) -> StoredArray | ValueError:
        where = f"array {info.filename.removesuffix('.npy')!r:.80} in {str(self.path)!r}"
        if info.flag_bits & _IS_ENCRYPTED:
            return ValueError(f"{where} is encrypted. Write it again without a password.")
        try:
            with unpacking(self.path), self._zip.open(info) as member:
                array = stored_array(member, where, info.file_size, partial(self._content, info))
        except ValueError as error:
            return error
        if array.fortran and array.ndim == 2:
            return replace(array, content=partial(self._unpacked, info))
        return array

    @contextmanager
    def _content(self, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
        """A member, unpacked as it is read."""
        with self._zip.open(info) as member:
            yield member

    @contextmanager
    def _unpacked(self, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
        """A member where one may jump."""
        with tempfile.TemporaryFile() as file:
            with self._zip.open(info) as member:
                shutil.copyfileobj(member, file, _COPY_BYTES)
            yield file

    def _copy_member(self, info: zipfile.ZipInfo, out: zipfile.ZipFile, target: IO[bytes]) -> None:
        """Packed as it is: to unpack it and pack it again may take a thousand times its size."""
        where = f"{info.filename!r:.80} in {str(self.path)!r}"
        if info.flag_bits & _IS_ENCRYPTED:
            raise ValueError(f"{where} is encrypted. Write it again without a password.")
        new = copy.copy(info)
        new.header_offset = target.tell()
        new.flag_bits &= ~_SIZES_FOLLOW
        new.extra = b""
        target.write(new.FileHeader())
        source = self._file
        source.seek(info.header_offset)
        header = source.read(_LOCAL_HEADER)
        source.seek(sum(int.from_bytes(header[i : i + 2], "little") for i in (26, 28)), 1)
        left = info.compress_size
        while left:
            part = source.read(min(left, _COPY_BYTES))
            if not part:
                raise ValueError(f"{where} is cut off. Write or copy the file again.")
            target.write(part)
            left -= len(part)
        out.filelist.append(new)
        out.NameToInfo[new.filename] = new
        out.start_dir = target.tell()


def _like(info: zipfile.ZipInfo, name: str) -> zipfile.ZipInfo:
    """A member of another archive, of the same date and compression."""
    other = zipfile.ZipInfo(name, info.date_time)
    other.compress_type = info.compress_type
    return other


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """Turn whatever a damaged archive runs into to a ValueError that names it."""
    try:
        yield
    except MemoryError:
        raise
    except (ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            # Reading takes room only where something is unpacked.
            raise no_temporary_room(error, f"{str(path)!r} is unpacked") from error
        is_of_system = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
        if is_of_system or repr(str(path)) in str(error):
            raise
        raise _damaged(path, error) from error
    except Exception as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Any) -> ValueError:
    text = str(error).partition("\n")[0] or type(error).__name__
    return ValueError(
        f"{str(path)!r} is damaged, cut off, or no archive ({text[:200]}). Write or copy it again."
    )
