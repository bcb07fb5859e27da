"""Where the numbers come from: a fingerprint of the rows, the versions, the code."""

import hashlib
import platform
import re
from collections.abc import Mapping, Sequence
from numbers import Integral

import numpy as np
import scipy
import sklearn

from dircal import calibrators, selection
from dircal._core.data.chunks import row_slices
from dircal._typing import ArrayLike, FloatArray
from dircal._version import __version__
from dircal.report._candidates import Candidate
from dircal.report._summary import DataSummary, Method
from dircal.validation import LabelledScores

__all__ = ["summarise_data", "versions", "write_code"]


def summarise_data(
    data: LabelledScores,
    y_true: ArrayLike,
    names: Sequence[str],
    n_scored: int,
    source: str | None,
    input_scale: str,
) -> DataSummary:
    """The rows as they were given, and their fingerprints."""
    weight = data.sample_weight
    used = data.labels if weight is None else data.labels[weight > 0]
    present = np.bincount(used, minlength=len(names)) > 0
    return DataSummary(
        source,
        len(data.labels),
        n_scored,
        len(names),
        tuple(name for name, there in zip(names, present, strict=True) if not there),
        None if weight is None else float(weight.sum()),
        input_scale,
        str(data.inputs.dtype),
        _hash_labels(y_true),
        _hash_numbers(data.inputs),
        None if weight is None else _hash_numbers(weight[:, None]),
    )


def versions() -> dict[str, str]:
    """What the numbers were computed with."""
    return {
        "dircal": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }


def write_code(
    candidates: Sequence[Candidate],
    chosen: Method,
    *,
    options: Mapping[str, object],
    cv: object,
    input_scale: str,
    weighted: bool,
    n_resamples: int,
    seed: int,
) -> str:
    """Lines that make this report again, and calibrate new rows.

    ``options`` are further arguments that were given, as plain values.
    """
    code = {one.name: one.code for one in candidates}
    names = {"Report", *re.findall(r"\w+", " ".join(code.values()))}
    imported = ", ".join(sorted(names & {"Report", *calibrators.__all__, *selection.__all__}))
    lines = [f"from dircal import {imported}", ""]
    weights = ["    sample_weight=sample_weight,"] if weighted else []
    scale = [f"    input_scale={input_scale!r},"] if input_scale != "probability" else []
    described = {
        one.name: f"...,  # {code[one.name]}, as fitted" if one.is_fitted else f"{code[one.name]},"
        for one in candidates
    }
    lines += [
        "# y_true and y_prob are the rows with the fingerprint above.",
        "report = Report.from_predictions(",
        "    y_true,",
        "    y_prob,",
        "    calibrators={",
        *(f"        {name!r}: {code}" for name, code in described.items()),
        "    },",
        *(f"    {key}={value!r}," for key, value in options.items() if value is not None),
        *weights,
        *scale,
        f"    cv={cv:d}," if isinstance(cv, Integral) else "    cv=...,  # as described above",
        f"    n_resamples={n_resamples},",
        f"    random_state={seed},",
        ")",
        'report.to_html("report.html")',
    ]
    one = next(one for one in candidates if one.name == chosen.name)
    also = ", sample_weight" if weighted else ""
    lines += ["", "# The map for new rows:"]
    if one.is_fitted:
        lines += [f"calibrator = ...  # {code[one.name]}, as fitted"]
    else:
        lines += [f"calibrator = {code[one.name]}.fit(y_prob, y_true{also})"]
    return "\n".join([*lines, "calibrated = calibrator.predict_proba(new_y_prob)"])


def _hash_labels(y_true: ArrayLike) -> str:
    labels = np.asarray(y_true).ravel().tolist()
    # Labels that are no Unicode, as names of odd files, have a fingerprint all the same.
    text = "\n".join(map(str, labels)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()


def _hash_numbers(numbers: FloatArray) -> str:
    """Of all numbers as double precision, row by row, the least significant byte first."""
    digest = hashlib.sha256()
    for part in row_slices(numbers.shape):
        digest.update(np.ascontiguousarray(numbers[part], dtype="<f8").data)
    return digest.hexdigest()
