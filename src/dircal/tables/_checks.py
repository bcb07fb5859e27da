"""Check rows with labels, whether they are arrays or a table."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Required, TypedDict, Unpack

import numpy as np

from dircal._typing import AnyFloatArray, ArrayLike, InputScale
from dircal.exceptions import DircalWarning, warn
from dircal.tables._arrays import check_fit_arrays
from dircal.tables._batches import AbstractBatch, DelayedBatch
from dircal.tables._columns import FITTING, Arguments
from dircal.tables._dask_parts import DaskParts
from dircal.tables._labelled_rows import LabelledRows, PartitionedRows
from dircal.tables._local_parts import LocalParts
from dircal.tables._order import check_labels_fit
from dircal.tables._raw_rows import agree
from dircal.tables._reading import PartReader, no_labels, warn_of_left_out
from dircal.tables._score_table import ScoreTable
from dircal.tables._soft_labels import labels_without_counts
from dircal.tables._values import ROW_SUM_TOLERANCE

__all__ = ["check_fit"]


class FitOptions(TypedDict, total=False):
    """Options of `check_fit_arrays`, for tables as well."""

    classes: Required[Iterable[Any] | None]
    input_scale: Required[InputScale]
    arguments: Arguments
    order_is_known: bool
    counts: bool


def check_fit(
    X: ArrayLike | ScoreTable,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    **options: Unpack[FitOptions],
) -> LabelledRows:
    """Check the scores, labels and weights of a fit, and assign every column to its class.

    With binary ``arguments`` there are two classes, and one column may stand for both. If a
    classifier knows the columns of its scores, their ``order_is_known``. Soft labels that are not
    integers are ``counts`` of annotators if the caller declares it.
    """
    if not isinstance(X, ScoreTable):
        return check_fit_arrays(X, y, sample_weight, **options)
    arguments = options.setdefault("arguments", FITTING)
    _reject_arrays(X, y, sample_weight, arguments)
    if X.label is None and X.label_columns is None:
        raise ValueError(
            f"{X.columns.words.label} is missing: {X.where} has no column with labels. Pass its "
            "name."
        )
    if not X.is_in_memory:
        return _check_parts(X, **options)
    rows = X.loaded
    if options["input_scale"] == "logit":
        warn_if_probabilities(rows.scores, X)
    if options["classes"] is None:
        options["classes"] = X.found.classes.tolist()
    options["arguments"] = X.arguments(arguments, rows.place)
    data = check_fit_arrays(rows.named_scores, rows.labels, rows.weight, **options)
    warn_of_left_out(rows.n_left_out, rows.n_left_out + rows.n_rows)
    return replace(data, limits=X.limits)


def warn_if_probabilities(scores: AnyFloatArray, table: ScoreTable, fix: str = "") -> None:
    """Warn if scores that are read as logits look like probabilities."""
    fix = fix or f"Leave out {table.columns.words.scale} if they are."
    within = scores.shape[1] > 1 and float(scores.min()) >= 0.0 and float(scores.max()) <= 1.0
    if within and np.abs(scores.sum(axis=1) - 1.0).max() <= ROW_SUM_TOLERANCE:
        warn(
            f"{table.where} is read as logits, but its rows look like probabilities: they lie "
            f"between 0 and 1 and sum to one. {fix}",
            DircalWarning,
        )


def _check_parts(
    table: ScoreTable,
    *,
    classes: Iterable[Any] | None,
    input_scale: InputScale,
    arguments: Arguments = FITTING,
    order_is_known: bool = False,
    counts: bool = False,
) -> PartitionedRows:
    """Check the rows of a table in parts, in one pass and a look at some of them."""
    names, of_columns = table.score_columns
    if classes is None and of_columns is not None:
        classes = of_columns.tolist()
    if counts and table.label is not None:
        raise labels_without_counts(table.label)
    arguments = table.arguments(arguments)
    store = _store(table, PartReader(table.reader(names), input_scale, arguments))
    summaries = store.survey()
    n_left_out = sum(each.n_left_out for each in summaries)
    n_rows = sum(each.n_rows for each in summaries)
    if n_rows == 0 and not any(each.error for each in summaries):
        raise no_labels(table, n_left_out)
    agreed = agree(summaries, classes, arguments, counts=counts)
    warn_of_left_out(n_left_out, n_left_out + n_rows)
    data = agreed.in_parts(store.assign(agreed, summaries))
    check_labels_fit(data, input_scale, arguments, order_is_known=order_is_known)
    return data


def _store(table: ScoreTable, reader: PartReader) -> DaskParts | LocalParts:
    """Where the parts are read and kept."""
    batches: Sequence[AbstractBatch] = table.batches
    frames = None
    if table.dask_frame is not None:
        frames = table.dask_frame[reader.rows.columns].to_delayed()
        batches = [DelayedBatch(one, i) for i, one in enumerate(frames)]
    if table.client is not None:
        return DaskParts(table.client, batches, reader, table.limits, frames, table.on_rows)
    return LocalParts(batches, reader, table.limits, table.on_rows)


def _reject_arrays(
    table: ScoreTable, y: object, sample_weight: object, arguments: Arguments
) -> None:
    for name, value, role in (
        (arguments.labels, y, "label"),
        ("sample_weight", sample_weight, "weight"),
    ):
        if value is not None:
            raise ValueError(
                f"`{name}` is given, but `{arguments.scores}` is a table, {table.where}. Name the "
                f"column of the table: scan(..., {role}=...)."
            )
