"""Maps in files: their nodes are read with NumPy alone."""

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dircal._json import JSONError, parse_json
from dircal._version import __version__
from dircal.io._arrays import MemoryBudget, array_from_json
from dircal.io._types import FormatError, Place, check_fields, field_types, required_fields
from dircal.maps import STEPS, CalibrationMap

__all__ = [
    "FORMAT",
    "MISFITS",
    "VERSION",
    "MapReader",
    "Node",
    "check_names",
    "check_steps",
    "load_map",
    "parts_of",
    "read_document",
    "read_file",
    "try_map",
]

FORMAT = "dircal"
# The version changes when a value is written in another form than before. A value that no file
# could contain before, such as a date, may get its own form: older code rejects it by name.
# Files of all earlier versions are read forever: a change adds a module like `_version_3`, which
# makes a fit of what they contain, and golden files to the tests.
VERSION = 4
# A map of 4000 classes takes a sixth of this.
_MAX_FILE_SIZE = 2**30
# A map of six estimators in one another is a third as deep.
_MAX_DEPTH = 100
# How far the probabilities of one row may sum from one.
_SUM_TOLERANCE = 1e-9
MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of numbers and objects of the wrong kind; anything else would be an error of ours."""

Node = dict[str, Any]


def load_map(path: str | os.PathLike[str]) -> CalibrationMap:
    """Read the map of a calibrator that `save` has written, with NumPy alone.

    Parameters
    ----------
    path : str or path
        Name of the file.

    Returns
    -------
    map : CalibrationMap
        Function from scores (n, n_columns) to calibrated probabilities (n, n_classes). Columns are
        those of the fit, in the same order; results follow the sorted labels.

    See Also
    --------
    load : Reads the whole calibrator.

    Notes
    -----
    This is for services that only apply a map: neither SciPy nor scikit-learn is imported. Nothing
    in the file is executed. The map does not check the scores that it is given.

    When not to use it: for scores that may be invalid, or columns in another order; `predict_proba`
    of a loaded calibrator checks both. Files of format versions 1 to 3 are read by `load`, which
    needs all of `dircal`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dircal
    >>> scaling = dircal.TemperatureScaling().fit([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dircal.save(scaling, Path(folder) / "map.json")
    ...     calibrate = dircal.load_map(Path(folder) / "map.json")
    >>> bool((calibrate([[0.7, 0.3]]) == scaling.predict_proba([[0.7, 0.3]])).all())
    True
    """
    chain: CalibrationMap = read_file(path, _map_of)
    return chain


def _map_of(content: bytes) -> CalibrationMap:
    document = read_document(content)
    if document["version"] < VERSION:
        from dircal.io._file import from_bytes

        chain: CalibrationMap = from_bytes(content).map_
        return chain
    node = document.get("object")
    for name in ("fit", "map"):
        node = node.get(name) if isinstance(node, dict) else None
    chain = MapReader(MemoryBudget()).read(node, "object.fit.map")
    check_steps(chain, "object.fit.map")
    try_map(chain, "object.fit.map")
    return chain


def read_file(path: str | os.PathLike[str], make: Callable[[bytes], Any]) -> Any:
    """Return what ``make`` makes of the content of a file; a ValueError names the file."""
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        # One byte more, so that a pipe without an end is noticed.
        content = file.read(_MAX_FILE_SIZE + 1) if size <= _MAX_FILE_SIZE else b""
    try:
        if size > _MAX_FILE_SIZE or len(content) > _MAX_FILE_SIZE:
            raise FormatError("", "it is larger than 1 GiB")
        return make(content)
    except FormatError as error:
        raise ValueError(
            f"`path` {str(path)!r} is no calibrator that dircal {__version__} can load: "
            f"{error}. Pass a file that dircal.save has written."
        ) from None


def read_document(content: bytes) -> Node:
    """Return the JSON of a file whose format and version are known."""
    if not content.strip():
        raise FormatError("", "it is empty")
    if not content.lstrip().startswith(b"{"):
        raise FormatError("", "it is not JSON that begins with a brace")
    document: Node = _from_text(content)
    version = document.get("version")
    if document.get("format") != FORMAT or type(version) is not int:
        raise FormatError("", 'it does not say "format": "dircal" and a "version"')
    if not 1 <= version <= VERSION:
        newer = f"format version {version}, and this dircal knows versions up to {VERSION}"
        raise FormatError("", f"it has {newer}; install a newer dircal")
    unexpected = set(document) - {"format", "version", "written_by", "object"}
    if unexpected:
        raise FormatError("", f"it has {min(unexpected)!r:.60}, which this version does not know")
    return document


class MapReader:
    """Makes maps, and the values that they consist of, from JSON within a budget of memory."""

    def __init__(self, budget: MemoryBudget) -> None:
        self.budget = budget
        self.dataclasses: Mapping[str, type] = {**STEPS, CalibrationMap.__name__: CalibrationMap}

    def read(self, node: Any, place: Place, depth: int = 0) -> Any:
        """Return the value that ``node`` stands for."""
        if depth > _MAX_DEPTH:
            raise FormatError(place, "is nested too deeply")
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.read(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(node)]
        kind = node.get("type")
        read = self.reader_of(kind) if isinstance(kind, str) else None
        if read is None:
            raise FormatError(place, f"has the type {kind!r:.60}, which this version does not know")
        return read(node, place, depth + 1)

    def reader_of(self, kind: str) -> Callable[[Node, Place, int], Any] | None:
        """Return the method that reads nodes of a type; None if there is none."""
        if kind in self.dataclasses:
            return self._dataclass
        known = {"array": self._array, "float": self._float, "tuple": self._tuple}
        return known.get(kind)

    def read_dict(self, items: Any, place: Place, depth: int) -> dict[str, Any]:
        """Return the values of a dictionary of nodes."""
        if not isinstance(items, dict):
            raise FormatError(place, "needs names and values")
        return {key: self.read(item, f"{place}.{key}", depth) for key, item in items.items()}

    def _array(self, node: Node, place: Place, depth: int) -> Any:
        del depth
        return array_from_json(node, place, self.budget)

    def _float(self, node: Node, place: Place, depth: int) -> float:
        del depth
        (text,) = parts_of(node, ("value",), place)
        if text not in ("inf", "-inf", "nan"):
            raise FormatError(place, f"cannot be the number {text!r:.60}")
        return float(text)

    def _tuple(self, node: Node, place: Place, depth: int) -> tuple[Any, ...]:
        (items,) = parts_of(node, ("items",), place)
        if not isinstance(items, list):
            raise FormatError(place, "needs a list of items")
        return tuple(self.read(items, place, depth))

    def _dataclass(self, node: Node, place: Place, depth: int) -> Any:
        (items,) = parts_of(node, ("fields",), place)
        cls = self.dataclasses[node["type"]]
        content = self.read_dict(items, place, depth)
        check_names(content, required_fields(cls), field_types(cls), place)
        check_fields(cls, dict.fromkeys(field_types(cls)) | content, place)
        # What a person has written as 1 is a number like any other; one of thirty digits is not.
        floats = {name: float(content[name]) for name in _whole_floats(cls, content)}
        made = cls(**content | floats)
        if isinstance(made, CalibrationMap):
            check_steps(made, place)
        return made


def check_steps(chain: Any, place: Place) -> None:
    """Raise a `FormatError` unless it is a map whose steps fit together."""
    if not isinstance(chain, CalibrationMap):
        raise FormatError(place, f"needs CalibrationMap; got {chain!r:.60}")
    try:
        assert chain.n_classes
    except MISFITS as error:
        raise FormatError(place, f"cannot be: {error}") from None


def try_map(chain: CalibrationMap, place: Place) -> None:
    """Raise a `FormatError` unless the map makes probabilities of one row."""
    row = np.full((1, chain.n_columns), 1.0 / max(chain.n_columns, 2))
    try:
        with np.errstate(all="ignore"):
            proba = chain(row)
    except MISFITS as error:
        raise FormatError(place, f"cannot be: {error}") from None
    fine = np.isfinite(proba).all() and (proba >= 0.0).all()
    if not fine or abs(proba.sum() - 1.0) > _SUM_TOLERANCE:
        raise FormatError(place, "does not end in probabilities")


def _whole_floats(cls: type, content: dict[str, Any]) -> list[str]:
    """Return the names of fields that are floats and were given as integers."""
    hints = field_types(cls).items()
    named = [name for name, hint in hints if float in (hint, *get_args(hint))]
    return [name for name in named if type(content.get(name)) is int]


def parts_of(node: Node, names: tuple[str, ...], place: Place) -> list[Any]:
    """Return the parts of a node, if it has these and no others next to its type."""
    check_names(node, ["type", *names], [], place)
    return [node[name] for name in names]


def check_names(
    present: Collection[str], required: list[str], allowed: Collection[str], place: Place
) -> None:
    """Raise a `FormatError` unless all required names are present, and no unexpected ones."""
    missing = [name for name in required if name not in present]
    if missing:
        raise FormatError(place, f"lacks {missing[0]!r}")
    unexpected = set(present) - set(required) - set(allowed)
    if unexpected:
        raise FormatError(place, f"has {min(unexpected)!r:.60}, which this version does not know")


def _from_text(content: bytes) -> Any:
    """Return the value of a strict JSON text in UTF-8."""
    try:
        return parse_json(content.decode("utf-8"), constants=False)
    except UnicodeDecodeError:
        raise FormatError("", "it is not text in UTF-8") from None
    except JSONError as error:
        raise FormatError("", f"it {error}") from None
