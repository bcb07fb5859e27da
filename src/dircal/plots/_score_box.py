"""What the model says about rows of each true class."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from dircal._frames import to_frame
from dircal._typing import ArrayLike, FloatArray
from dircal.metrics import Block, Predictions
from dircal.plots._base import AbstractDisplay, lines_of_frame, make_frame
from dircal.plots._limits import PLOT_LIMITS
from dircal.plots._names import check_chosen, drawn, names_of
from dircal.plots._results import check_mapping
from dircal.plots._style import BAR, GREY, INK, MEAN, house_style, panel_axes
from dircal.tables import check_integer

__all__ = ["ScoreBoxDisplay"]

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
QUANTILE_COLUMNS = ("q05", "q25", "q50", "q75", "q95")
"""Their names in a table."""


@dataclass(frozen=True, eq=False)
class Box:
    """The probabilities of one class in the rows of one true class, by one method.

    ``quantiles`` (5,) are at 5, 25, 50, 75 and 95 %; ``circles`` are some of the values outside.
    """

    method: str
    true: str
    predicted: str
    n: float
    quantiles: FloatArray
    mean: float
    sd: float
    circles: FloatArray
    numbers: tuple[int, int]


def mean_probabilities(predictions: Predictions) -> FloatArray:
    """Mean probabilities (k, k) by true class and class; NaN for classes without rows."""
    k = predictions.n_classes
    sums, counts = np.split(predictions.fold(partial(_sums_by_class, k)), [k], axis=1)
    means: FloatArray = np.divide(sums, counts, out=np.full((k, k), np.nan), where=counts > 0)
    return means


def _sums_by_class(k: int, block: Block) -> FloatArray:
    """Sums of the probabilities (k, k) of the rows of each class, and their number (k, 1)."""
    sums = [block.proba[:, block.labels == j].sum(axis=1) for j in range(k)]
    return np.column_stack([np.array(sums), np.bincount(block.labels, minlength=k)])


def classes_of_boxes(means: FloatArray, true: int, max_boxes: int) -> list[int]:
    """All classes, or the true one and those with the largest means."""
    if len(means) <= max_boxes:
        return list(range(len(means)))
    order = [j for j in np.argsort(-means, kind="stable").tolist() if j != true]
    return [true, *order[: max_boxes - 1]]


def box_of(
    method: str, predictions: Predictions, numbers: tuple[int, int], names: tuple[str, ...]
) -> Box:
    """The box of the class at the second of two positions, in rows of the class at the first."""
    true, predicted = numbers
    # Quantiles are no sums: they need the values.
    parts = predictions.gather(partial(_values_in_class, true, predicted), "A box of quantiles")
    values = np.concatenate(parts)
    quantiles = np.quantile(values, _QUANTILES)
    below = np.sort(values[values < quantiles[0]])
    above = np.sort(values[values > quantiles[-1]])
    circles = np.concatenate([_thin(below), _thin(above)])
    mean, sd = float(values.mean()), float(values.std())
    return Box(
        method, names[true], names[predicted], len(values), quantiles, mean, sd, circles, numbers
    )


def _values_in_class(true: int, predicted: int, block: Block) -> FloatArray:
    values: FloatArray = block.proba[predicted, block.labels == true]
    return values


def box_from_row(row: dict[str, Any], classes: list[str]) -> Box:
    """A box from a row of a table; of the circles only the outermost are known."""
    quantiles = np.array([float(row[name]) for name in QUANTILE_COLUMNS])
    extremes = np.array([float(row["smallest"]), float(row["largest"])])
    outside = (extremes < quantiles[0]) | (extremes > quantiles[-1])
    true, predicted = str(row["true"]), str(row["predicted"])
    return Box(
        str(row["method"]),
        true,
        predicted,
        float(row["n"]),
        quantiles,
        float(row["mean"]),
        float(row["sd"]),
        extremes[outside],
        (classes.index(true), classes.index(predicted)),
    )


def _thin(values: FloatArray) -> FloatArray:
    """Some of the sorted values, evenly, with the first and the last."""
    limits = PLOT_LIMITS.get()
    if len(values) <= limits.max_circles:
        return values
    return values[np.linspace(0, len(values) - 1, limits.max_circles).round().astype(np.intp)]


_COLUMNS = (
    "method", "true", "predicted", "n", "smallest", *QUANTILE_COLUMNS, "largest", "mean", "sd",
)  # fmt: skip


class ScoreBoxDisplay(AbstractDisplay):
    """Box plots of the probabilities that rows of each true class get.

    Make it with `from_predictions` or `from_frame`.

    Parameters
    ----------
    boxes : list of boxes
        What the ``from_...`` methods compute.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        A panel for each true class and method, class by class, after `plot`.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        Their figure.
    boxes_ : list of dicts
        The artists of the boxes in each panel, as matplotlib's ``bxp`` returns them.
    means_ : list of matplotlib containers
        The means with their bars, one for each panel.

    Notes
    -----
    Boxes reach from the 25th to the 75th percentile, whiskers from the 5th to the 95th; the notch
    is the uncertainty of the median, ``1.57 (q75 - q25) / sqrt(n)`` to each side. The point beside
    a box is the mean, its bar one standard deviation to each side. Of the rows outside the whiskers
    at most 40 on each side are drawn, the extreme ones among them. This is figure S3 of the paper.

    With many classes only the true classes whose rows get the least probability for it are shown,
    and in each panel the true class and those that get the most beside it.

    **When not to use it.** It shows what is said, not whether that is right: a calibrated model is
    unsure where it has to be.

    Examples
    --------
    >>> from dircal.plots import ScoreBoxDisplay
    >>> y_prob = [[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6]]
    >>> display = ScoreBoxDisplay.from_predictions(["a", "a", "b", "b"], {"none": y_prob})
    >>> [round(mean, 2) for mean in display.to_frame()["mean"]]
    [0.8, 0.2, 0.3, 0.7]
    >>> len(display.plot().axes_)
    2
    """

    title = "Predicted probabilities by true class"
    how_to_read = (
        "Each panel holds the rows of one true class; each box shows which probabilities they get "
        "for one class. Half of the rows lie in the box, 90 % between the whiskers; the point "
        "beside it is the mean with one standard deviation. The box of the true class should be "
        "high, the others low."
    )

    def __init__(self, boxes: list[Box]) -> None:
        self.boxes = boxes

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike | Mapping[str, ArrayLike],
        *,
        labels: Iterable[Any] | None = None,
        max_panels: int = 4,
        max_boxes: int = 10,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
        classes: Iterable[Any] | None = None,
    ) -> Self:
        """Compute the boxes from probabilities.

        Parameters
        ----------
        y_true : array-like (n,)
            True labels.
        y_prob : array-like (n, k) or dict of them
            Probability of each class; or for several methods, by their names.
        labels : label or list of labels, optional
            The true classes to show, in this order; by default all, or the worst if there are many.
        max_panels : int, default=4
            If true classes times methods are more than this, and ``labels`` is not given, fewer
            true classes are shown, at least one: those whose rows get the least probability for
            it from the first method.
        max_boxes : int, default=10
            If there are more classes than this, each panel has a box for the true class and for
            those that get the most probability from the first method, so many in all.
        class_names : list or dict, optional
            Names to show: in the sorted order of the labels, or by label.
        classes : array-like (k,), optional
            Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the
            columns are in another order.

        Returns
        -------
        display : ScoreBoxDisplay
            Ready to be drawn.
        """
        check_integer("max_panels", max_panels, at_least=1)
        check_integer("max_boxes", max_boxes, at_least=1)
        several = y_prob if isinstance(y_prob, Mapping) else {"": y_prob}
        given = check_mapping("y_prob", several, "its probabilities")
        methods = {
            name: Predictions.check(y_true, proba, None, classes, from_a_map=i > 0)
            for i, (name, proba) in enumerate(given.items())
        }
        first = next(iter(methods.values()))
        names, known = names_of(first.classes, class_names), first.classes
        means = mean_probabilities(first)
        occurring = np.flatnonzero(~np.isnan(means[:, 0]))
        if labels is not None:
            chosen = check_chosen("labels", labels, known)
            absent = [known.tolist()[j] for j in chosen if j not in occurring]
            if absent:
                raise ValueError(
                    f"`labels` must be classes that occur; no row belongs to {absent[0]!r}. "
                    "Leave it out."
                )
        elif len(occurring) * len(methods) <= max_panels:
            chosen = occurring.tolist()
        else:
            order = np.argsort(np.diag(means)[occurring], kind="stable")
            chosen = occurring[order][: max(max_panels // len(methods), 1)].tolist()
        shown = {j: classes_of_boxes(means[j], j, max_boxes) for j in chosen}
        return cls(
            [
                box_of(method, predictions, (j, i), names)
                for method, predictions in methods.items()
                for j in chosen
                for i in shown[j]
            ]
        )

    @classmethod
    def from_frame(cls, frame: Any) -> Self:
        """Take quantiles from elsewhere, as `to_frame` gives them.

        Parameters
        ----------
        frame : data frame, or dict of lists
            The columns ``method``, ``true``, ``predicted``, ``n``, ``smallest``, ``q05``,
            ``q25``, ``q50``, ``q75``, ``q95``, ``largest``, ``mean`` and ``sd``, a row for each
            box.

        Returns
        -------
        display : ScoreBoxDisplay
            With circles for the smallest and the largest value only; more need the rows.
        """
        lines = lines_of_frame(frame, _COLUMNS, "another ScoreBoxDisplay")
        rows = [dict(zip(_COLUMNS, line, strict=True)) for line in lines]
        names = [str(row[key]) for key in ("true", "predicted") for row in rows]
        classes = list(dict.fromkeys(names))
        return cls([box_from_row(row, classes) for row in rows])

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each box.

        Returns
        -------
        frame : data frame, or dict of lists
            ``method``, ``true`` and ``predicted`` class by their full names, rows ``n``, the
            ``smallest`` value, quantiles from ``q05`` to ``q95``, the ``largest`` value, ``mean``
            and ``sd``.
        """
        quantiles = np.array([box.quantiles for box in self.boxes])
        return to_frame(
            make_frame(
                method=[box.method for box in self.boxes],
                true=[box.true for box in self.boxes],
                predicted=[box.predicted for box in self.boxes],
                n=[box.n for box in self.boxes],
                smallest=[min([*box.circles, box.quantiles[0]]) for box in self.boxes],
                **{name: quantiles[:, i] for i, name in enumerate(QUANTILE_COLUMNS)},
                largest=[max([*box.circles, box.quantiles[-1]]) for box in self.boxes],
                mean=[box.mean for box in self.boxes],
                sd=[box.sd for box in self.boxes],
            )
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the boxes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw: one Axes, whose place the panels take, or one for each panel; by default
            a new figure with a row for each true class and a column for each method.

        Returns
        -------
        self : ScoreBoxDisplay
            With the panels as ``axes_``, the figure as ``figure_`` and the artists.
        """
        methods = list(dict.fromkeys(box.method for box in self.boxes))
        # By number: two classes may have one name.
        trues = list(dict.fromkeys(box.numbers[0] for box in self.boxes))
        cells = [
            [box for box in self.boxes if (box.numbers[0], box.method) == (true, method)]
            for true in trues
            for method in methods
        ]
        n_boxes = max(len(cell) for cell in cells)
        width = float(np.clip(0.42 * n_boxes + 0.5, 2.4, 6.0)) * len(methods) + 0.6
        same = len({tuple(box.numbers[1] for box in cell) for cell in cells}) == 1
        # Names under every panel need room.
        height = 1.75 if same else 2.4
        with house_style():
            panels = panel_axes(ax, len(trues), len(methods), width, height * len(trues) + 0.4)
            self.boxes_, self.means_ = [], []
            firsts = [cell[0] for cell in cells[:: len(methods)]]
            rows = drawn([box.true for box in firsts], 14, trues)
            titles = drawn(methods, 28)
            for i, (panel, cell) in enumerate(zip(panels, cells, strict=True)):
                artists, means = _draw(panel, cell)
                self.boxes_.append(artists)
                self.means_.append(means)
                if i % len(methods) == 0:
                    panel.set_ylabel(f"true: {rows[i // len(methods)]}")
                else:
                    panel.tick_params(labelleft=False)
                if i < len(methods) and methods != [""]:
                    panel.set_title(titles[i])
                if same and i < len(cells) - len(methods):
                    panel.tick_params(labelbottom=False)
        return self._keep(panels, ax)


def _draw(panel: Any, cell: list[Box]) -> tuple[Any, Any]:
    """Boxes at 1, 2, ..., and means to the right of them."""
    stats = []
    for box in cell:
        q05, q25, q50, q75, q95 = box.quantiles
        notch = 1.57 * (q75 - q25) / np.sqrt(max(box.n, 1.0))
        stats.append(
            {
                "med": q50, "q1": q25, "q3": q75, "whislo": q05, "whishi": q95,
                "cilo": q50 - notch, "cihi": q50 + notch, "fliers": box.circles,
            }
        )  # fmt: skip
    artists = panel.bxp(
        stats,
        widths=0.45,
        shownotches=True,
        patch_artist=True,
        boxprops={"facecolor": BAR, "edgecolor": INK, "linewidth": 0.7},
        medianprops={"color": INK, "linewidth": 1.1},
        whiskerprops={"color": INK, "linewidth": 0.7},
        capprops={"color": INK, "linewidth": 0.7},
        flierprops={"marker": "o", "markersize": 2.0, "markeredgecolor": GREY,
                    "markeredgewidth": 0.4, "markerfacecolor": "none"},
    )  # fmt: skip
    places = np.arange(1, len(cell) + 1)
    means = panel.errorbar(
        places + 0.4,
        [box.mean for box in cell],
        [box.sd for box in cell],
        fmt="o",
        color=MEAN,
        markersize=3.0,
        elinewidth=1.0,
    )
    names = drawn([box.predicted for box in cell], 12, [box.numbers[1] for box in cell])
    upright = max(len(name) for name in names) * len(names) > 30
    panel.set_xticks(places, names, rotation=90 if upright else 0)
    panel.set(xlim=(0.5, len(cell) + 0.7), ylim=(-0.02, 1.02))
    panel.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    return artists, means
