"""NPY and NPZ: arrays of NumPy. NPY files are mapped, arrays of NPZ files are read whole."""

import errno
import math
import shutil
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from dircal.tables._limits import LIMITS
from dircal.tables._unchanged import unchanged

__all__ = ["ArrayFile"]

# Headers are a line of Python literals; a longer one is not a header.
_HEADER_LENGTH = 10_000
_IS_ENCRYPTED = 0x1


@dataclass(frozen=True)
class _Member:
    """An array, as its header describes it; ``error`` is the reason why it cannot be read."""

    where: str
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(float))
    shape: tuple[int, ...] = ()
    error: ValueError | None = None

    def check(self) -> None:
        """Raise if it cannot be read, or if its strings are too long for labels."""
        if self.error is not None:
            raise self.error
        characters = {"U": self.dtype.itemsize // 4, "S": self.dtype.itemsize}
        length = characters.get(self.dtype.kind, 0)
        if length > LIMITS.text_length:
            raise ValueError(
                f"{self.where} contains a label of {length:,} characters; at most "
                f"{LIMITS.text_length:,} are read. Check which array has the labels."
            )


@dataclass(frozen=True)
class ArrayFile:
    """A file with an array (n, k) of scores; in an NPZ file also arrays (n,) of other columns.

    ``array`` is the name of the array of scores, None if there is only one that can be.
    """

    path: Path
    array: str | None = None
    _members: dict[str, _Member] = field(init=False, repr=False)
    scores: str = field(init=False)

    def __post_init__(self) -> None:
        members = _members_of(self.path)
        object.__setattr__(self, "_members", members)
        object.__setattr__(self, "scores", _find_scores(self.path, members, self.array))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._members[self.scores].shape[0]

    @property
    def n_scores(self) -> int:
        """Number of columns of the scores."""
        return self._members[self.scores].shape[1]

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of all arrays."""
        return tuple(self._members)

    @property
    def others(self) -> tuple[str, ...]:
        """Names of the arrays that can be other columns.

        Arrays that cannot be read are among them: whoever needs one gets the reason.
        """
        return tuple(
            name
            for name, member in self._members.items()
            if name != self.scores and (member.error is not None or member.shape == (self.n_rows,))
        )

    @property
    def comment(self) -> bytes:
        """Comment of an NPZ file."""
        with _named(self.path), zipfile.ZipFile(self.path) as archive:
            return archive.comment

    def read(self, name: str) -> npt.NDArray[Any]:
        """Read an array; that of an NPY file is mapped."""
        if name not in self._members:
            raise ValueError(
                f"{str(self.path)!r} has no array {name!r}; it has {_list(self._members)}."
            )
        found = self._members[name]
        if not _is_archive(self.path):
            return _read_file(self.path, found, mmap_mode="r")
        found.check()
        member = f"{name}.npy"
        with _named(self.path), zipfile.ZipFile(self.path) as archive, archive.open(member) as file:
            array: npt.NDArray[Any] = npy.read_array(file, allow_pickle=False)
        return array

    def column(self, name: str) -> npt.NDArray[Any]:
        """Read an array with an entry for each row, from this file or from an NPY file."""
        if name in self._members or not name.endswith(".npy"):
            values = self.read(name)
        else:
            with unchanged(Path(name)):
                [member] = _members_of(Path(name)).values()
                values = _read_file(Path(name), member)
        if len(values) != self.n_rows:
            raise ValueError(
                f"{name!r} has {len(values)} labels, but {str(self.path)!r} has {self.n_rows} "
                "rows. Pass one label for each row."
            )
        return values

    def write(
        self, target: Path, scores: npt.NDArray[Any], added: str | None, comment: bytes
    ) -> None:
        """Write the file with other scores, or with ``added`` scores besides, to another place."""
        if not _is_archive(self.path):
            with target.open("xb") as file:
                np.save(file, scores)
            return
        replaced = f"{self.scores}.npy"
        with (
            _named(self.path),
            zipfile.ZipFile(self.path) as old,
            zipfile.ZipFile(target, "x") as new,
        ):
            new.comment = comment
            members = [(info, info.filename) for info in old.infolist()]
            if added is not None:
                members.append((old.getinfo(replaced), f"{added}.npy"))
            target_name = members[-1][1] if added is not None else replaced
            for info, name in members:
                with new.open(_like(info, name), "w", force_zip64=True) as file:
                    if name == target_name:
                        npy.write_array(file, scores, allow_pickle=False)
                        continue
                    with old.open(info) as source:
                        shutil.copyfileobj(source, file)


def _is_archive(path: Path) -> bool:
    return path.suffix.lower() == ".npz"


def _members_of(path: Path) -> dict[str, _Member]:
    """The arrays of a file by name, from their headers alone."""
    if not _is_archive(path):
        with _named(path), path.open("rb") as file:
            return {"scores": _member(file, repr(str(path)), path.stat().st_size)}
    with _named(path), zipfile.ZipFile(path) as archive:
        _check_archive(path, archive)
        return {
            info.filename.removesuffix(".npy"): _archived(path, archive, info)
            for info in archive.infolist()
            if info.filename.endswith(".npy")
        }


def _check_archive(path: Path, archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    twice = [name for name, n in Counter(one.filename for one in members).items() if n > 1]
    if twice:
        raise ValueError(f"{str(path)!r} contains {twice[0]!r:.80} twice. Write it again.")
    # Members that share their bytes are how a small file becomes a huge one.
    if sum(one.compress_size for one in members) > path.stat().st_size:
        raise ValueError(
            f"{str(path)!r} is damaged: its members are larger than the file. Write or copy it "
            "again."
        )


def _archived(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Member:
    where = f"array {info.filename.removesuffix('.npy')!r:.80} in {str(path)!r}"
    if info.flag_bits & _IS_ENCRYPTED:
        reason = f"{where} is encrypted. Write it again without a password."
        return _Member(where, error=ValueError(reason))
    try:
        with _named(path), archive.open(info) as file:
            return _member(file, where, info.file_size)
    except ValueError as error:
        return _Member(where, error=error)


def _member(file: IO[bytes], where: str, size: int) -> _Member:
    """The array whose header a file of ``size`` bytes begins with."""
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
        # The third is the second in UTF-8, which matters for the names of fields only.
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(file, _HEADER_LENGTH)
        reason = _reject(where, shape, dtype, size - file.tell())
    except OSError as error:
        if error.errno is not None:
            raise
        reason = _not_an_array(where, error)
    except Exception as error:
        reason = _not_an_array(where, error)
    if reason:
        return _Member(where, error=ValueError(reason))
    return _Member(where, dtype, shape)


def _reject(where: str, shape: tuple[int, ...], dtype: np.dtype[Any], n_bytes: int) -> str:
    """Return the reason why an array with this header is not read; empty if it is."""
    if dtype.hasobject:
        return f"{where} contains Python objects, which are not loaded: they can run code."
    if dtype.kind not in "biufcSUmM" or dtype.itemsize == 0:
        return f"{where} contains {str(dtype)!r:.60}, which is neither numbers nor text."
    if not all(0 <= length < 2**62 for length in shape):
        return f"{where} declares the shape {shape!s:.60}."
    if n_bytes < math.prod(shape) * dtype.itemsize:
        return (
            f"{where} declares {dtype} of shape {shape!s:.60}, which does not fit its size. It is "
            "damaged or cut off; write or copy it again."
        )
    return ""


def _not_an_array(where: str, error: Exception) -> str:
    text = str(error).partition("\n")[0] or type(error).__name__
    return f"{where} is not a NumPy array, or it is damaged ({text[:200]})."


def _find_scores(path: Path, members: dict[str, _Member], wanted: str | None) -> str:
    if wanted is None:
        matrices = [name for name, one in members.items() if len(one.shape) == 2]
        unread = next((one.error for one in members.values() if one.error is not None), None)
        if not matrices and unread is not None:
            raise unread
        if len(matrices) != 1:
            raise ValueError(
                f"{str(path)!r} has {len(matrices)} arrays with rows and columns; it has "
                f"{_list(members)}. Pass the name of the one with the scores: --columns NAME or "
                "scores=NAME."
            )
        wanted = matrices[0]
    if wanted not in members:
        raise ValueError(f"{str(path)!r} has no array {wanted!r}; it has {_list(members)}.")
    found = members[wanted]
    found.check()
    if len(found.shape) != 2 or found.dtype.kind not in "fiub" or 0 in found.shape:
        raise ValueError(
            f"{str(path)!r}: the array of scores must be numbers with a row for each sample and a "
            f"column for each class; got {found.dtype} of shape {found.shape}."
        )
    return wanted


def _list(members: dict[str, _Member]) -> str:
    shown = [
        f"{name!r:.80}" if one.error is not None else f"{name!r:.80} {one.shape}"
        for name, one in list(members.items())[:8]
    ]
    return ", ".join(shown) or "none"


def _read_file(
    path: Path, member: _Member, mmap_mode: Literal["r"] | None = None
) -> npt.NDArray[Any]:
    member.check()
    with _named(path):
        array: npt.NDArray[Any] = np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    return array


def _like(info: zipfile.ZipInfo, name: str) -> zipfile.ZipInfo:
    """Describe a member of the same compression."""
    new = zipfile.ZipInfo(name, info.date_time)
    new.compress_type, new.external_attr = info.compress_type, info.external_attr
    return new


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turn the many errors of damaged files into a ValueError that names the file."""
    try:
        with warnings.catch_warnings():
            # Python 2 wrote integers in another way, which is fine.
            warnings.simplefilter("ignore")
            yield
    except MemoryError:
        raise
    except Exception as error:
        # Positions in a damaged file may be negative, which the system calls an invalid argument.
        is_of_system = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
        if is_of_system or repr(str(path)) in str(error):
            raise
        text = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(
            f"{str(path)!r} is damaged, cut off, or not an archive ({text[:200]}). Write or copy "
            "it again."
        ) from error
