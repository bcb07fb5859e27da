"""How a map bends: calibrated log-odds against those before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import expit

from dircal._frames import to_frame
from dircal._typing import FloatArray
from dircal.plots._base import AbstractDisplay, make_frame
from dircal.plots._fitted_maps import apply_map, check_map, classes_of, temperature_of
from dircal.plots._limits import PLOT_LIMITS
from dircal.plots._names import check_chosen, names_of
from dircal.plots._style import GAP, GREY, PALETTE, house_style, panel_axes
from dircal.tables import check_integer, check_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CurveDisplay"]

# Probabilities that are marked on axes of log-odds, and how many of them there is room for.
_MARKED = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
_MARKED_ACROSS, _MARKED_UPWARDS = 2, 4
_CAPTIONS = {"pair": "against one other class", "many": "against all others, in equal parts"}


@dataclass(frozen=True, eq=False)
class Curves:
    """Log-odds after the map (c, m) of each class at ``before`` (m,), and at the best temperature.

    ``contest`` is "pair" or "many"; ``tempered`` (m,) is None where no temperature is known.
    """

    contest: str
    before: FloatArray
    after: FloatArray
    tempered: FloatArray | None

    @property
    def mean(self) -> FloatArray:
        """Mean curve (m,) of the classes."""
        mean: FloatArray = self.after.mean(axis=0)
        return mean


class CurveDisplay(AbstractDisplay):
    r"""How a map bends: log-odds after it against those before, where one temperature is straight.

    Make it with `from_calibrator`.

    Parameters
    ----------
    curves : list of curves
        One for each panel, as `from_calibrator` computes them.
    names : list of str
        Names of the classes that are shown.
    temperature : float or None
        That of the best temperature map, where it is known.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel, after `plot`; ``axes_`` has both.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : list of matplotlib Line2D
        The mean curve of each panel.

    Notes
    -----
    In the first panel a class competes with one other, and the log-odds are between these two,
    :math:`\ln \mu_i / \mu_j` against :math:`\ln q_i / q_j`; all further classes hold the
    probability ``others`` together. A curve is the mean over several opponents j. In the second
    panel all others have equal parts, and the log-odds are :math:`\ln \mu_i / (1 - \mu_i)`.
    In both, temperature scaling is a straight line of slope 1 / t. The thick curve is the mean of
    the classes that are shown.

    **When not to use it.** Its rows are made up; real ones may be nowhere near them. What a map
    does to rows is told by `explain`.

    Examples
    --------
    >>> from dircal import TemperatureScaling
    >>> from dircal.plots import CurveDisplay
    >>> scaling = TemperatureScaling().fit([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1, 1])
    >>> frame = CurveDisplay.from_calibrator(scaling, n_grid=3, span=2.0).to_frame()
    >>> slopes = [a / b for a, b in zip(frame["after"], frame["before"]) if b != 0.0]
    >>> bool(max(slopes) - min(slopes) < 1e-9)
    True
    """

    title = "How the map bends"
    how_to_read = (
        "Across is how sure the model was of a class, upwards how sure it should have been, both "
        "as log-odds, at which probabilities are marked. The thick curve is the mean of the "
        "classes, thin ones are single classes. One temperature for all rows would be the straight "
        "orange line, no map at all the dashed one. Where the thick curve is flatter than the "
        "straight line, rows are less sure than one temperature would have them, where it is "
        "steeper they are surer."
    )

    def __init__(
        self, curves: Sequence[Curves], names: Sequence[str], temperature: float | None
    ) -> None:
        self.curves = list(curves)
        self.names = list(names)
        self.temperature = temperature

    @classmethod
    def from_calibrator(
        cls,
        calibrator: Any,
        *,
        labels: Iterable[Any] | None = None,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
        span: float = 10.0,
        others: float = 0.01,
        n_grid: int = 81,
    ) -> Self:
        """Move rows of two or of all classes by a fitted calibrator.

        Parameters
        ----------
        calibrator : fitted calibrator or parameters
            Any calibrator, or `CanonicalParameters`, `LinearParameters` or `GenerativeParameters`.
        labels : list of labels, optional
            The classes to show; by default all, or 24 of them.
        class_names : list or dict, optional
            Names to show: in the sorted order of the labels, or by label.
        span : float, default=10.0
            Largest log-odds before the map, below 25.
        others : float, default=0.01
            Probability that further classes hold together where two compete.
        n_grid : int, default=81
            Number of points of a curve.

        Returns
        -------
        display : CurveDisplay
            Ready to be drawn.
        """
        check_map("calibrator", calibrator)
        check_integer("n_grid", n_grid, at_least=2)
        check_number("span", span, above=0.0, below=25.0)
        check_number("others", others, above=0.0, below=1.0)
        known = classes_of(calibrator)
        k = len(known)
        some = np.unique(
            np.linspace(0, k - 1, min(k, PLOT_LIMITS.get().max_curves)).astype(int)
        ).tolist()
        chosen = some if labels is None else check_chosen("labels", labels, known)
        before = np.linspace(-span, span, n_grid)
        temperature = temperature_of(calibrator)
        made = [_pairs(calibrator, k, chosen, before, others)]
        if k > 2:
            made.append(_against_all(calibrator, k, chosen, before))
        curves = [
            Curves(contest, before, after, _tempered(contest, before, k, temperature))
            for contest, after in zip(_CAPTIONS, made, strict=False)
        ]
        names = names_of(known, class_names)
        return cls(curves, [names[j] for j in chosen], temperature)

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each point of each curve.

        Returns
        -------
        frame : data frame, or dict of lists
            ``contest`` is "pair" or "many"; ``class`` is None for the mean of all; ``before`` and
            ``after`` are log-odds, ``tempered`` those after the best temperature map.
        """
        n_classes = len(self.names) + 1
        tempered = [
            np.full(len(c.before), np.nan) if c.tempered is None else c.tempered
            for c in self.curves
        ]
        columns: dict[str, Any] = {
            "contest": [c.contest for c in self.curves for _ in range(n_classes * len(c.before))],
            "class": [name for c in self.curves for name in (None, *self.names) for _ in c.before],
            "before": np.concatenate([np.tile(c.before, n_classes) for c in self.curves]),
            "after": np.concatenate([np.append(c.mean, c.after.ravel()) for c in self.curves]),
            "tempered": np.concatenate([np.tile(each, n_classes) for each in tempered]),
        }
        return to_frame(make_frame(**columns))

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure. Two panels take the place of the Axes, or one
            Axes each.

        Returns
        -------
        self : CurveDisplay
            With the first Axes as ``ax_``, the figure as ``figure_`` and the artists.
        """
        n = len(self.curves)
        with house_style():
            panels = panel_axes(ax, 1, n, 4.4 * n + 0.2, 4.4)
            self.lines_ = [
                self._draw(panel, curves) for panel, curves in zip(panels, self.curves, strict=True)
            ]
            panels[0].legend(loc="upper left")
        return self._keep(panels, ax)

    def _draw(self, ax: "Axes", curves: Curves) -> Any:
        x = curves.before
        for i, after in enumerate(curves.after):
            label = "each class" if i == 0 else None
            ax.plot(x, after, color=PALETTE[4], linewidth=0.6, alpha=0.7, label=label)
        ax.plot(x, x, "--", color=GREY, linewidth=0.9, label="as it was")
        if curves.tempered is not None:
            label = f"one temperature ({self.temperature:.3g})"
            ax.plot(x, curves.tempered, color=GAP, linewidth=1.2, label=label)
        (line,) = ax.plot(x, curves.mean, color=PALETTE[0], linewidth=2.4, label="this map")
        seen = curves.after[np.isfinite(curves.after)]
        least = PLOT_LIMITS.get().min_log_odds
        reach = max(min(float(np.abs(seen).max(initial=0.0)), float(x[-1])), least) * 1.05
        ax.set(xlim=(x[0], x[-1]), ylim=(-reach, reach))
        ax.xaxis.set_ticks(*_ticks(float(x[-1]), _MARKED_ACROSS))
        ax.yaxis.set_ticks(*_ticks(reach, _MARKED_UPWARDS))
        ax.set(xlabel="probability before", ylabel="probability after")
        ax.set_title(_CAPTIONS[curves.contest])
        return line


def _pairs(
    calibrator: Any, k: int, chosen: Sequence[int], before: FloatArray, others: float
) -> FloatArray:
    """Log-odds (c, m) of each class against one other, on the mean over some of these."""
    curves = np.empty((len(chosen), len(before)))
    outside = others if k > 2 else 0.0
    for row, i in zip(curves, chosen, strict=True):
        opponents = _spread([j for j in range(k) if j != i])
        inputs = np.full((len(opponents), len(before), k), outside / max(k - 2, 1))
        inputs[:, :, i] = (1.0 - outside) * expit(before)
        for each, j in zip(inputs, opponents, strict=True):
            each[:, j] = (1.0 - outside) * expit(-before)
        images = apply_map(calibrator, inputs.reshape(-1, k)).reshape(inputs.shape)
        against = np.stack([each[:, j] for each, j in zip(images, opponents, strict=True)])
        row[:] = _log_ratio(images[:, :, i], against).mean(axis=0)
    return curves


def _against_all(calibrator: Any, k: int, chosen: Sequence[int], before: FloatArray) -> FloatArray:
    """Log-odds (c, m) of each class against all others, which have equal parts."""
    curves = np.empty((len(chosen), len(before)))
    for row, i in zip(curves, chosen, strict=True):
        inputs = np.repeat(expit(-before)[:, None] / (k - 1), k, axis=1)
        inputs[:, i] = expit(before)
        images = apply_map(calibrator, inputs)
        row[:] = _log_ratio(images[:, i], np.delete(images, i, axis=1).sum(axis=1))
    return curves


def _log_ratio(one: FloatArray, other: FloatArray) -> FloatArray:
    """Logarithm of a ratio; not a number where one of the two is nothing."""
    some = (one > 0.0) & (other > 0.0)
    ratio: FloatArray = np.log(one, out=np.full_like(one, np.nan), where=some)
    ratio -= np.log(other, out=np.full_like(other, np.nan), where=some)
    return ratio


def _tempered(
    contest: str, before: FloatArray, k: int, temperature: float | None
) -> FloatArray | None:
    if temperature is None:
        return None
    slope = 1.0 / temperature
    return slope * before + (0.0 if contest == "pair" else (slope - 1.0) * np.log(k - 1.0))


def _spread(places: Sequence[int]) -> list[int]:
    """Some of them, from the first to the last."""
    n = min(len(places), PLOT_LIMITS.get().max_opponents)
    chosen = np.linspace(0, len(places) - 1, n).astype(int)
    return [places[j] for j in np.unique(chosen)]


def _ticks(end: float, most: int) -> tuple[list[float], list[str]]:
    """Log-odds up to ``end`` at which probabilities are marked, and these: 0.5, and few beside."""
    odds = [float(np.log(p / (1.0 - p))) for p in _MARKED]
    inside = [(x, p) for x, p in zip(odds, _MARKED, strict=True) if x <= end]
    step = -(-len(inside) // most)
    high = [(x, str(p)) for x, p in inside[step - 1 :: step]]
    low = [(-x, f"{1.0 - float(text):.{len(text) - 2}f}") for x, text in reversed(high)]
    places = [*low, (0.0, "0.5"), *high]
    return [x for x, _ in places], [text for _, text in places]
