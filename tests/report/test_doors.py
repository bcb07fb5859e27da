"""What has passed the door does not pass it again."""

import numpy as np
import pytest

from dircal import BayesianDirichletCalibrator, Report, TemperatureScaling, compare
from dircal.tables import _arrays

DOORS = ("check_fit_arrays", "check_predictions", "_check_labelled", "check_scores")


@pytest.fixture
def passed(monkeypatch):
    """Names of the doors that are passed, in order, wherever they were imported."""
    import sys

    names = []
    for name in DOORS:
        door = getattr(_arrays, name)

        def counted(*arguments, _door=door, _name=name, **options):
            names.append(_name)
            return _door(*arguments, **options)

        for module in [m for key, m in sys.modules.items() if key.startswith("dircal")]:
            if getattr(module, name, None) is door:
                monkeypatch.setattr(module, name, counted)
    return names


@pytest.mark.parametrize("weighted", [False, True])
def test_a_report_checks_its_rows_once(weighted, make_problem, passed):
    problem = make_problem(0, n=200, k=3)
    maps = [TemperatureScaling(), BayesianDirichletCalibrator()]
    weight = np.ones(200) if weighted else None
    Report.from_predictions(
        problem.y, problem.proba, calibrators=maps, sample_weight=weight, n_resamples=100
    ).to_html()
    assert passed == ["check_fit_arrays", "_check_labelled"]


def test_a_comparison_checks_its_rows_once(make_problem, passed):
    problem = make_problem(1, n=200, k=3)
    compare([TemperatureScaling()], problem.proba, problem.y, n_resamples=100)
    assert passed == ["check_fit_arrays", "_check_labelled"]
