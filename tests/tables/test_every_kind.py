"""Every kind of table gives the results of arrays, for every use of it."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    DirichletCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    Report,
    TemperatureScaling,
    compare,
    evaluate,
    scan,
)
from dircal._core.data.folds import RowFolds
from dircal.exceptions import DircalWarning

NAMES = ["ant", "bee", "cat"]
N_ROWS = 600
KINDS = ["array", "frame", "memory map", "csv", "folder", "folder in parts", "dask"]
CALIBRATORS = {
    "temperature": TemperatureScaling(),
    "dirichlet": DirichletCalibrator(),
    "bayesian": BayesianDirichletCalibrator(),
    "auto": AutoCalibrator(),
    "isotonic": OneVsRestCalibrator(IsotonicCalibrator()),
}
MEASURES = ["log_loss", "brier_score", "accuracy", "classwise_ece"]
PLACES = {
    "csv": "line 303$",
    "folder": r"row 1 of '.*1\.parquet'$",
    "folder in parts": r"row 1 of '.*1\.parquet'$",
    "dask": "row 101 of partition 1$",
}
DRAWS = {"n_resamples": 100, "random_state": 0}
each_calibrator = pytest.mark.parametrize("name", CALIBRATORS)
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@dataclass(frozen=True)
class Input:
    """Rows of some kind: the first arguments of `fit`, and those of measures."""

    kind: str
    of_fit: tuple[Any, ...]

    @property
    def of_measures(self) -> tuple[Any, ...]:
        return self.of_fit[::-1]

    @property
    def cv(self) -> Any:
        """Three folds, by the numbers of the rows."""
        if self.kind in ("folder in parts", "dask"):
            return 3
        dealt = RowFolds(3).of_rows(np.arange(N_ROWS))
        return [(np.flatnonzero(dealt != one), np.flatnonzero(dealt == one)) for one in range(3)]

    def predict(self, fitted: Any) -> np.ndarray:
        if len(self.of_fit) == 2:
            return fitted.predict_proba(self.of_fit[0])
        calibrated = fitted.predict_proba(self.of_fit[0])
        if self.kind == "dask":
            return calibrated.to_dask().compute()[NAMES].to_numpy()
        return np.concatenate(list(calibrated.blocks()))


@pytest.fixture(scope="module")
def rows():
    """Overconfident probabilities of three animals with their labels, rounded as in a file."""
    rng = np.random.default_rng(5)
    logits = rng.normal(scale=2.0, size=(N_ROWS, 3))
    labels = (0.5 * logits + [0.4, 0.0, -0.4] + rng.gumbel(size=(N_ROWS, 3))).argmax(axis=1)
    odds = np.exp(logits)
    table = pd.DataFrame(odds / odds.sum(axis=1, keepdims=True), columns=NAMES)
    return table.assign(y=np.array(NAMES)[labels])


@pytest.fixture(scope="module")
def make(tmp_path_factory, cut, in_parts, client):
    """Make an input of some kind from a data frame."""

    def make_input(kind, table, **options):
        folder = tmp_path_factory.mktemp("kinds")
        scores, labels = table[NAMES], table["y"].to_numpy()
        if kind == "array":
            return Input(kind, (scores.to_numpy(), labels))
        if kind == "frame":
            return Input(kind, (scan(table, label="y", **options),))
        if kind == "memory map":
            np.save(folder / "p.npy", scores.to_numpy())
            return Input(kind, (np.load(folder / "p.npy", mmap_mode="r"), labels))
        if kind == "csv":
            table.to_csv(folder / "p.csv", index=False)
            return Input(kind, (scan(folder / "p.csv", label="y", **options),))
        if kind == "dask":
            import dask.dataframe as dd

            lazy = dd.from_pandas(table, npartitions=3, sort=False)
            return Input(kind, (scan(lazy, label="y", client=client, **options),))
        for i, part in enumerate(cut(table, 2)):
            part.to_parquet(folder / f"{i}.parquet", row_group_size=200, index=False)
        describe = in_parts if kind == "folder in parts" else scan
        return Input(kind, (describe(folder, label="y", **options),))

    return make_input


@pytest.fixture(scope="module", params=KINDS)
def given(request, make, rows):
    return make(request.param, rows)


@pytest.fixture(scope="module")
def of_arrays(make, rows):
    return make("array", rows)


@pytest.fixture(scope="module")
def fitted(of_arrays):
    """Fits on arrays, by the name of the calibrator."""
    return {name: clone(one).fit(*of_arrays.of_fit) for name, one in CALIBRATORS.items()}


@each_calibrator
def test_fit_and_predict(name, given, fitted, of_arrays):
    found = clone(CALIBRATORS[name]).fit(*given.of_fit)
    whole = fitted[name].predict_proba(of_arrays.of_fit[0])
    assert_array_equal(found.classes_, NAMES)
    assert_allclose(found.predict_proba(of_arrays.of_fit[0]), whole, rtol=0, atol=1e-10)
    assert_allclose(given.predict(fitted[name]), whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [None, *CALIBRATORS])
def test_evaluate(name, given, fitted, of_arrays):
    options = {"calibrator": None if name is None else fitted[name], **DRAWS}
    found, whole = (evaluate(*one.of_measures, **options) for one in (given, of_arrays))
    assert found.n_rows == N_ROWS
    assert found.measures == pytest.approx(whole.measures, rel=1e-10, abs=1e-12)
    assert found.values() == pytest.approx(whole.values(), rel=3e-6, abs=1e-8)
    assert found.sentences() == whole.sentences()


@each_calibrator
def test_compare(name, given, of_arrays):
    options = {"measures": MEASURES, **DRAWS}
    tried = {name: CALIBRATORS[name]}
    found, whole = (compare(tried, *one.of_fit, cv=one.cv, **options) for one in (given, of_arrays))
    for one, other in zip(found, whole, strict=True):
        assert (one.calibrator, one.measure, one.source) == (
            other.calibrator,
            other.measure,
            other.source,
        )
        assert one.value == pytest.approx(other.value, rel=1e-9)
        ends = [(each.low, each.high, each.difference or 0.0) for each in (one, other)]
        assert ends[0] == pytest.approx(ends[1], rel=3e-6, abs=1e-8)


@each_calibrator
def test_report(name, given, of_arrays):
    found, whole = (
        Report.from_predictions(
            *one.of_measures, calibrators=CALIBRATORS[name], cv=one.cv, **DRAWS
        ).to_dict()
        for one in (given, of_arrays)
    )
    assert found["verdict"]["sentence"] == whole["verdict"]["sentence"]
    assert found["chosen"] == whole["chosen"]
    for one, other in zip(found["methods"], whole["methods"], strict=True):
        values = [[row["value"] for row in each["measures"]] for each in (one, other)]
        assert values[0] == pytest.approx(values[1], rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("bee", -0.5, r"^`.*` must not be negative; (.*), column (?:1|'bee') is -0.5\. .*logits"),
        ("bee", 1.5, r"^`.*` must have rows that sum to one; (.*) sums to 2.35756\. .*logits"),
        ("y", "owl", r"'owl'"),
    ],
    ids=["negative", "sum", "label"],
)
def test_a_bad_row_is_named_alike(kind, column, value, message, make, rows):
    table = rows.copy()
    table.loc[301, column] = value
    bad = make(kind, table)
    for use in (
        lambda: TemperatureScaling(classes=NAMES).fit(*bad.of_fit),
        lambda: evaluate(*bad.of_measures, classes=NAMES),
        lambda: compare(["temperature"], *bad.of_fit, classes=NAMES, n_resamples=100),
        lambda: Report.from_predictions(*bad.of_measures, classes=NAMES, n_resamples=100),
    ):
        with pytest.raises(ValueError, match=message) as error:
            use()
        places = re.search(message, str(error.value)).groups()
        assert [re.match(PLACES.get(kind, "row 301$"), place) for place in places] != [None]


@pytest.mark.filterwarnings("ignore:Dask dataframe query planning")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("array", "memory map")])
def test_weights_and_rows_without_labels(kind, make, rows):
    weight = np.random.default_rng(0).integers(0, 4, N_ROWS)
    table = rows.assign(w=weight)
    table.loc[[0, 250, 599], "y"] = None
    some = table.dropna()
    whole = DirichletCalibrator().fit(some[NAMES], some["y"], some["w"])
    given = make(kind, table, weight="w", skip_unlabelled=True)
    with pytest.warns(DircalWarning, match="3 of 600 rows have no label and are left out"):
        found = DirichletCalibrator().fit(*given.of_fit)
    proba = found.predict_proba(some[NAMES])
    assert_allclose(proba, whole.predict_proba(some[NAMES]), rtol=0, atol=1e-10)
    with pytest.warns(DircalWarning, match="3 of 600 rows have no label"):
        measures = evaluate(*make(kind, table, weight="w", skip_unlabelled=True).of_fit).measures
    expected = evaluate(some["y"], some[NAMES], sample_weight=some["w"]).measures
    assert measures == pytest.approx(expected, rel=1e-10)
    with pytest.raises(ValueError, match=r"(row|line).*, column 'y' is empty\. .*skip_unlabelled"):
        DirichletCalibrator().fit(*make(kind, table, weight="w").of_fit)
