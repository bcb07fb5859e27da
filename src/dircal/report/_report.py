"""The report: computed once, read as a page or as data."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from dircal._files import write_whole
from dircal._html import framed
from dircal._typing import ArrayLike, InputScale
from dircal.decide import CostTable
from dircal.report._pdf import to_pdf
from dircal.report._render import render
from dircal.report._steps import Watcher
from dircal.report._summarise import summarise
from dircal.report._summary import Summary
from dircal.report._task import Request
from dircal.tables import ScoreTable, pass_progress

__all__ = ["Report"]


class Report:
    """One page about a model: whether its probabilities are right, and what a map does to them.

    Make it with `from_predictions`.

    Parameters
    ----------
    summary : Summary
        What `from_predictions` computes: frozen dataclasses of plain values.

    Notes
    -----
    Everything is computed by `from_predictions`; `to_html` and `to_dict` only write it down. The
    numbers are those of `compare`, `calibration_test` and `score_test` with the same
    ``random_state``, the diagrams those of `dircal.plots`. The same input gives the same page, byte
    for byte, on the same machine.

    Calibrators that are not fitted are fitted without each fold in turn, and every number after
    calibration is of rows that the map has not seen; sentences and parameters are those of the map
    fitted on all rows. Calibrators that come fitted are taken as they are: the page warns that
    these rows may have been used. The details are those of the calibrator with the lowest log-loss.

    **When not to use it.** On the rows that the classifier was trained on, where it is never wrong.
    Where rows belong together (frames of a video, visits of a patient): pass folds that keep them
    together as ``cv``, and read the intervals as too narrow.

    Examples
    --------
    >>> from dircal import GenerativeParameters, Report, TemperatureScaling
    >>> alpha = [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]
    >>> q, y = GenerativeParameters(alpha, [0.5, 0.25, 0.25]).sample(500, random_state=0)
    >>> report = Report.from_predictions(y, q, calibrators=TemperatureScaling())
    >>> report
    <Report: Class probabilities are off: on 500 rows mean confidence is ...
      TemperatureScaling makes no significant difference. ...>
    >>> report.to_html()[:15]
    '<!DOCTYPE html>'
    """

    def __init__(self, summary: Summary) -> None:
        self.summary = summary

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | ScoreTable,
        y_prob: ArrayLike | None = None,
        *,
        calibrators: Any = None,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
        classes: Iterable[Any] | None = None,
        sample_weight: ArrayLike | None = None,
        input_scale: InputScale = "probability",
        cv: Any = None,
        n_resamples: int = 1_000,
        random_state: int | np.random.Generator | None = 0,
        title: str | None = None,
        source: str | None = None,
        y_old: ArrayLike | None = None,
        prob_old: ArrayLike | None = None,
        costs: CostTable | None = None,
        progress: Watcher | None = None,
    ) -> Self:
        """Calibrate, measure and test.

        Parameters
        ----------
        y_true : array-like (n,) or (n, k), or ScoreTable
            A table with labels and scores; or true labels; or soft ones with the columns of
            ``y_prob``: probabilities, or integers that count annotators. Rows with equally many
            annotators count once.
        y_prob : array-like (n, k), optional
            Probabilities, or logits with ``input_scale="logit"``, of rows that were not used to
            train the classifier; left out for a table.
        calibrators : calibrator, list or dict, optional
            One, several, or several by the names to show; fitted or not. None stands for
            `AutoCalibrator`.
        class_names : list or dict, optional
            Names to show: in the sorted order of the labels, or by label.
        classes : array-like (k,), optional
            Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the
            columns are in another order.
        sample_weight : array-like (n,), optional
            Weight of each row. There are then no intervals and no tests.
        input_scale : {"probability", "logit"}, default="probability"
            What ``y_prob`` holds.
        cv : int, splitter or iterable of pairs, optional
            Number of folds, each with its share of every class; None stands for 5. Or a splitter of
            scikit-learn; or pairs of indices (rows to fit, rows to score) that score no row twice.
            A table that is read in parts takes a number: rows are split by their numbers, and with
            more than 1,000,000 of them None scores one fold of five.
        n_resamples : int, default=1_000
            Number of draws for each interval and test, at least 100.
        random_state : int, numpy Generator or None, default=0
            Seed of the draws.
        title : str, optional
            Title of the page.
        source : str, optional
            Where the rows come from, for example the name of a file; shown as it is.
        y_old : array-like (n_old,), optional
            True labels of rows from before. The page then tells what has changed since, of which
            kind the shift is, and what to do; see `dircal.shift.shift_report`.
        prob_old : array-like (n_old, k), optional
            What the model said of these rows, with columns as in ``y_prob``.
        costs : CostTable, optional
            What each action costs in each class. The page then tells what calibration would save;
            see `dircal.decide.savings`.
        progress : callable, optional
            Called with what is being done, the number of steps done and the number of all steps.
            By default a line on the terminal of a person who is watching.

        Returns
        -------
        report : Report
            Ready to be written.
        """
        with pass_progress("Reading", y_true) as (rows, passes):
            request = Request(
                rows,
                y_prob,
                calibrators,
                class_names,
                classes,
                sample_weight,
                input_scale,
                cv,
                n_resamples,
                random_state,
                "Calibration report" if title is None else str(title),
                None if source is None else str(source),
                y_old=y_old,
                prob_old=prob_old,
                costs=costs,
            )
            return cls(summarise(request, progress, passes))

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page, a single file that needs no network.

        Parameters
        ----------
        path : str or path, optional
            Where to write it; the file is written whole or not at all.

        Returns
        -------
        html : str
            The text of the page.
        """
        text = render(self.summary)
        if path is not None:
            # Surrogates in names, as of files with odd names, cannot be written as UTF-8.
            write_whole(path, text.encode("utf-8", "replace"))
        return text

    def to_pdf(self, path: str | os.PathLike[str]) -> None:
        """The page as PDF, printed by a browser of this machine (Chromium, Chrome or Edge).

        Parameters
        ----------
        path : str or path
            Where to write it; the file is written whole or not at all.
        """
        write_whole(path, to_pdf(render(self.summary)))

    def to_dict(self) -> dict[str, Any]:
        """Everything on the page as plain data.

        Returns
        -------
        data : dict
            Numbers, strings, lists and dictionaries; pass it to ``json.dumps``.
        """
        return self.summary.to_dict()

    def __repr__(self) -> str:
        verdict = self.summary.verdict
        lines = [verdict.sentence, verdict.advice, verdict.harm, "to_html(path) writes the page"]
        return "<Report: " + "\n  ".join(filter(None, lines)) + ">"

    def _repr_html_(self) -> str | None:
        try:
            page = render(self.summary)
        except ModuleNotFoundError as error:
            if error.name != "jinja2":
                raise
            return None
        return framed(self.summary.title, page)
