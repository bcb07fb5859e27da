"""Soft labels in columns of a table: the results of arrays, for every kind of table."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    BetaCalibrator,
    DirichletCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    Report,
    TemperatureScaling,
    compare,
    confidence_interval,
    evaluate,
    metrics,
    scan,
)
from dircal.exceptions import DircalWarning, RowSumWarning

NAMES = ["ant", "bee", "cat"]
SOFT = [f"by_{name}" for name in reversed(NAMES)]
CALIBRATORS = {
    "temperature": TemperatureScaling(),
    "dirichlet": DirichletCalibrator(),
    "bayesian": BayesianDirichletCalibrator(),
    "auto": AutoCalibrator(),
    "one-vs-rest-beta": OneVsRestCalibrator(BetaCalibrator()),
    "one-vs-rest-isotonic": OneVsRestCalibrator(IsotonicCalibrator()),
    "one-vs-rest-histogram": OneVsRestCalibrator(HistogramCalibrator()),
}


def make_table(kind):
    """Scores and soft labels of three animals; the columns of labels are in another order."""
    rng = np.random.default_rng(0)
    n = 900
    logits = rng.normal(scale=2.0, size=(n, 3))
    q = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = np.exp(0.5 * logits) / np.exp(0.5 * logits).sum(axis=1, keepdims=True)
    n_annotators = rng.integers(1, 6, n) if kind == "uneven" else np.full(n, 4)
    labels = np.array([rng.multinomial(m, p) for m, p in zip(n_annotators, truth, strict=True)])
    if kind == "shares":
        labels = labels / labels.sum(axis=1, keepdims=True)
        # A part whose rows are certain.
        labels[:300] = np.eye(3)[labels[:300].argmax(axis=1)]
    table = pd.DataFrame(q, columns=NAMES)
    table[[f"by_{name}" for name in NAMES]] = labels
    return table[[*NAMES, *SOFT]].assign(w=rng.integers(0, 3, n))


@pytest.fixture(scope="module", params=["counts", "uneven", "shares"])
def table(request):
    return make_table(request.param)


def arrays(table):
    return table[NAMES], table[[f"by_{name}" for name in NAMES]].to_numpy()


@pytest.fixture(scope="module")
def describe(tmp_path_factory, cut, in_parts):
    """Describe a data frame as a table of some kind."""

    def describe_as(kind, table, **options):
        options = {"label": None, "label_columns": "by_*", **options}
        if kind == "frame":
            return scan(table, **options)
        if kind == "csv":
            path = tmp_path_factory.mktemp("soft") / "p.csv"
            table.to_csv(path, index=False)
            return scan(path, **options)
        if kind == "dask":
            return in_parts(dd.from_pandas(table, npartitions=3, sort=False), **options)
        if kind == "parquet":
            path = tmp_path_factory.mktemp("soft") / "p.parquet"
            table.to_parquet(path, row_group_size=300)
            return in_parts(path, **options)
        return in_parts(cut(table, 3), **options)

    return describe_as


KINDS = ["frame", "csv", "parts", "parquet", "dask"]
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
@pytest.mark.parametrize("weight", [None, "w"])
def test_maps_are_those_of_arrays(kind, weight, table, describe):
    scores, labels = arrays(table)
    whole = DirichletCalibrator().fit(scores, labels, None if weight is None else table[weight])
    fitted = DirichletCalibrator().fit(describe(kind, table, weight=weight))
    assert_array_equal(fitted.classes_, NAMES)
    assert_allclose(fitted.predict_proba(scores), whole.predict_proba(scores), rtol=0, atol=1e-10)


@pytest.mark.parametrize("calibrator", CALIBRATORS.values(), ids=CALIBRATORS)
def test_every_calibrator_in_parts(calibrator, table, describe):
    scores, labels = arrays(table)
    whole = clone(calibrator).fit(scores, labels)
    fitted = clone(calibrator).fit(describe("parts", table))
    assert_allclose(fitted.predict_proba(scores), whole.predict_proba(scores), rtol=0, atol=1e-10)


@each_kind
def test_listed_columns_are_in_the_order_of_the_classes(kind, table, describe):
    scores, labels = arrays(table)
    named = table.rename(columns=dict(zip(NAMES, "xyz", strict=True)))
    options = {"label_columns": SOFT, "classes": NAMES[::-1], "scores": ["z", "y", "x"]}
    fitted = TemperatureScaling().fit(describe(kind, named, **options))
    whole = TemperatureScaling().fit(scores, labels)
    assert fitted.temperature_ == pytest.approx(whole.temperature_, rel=1e-10)
    assert fitted.column_classes_.tolist() == NAMES[::-1]


@each_kind
def test_measures_are_those_of_arrays(kind, table, describe):
    scores, labels = arrays(table)
    found = evaluate(describe(kind, table)).measures
    for name in found:
        whole = getattr(metrics, name)(labels, scores)
        assert found[name] == pytest.approx(whole, rel=1e-10), name


@each_kind
@pytest.mark.parametrize("labels", ["counts", "shares"])
def test_intervals_are_those_of_arrays_and_there_are_no_tests(kind, labels, describe):
    table = make_table(labels)
    scores, soft = arrays(table)
    options = {"n_resamples": 100, "random_state": 0}
    found = evaluate(describe(kind, table), **options)
    whole = confidence_interval(soft, scores, "log_loss", **options)
    ends = found.intervals["log_loss"].low, found.intervals["log_loss"].high
    assert ends == pytest.approx((whole.low, whole.high), rel=1e-6)
    assert (found.tests, found.score_test) == ({}, None)
    assert found.sentences()[0].startswith("Tests of calibration need one label for each row")


@each_kind
def test_rows_with_more_annotators_than_others_are_not_drawn(kind, describe):
    table = describe(kind, make_table("uneven"))
    with pytest.raises(ValueError, match=r"rows with 1 to 5 annotators. Rows are drawn here"):
        evaluate(table, n_resamples=100)
    with pytest.raises(ValueError, match="`y` has rows with 1 to 5 annotators"):
        compare(["temperature"], table, n_resamples=100)


@each_kind
def test_comparisons_and_reports(kind, describe):
    table = make_table("counts")
    scores, labels = arrays(table)
    options = {"n_resamples": 100, "random_state": 0}
    found = compare(["temperature"], describe(kind, table), measures=["log_loss"], **options)
    assert found.row("temperature", "log_loss").difference < 0
    fitted = TemperatureScaling().fit(scores, labels)
    tried = {"calibrators": {"one": fitted}, **options}
    found = Report.from_predictions(describe(kind, table), **tried).to_dict()
    whole = Report.from_predictions(labels, scores, **tried).to_dict()
    assert found["verdict"]["sentence"] == whole["verdict"]["sentence"]
    for one, other in zip(found["methods"], whole["methods"], strict=True):
        values = [[row["value"] for row in each["measures"]] for each in (one, other)]
        assert values[0] == pytest.approx(values[1], rel=1e-8)


@each_kind
def test_rows_without_annotators_are_left_out(kind, describe):
    table = make_table("counts")
    table.loc[[5, 400], SOFT] = 0
    scores, labels = arrays(table.drop(index=[5, 400]))
    with pytest.warns(DircalWarning, match="2 of 900 rows have no label and are left out"):
        fitted = TemperatureScaling().fit(describe(kind, table))
    assert fitted.temperature_ == pytest.approx(
        TemperatureScaling().fit(scores, labels).temperature_
    )


@each_kind
@pytest.mark.filterwarnings("ignore:.* rows have no label:dircal.exceptions.DircalWarning")
@pytest.mark.parametrize(
    ("row", "values", "message"),
    [
        (0, [0.5, 0.25, 0.5], r"columns, which are soft labels, .*row 0.* sums to 1.25"),
        (400, [-1.0, 1, 1], r"must not be negative; .*row (400|100).*, column 'by_cat' is -1"),
        (slice(None), [0, 0, 0], "has no row with a label. Pass another column: `label_columns`"),
        (slice(None), [0, 1, 1], r"holds only 0 and 1, and .*row 0.* sums to 2"),
    ],
)
def test_bad_soft_labels_are_named(kind, row, values, message, describe):
    table = make_table("shares")
    table.loc[row, SOFT] = values
    if kind == "csv":
        message = message.replace("row 0", "line 2").replace("row (400|100)", "line 402")
    with pytest.raises(ValueError, match=message):
        TemperatureScaling().fit(describe(kind, table))


@each_kind
def test_shares_that_miss_one_are_renormalised_with_one_warning(kind, describe):
    table = make_table("shares")
    table[SOFT] *= 1.005
    scores, labels = arrays(make_table("shares"))
    with pytest.warns(RowSumWarning, match="do not sum to one") as found:
        fitted = TemperatureScaling().fit(describe(kind, table))
    assert len(found) == 1
    assert fitted.temperature_ == pytest.approx(
        TemperatureScaling().fit(scores, labels).temperature_
    )


@each_kind
def test_counts_that_are_not_integers(kind, describe):
    table = make_table("uneven")
    table[SOFT] *= 0.5
    scores, labels = arrays(table)
    whole = TemperatureScaling().fit(scores, labels, counts=True)
    fitted = TemperatureScaling().fit(describe(kind, table), counts=True)
    assert fitted.temperature_ == pytest.approx(whole.temperature_, rel=1e-10)
    named = table.assign(y=np.array(NAMES)[labels.argmax(axis=1)])
    with pytest.raises(ValueError, match="`counts` is True, but `y` is one label for each row"):
        TemperatureScaling().fit(describe(kind, named, label="y", label_columns=None), counts=True)


def test_a_cluster(client):
    table = make_table("uneven")
    lazy = dd.from_pandas(table, npartitions=3, sort=False)
    fitted = DirichletCalibrator().fit(scan(lazy, label_columns="by_*", weight="w", client=client))
    whole = DirichletCalibrator().fit(*arrays(table), table["w"])
    assert_allclose(fitted.coef_, whole.coef_, rtol=0, atol=1e-10)
