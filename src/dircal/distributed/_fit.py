"""Fits on tables in parts."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sklearn.base import clone

from dircal.calibrators import AbstractCalibrator
from dircal.distributed._open import Selection, check_rows
from dircal.selection import check_calibrator
from dircal.tables import PartitionedScores

__all__ = ["check_for_fit", "fit", "fit_rows"]

_C = TypeVar("_C", bound=AbstractCalibrator)


def fit(
    calibrator: _C,
    frame: Any,
    *,
    label: str = "y",
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    client: Any = None,
) -> _C:
    """Fit a calibrator on a table in parts, on a Dask cluster or streamed from Parquet.

    The map is the one that ``calibrator.fit`` finds in memory, up to rounding, and the same to the
    last digit for any number of workers or threads, and whether or not a worker was lost.

    Parameters
    ----------
    calibrator : calibrator
        What to fit; it is cloned. All but those that deal rows into folds: `CalibratorCV`, and
        `AutoCalibrator` with ``cv`` or ``calibrators``.
    frame : Dask DataFrame, path, pyarrow dataset or list of data frames
        The table. A path names a Parquet file, a folder of them, or a pattern such as
        ``"scores/*.parquet"``; files are read a row group at a time.
    label : str, default="y"
        Column with the true labels.
    weight : str, optional
        Column with the weights of the rows.
    columns : sequence of str, optional
        Columns with the scores; None stands for all others.
    client : distributed.Client, optional
        Client of the cluster that works. None stands for the current one, if ``frame`` is a Dask
        DataFrame; without one, and for files and lists, threads of this process work.

    Returns
    -------
    fitted : calibrator
        An ordinary fitted calibrator.

    See Also
    --------
    apply : Calibrate a Dask DataFrame.
    evaluate : Measure a table in parts.

    Notes
    -----
    The first pass checks every part and gathers the classes; those that follow each return sums,
    at most a matrix of as many rows and columns as there are parameters. Workers keep the rows that
    they have read. On this machine up to 256 MB of scores stay in memory; beyond, every pass reads
    the parts again, and one for each thread is in memory.

    Isotonic curves and histograms are fitted to sums by score, which are exact with up to
    :math:`2^{20}` different scores; the notes of `IsotonicCalibrator` and `HistogramCalibrator` say
    what is different with more.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from dircal import TemperatureScaling, distributed
    >>> q = np.random.default_rng(0).dirichlet(np.ones(3), size=300)
    >>> table = pa.table({"a": q[:, 0], "b": q[:, 1], "c": q[:, 2], "y": ["a", "b", "c"] * 100})
    >>> parts = [table.slice(0, 100), table.slice(100)]
    >>> distributed.fit(TemperatureScaling(), parts).classes_.tolist()
    ['a', 'b', 'c']
    """
    selection = Selection(frame, label, weight, columns, client)
    return fit_rows(calibrator, check_for_fit(calibrator, selection))


def check_for_fit(
    calibrator: AbstractCalibrator,
    selection: Selection,
    *,
    tell: Callable[[int], None] | None = None,
) -> PartitionedScores:
    """The rows of a table through the door; ``tell`` hears how many more were read."""
    check_calibrator(calibrator)
    calibrator._check_parameters()
    if not calibrator._fits_parts:
        raise ValueError(
            f"`calibrator` must be fitted by sums over rows to be fitted in parts; got "
            f"{calibrator!r}, which deals them into folds. Fit it in memory on a "
            "sample of the rows, or take one such as AutoCalibrator() or DirichletCalibrator()."
        )
    labels, scale = calibrator._labels_of_columns, calibrator.input_scale
    return check_rows(selection, labels, scale, calibrator._arguments, tell=tell)


def fit_rows(calibrator: _C, data: PartitionedScores) -> _C:
    """A copy of a calibrator, fitted on rows that have passed the door for it."""
    fitted: _C = clone(calibrator)
    fitted._fit_with_warnings(data)
    # What is asked of the rows later is answered now: they need not stay where they are.
    fitted._complete_record()
    fitted._let_go_of_rows()
    return fitted
