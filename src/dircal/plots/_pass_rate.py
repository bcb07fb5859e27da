"""How often the probabilities of each method pass a test of calibration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dircal._frames import to_frame
from dircal._typing import ArrayLike
from dircal.plots._base import AbstractDisplay, make_frame
from dircal.plots._names import drawn
from dircal.plots._results import check_mapping, shares_of
from dircal.plots._style import colours_of, house_style, one_axes
from dircal.tables import check_integer, check_number

__all__ = ["PassRateDisplay"]


@dataclass(frozen=True)
class PassRate:
    """The share of tests that one method passed."""

    name: str
    share: float
    n_tests: int


class PassRateDisplay(AbstractDisplay):
    """Bars with the share of calibration tests that each method passed.

    Make it with `from_pvalues` or `from_shares`.

    Parameters
    ----------
    methods : list of results
        What the ``from_...`` methods compute, best first.
    alpha : float
        A test is passed if its p-value is larger.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The picture, after `plot`.
    figure_ : matplotlib Figure
        Its figure.
    bars_ : matplotlib BarContainer
        One bar for each method, the best on top.

    Notes
    -----
    A calibrated method passes about ``1 - alpha`` of the tests; the dashed line marks it. These are
    figures 3 (b, c), S7 and S10 of the paper.

    **When not to use it.** A test on few rows is passed by nearly everything: compare methods on
    the same tests only.

    Examples
    --------
    >>> from dircal.plots import PassRateDisplay
    >>> display = PassRateDisplay.from_pvalues({"none": [0.01, 0.2], "Dirichlet": [0.3, 0.4]})
    >>> display.to_frame()
          method  share  n_tests
    0  Dirichlet    1.0        2
    1       none    0.5        2
    >>> display.plot().ax_.get_xlabel()
    'share of 2 tests with p > 0.05'
    """

    title = "Passed calibration tests"
    how_to_read = (
        "The longer the bar, the more often no miscalibration was found. A calibrated method "
        "reaches the dashed line: a few tests fail by chance."
    )

    def __init__(self, methods: list[PassRate], alpha: float) -> None:
        self.methods = methods
        self.alpha = alpha

    @classmethod
    def from_pvalues(cls, pvalues: Mapping[str, ArrayLike], *, alpha: float = 0.05) -> Self:
        """Count the tests that were passed.

        Parameters
        ----------
        pvalues : dict from str to array-like (n,)
            The p-values of each method, one for each test.
        alpha : float, default=0.05
            A test is passed if its p-value is larger.

        Returns
        -------
        display : PassRateDisplay
            Ready to be drawn.
        """
        check_number("alpha", alpha, above=0.0, below=1.0)
        given = check_mapping("pvalues", pvalues, "its p-values")
        results = []
        for name, values in given.items():
            numbers = shares_of("pvalues", name, values)
            results.append(PassRate(name, float(np.mean(numbers > alpha)), len(numbers)))
        return cls(_best_first(results), alpha)

    @classmethod
    def from_shares(cls, shares: Mapping[str, float], n_tests: int, *, alpha: float = 0.05) -> Self:
        """Take shares that were counted elsewhere.

        Parameters
        ----------
        shares : dict from str to float
            The share of tests that each method passed.
        n_tests : int
            Number of tests.
        alpha : float, default=0.05
            A test was passed if its p-value was larger.

        Returns
        -------
        display : PassRateDisplay
            Ready to be drawn.
        """
        check_integer("n_tests", n_tests, at_least=1)
        check_number("alpha", alpha, above=0.0, below=1.0)
        given = check_mapping("shares", shares, "its share")
        results = [
            PassRate(name, float(shares_of("shares", name, [share])[0]), n_tests)
            for name, share in given.items()
        ]
        return cls(_best_first(results), alpha)

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each method, best first.

        Returns
        -------
        frame : data frame, or dict of lists
            ``method``, ``share`` of tests that were passed, and ``n_tests``.
        """
        return to_frame(
            make_frame(
                method=[one.name for one in self.methods],
                share=[one.share for one in self.methods],
                n_tests=[one.n_tests for one in self.methods],
            )
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        self : PassRateDisplay
            With the Axes as ``ax_``, the figure as ``figure_`` and the bars.
        """
        n = len(self.methods)
        colours = colours_of(one.name for one in self.methods)
        with house_style():
            panel = one_axes(ax, 5.6, 0.3 * n + 0.9)
            rows = range(n)
            shares = [one.share for one in self.methods]
            self.bars_ = panel.barh(
                rows, shares, 0.72, color=[colours[one.name] for one in self.methods]
            )
            for row, share in zip(rows, shares, strict=True):
                # The number stands before the dashed line, on a patch of white.
                white = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
                panel.text(share + 0.012, row, f"{share:.2f}", va="center", fontsize=8, bbox=white)
            panel.axvline(1.0 - self.alpha, color="#444444", linestyle="--", linewidth=0.8)
            panel.set_yticks(rows, drawn([one.name for one in self.methods], 26))
            panel.set(xlim=(0, 1.1), ylim=(n - 0.4, -0.6))
            panel.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
            counts = sorted({one.n_tests for one in self.methods})
            number = f"{counts[0]:,}" + (f" to {counts[-1]:,}" if len(counts) > 1 else "")
            panel.set_xlabel(f"share of {number} tests with p > {self.alpha:g}")
        return self._keep([panel], ax)


def _best_first(results: list[PassRate]) -> list[PassRate]:
    return sorted(results, key=lambda one: (-one.share, one.name))
