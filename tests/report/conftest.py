"""Reports of small problems."""

import numpy as np
import pytest

from dircal import BayesianDirichletCalibrator, Report, TemperatureScaling
from dircal.decide import CostTable

HOSTILE = (
    "<script>document.title = 'hacked'</script>",
    '"><img src=x onerror="document.title = `hacked`">',
    "</title></style></script><b>&amp; {{ 7 * 7 }} {% raw %}",
    "a name without end, " * 20,
    "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz" * 4,
    "猫と犬と鳥と魚と牛と馬と羊と豚と鶏と兎",
    "قطة وكلب وطائر",
    "🐈‍⬛ ␀\t\u202eesrever",
)


@pytest.fixture(scope="session")
def hostile():
    """Names of classes and files that nobody means well with."""
    return HOSTILE


@pytest.fixture(scope="session")
def problem(make_problem):
    """Overconfident rows of four classes."""
    return make_problem(1, n=600, k=4)


@pytest.fixture(scope="session")
def report(problem):
    """Two calibrators, out of fold."""
    maps = [TemperatureScaling(), BayesianDirichletCalibrator()]
    return Report.from_predictions(problem.y, problem.proba, calibrators=maps, n_resamples=200)


@pytest.fixture(scope="session")
def hostile_report(make_problem):
    """A report in which every name is hostile."""
    rows = make_problem(2, n=500, k=len(HOSTILE))
    return Report.from_predictions(
        rows.y,
        rows.proba,
        calibrators={HOSTILE[0]: BayesianDirichletCalibrator(), HOSTILE[4]: TemperatureScaling()},
        class_names=HOSTILE,
        title=HOSTILE[2],
        source=HOSTILE[1],
        n_resamples=100,
    )


@pytest.fixture(scope="session")
def report_of_a_shift(make_problem):
    """Old rows of another kind, costs with a question, and hostile names everywhere."""
    rows, old = (make_problem(seed, n=500, k=len(HOSTILE)) for seed in (2, 4))
    actions = [name[::-1] for name in HOSTILE]
    costs = CostTable.from_matrix(1 - np.eye(len(HOSTILE)), classes=range(8), actions=actions)
    return Report.from_predictions(
        rows.y,
        rows.proba,
        calibrators=TemperatureScaling(),
        class_names=HOSTILE,
        y_old=old.y,
        prob_old=old.proba,
        costs=costs.with_question(0.3, name=HOSTILE[0]),
        cv=2,
        n_resamples=100,
    )


@pytest.fixture(scope="session")
def report_of_many(make_problem):
    """More classes than cells with numbers, one of them without rows, and weights."""
    rows = make_problem(3, n=400, k=30)
    y = np.where(rows.y == 7, 8, rows.y)
    return Report.from_predictions(
        y,
        rows.proba,
        classes=np.arange(30),
        calibrators=BayesianDirichletCalibrator(curves="none"),
        sample_weight=np.random.default_rng(0).uniform(0.5, 2.0, len(y)),
        n_resamples=100,
    )
