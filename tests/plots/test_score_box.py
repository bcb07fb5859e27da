"""Box plots of predicted probabilities."""

import numpy as np
import pytest

from dircal.plots import ScoreBoxDisplay


def test_boxes_hold_quantiles_means_and_deviations(vectors):
    display = ScoreBoxDisplay.from_predictions(vectors.y, {"raw": vectors.proba})
    frame = display.to_frame()
    assert len(frame["n"]) == 16
    for row, (true, predicted) in enumerate(zip(frame["true"], frame["predicted"], strict=True)):
        values = vectors.proba[vectors.y == int(true), int(predicted)]
        assert frame["n"][row] == len(values)
        quantiles = [frame[name][row] for name in ("q05", "q25", "q50", "q75", "q95")]
        np.testing.assert_allclose(quantiles, np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]))
        np.testing.assert_allclose(frame["mean"][row], values.mean())
        np.testing.assert_allclose(frame["sd"][row], values.std())


def test_a_row_for_each_true_class_and_a_column_for_each_method(vectors):
    display = ScoreBoxDisplay.from_predictions(
        vectors.y, {"raw": vectors.proba, "turned": vectors.proba[:, ::-1]}, max_panels=8
    ).plot()
    assert len(display.axes_) == 8
    assert [ax.get_title(loc="left") for ax in display.axes_[:3]] == ["raw", "turned", ""]
    assert [ax.get_ylabel() for ax in display.axes_[::2]] == [f"true: {j}" for j in range(4)]
    frame = display.to_frame()
    medians = [line.get_ydata()[0] for line in display.boxes_[0]["medians"]]
    np.testing.assert_allclose(medians, frame["q50"][:4])
    x, y = display.means_[0].lines[0].get_data()
    np.testing.assert_allclose(x.astype(float), np.arange(1, 5) + 0.4)
    np.testing.assert_allclose(y.astype(float), frame["mean"][:4])


def test_circles_are_some_of_the_rows_outside_the_whiskers(make_problem):
    problem = make_problem(0, n=5000, k=3)
    display = ScoreBoxDisplay.from_predictions(problem.y, problem.proba)
    box = display.boxes[0]
    values = problem.proba[problem.y == 0, 0]
    assert len(box.circles) == 80
    assert np.isin(box.circles, values).all()
    assert box.circles.min() == values.min()
    assert box.circles.max() == values.max()
    inside = (box.circles >= box.quantiles[0]) & (box.circles <= box.quantiles[-1])
    assert not inside.any()
    assert display.plot().axes_[0].get_title(loc="left") == ""


def test_many_classes(make_problem):
    problem = make_problem(0, n=2000, k=20)
    display = ScoreBoxDisplay.from_predictions(problem.y, problem.proba, max_panels=3, max_boxes=4)
    said = np.array([problem.proba[problem.y == j].mean(axis=0) for j in range(20)])
    worst = np.argsort(np.diag(said), kind="stable")[:3]
    frame = display.to_frame()
    assert list(dict.fromkeys(frame["true"])) == [str(j) for j in worst]
    first = [int(name) for name in frame["predicted"][:4]]
    assert first[0] == worst[0]
    others = said[worst[0]].copy()
    others[worst[0]] = -1
    assert first[1:] == np.argsort(-others)[:3].tolist()


def test_chosen_classes_and_absent_ones(vectors):
    rows = vectors.y != 2
    y, proba = vectors.y[rows], vectors.proba[rows]
    display = ScoreBoxDisplay.from_predictions(y, proba, classes=range(4))
    assert list(dict.fromkeys(display.to_frame()["true"])) == ["0", "1", "3"]
    chosen = ScoreBoxDisplay.from_predictions(y, proba, classes=range(4), labels=[3, 0])
    assert list(dict.fromkeys(chosen.to_frame()["true"])) == ["3", "0"]
    with pytest.raises(ValueError, match=r"`labels` must be classes that occur; no row .* 2"):
        ScoreBoxDisplay.from_predictions(y, proba, classes=range(4), labels=[2])


def test_classes_of_one_name_stay_apart(vectors):
    display = ScoreBoxDisplay.from_predictions(
        vectors.y, vectors.proba, class_names=["crane", "crane", "cow", "dog"]
    ).plot()
    assert len(display.axes_) == 4
    assert [ax.get_ylabel() for ax in display.axes_[:2]] == ["true: #0 crane", "true: #1 crane"]


def test_quantiles_from_elsewhere(vectors):
    display = ScoreBoxDisplay.from_predictions(vectors.y, {"raw": vectors.proba})
    again = ScoreBoxDisplay.from_frame(display.to_frame())
    assert again.to_frame() == display.to_frame()
    assert len(again.plot().axes_) == 4
    values = vectors.proba[vectors.y == 0, 1]
    assert again.boxes[1].circles.tolist() == [values.min(), values.max()]
    columns = display.to_frame()
    del columns["sd"]
    with pytest.raises(ValueError, match="'sd' is missing"):
        ScoreBoxDisplay.from_frame(columns)


def test_there_are_four_panels_unless_more_are_asked_for(make_problem):
    problem = make_problem(0, n=600, k=8)
    methods = {"raw": problem.proba, "turned": problem.proba[:, ::-1]}
    said = np.array([problem.proba[problem.y == j, j].mean() for j in range(8)])
    for n_methods in (1, 2):
        given = dict([*methods.items()][:n_methods])
        display = ScoreBoxDisplay.from_predictions(problem.y, given).plot()
        assert len(display.axes_) == 4
        worst = [str(j) for j in np.argsort(said)[: 4 // n_methods]]
        assert list(dict.fromkeys(display.to_frame()["true"])) == worst
    one = ScoreBoxDisplay.from_predictions(problem.y, methods, max_panels=1)
    assert len(one.plot().axes_) == 2
