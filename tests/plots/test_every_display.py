"""What holds for every published Display."""

import builtins
import inspect
import io
import json
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dircal import plots

DISPLAYS = [name for name in plots.__all__ if name.endswith("Display")]
each = pytest.mark.parametrize("name", DISPLAYS)


@each
def test_numbers_come_as_a_plain_table(name, display_of):
    frame = display_of(name).frame()
    assert len({len(column) for column in frame.values()}) == 1
    assert all(isinstance(column, list) for column in frame.values())
    assert json.loads(json.dumps(frame, allow_nan=False)) == frame
    assert pd.DataFrame(frame).shape == pl.DataFrame(frame, strict=False).shape


@each
def test_the_table_needs_no_drawing_and_no_matplotlib(name, display_of, monkeypatch):
    real = builtins.__import__

    def without(module, *args, **kwargs):
        if module.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
        return real(module, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    display = display_of(name)
    assert display.frame()
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'dircal\[plots\]'"):
        display.plot()


@each
@pytest.mark.parametrize("k", [2, 10, 100])
def test_it_can_be_read_at_any_number_of_classes(name, k, display_of):
    display = display_of(name, k, [f"a long name of class {j}" for j in range(k)])
    assert display.plot() is display
    figure = display.figure_
    assert figure is display.ax_.figure
    assert display.axes_[0] is display.ax_
    # Never a panel for each of a hundred classes.
    assert len(figure.axes) <= 24
    assert max(figure.get_size_inches()) <= 20
    figure.draw_without_rendering()
    texts = visible_texts(figure)
    assert texts
    boxes = np.array([text.get_window_extent().extents for text in texts])
    width, height = figure.bbox.size
    for text, (x0, y0, x1, y1) in zip(texts, boxes, strict=True):
        assert text.get_fontsize() >= 6.5, text
        assert min(x0, y0) >= -1.5, text
        assert x1 <= width + 1.5, text
        assert y1 <= height + 1.5, text
    # Boxes are a little larger than the ink in them.
    low, high = boxes[:, :2] + 1.5, boxes[:, 2:] - 1.5
    meet = ((low[:, None] < high) & (low < high[:, None])).all(axis=2)
    pairs = np.argwhere(np.triu(meet, 1))
    assert not len(pairs), [(texts[i], texts[j]) for i, j in pairs[:5]]


@each
def test_the_style_is_put_back(name, display_of):
    before, display = dict(mpl.rcParams), display_of(name)
    display.plot()
    assert dict(mpl.rcParams) == before
    with pytest.raises((AttributeError, TypeError, ValueError)):
        display.plot(ax="no axes")
    assert dict(mpl.rcParams) == before


@each
def test_given_axes_are_used(name, display_of):
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 6))
    display = display_of(name).plot(right)
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert not left.has_data()
    place = right.get_position()
    assert all(place.x0 - 0.01 <= ax.get_position().x0 for ax in display.axes_)


@each
def test_names_of_any_script_and_length_are_drawn_alike_each_time(name, display_of):
    names = ["$\\frac{x$_1$", "  naïve\nclass " * 20, "猫と犬の大きな写真のクラス"]
    pictures = []
    for _ in range(2):
        display, file = display_of(name, 3, names), io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            display.plot().figure_.savefig(file, format="png", dpi=50)
        pictures.append(file.getvalue())
    assert pictures[0] == pictures[1]
    told = json.dumps(display.frame(), ensure_ascii=False)
    if name not in ("ReliabilityDisplay", "CalibrationTestDisplay", "MonitorDisplay"):
        assert names[2] in told


@each
def test_it_says_how_to_read_it(name, display_of):
    cls = getattr(plots, name)
    assert cls.title[0].isupper()
    assert cls.how_to_read.endswith(".")
    assert "  " not in cls.how_to_read
    assert any(method.startswith("from_") for method in dir(cls))
    assert name in repr(display_of(name))


@each
def test_options_are_given_by_name(name):
    cls = getattr(plots, name)
    for method in [cls.plot, *(getattr(cls, m) for m in dir(cls) if m.startswith("from_"))]:
        for parameter in inspect.signature(method).parameters.values():
            optional = parameter.default is not parameter.empty
            by_name = parameter.kind is parameter.KEYWORD_ONLY
            assert by_name or not optional or parameter.name == "ax"


def visible_texts(figure):
    """Texts that are drawn: not empty, and not of hidden panels or ticks out of sight."""
    found = [text for legend in figure.legends for text in legend.get_texts()]
    found += [] if figure._suptitle is None else [figure._suptitle]
    for ax in figure.axes:
        found += [*ax.texts, ax.title, ax._left_title]
        if not ax.axison:
            continue
        found += [ax.xaxis.label, ax.yaxis.label]
        for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            low, high = sorted(limits)
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            found += [label for tick in ticks for label in (tick.label1, tick.label2)]
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def test_every_kind_is_published():
    assert len(DISPLAYS) == 14
    assert set(plots.__all__) - set(DISPLAYS) == {"house_style"}


def test_the_style_is_there_for_figures_of_several_displays(display_of):
    before = dict(mpl.rcParams)
    with plots.house_style():
        _, (left, right) = plt.subplots(1, 2)
    assert dict(mpl.rcParams) == before
    display_of("PassRateDisplay").plot(left)
    assert not left.spines["top"].get_visible()
    alone = display_of("PassRateDisplay").plot().ax_
    assert right.xaxis.label.get_size() == alone.xaxis.label.get_size()
