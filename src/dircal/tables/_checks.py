"""Check rows with labels, whether they are arrays or a table."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dircal._typing import AnyFloatArray, ArrayLike, InputScale
from dircal.exceptions import DircalWarning, warn
from dircal.tables._arrays import check_fit_arrays
from dircal.tables._batches import AbstractBatch, DelayedBatch
from dircal.tables._columns import FITTING, Arguments
from dircal.tables._dask_parts import DaskStore
from dircal.tables._labelled_rows import LabelledRows
from dircal.tables._local_parts import LocalStore
from dircal.tables._order import check_labels_fit
from dircal.tables._part_reader import PartReader
from dircal.tables._partitioned_rows import PartitionedRows
from dircal.tables._raw_rows import agree
from dircal.tables._reading import no_labels, warn_of_left_out
from dircal.tables._row_sums import ROW_SUM_TOLERANCE
from dircal.tables._score_table import ScoreTable
from dircal.tables._soft_labels import labels_without_counts

__all__ = ["check_fit", "check_score_table"]


def check_fit(
    X: ArrayLike | ScoreTable,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    classes: Iterable[Any] | None,
    input_scale: InputScale,
    arguments: Arguments = FITTING,
    order_is_known: bool = False,
    counts: bool = False,
) -> LabelledRows:
    """Check the scores, labels and weights of a fit, and assign every column to its class.

    With binary ``arguments`` there are two classes, and one column may stand for both. If a
    classifier knows the columns of its scores, their ``order_is_known``. Soft labels that are not
    integers are ``counts`` of annotators if the caller declares it.
    """
    if isinstance(X, ScoreTable):
        _reject_arrays(X, y, sample_weight, arguments)
        return check_score_table(
            X, classes, input_scale, arguments, order_is_known=order_is_known, counts=counts
        )
    return check_fit_arrays(
        X,
        y,
        sample_weight,
        classes=classes,
        input_scale=input_scale,
        arguments=arguments,
        order_is_known=order_is_known,
        counts=counts,
    )


def check_score_table(
    table: ScoreTable,
    classes: Iterable[Any] | None,
    input_scale: InputScale,
    arguments: Arguments,
    *,
    order_is_known: bool = False,
    counts: bool = False,
) -> LabelledRows:
    """Check the rows of a table; ``classes`` are the labels of its columns if they are known."""
    if table.label is None and table.label_columns is None:
        words = table.columns.words
        raise ValueError(
            f"{words.label} is missing: {table.where} has no column with labels. Pass its name."
        )
    if not table.is_in_memory:
        return _check_parts(
            table,
            classes,
            input_scale,
            arguments,
            order_is_known=order_is_known,
            counts=counts,
        )
    rows = table.loaded
    if input_scale == "logit":
        warn_if_probabilities(rows.scores, table)
    data = check_fit_arrays(
        rows.named_scores,
        rows.labels,
        rows.weight,
        classes=table.found.classes.tolist() if classes is None else classes,
        input_scale=input_scale,
        arguments=table.arguments(arguments, rows.place),
        order_is_known=order_is_known,
        counts=counts,
    )
    warn_of_left_out(rows.n_left_out, rows.n_left_out + rows.n_rows)
    return data


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
    classes: Iterable[Any] | None,
    input_scale: InputScale,
    arguments: Arguments,
    *,
    order_is_known: bool,
    counts: bool,
) -> PartitionedRows:
    """Check the rows of a table in parts, in one pass and a look at some of them."""
    if table.group is not None:
        raise ValueError(
            f"{table.where} is read in parts, where groups are not supported. Pass a table that "
            "fits into memory."
        )
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
    data = PartitionedRows.of(store.parts(agreed, summaries), agreed)
    check_labels_fit(data, input_scale, arguments, order_is_known=order_is_known)
    return data


def _store(table: ScoreTable, reader: PartReader) -> DaskStore | LocalStore:
    """Where the parts are read and kept."""
    batches: Sequence[AbstractBatch] = table.batches
    frames = None
    if table.dask_frame is not None:
        frames = table.dask_frame[reader.rows.columns].to_delayed()
        batches = [DelayedBatch(one, i) for i, one in enumerate(frames)]
    if table.client is not None:
        return DaskStore(table.client, batches, reader, frames, table.on_rows)
    return LocalStore(batches, reader, table.limits, on_rows=table.on_rows)


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
