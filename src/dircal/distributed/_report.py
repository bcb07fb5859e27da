"""A page about a table in parts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dircal._typing import InputScale
from dircal.distributed._open import Selection, check_rows
from dircal.distributed._passes import Passes, watched_passes
from dircal.report import REPORTING, Report, Request, TableInParts, summarise
from dircal.tables import PartitionedScores

__all__ = ["report"]


def report(
    frame: Any,
    *,
    label: str = "y",
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    calibrators: Any = None,
    class_names: Sequence[str] | Mapping[Any, str] | None = None,
    classes: Iterable[Any] | None = None,
    input_scale: InputScale = "probability",
    cv: int | None = None,
    n_resamples: int = 1_000,
    random_state: int | np.random.Generator | None = 0,
    title: str | None = None,
    source: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    client: Any = None,
) -> Report:
    """Calibrate, measure and test a table in parts, for a page to read and hand on.

    Parameters
    ----------
    frame : Dask DataFrame, path, pyarrow dataset or list of data frames
        The table; see `fit`.
    label : str, default="y"
        Column with the true labels.
    weight : str, optional
        Column with the weights of the rows. There are then no intervals and no tests.
    columns : sequence of str, optional
        Columns with the scores; None stands for all others.
    calibrators : calibrator, list or dict, optional
        One, several, or several by the names to show; fitted or not. None stands for
        `AutoCalibrator`.
    class_names : list or dict, optional
        Names to show: in the sorted order of the labels, or by label.
    classes : sequence, optional
        Label of each column, where the labels do not tell.
    input_scale : {"probability", "logit"}, default="probability"
        What the scores are.
    cv : int, optional
        Number of folds, each of which is scored by maps that were fitted on the others. None stands
        for five, and where there are more than 1,000,000 rows one of the five is scored: one fit of
        each calibrator, whose map is also the one that the page describes.
    n_resamples : int, default=1_000
        Number of draws for each interval and test, at least 100.
    random_state : int, numpy Generator or None, default=0
        Seed of the draws.
    title : str, optional
        Title of the page.
    source : str, optional
        Where the rows come from, for example the name of a folder; shown as it is.
    progress : callable, optional
        Called with what is being done, the number of steps done and the number of all steps. A
        person who watches a terminal sees the passes over the rows in any case.
    client : distributed.Client, optional
        Client of the cluster that works; see `fit`.

    Returns
    -------
    report : dircal.Report
        Ready to be written.

    See Also
    --------
    compare : A table of measures of several calibrators.

    Notes
    -----
    The numbers are those of `dircal.Report.from_predictions` with the folds of this table as
    ``cv``, up to rounding. Everything is a sum over rows, so that memory does not depend on their
    number. The page says which intervals and tests come from moments and which from draws. Two
    things are of some of the rows where there are more: copies are looked for among about two
    million, and how far an ordinary row is moved is told by about one million.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from dircal import TemperatureScaling, distributed
    >>> q = np.random.default_rng(0).dirichlet(np.ones(3), size=300)
    >>> table = pa.table({"a": q[:, 0], "b": q[:, 1], "c": q[:, 2], "y": ["a", "b", "c"] * 100})
    >>> parts = [table.slice(0, 100), table.slice(100)]
    >>> page = distributed.report(parts, calibrators=TemperatureScaling(), n_resamples=100)
    >>> page.summary.data.n_rows
    300
    """
    with watched_passes("Reading") as passes:
        read = partial(_read, Selection(frame, label, weight, columns, client), input_scale, passes)
        request = Request(
            None,
            None,
            calibrators,
            class_names,
            classes,
            None,
            input_scale,
            cv,
            n_resamples,
            random_state,
            "Calibration report" if title is None else str(title),
            None if source is None else str(source),
            table=TableInParts(read, label, weight, columns),
        )
        return Report(summarise(request, _Watcher(passes, progress)))


def _read(
    selection: Selection,
    input_scale: InputScale,
    passes: Passes,
    classes: Iterable[Any] | None,
) -> PartitionedScores:
    data = check_rows(selection, classes, input_scale, REPORTING, tell=passes.tell)
    passes.expect(data.n_rows)
    return data


class _Watcher:
    """Writes what is done before the passes, and tells whoever asked."""

    def __init__(self, passes: Passes, other: Callable[[str, int, int], None] | None) -> None:
        self._passes, self._other = passes, other

    def __call__(self, what: str, done: int, total: int) -> None:
        self._passes.begin(f"Step {min(done + 1, total)} of {total}, {what}")
        if self._other is not None:
            self._other(what, done, total)
