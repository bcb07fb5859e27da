"""Figures 1, 2b, 2c and S12 of the paper: what calibration does to one network."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from dircal.plots import (
    ClasswiseReliabilityDisplay,
    ConfusionChangeDisplay,
    ParametersDisplay,
    ReliabilityDisplay,
)
from experiments._pictures import Panel, Picture, to_svg

__all__ = ["draw_network_figures", "network_pictures"]

PAPER_CLASSES = (2, 4)
"""Classes of figure 1 (c, d) and of figure S12."""
_PLAIN = {"counts": "none"}


def draw_network_figures(
    folder: Path,
    y: npt.ArrayLike,
    before: npt.ArrayLike,
    after: Mapping[str, npt.ArrayLike],
    calibrator: Any,
    class_names: Sequence[str],
    *,
    classes: tuple[int, int] = PAPER_CLASSES,
) -> dict[str, Picture]:
    """Write ``figure_<name>.svg`` for every figure of `network_pictures`, and return these."""
    pictures = network_pictures(y, before, after, calibrator, class_names, classes=classes)
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        (folder / f"figure_{name}.svg").write_bytes(to_svg(picture.draw()))
    return pictures


def network_pictures(
    y: npt.ArrayLike,
    before: npt.ArrayLike,
    after: Mapping[str, npt.ArrayLike],
    calibrator: Any,
    class_names: Sequence[str],
    *,
    classes: tuple[int, int] = PAPER_CLASSES,
) -> dict[str, Picture]:
    """The figures by their names in the paper: 1, 2b, 2c and s12.

    ``y`` are the true classes 0..k-1 of the test rows (n,), ``before`` their probabilities (n, k).
    ``after`` holds the probabilities of at least two methods: the first is what the last is
    compared with, in the paper temperature scaling and Dirichlet calibration with ODIR.
    ``calibrator`` is the fitted map of the last, which figure 2b shows. ``classes`` are those of
    figure 1 and of figure S12.
    """
    if len(after) < 2:
        raise ValueError(
            f"`after` must hold at least two methods, to compare the last with the first; got "
            f"{list(after)}. Pass for example {{'TempS': ..., 'Dir-ODIR': ...}}."
        )
    (first, plain), *_, (last, fine) = after.items()
    of_figure_1, of_figure_s12 = classes
    every = range(len(class_names))

    def confidence(letter: str, method: str, proba: npt.ArrayLike) -> Panel:
        display = ReliabilityDisplay.from_predictions(y, proba, classes=every)
        error = f"confidence-ECE {display.curve.error:.4f}"
        return Panel(display, f"({letter}) {method}\n{error}", options=_PLAIN)

    def one_class(letter: str, method: str, proba: npt.ArrayLike, label: int) -> Panel:
        display = ClasswiseReliabilityDisplay.from_predictions(
            y, proba, labels=[label], class_names=class_names, classes=every
        )
        error = f"class-{label}-ECE {display.curves[0].error:.4f}"
        title = f"({letter}) {method}, class {label}, {class_names[label]}\n{error}"
        return Panel(display, title, options=_PLAIN)

    return {
        "1": Picture(
            (
                confidence("a", "before", before),
                confidence("b", first, plain),
                one_class("c", first, plain, of_figure_1),
                one_class("d", last, fine, of_figure_1),
            ),
            ((0, 1), (2, 3)),
            (7.6, 8.2),
        ),
        "2b": Picture(
            (Panel(ParametersDisplay.from_calibrator(calibrator, class_names=class_names)),)
        ),
        "2c": Picture(
            (
                Panel(
                    ConfusionChangeDisplay.from_predictions(
                        y, before, fine, class_names=class_names, classes=every
                    )
                ),
            )
        ),
        "s12": Picture(
            (
                one_class("a", first, plain, of_figure_s12),
                one_class("b", last, fine, of_figure_s12),
            ),
            ((0, 1),),
            (7.6, 4.2),
        ),
    }
