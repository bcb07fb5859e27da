"""Calibrated columns of a Dask DataFrame, computed when they are asked for."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal.selection import check_calibrator
from dircal.tables import label_text

__all__ = ["apply"]


def apply(
    calibrator: Any,
    frame: Any,
    *,
    columns: Sequence[str] | None = None,
    prefix: str = "",
) -> Any:
    """Calibrate the scores in a Dask DataFrame, lazily.

    Parameters
    ----------
    calibrator : calibrator
        A fitted one.
    frame : Dask DataFrame
        With the columns that the calibrator was fitted on.
    columns : sequence of str, optional
        Columns with the scores, in the order of ``calibrator.column_classes_``; None stands for
        those that it was fitted on, or those called like its labels.
    prefix : str, default=""
        Keeps the scores and adds columns with this before their names; without it probabilities
        take the place of the scores.

    Returns
    -------
    calibrated : Dask DataFrame
        With the same index, partitions and other columns; nothing is computed yet.

    See Also
    --------
    fit : Fit a calibrator on a table in parts.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from dircal import IdentityCalibrator, distributed
    >>> frame = pd.DataFrame({"id": [7, 8], "a": [0.6, 0.2], "b": [0.4, 0.8]})
    >>> fitted = IdentityCalibrator().fit(frame[["a", "b"]], ["a", "b"])
    >>> distributed.apply(fitted, dd.from_pandas(frame, npartitions=2)).compute()
       id    a    b
    0   7  0.6  0.4
    1   8  0.2  0.8
    """
    check_calibrator(calibrator)
    check_is_fitted(calibrator)
    if not nw.dependencies.is_dask_dataframe(frame):
        raise ValueError(
            f"`frame` must be a Dask DataFrame; got a {type(frame).__name__}. Call "
            "`calibrator.predict_proba` for rows in memory, and `dircal apply` for files of any "
            "size."
        )
    names = _columns_of(calibrator, list(frame.columns), columns)
    added = [f"{prefix}{name}" for name in names]
    taken = [name for name in added if name in frame.columns]
    if prefix and taken:
        raise ValueError(
            f"`prefix` is {prefix!r}, but the frame has a column {taken[0]!r} already. "
            "Choose another."
        )
    meta = frame._meta.assign(**{name: np.empty(0) for name in added})
    return frame.map_partitions(_calibrated, calibrator, names, added, meta=meta)


def _columns_of(calibrator: Any, names: list[str], columns: Sequence[str] | None) -> list[str]:
    """Names of the columns with the scores, in the order of the fit."""
    labels = calibrator.column_classes_[-calibrator.n_features_in_ :]
    if columns is not None:
        chosen = [*columns]
        if len(chosen) != len(labels) or not {*chosen} <= {*names}:
            raise ValueError(
                f"`columns` must name {len(labels)} columns of the frame, one for each of "
                f"{labels.tolist()}; got {chosen}."
            )
        return chosen
    fitted_on = getattr(calibrator, "feature_names_in_", None)
    called = [label_text(label) for label in labels.tolist()]
    for known in ([] if fitted_on is None else [str(one) for one in fitted_on], called):
        if known and {*known} <= {*names}:
            return known
    raise ValueError(
        f"`frame` lacks columns that the calibrator reads: {called}. Its columns are "
        f"{names[:12]}. Pass `columns=[...]`, in this order."
    )


def _calibrated(frame: Any, calibrator: Any, names: list[str], added: list[str]) -> Any:
    """A partition with calibrated columns."""
    if len(frame) == 0:
        return frame.assign(**{name: np.empty(0) for name in added})
    labels = calibrator.column_classes_[-calibrator.n_features_in_ :]
    proba = calibrator.predict_proba(frame[names].to_numpy())
    places = np.searchsorted(calibrator.classes_, labels)
    return frame.assign(
        **{name: proba[:, place] for name, place in zip(added, places, strict=True)}
    )
