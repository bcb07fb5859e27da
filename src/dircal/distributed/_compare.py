"""Several calibrators on a table in parts, beside no calibration."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dircal.distributed._open import Selection, check_rows
from dircal.distributed._passes import watched_passes
from dircal.inference import (
    Comparison,
    PartsTrial,
    agree_on_classes,
    check_calibrators,
    check_drawing,
    check_measures,
    compare_in_trial,
    tabulate_measures,
)
from dircal.tables import FITTING, check_random_state

__all__ = ["compare"]


def compare(
    calibrators: Any,
    frame: Any,
    *,
    label: str = "y",
    columns: Sequence[str] | None = None,
    cv: int | None = None,
    measures: Sequence[Any] | None = None,
    level: float = 0.95,
    n_resamples: int = 1_000,
    random_state: int | np.random.Generator | None = None,
    classes: Iterable[Any] | None = None,
    client: Any = None,
) -> Comparison:
    """Measure several calibrators on a table in parts, beside no calibration.

    Parameters
    ----------
    calibrators : dict or sequence of calibrators
        As for `dircal.compare`; those that `fit` takes.
    frame : Dask DataFrame, path, pyarrow dataset or list of data frames
        The table; see `fit`.
    label : str, default="y"
        Column with the true labels.
    columns : sequence of str, optional
        Columns with the scores; None stands for all others.
    cv : int, optional
        Number of folds, each of which is scored by maps that were fitted on the others. None stands
        for five, and where there are more than 1,000,000 rows one of the five is scored: one fit of
        each calibrator.
    measures : sequence of str or callables, optional
        Measures of `dircal.metrics`, as for `dircal.compare`.
    level : float, default=0.95
        How often the intervals hold the true value.
    n_resamples : int, default=1_000
        Number of draws, at least 100.
    random_state : int, numpy Generator or None, optional
        Seed of the draws.
    classes : sequence, optional
        Label of each column, where the labels do not tell.
    client : distributed.Client, optional
        Client of the cluster that works; see `fit`.

    Returns
    -------
    Comparison
        The table of `dircal.compare`, without ``probabilities`` and ``scored``: no row is kept.

    See Also
    --------
    report : A page about a table in parts.

    Notes
    -----
    Rows are dealt into folds by their numbers: of every so many neighbours each goes to another
    fold. The numbers are those of `dircal.compare` with these folds as ``cv``. What a map says of a
    row is computed whenever it is looked at, so that memory does not depend on the number of rows.
    From 100,000 scored rows on intervals come from moments in place of draws; the ``source`` of
    each row of the table says which.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from dircal import distributed
    >>> q = np.random.default_rng(0).dirichlet(np.ones(3), size=300)
    >>> table = pa.table({"a": q[:, 0], "b": q[:, 1], "c": q[:, 2], "y": ["a", "b", "c"] * 100})
    >>> parts = [table.slice(0, 100), table.slice(100)]
    >>> distributed.compare(["temperature"], parts, measures=["accuracy"], random_state=0)
    calibrator    measure      value                95 %     change  p-value
    uncalibrated  accuracy    0...
    temperature   accuracy    0...
    """
    check_drawing(level, n_resamples)
    rng = check_random_state(random_state)
    wanted = check_measures(measures)
    if not isinstance(calibrators, Mapping | str) and isinstance(calibrators, Iterable):
        calibrators = list(calibrators)
    named = check_calibrators(calibrators)
    scale = next(iter(named.values())).input_scale
    labels_of_columns = agree_on_classes(named, classes)
    selection = Selection(frame, label, None, columns, client)
    with watched_passes("Reading") as passes:
        data = check_rows(selection, labels_of_columns, scale, FITTING, tell=passes.tell)
        passes.expect(data.n_rows)
        # What short names stand for may depend on the number of classes.
        named = check_calibrators(calibrators, len(data.classes))
        trial = PartsTrial.deal(data, cv)
        passes.begin("Cross-fitting")
        predictions, fit_warnings = compare_in_trial(trial, named)
        passes.begin("Measuring")
        table = tuple(tabulate_measures(wanted, predictions, level, n_resamples, rng))
    return Comparison(table, level, {}, None, fit_warnings, trial.n_scored)
