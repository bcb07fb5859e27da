"""Where the numbers come from: a fingerprint of the rows, the versions, the code."""

import hashlib
import platform
import re
from numbers import Integral
from typing import Any

import numpy as np
import scipy
import sklearn

from dircal import calibrators, selection
from dircal._core.data.chunks import row_slices
from dircal._typing import ArrayLike, FloatArray
from dircal._version import __version__
from dircal.metrics import Predictions
from dircal.report._copies import count_copies
from dircal.report._diagrams import BINS
from dircal.report._summary import DataSummary, Method, Settings
from dircal.report._task import LEVEL, Request, Task
from dircal.validation import order_in_doubt

__all__ = ["summarise_data", "summarise_settings"]


def summarise_data(task: Task, as_they_are: Predictions) -> DataSummary:
    """The rows as they were given, and their fingerprints."""
    data, names = task.data, task.names
    weight = data.sample_weight
    used = data.labels if weight is None else data.labels[weight > 0]
    present = np.bincount(used, minlength=len(names)) > 0
    scored = np.bincount(data.labels[task.rows], minlength=len(names))
    better = order_in_doubt(data, task.request.input_scale)
    name_of = dict(zip(data.classes.tolist(), names, strict=True))
    return DataSummary(
        task.request.source,
        len(data.labels),
        len(task.rows),
        len(names),
        tuple(name for name, there in zip(names, present, strict=True) if not there),
        () if better is None else tuple(name_of[label] for label in better.tolist()),
        names[scored.argmax()],
        int(scored.max()),
        count_copies(as_they_are),
        None if weight is None else float(weight.sum()),
        task.request.input_scale,
        str(data.inputs.dtype),
        _hash_labels(task.request.y_true),
        _hash_numbers(data.inputs),
        None if weight is None else _hash_numbers(weight[:, None]),
    )


def summarise_settings(task: Task, chosen: Method) -> Settings:
    """How the numbers were made, and the lines that make them again."""
    return Settings(
        _describe_cv(task.request.cv, len(task.splits)),
        task.request.n_resamples,
        task.seed,
        LEVEL,
        BINS.n_bins,
        _versions(),
        _write_code(task, chosen),
    )


def _describe_cv(cv: Any, n_splits: int) -> str:
    if not n_splits:
        return "none: all calibrators came fitted"
    if isinstance(cv, Integral):
        return f"{n_splits} folds, each with its share of every class, dealt with a fixed seed"
    if hasattr(cv, "split"):
        return f"{n_splits} folds of {cv!r}"
    return f"{n_splits} pair(s) of rows to fit and rows to score, given by the user"


def _versions() -> dict[str, str]:
    """What the numbers were computed with."""
    return {
        "dircal": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }


def _write_code(task: Task, chosen: Method) -> str:
    """Lines that make this report again, and calibrate new rows."""
    request, candidates = task.request, task.candidates
    options: dict[str, Any] = {
        "classes": task.data.column_classes.tolist() if task.columns_were_named else None,
        "class_names": None if request.class_names is None else list(task.names),
        "title": request.title,
        "source": request.source,
    }
    cv, weighted = request.cv, task.data.sample_weight is not None
    code = {one.name: one.code for one in candidates}
    names = {"Report", *re.findall(r"\w+", " ".join(code.values()))}
    imported = ", ".join(sorted(names & {"Report", *calibrators.__all__, *selection.__all__}))
    lines = [f"from dircal import {imported}", ""]
    if request.costs is not None:
        lines.insert(1, "from dircal.decide import CostTable")
    weights = ["    sample_weight=sample_weight,"] if weighted else []
    logits = ["    input_scale='logit',"] if request.input_scale == "logit" else []
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
        *logits,
        *_further_arguments(request),
        f"    cv={cv:d}," if isinstance(cv, Integral) else "    cv=...,  # as described above",
        f"    n_resamples={request.n_resamples},",
        f"    random_state={task.seed},",
        ")",
        'report.to_html("report.html")',
    ]
    one = next(one for one in candidates if one.name == chosen.name)
    also = ", sample_weight" if weighted else ""
    lines += ["", "# The map for new rows:"]
    if one.is_fitted:
        lines += [f"calibrator = ...  # {code[one.name]}, as fitted"]
    else:
        lines += [f"calibrator = {one.code_for(options['classes'])}.fit(y_prob, y_true{also})"]
    return "\n".join([*lines, "calibrated = calibrator.predict_proba(new_y_prob)"])


def _further_arguments(request: Request) -> list[str]:
    """Lines about old rows and costs, where there are any."""
    lines = []
    if request.y_old is not None:
        lines += ["    y_old=y_old,", "    prob_old=prob_old,"]
    if request.costs is not None:
        matrix, classes = (one.tolist() for one in (request.costs.matrix, request.costs.classes))
        told = f"{matrix}, classes={classes}, actions={list(request.costs.actions)}"
        lines.append(f"    costs=CostTable.from_matrix({told}),")
    return lines


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
