"""Fits on parts: the same map as in memory, and errors that name part and row."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import dircal
from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    MatrixScaling,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal.exceptions import ColumnOrderWarning, RowSumWarning
from dircal.shift import GroupedCalibrator

NAMES = ["ant", "bee", "cat", "dog"]
CALIBRATORS = {
    "temperature": TemperatureScaling(),
    "vector": VectorScaling(),
    "matrix": MatrixScaling(),
    "dirichlet": DirichletCalibrator(),
    "dirichlet-l2": DirichletCalibrator(penalty="l2"),
    "bayesian": BayesianDirichletCalibrator(),
    "auto": AutoCalibrator(),
    "identity": IdentityCalibrator(),
    "one-vs-rest-beta": OneVsRestCalibrator(BetaCalibrator()),
    "one-vs-rest-platt": OneVsRestCalibrator(PlattCalibrator()),
    "one-vs-rest-histogram": OneVsRestCalibrator(HistogramCalibrator()),
}


def assert_same_map(one, other, scores, atol=1e-10):
    assert_array_equal(one.classes_, other.classes_)
    assert_allclose(one.predict_proba(scores), other.predict_proba(scores), rtol=0, atol=atol)


def test_groups_of_parts_are_left_alone_or_named(frame, cut, in_parts):
    table = in_parts(cut(frame.drop(columns="w").assign(site="north"), 3), group="site")
    whole = VectorScaling().fit(frame[NAMES], frame["y"])
    assert_same_map(whole, VectorScaling().fit(table), frame[NAMES])
    with pytest.raises(ValueError, match="the table is read in parts, where groups are not"):
        GroupedCalibrator(TemperatureScaling()).fit(table)


@pytest.mark.parametrize("calibrator", CALIBRATORS.values(), ids=CALIBRATORS)
def test_parts_give_the_map_that_arrays_give(calibrator, frame, cut, in_parts):
    scores = frame[NAMES]
    whole = calibrator.fit(scores, frame["y"], frame["w"])
    for n_parts in (1, 7, 64):
        fitted = clone(calibrator).fit(in_parts(cut(frame, n_parts), weight="w"))
        assert_same_map(whole, fitted, scores)
        assert type(fitted) is type(calibrator)
    if hasattr(fitted, "explain"):
        assert "calibration set" in str(fitted.explain()) or "Nothing" in str(fitted.explain())


def test_isotonic_curves_of_parts_are_close_to_those_of_rows(frame, cut, in_parts):
    """Scores are summed on a fine grid where they are many: the curve moves by next to nothing."""
    calibrator = OneVsRestCalibrator(IsotonicCalibrator())
    whole = calibrator.fit(frame[NAMES], frame["y"])
    fitted = clone(calibrator).fit(in_parts(cut(frame.drop(columns="w"), 7)))
    proba, other = (one.predict_proba(frame[NAMES]) for one in (whole, fitted))
    truth = (frame["y"].to_numpy()[:, None] == np.array(NAMES)).astype(float)
    brier = [float(((each - truth) ** 2).sum(axis=1).mean()) for each in (proba, other)]
    assert abs(brier[1] / brier[0] - 1.0) < 0.005


def test_logits_single_precision_and_masked_classes(frame, cut, in_parts):
    logits = np.log(frame[NAMES]).astype(np.float32)
    logits.iloc[::7, 1] = -np.inf
    table = logits.assign(y=np.where(np.arange(len(logits)) % 7 == 0, "ant", frame["y"]))
    for calibrator in (
        MatrixScaling(input_scale="logit"),
        TemperatureScaling(input_scale="logit"),
        OneVsRestCalibrator(PlattCalibrator(input_scale="logit")),
    ):
        whole = calibrator.fit(logits, table["y"])
        assert_same_map(whole, clone(calibrator).fit(in_parts(cut(table, 5))), logits)


def test_rows_that_are_decided_tell_nothing(frame, cut, in_parts):
    logits = np.log(frame[NAMES])
    logits.iloc[:500, 1:] = -np.inf
    labels = frame["y"].where(np.arange(len(frame)) >= 500, "ant")
    table = logits.assign(y=labels)
    calibrator = VectorScaling(input_scale="logit")
    fitted = clone(calibrator).fit(in_parts(cut(table, 3)))
    # Rows to start from are picked among all, in memory among those that tell something.
    assert_same_map(calibrator.fit(logits, labels), fitted, logits, atol=1e-6)


@pytest.mark.parametrize("columns", [["p", "q"], ["q"]])
def test_two_classes_in_two_columns_or_in_one(columns, in_parts):
    rng = np.random.default_rng(3)
    q = rng.random(3000)
    table = pd.DataFrame({"p": 1 - q, "q": q, "y": (rng.random(3000) < q**2).astype(int)})
    for calibrator in (BetaCalibrator(), PlattCalibrator()):
        whole = calibrator.fit(table[columns], table["y"])
        fitted = clone(calibrator).fit(in_parts([table[:999], table[999:]], scores=columns))
        assert_same_map(whole, fitted, table[columns])


def test_empty_parts_one_row_and_a_class_in_one_part_only(frame, cut, in_parts):
    table = frame.sort_values("y", kind="stable")
    parts = [table[:0], table[:1], table[1:1], *cut(table[1:], 6), table[:0]]
    whole = DirichletCalibrator().fit(table[NAMES], table["y"])
    assert_same_map(whole, DirichletCalibrator().fit(in_parts(parts, scores=NAMES)), table[NAMES])


@pytest.mark.parametrize("scores", [None, ["dog", "ant", "cat", "bee"]])
def test_columns_in_any_order_go_by_name(scores, frame, cut, in_parts):
    turned = frame[["y", "dog", "ant", "cat", "bee"]]
    fitted = VectorScaling().fit(in_parts(cut(turned, 4), scores=scores))
    assert_array_equal(fitted.column_classes_, NAMES if scores is None else scores)
    assert_same_map(VectorScaling().fit(frame[NAMES], frame["y"]), fitted, frame[NAMES])


def test_an_order_that_is_wrong_is_reported(frame, cut, in_parts):
    named = dict(zip(NAMES, "abcd", strict=True))
    table = frame.rename(columns=named)[["b", "a", "c", "d", "y"]]
    with pytest.warns(ColumnOrderWarning, match="classes="):
        TemperatureScaling().fit(in_parts(cut(table, 4), scores=["b", "a", "c", "d"]))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_of_any_kind(kind, frame, cut, in_parts):
    make = {"pandas": lambda t: t, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}[kind]
    parts = [make(part.reset_index(drop=True)) for part in cut(frame, 3)]
    whole = VectorScaling().fit(frame[NAMES], frame["y"], frame["w"])
    assert_same_map(whole, VectorScaling().fit(in_parts(parts, weight="w")), frame[NAMES])


def bad(frame, row, column, value):
    table = frame.drop(columns="w").copy()
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("bee", np.nan, r"`the table` must be finite; row 3 of part 2, column 'bee' is nan"),
        ("bee", -0.5, r"`the table` must not be negative; row 3 of part 2, column 'bee' is -0.5"),
        ("bee", 3.0, r"`the table` must have rows that sum to one; row 3 of part 2 sums to"),
        ("y", None, r"row 3 of part 2, column 'y' is empty. .* `skip_unlabelled=True`"),
    ],
)
def test_a_bad_row_is_named_with_its_part(column, value, told, frame, cut, in_parts):
    table = bad(frame, 10_003, column, value)
    with pytest.raises(ValueError, match=told):
        TemperatureScaling().fit(in_parts(cut(table, 4)))


def test_the_first_bad_part_is_reported(frame, cut, in_parts):
    table = bad(bad(frame.assign(w=1), 15_000, "ant", np.nan).assign(w=1), 7, "cat", np.nan)
    with pytest.raises(ValueError, match="row 7 of part 0, column 'cat' is nan"):
        TemperatureScaling().fit(in_parts(cut(table, 8)))


def test_a_masked_label_is_named_with_its_part(frame, cut, in_parts):
    logits = np.log(frame[NAMES])
    logits.loc[5001, frame["y"][5001]] = -np.inf
    with pytest.raises(ValueError, match="for row 1 of part 1, where `the table` masks"):
        VectorScaling(input_scale="logit").fit(in_parts(cut(logits.assign(y=frame["y"]), 4)))


def test_weights_that_cannot_be(frame, cut, in_parts):
    table = frame.copy()
    table.loc[5002, "w"] = -1.0
    with pytest.raises(
        ValueError, match="`w` must be finite and not negative; row 2 of part 1 has weight -1"
    ):
        TemperatureScaling().fit(in_parts(cut(table, 4), weight="w"))
    with pytest.raises(ValueError, match="zero for every row"):
        TemperatureScaling().fit(in_parts(cut(frame.assign(w=0.0), 4), weight="w"))


def test_rows_that_are_renormalised_are_reported_once(frame, cut, in_parts):
    table = frame.drop(columns="w")
    table[NAMES] *= 1.003
    with pytest.warns(RowSumWarning, match=r"row \d+ of part \d sums to 1.003") as told:
        TemperatureScaling().fit(in_parts(cut(table, 4)))
    assert len(told) == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"label": "truth"}, "`label`: the table has no column called 'truth'. Its columns: 'ant'"),
        ({"scores": [*NAMES, "y"]}, "`scores` names the column 'y', which `label` names as well"),
        ({"scores": NAMES, "weight": "dog"}, "names the column 'dog', which `weight` names as"),
        ({"weight": "y"}, "`weight` names the column 'y', which `label` names as well"),
        ({"scores": [*NAMES, "ant"]}, "`scores` names the column 'ant' twice"),
        ({"weight": "v"}, "`weight`: the table has no column called 'v'"),
        ({"scores": ["ant", "owl"]}, "`scores`: the table has no column called 'owl'"),
        ({"scores": "ant"}, "`scores` must be a list of names or a pattern with a star; got 'ant'"),
        ({"scores": []}, "`scores` must name the columns with the scores"),
        ({"scores": ["ant", "bee"]}, "must have rows that sum to one"),
    ],
)
def test_columns_that_cannot_be(options, told, frame, cut, in_parts):
    with pytest.raises(ValueError, match=told):
        TemperatureScaling().fit(in_parts(cut(frame, 2), **options))


def test_labels_of_two_kinds_and_no_rows(frame, in_parts):
    table = frame.drop(columns="w")
    with pytest.raises(ValueError, match="labels of one type"):
        TemperatureScaling().fit(in_parts([table, table.assign(y=1)]))
    with pytest.raises(
        ValueError, match=r"the table has no rows. Pass predictions with their labels"
    ):
        TemperatureScaling().fit(in_parts([table[:0], table[:0]]))


@pytest.mark.parametrize("given", [7, [], [1, 2], None])
def test_what_is_no_table(given, in_parts):
    with pytest.raises(
        ValueError, match="`source` must be the path of a file, a folder or a pattern, a data frame"
    ):
        TemperatureScaling().fit(in_parts(given))


@pytest.mark.parametrize(
    "calibrator",
    [
        AutoCalibrator(cv=3),
        CalibratorCV(TemperatureScaling(), {"clip": [1e-3]}),
    ],
)
def test_calibrators_that_need_all_rows_are_refused(calibrator, frame, in_parts):
    with pytest.raises(ValueError, match="fitted by sums over rows"):
        clone(calibrator).fit(in_parts([frame]))


def test_a_fit_in_memory_refuses_lazy_frames_and_names_this_one(frame, tmp_path):
    frame.to_parquet(tmp_path / "part.parquet")
    import dask.dataframe as dd

    for lazy in (
        pl.from_pandas(frame).lazy(),
        dd.from_pandas(frame, npartitions=2),
        ds.dataset(tmp_path),
    ):
        with pytest.raises(ValueError, match=r"calibrator\.fit\(dircal\.scan\("):
            TemperatureScaling().fit(lazy, frame["y"])


PEAK = """
import resource, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from dataclasses import replace
from dircal import TemperatureScaling, evaluate, scan
from dircal.tables import TableLimits
path, n_groups = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
schema = pa.schema([(name, pa.float64()) for name in "abcdefgh"] + [("y", pa.string())])
with pq.ParquetWriter(path, schema) as writer:
    for _ in range(n_groups):
        q = rng.dirichlet(np.ones(8), size=20_000)
        y = np.array([*"abcdefgh"])[(q.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)]
        writer.write_table(pa.table([*q.T, y], schema=schema))
        del q, y
table = replace(scan(path, label="y"), limits=TableLimits(memory_bytes=0))
TemperatureScaling(clip=1e-6).fit(table)
evaluate(table)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_the_peak_memory_of_a_streamed_fit_is_flat(tmp_path):
    """Ten times the rows take 25 MB of scores more, and next to no memory."""
    peaks = []
    for n_groups in (2, 20):
        command = [sys.executable, "-c", PEAK, str(tmp_path / "table.parquet"), str(n_groups)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) / 1024)
    assert peaks[1] - peaks[0] < 12.0


def test_the_package_does_not_load_dask():
    code = "import sys, dircal; dircal.scan; sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert "scan" in dircal.__all__
