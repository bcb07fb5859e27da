"""Saving and loading: one text file, with a version, that never runs anything."""

import os
from typing import Any, Literal

from sklearn.utils.validation import check_is_fitted

from dircal._core.bayes.posterior import ExactPosterior, LowRankPosterior
from dircal._files import write_whole
from dircal._version import __version__
from dircal.io._arrays import MemoryBudget
from dircal.io._map_file import FORMAT, VERSION, read_document, read_file
from dircal.io._read import Reader
from dircal.io._registry import estimators_by_name
from dircal.io._types import FormatError
from dircal.io._version_1 import upgrade
from dircal.io._write import to_text, value_to_json
from dircal.selection import CalibratedClassifier
from dircal.tables import check_option

__all__ = ["from_bytes", "load", "save", "to_bytes"]


def save(
    calibrator: Any,
    path: str | os.PathLike[str],
    *,
    uncertainty: Literal["none", "posterior"] = "none",
) -> None:
    """Write a fitted calibrator to a file.

    Parameters
    ----------
    calibrator : calibrator
        Any fitted calibrator of this package, also one that holds others.
    path : str or path
        Name of the file. A file that is there is replaced, at the very end: if anything goes
        wrong it is still there.
    uncertainty : {"none", "posterior"}, default="none"
        "none": without what only `predict_interval` of a `BayesianDirichletCalibrator` needs, which
        would be most of the file; it raises when the file is loaded. "posterior": with it.

    See Also
    --------
    load : Reads the file.
    dircal.export.to_onnx : For programs that have no `dircal`.

    Notes
    -----
    The file is JSON and can be read by people: the class, its parameters and its fit, with
    the map step by step. Numbers are exact to the last bit. Arrays of more than
    400 numbers are written as base64 of their bytes, in the order of small computers
    (little-endian).

    When not to use it: a `CalibratedClassifier` holds a classifier, which has a format of its own.
    Save its ``calibrators_``, and the classifier by its own means.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dircal
    >>> calibrator = dircal.TemperatureScaling().fit(
    ...     [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.2, 0.8]], ["no", "yes", "no", "yes"]
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dircal.save(calibrator, Path(folder) / "map.json")
    ...     loaded = dircal.load(Path(folder) / "map.json")
    >>> loaded.temperature_ == calibrator.temperature_
    True
    """
    write_whole(path, to_bytes(calibrator, uncertainty=uncertainty))


def to_bytes(calibrator: Any, *, uncertainty: Literal["none", "posterior"] = "none") -> bytes:
    """Make the content of a file of a fitted calibrator.

    Parameters
    ----------
    calibrator : calibrator
        Any fitted calibrator of this package, also one that holds others.
    uncertainty : {"none", "posterior"}, default="none"
        As in `save`.

    Returns
    -------
    content : bytes
        What `save` writes.

    See Also
    --------
    from_bytes : The way back.
    save : Writes a file, whole or not at all.

    Notes
    -----
    When not to use it: for files; `save` never leaves half of one behind.

    Examples
    --------
    >>> from dircal import IdentityCalibrator
    >>> from dircal.io import from_bytes, to_bytes
    >>> content = to_bytes(IdentityCalibrator().fit([[0.2, 0.8], [0.7, 0.3]], ["no", "yes"]))
    >>> from_bytes(content).classes_
    array(['no', 'yes'], dtype='<U3')
    """
    check_option("uncertainty", uncertainty, ("none", "posterior"))
    left_out = (ExactPosterior, LowRankPosterior) if uncertainty == "none" else ()
    name, known = type(calibrator).__name__, estimators_by_name()
    if isinstance(calibrator, CalibratedClassifier):
        raise ValueError(
            "`calibrator` cannot be saved: a CalibratedClassifier contains classifiers, which have "
            "formats of their own. Save the maps with dircal.save(model.calibrators_[i], ...) and "
            "the classifiers with what belongs to them; together they are "
            "calibrator.predict_proba(classifier.predict_proba(X))."
        )
    if known.get(name) is not type(calibrator):
        what = f"the class {calibrator.__name__}" if isinstance(calibrator, type) else name
        raise ValueError(
            f"`calibrator` must be a fitted calibrator of dircal; got {what}. What can be saved: "
            f"{', '.join(sorted(known))}."
        )
    check_is_fitted(calibrator)
    try:
        node = value_to_json(calibrator, name, left_out)
    except FormatError as error:
        raise ValueError(_why_not(error)) from None
    head = {"format": FORMAT, "version": VERSION, "written_by": f"dircal {__version__}"}
    return to_text(head | {"object": node}).encode()


def _why_not(error: FormatError) -> str:
    message = f"`calibrator` cannot be saved: {error}. "
    if error.advice:
        return message + error.advice
    return message + (
        "Set it to something plain (a number, a string, a list, an array) with `set_params`."
    )


def load(path: str | os.PathLike[str]) -> Any:
    """Read a calibrator that `save` has written.

    Parameters
    ----------
    path : str or path
        Name of the file.

    Returns
    -------
    calibrator : calibrator
        As it was saved: same class, same parameters, same fit, same answers.

    See Also
    --------
    save : Writes the file.

    Notes
    -----
    Nothing in the file is executed, whoever wrote it. Every class, name, type, shape and number is
    checked against a list of what there may be; what is not on it is refused, with a ValueError
    that says where. Files of older versions of the format are read; newer ones are refused.

    When not to use it: for files of other programs, pickles above all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dircal
    >>> identity = dircal.IdentityCalibrator().fit([[0.2, 0.8], [0.7, 0.3]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dircal.save(identity, Path(folder) / "map.json")
    ...     dircal.load(Path(folder) / "map.json").predict([[0.25, 0.75]])
    array(['yes'], dtype='<U3')
    """
    return read_file(path, from_bytes)


def from_bytes(content: bytes) -> Any:
    """Make a calibrator of the content of a file.

    Parameters
    ----------
    content : bytes
        What `to_bytes` has made, of this version of the format or an older one.

    Returns
    -------
    calibrator : calibrator
        As it was; a ValueError says what is wrong with other content, and where.

    See Also
    --------
    to_bytes : The way there.
    load : Reads a file.

    Notes
    -----
    Nothing is executed, whoever made the content; see `load`.

    When not to use it: for files; `load` names them where something is wrong.

    Examples
    --------
    >>> from dircal import IdentityCalibrator
    >>> from dircal.io import from_bytes, to_bytes
    >>> content = to_bytes(IdentityCalibrator().fit([[0.2, 0.8], [0.7, 0.3]], ["no", "yes"]))
    >>> from_bytes(content).predict([[0.25, 0.75]])
    array(['yes'], dtype='<U3')
    """
    document = read_document(content)
    node, version = document.get("object"), document["version"]
    kind = node.get("type") if isinstance(node, dict) else node
    if not isinstance(kind, str) or kind not in estimators_by_name():
        raise FormatError("object", f"has the type {kind!r:.60}, which this version does not know")
    budget = MemoryBudget()
    if version == 1:
        node = upgrade(node, budget)
    calibrator = Reader(budget, version).read(node, "object")
    if "fit_" not in vars(calibrator):
        raise FormatError("object", "is not fitted")
    return calibrator
