import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal.decide import CostTable, realised_cost
from dircal.plots import CostCoverageDisplay


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(3, 0.5), size=500)
    return (P.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1), P


def test_the_curves_are_running_means(rows):
    y, P = rows
    costs = CostTable.from_matrix([[0, 2, 3], [1, 0, 2], [4, 1, 0]], classes=range(3))
    display = CostCoverageDisplay.from_predictions(y, P, costs=costs, ask=0.5)
    frame = display.to_frame()
    order = np.argsort(-P.max(axis=1))
    wrong = (P.argmax(axis=1) != y)[order]
    expected = P @ costs.matrix
    saved = np.argsort(expected.min(axis=1))
    paid = costs.matrix[y, expected.argmin(axis=1)]
    for i in (0, 17, 199):
        m = round(frame["coverage"][i] * 500)
        assert_allclose(frame["risk"][i], wrong[:m].mean())
        assert_allclose(frame["cost"][i], (paid[saved[:m]].sum() + 0.5 * (500 - m)) / 500)
    # Where the probabilities stop is what the best actions cost with a question among them.
    [curve] = display.curves
    with_question = realised_cost(y, P, costs.with_question(0.5))
    assert_allclose(curve.stop[1], with_question.mean)


def test_a_picture_of_two(rows):
    y, P = rows
    Q = P**3 / (P**3).sum(axis=1, keepdims=True)
    costs = CostTable.of_errors(range(3))
    both = {"before": Q, "after": P}
    display = CostCoverageDisplay.from_predictions(y, both, costs=costs, ask=0.3).plot()
    assert len(display.axes_) == 2
    assert len(display.lines_) == 4
    frame = display.to_frame()
    after = np.array(frame["name"]) == "after"
    assert_allclose(display.lines_[2].get_ydata(), 100 * np.array(frame["risk"])[after])
    assert_allclose(display.lines_[3].get_ydata(), np.array(frame["cost"])[after])
    assert [text.get_text() for text in display.axes_[1].get_legend().get_texts()] == [*both]
    errors = CostCoverageDisplay.from_predictions(y, both).plot()
    assert len(errors.axes_) == 1
    assert "cost" not in errors.to_frame()


def test_bad_input(rows):
    y, P = rows
    with pytest.raises(ValueError, match="`costs` and `ask` belong together"):
        CostCoverageDisplay.from_predictions(y, P, ask=1.0)
    with pytest.raises(ValueError, match="`costs` must have a row for each class"):
        CostCoverageDisplay.from_predictions(
            y, P, costs=CostTable.of_errors(range(4)), ask=1.0, classes=range(3)
        )
    with pytest.raises(ValueError, match="`y_prob` must be a dict"):
        CostCoverageDisplay.from_predictions(y, {})
