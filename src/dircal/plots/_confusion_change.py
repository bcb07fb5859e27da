"""How calibration changes the confusion matrix."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from dircal._frames import to_frame
from dircal._numerals import format_count
from dircal._typing import ArrayLike, FloatArray
from dircal.metrics import Block, Predictions
from dircal.plots._base import AbstractDisplay, make_frame
from dircal.plots._fitted_maps import check_map, probabilities_of
from dircal.plots._heat_map import (
    draw_list,
    draw_matrix,
    heat_axes,
    label_classes,
    largest_cells,
    matrix_size,
)
from dircal.plots._limits import PLOT_LIMITS
from dircal.plots._names import drawn, names_of
from dircal.plots._style import BAD, GOOD, house_style
from dircal.tables import as_array

__all__ = ["ConfusionChangeDisplay"]


class ConfusionChangeDisplay(AbstractDisplay):
    """The confusion matrix after calibration minus the one before.

    Make it with `from_predictions` or `from_calibrator`.

    Parameters
    ----------
    before : array (k, k)
        Rows of each true class, by predicted class, before calibration.
    after : array (k, k)
        The same after it.
    names : tuple of str
        Names of the classes, in the order of the rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The heat map, after `plot`.
    figure_ : matplotlib Figure
        Its figure.
    image_ : matplotlib AxesImage
        The cells.
    numbers_ : list of matplotlib Text
        The numbers in the cells; empty for more than 16 classes.

    Notes
    -----
    Rows are true classes, columns predicted ones: the most probable, and the first of equals. For
    more than 16 classes the cells hold no numbers, and the largest changes are listed beside the
    heat map in a new figure. `to_frame` has all of them.

    **When not to use it.** It sees decisions only; a map may repair all probabilities and change
    none of them.

    Examples
    --------
    >>> from dircal.plots import ConfusionChangeDisplay
    >>> before = [[0.6, 0.4], [0.6, 0.4], [0.2, 0.8]]
    >>> after = [[0.7, 0.3], [0.4, 0.6], [0.1, 0.9]]
    >>> display = ConfusionChangeDisplay.from_predictions(["a", "b", "b"], before, after)
    >>> display.to_frame()["change"].tolist()
    [0.0, 0.0, -1.0, 1.0]
    >>> [number.get_text() for number in display.plot().numbers_]
    ['', '', '−1', '+1']
    """

    title = "Change of the confusion matrix"
    how_to_read = (
        "Rows are true classes, columns predicted ones; a number says how many rows more (+) or "
        "fewer (-) are in the cell after calibration. More on the diagonal and fewer beside it is "
        "an improvement."
    )

    def __init__(self, before: FloatArray, after: FloatArray, names: tuple[str, ...]) -> None:
        self.before = before
        self.after = after
        self.names = names

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        calibrated: ArrayLike,
        *,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
        sample_weight: ArrayLike | None = None,
        classes: Iterable[Any] | None = None,
    ) -> Self:
        """Count decisions before and after.

        Parameters
        ----------
        y_true : array-like (n,) or (n, k)
            True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers
            that count annotators.
        y_prob : array-like (n, k)
            Probability of each class before calibration.
        calibrated : array-like (n, k)
            The same after it, with the same columns.
        class_names : list or dict, optional
            Names to show: in the sorted order of the labels, or by label.
        sample_weight : array-like (n,), optional
            Weight of each row.
        classes : array-like (k,), optional
            Label of each column, where ``y_true`` does not hold them all or the columns are in
            another order.

        Returns
        -------
        display : ConfusionChangeDisplay
            Ready to be drawn.
        """
        before = Predictions.check(y_true, y_prob, sample_weight, classes)
        after = Predictions.check(y_true, calibrated, sample_weight, classes, from_a_map=True)
        return cls.of_predictions(before, after, names_of(before.classes, class_names))

    @classmethod
    def of_predictions(
        cls, before: Predictions, after: Predictions, names: tuple[str, ...]
    ) -> Self:
        """`from_predictions` of checked ones, with a name for each class."""
        return cls(_confusion(before), _confusion(after), names)

    @classmethod
    def from_calibrator(
        cls,
        calibrator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Count decisions before and after a fitted calibrator, on rows that it was not fitted on.

        Parameters
        ----------
        calibrator : fitted calibrator
            Any calibrator.
        X : array-like (n, k)
            Scores, on the scale and with the columns that it was fitted on.
        y : array-like (n,)
            True labels.
        class_names : list or dict, optional
            Names to show: in the sorted order of the labels, or by label.
        sample_weight : array-like (n,), optional
            Weight of each row.

        Returns
        -------
        display : ConfusionChangeDisplay
            Ready to be drawn.
        """
        check_map("calibrator", calibrator)
        as_they_are = probabilities_of(calibrator, X)
        before = Predictions.check(y, as_they_are, sample_weight, calibrator.classes_)
        after = before.with_probabilities(as_array(calibrator.predict_proba(X)))
        return cls.of_predictions(before, after, names_of(before.classes, class_names))

    @property
    def change(self) -> FloatArray:
        """After minus before (k, k)."""
        return self.after - self.before

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each cell.

        Returns
        -------
        frame : data frame, or dict of lists
            True and predicted class by their full names, rows ``before`` and ``after``, and their
            difference ``change``.
        """
        k = len(self.names)
        return to_frame(
            make_frame(
                true=[name for name in self.names for _ in range(k)],
                predicted=[*self.names] * k,
                before=self.before.ravel(),
                after=self.after.ravel(),
                change=self.change.ravel(),
            )
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure, with a list of the largest changes if there are
            many classes.

        Returns
        -------
        self : ConfusionChangeDisplay
            With the Axes as ``ax_``, the figure as ``figure_`` and the artists.
        """
        change, k = self.change, len(self.names)
        largest = max(float(np.abs(change).max()), 1e-9)
        # Rows that are right count for the better, all others for the worse.
        gain = np.where(np.eye(k, dtype=bool), change, -change)
        with house_style():
            panel, beside = heat_axes(ax, k, matrix_size(k) + 1.4)
            texts = [[_signed(value) for value in row] for row in change]
            self.image_, self.numbers_ = draw_matrix(
                panel, gain, self.names, texts, cmap=_scale(), low=-largest, high=largest
            )
            label_classes(panel, self.names)
            panel.set(xlabel="predicted class", ylabel="true class")
            right = float(np.trace(change))
            panel.set_title(f"right: {_signed(right) or '±0'} of {self.after.sum():,.10g} rows")
            for spine in panel.spines.values():
                spine.set_visible(True)
            if k > PLOT_LIMITS.get().max_legible_classes:
                panel.figure.colorbar(
                    self.image_, ax=panel, shrink=0.6, label="rows better or worse"
                )
            if beside is not None:
                draw_list(beside, "Largest changes: true, predicted", self._largest())
        return self._keep([panel], ax)

    def _largest(self) -> list[str]:
        change = self.change
        short = drawn(self.names, 16)
        return [
            f"{_signed(change[i, j])}   {short[i]}, {'itself' if i == j else short[j]}"
            for i, j in largest_cells(np.abs(change))
            if change[i, j] != 0
        ]


def _confusion(predictions: Predictions) -> FloatArray:
    """Weight of the rows by true and by most probable class."""
    k = predictions.n_classes
    return predictions.fold(partial(_confusion_of, k)).reshape(k, k)


def _confusion_of(k: int, block: Block) -> FloatArray:
    if block.targets is not None:
        shares = block.targets if block.weight is None else block.targets * block.weight
        true = [np.bincount(block.decisions, row, minlength=k) for row in shares]
        return np.concatenate(true).astype(np.float64)
    index = block.labels.astype(np.intp) * k + block.decisions
    return np.bincount(index, block.weight, minlength=k * k).astype(np.float64)


def _scale() -> Any:
    """Colours from worse through white to better."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("better", [BAD, "white", GOOD])


def _signed(value: float) -> str:
    """With its sign, and nothing for zero."""
    return "" if round(value, 6) == 0 else format_count(value, sign=True)
