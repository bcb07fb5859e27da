import numpy as np
import pytest

from dircal import (
    calibration_test,
    confidence_interval,
    equivalence_test,
    paired_comparison,
    score_test,
)

DRAWS = {"n_resamples": 100, "random_state": 0}


@pytest.fixture
def results(make_problem):
    problem = make_problem(0, n=100, k=3)
    y, proba = problem.y, problem.proba
    return [
        calibration_test(y, proba, **DRAWS),
        score_test(y, proba, **DRAWS),
        confidence_interval(y, proba, "log_loss", **DRAWS),
        equivalence_test(y, proba, "log_loss", margin=2.0, **DRAWS),
        paired_comparison(y, proba, proba[::-1], "log_loss", **DRAWS),
    ]


def test_results_are_tables_of_one_row(results, monkeypatch):
    monkeypatch.setattr("dircal._frames.find_spec", lambda name: None)
    for result in results:
        columns = result.to_frame()
        assert columns["n_samples"] == [100]
        for name, column in columns.items():
            assert column == [getattr(result, name)]
        # Draws and groups of classes are no numbers of one row.
        assert {"null_sample", "classes", "pairs"}.isdisjoint(columns)


def test_rows_of_several_results_can_be_stacked(make_problem):
    pandas = pytest.importorskip("pandas")
    problem = make_problem(1, n=100, k=3)
    names = ["log_loss", "brier_score"]
    rows = [
        confidence_interval(problem.y, problem.proba, name, **DRAWS).to_frame() for name in names
    ]
    frame = pandas.concat(rows, ignore_index=True)
    assert frame["measure"].tolist() == names
    assert np.all(frame["low"] < frame["high"])
