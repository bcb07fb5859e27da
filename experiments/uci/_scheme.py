"""Figure S4: who learns from which rows, as the splits of this experiment have it."""

from typing import TYPE_CHECKING, Any

from dircal.plots import house_style

from ._splits import N_FOLDS, N_INNER, N_REPETITIONS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Scheme"]

_TEST, _TRAIN, _FIT = "#D55E00", "#B5D6EC", "#009E73"
_INK = "#222222"
# Of a block, and from one line of the inner splits to the next.
_HEIGHT = 0.8
_STEP = 1.35
_MIDDLE = (_STEP * (N_INNER - 1) + _HEIGHT) / 2


class Scheme:
    """Blocks of rows: the folds of a repetition on the left, the parts of one of them beside."""

    def draw(self) -> "Figure":
        """Draw all blocks."""
        import matplotlib.pyplot as plt

        with house_style():
            figure, ax = plt.subplots(figsize=(8.8, 3.3), layout="constrained")
            ax.set(xlim=(-0.2, 17.6), ylim=(5.1, -1.2))
            ax.set_axis_off()
            self._draw_outer(ax)
            self._draw_inner(ax)
            self._draw_end(ax)
            _legend(ax)
        return figure

    def _draw_outer(self, ax: Any) -> None:
        """Each fold is the test part once; the first is opened beside."""
        ax.text(0, -0.75, f"{N_REPETITIONS} times {N_FOLDS} folds of all rows")
        for fold in range(N_FOLDS):
            for block in range(N_FOLDS):
                is_test = block == fold
                _block(
                    ax, block, fold, 1.0, _TEST if is_test else _TRAIN, "test" if is_test else ""
                )
        for corner in (0.0, _STEP * (N_INNER - 1) + _HEIGHT):
            ax.plot([N_FOLDS + 0.1, 6.9], [_HEIGHT / 2, corner], ":", color=_INK, lw=0.8)

    def _draw_inner(self, ax: Any) -> None:
        """The training rows of one fold: each third fits the calibrator of the other two."""
        ax.text(7, -0.75, f"{N_INNER} folds of the training rows of each")
        width = 4.5 / N_INNER
        for row in range(N_INNER):
            for block in range(N_INNER):
                fits = block == row
                colour = _FIT if fits else _TRAIN
                _block(ax, 7 + width * block, _STEP * row, width, colour, "fits" if fits else "")
            _arrow(ax, (11.7, _STEP * row + _HEIGHT / 2), (13.1, _MIDDLE))

    def _draw_end(self, ax: Any) -> None:
        text = f"mean of the {N_INNER}\nprobabilities of\neach test row,\n"
        text += "then the measures\nof the fold"
        ax.text(13.3, _MIDDLE, text, va="center", linespacing=1.3)
        ax.text(
            13.3,
            4.35,
            f"mean over all\n{N_REPETITIONS * N_FOLDS} folds",
            va="center",
            linespacing=1.3,
        )
        _arrow(ax, (14.6, 3.3), (14.6, 3.9))


def _block(ax: Any, x: float, y: float, width: float, colour: str, text: str) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(
        Rectangle((x, y), width, _HEIGHT, facecolor=colour, edgecolor="white", linewidth=1.5)
    )
    ax.text(
        x + width / 2, y + _HEIGHT / 2, text, ha="center", va="center", color="white", weight="bold"
    )


def _arrow(ax: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": _INK})


def _legend(ax: Any) -> None:
    from matplotlib.patches import Patch

    words = {
        _TEST: "test rows, measured",
        _TRAIN: "rows that train the classifier and\nchoose the calibrator's hyperparameters",
        _FIT: "rows that fit the calibrator",
    }
    handles = [Patch(color=colour, label=label) for colour, label in words.items()]
    ax.figure.legend(handles=handles, loc="outside lower center", ncols=3, columnspacing=1.4)
