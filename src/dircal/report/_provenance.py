"""Where the numbers come from: a fingerprint of the rows, the versions, the code."""

import hashlib
import platform
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy
import sklearn

from dircal._core.data.chunks import row_slices
from dircal._typing import ArrayLike, FloatArray, IntArray
from dircal._version import __version__
from dircal.inference import Source, tell_sources
from dircal.metrics import Block, Predictions
from dircal.report._code import write_code
from dircal.report._copies import count_copies
from dircal.report._diagrams import BINS
from dircal.report._limits import REPORT_LIMITS
from dircal.report._summary import DataSummary, Method, ScoreFinding, Settings
from dircal.report._task import Task
from dircal.tables import LIMITS, ArrayRows, LabelledRows, find_better_order

__all__ = ["row_numbers", "summarise_data", "summarise_settings"]


def row_numbers(task: Task) -> Callable[[int], int] | None:
    """From the place of a scored row to its number.

    None where rows of weight zero, which are passed over, may lie between those of a part.
    """
    if not task.data.is_in_memory and task.request.is_weighted:
        return None
    return task.split.row_number


def summarise_data(task: Task, as_they_are: Predictions) -> DataSummary:
    """The rows as they were given, and their fingerprints."""
    data, names, request = task.data, task.names, task.request
    if data.is_in_memory:
        rows = data.in_memory
        labels = request.y_true if request.table is None else request.table.loaded.labels
        prints = fingerprints_of_arrays(labels, rows)
    else:
        prints = fingerprints_of_parts(data)
    counts = data.fold_rows(partial(_labels_of, len(names)))
    some = data.sample(LIMITS.judged_rows)
    total = data.total_weight if data.is_weighted else None
    scored = as_they_are.fold(partial(_labels_of_block, len(names)))
    better = find_better_order(some, request.input_scale)
    name_of = dict(zip(data.classes.tolist(), names, strict=True))
    return DataSummary(
        request.source,
        data.shape[0],
        task.split.n_scored,
        len(names),
        tuple(name for name, n in zip(names, counts, strict=True) if n == 0),
        () if better is None else tuple(name_of[label] for label in better.tolist()),
        names[scored.argmax()],
        int(scored.max()),
        count_copies(as_they_are),
        total,
        request.input_scale,
        str(data.dtype),
        *prints,
        as_they_are.has_soft_labels,
    )


def _labels_of(n_classes: int, rows: ArrayRows) -> IntArray:
    """Rows of positive weight that have each class as a label."""
    weight = rows.sample_weight
    used = slice(None) if weight is None else weight > 0
    if rows.targets is not None:
        counts: IntArray = np.count_nonzero(rows.targets[used], axis=0)
        return counts
    return np.bincount(rows.labels[used], minlength=n_classes)


def _labels_of_block(n_classes: int, block: Block) -> IntArray:
    return np.bincount(block.label_or_mode, minlength=n_classes)


def summarise_settings(
    task: Task, methods: Sequence[Method], chosen: Method, where: ScoreFinding | None
) -> Settings:
    """How the numbers were made, and the lines that make them again."""
    split_once = task.split.is_split_once
    return Settings(
        _describe_cv(task),
        "the rows that are not scored" if split_once else "all rows",
        tell_sources(task.split.n_scored, _sources_of(methods, where)),
        task.request.n_resamples,
        task.seed,
        REPORT_LIMITS.get().confidence_level,
        BINS.n_bins,
        _versions(),
        write_code(task, chosen),
    )


def _sources_of(
    methods: Sequence[Method], where: ScoreFinding | None
) -> Iterator[tuple[str, Source]]:
    """What is drawn on the page, and from what."""
    for method in methods:
        for one in method.measures:
            if one.source is not None:
                yield f"the ranges of {one.measure}", one.source
    for method in methods:
        for test in method.tests:
            yield f"the test of {test.measure}", test.source
    if where is not None:
        yield "the score test", where.source


def _describe_cv(task: Task) -> str:
    if all(one.is_fitted for one in task.candidates):
        return "none: all calibrators came fitted"
    return task.split.describe(task.request.cv)


def _versions() -> dict[str, str]:
    """What the numbers were computed with."""
    return {
        "dircal": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }


Fingerprints = tuple[str, str, str | None, int | None]
"""Of labels, scores and weights, and the number of parts; None for one array."""


def fingerprints_of_arrays(y_true: ArrayLike, data: ArrayRows) -> Fingerprints:
    """Of the labels as text, and of the numbers."""
    weight = data.sample_weight
    weights = None if weight is None else _hash_numbers(weight[:, None])
    return _hash_labels(y_true), _hash_numbers(data.inputs), weights, None


def fingerprints_of_parts(data: LabelledRows) -> Fingerprints:
    """Of the fingerprints of all parts in their order, each on a line."""
    parts = data.fold_rows(partial(_of_part, data.classes.astype(str).tolist()))
    labels, scores, weights = (
        hashlib.sha256("\n".join(one).encode()).hexdigest() for one in zip(*parts, strict=True)
    )
    return labels, scores, weights if data.is_weighted else None, len(parts)


def _of_part(classes: list[str], rows: ArrayRows) -> list[tuple[str, str, str]]:
    names = hashlib.sha256("\n".join(classes).encode("utf-8", "surrogatepass"))
    names.update(np.ascontiguousarray(rows.labels, dtype="<i8").data)
    weight: Any = np.empty(0) if rows.sample_weight is None else rows.sample_weight
    return [(names.hexdigest(), _hash_numbers(rows.inputs), _hash_numbers(weight[:, None]))]


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
