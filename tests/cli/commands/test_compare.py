import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dircal
from dircal._core.data.folds import RowFolds


def test_it_is_the_comparison_of_the_library(run, write_csv, animals):
    write_csv()
    common = ["p.csv", "--label", "y", "--calibrators", "temperature,isotonic"]
    found = json.loads(run("compare", *common, "--resamples", "100", "--json").stdout)["rows"]
    maps = {
        "temperature": dircal.TemperatureScaling(),
        "isotonic": dircal.OneVsRestCalibrator(dircal.IsotonicCalibrator()),
    }
    expected = dircal.compare(maps, *animals, n_resamples=100, random_state=0)
    assert [row["calibrator"] for row in found] == [row.calibrator for row in expected]
    assert_allclose([row["value"] for row in found], [row.value for row in expected], rtol=1e-9)


def test_a_table_for_each_measure(run, write_csv):
    write_csv()
    common = ["p.csv", "--label", "y", "--calibrators", "temperature", "--folds", "2"]
    told = run("compare", *common, "--resamples", "100").stdout
    assert told.count("uncalibrated") == told.count("temperature") == 8
    heads = [line for line in told.splitlines() if " value " in line]
    biased = {line.split()[0] for line in heads if "without bias" in line}
    assert (
        {"confidence_ece", "classwise_ece"}
        <= biased
        <= {"confidence_ece", "classwise_ece", "smooth_ece"}
    )


def test_names_that_are_none(run, write_csv):
    write_csv()
    told = run("compare", "p.csv", "--label", "y", "--calibrators", "svm", code=2).stderr
    assert "'svm' is no calibrator. There are auto, bayesian, " in told
    told = run("compare", "p.csv", "--label", "y", "--calibrators", "beta,beta", code=2).stderr
    assert "each once" in told


def test_many_files_are_compared_as_one_table(run, lake):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.concat_tables([pq.read_table(one) for one in sorted(lake.iterdir())]).to_pandas()
    common = ["--label", "y", "--calibrators", "temperature", "--folds", "2", "--resamples", "100"]
    common += ["--engine", "threads"]
    found = json.loads(run("compare", "lake", *common, "--json").stdout)
    assert found["scored"] == 300
    dealt = RowFolds(2).of_rows(np.arange(300))
    pairs = [(np.flatnonzero(dealt != one), np.flatnonzero(dealt == one)) for one in range(2)]
    whole = dircal.compare(
        {"temperature": dircal.TemperatureScaling()},
        table[["ant", "bee", "cow"]],
        table["y"],
        cv=pairs,
        n_resamples=100,
        random_state=0,
    )
    for row, expected in zip(found["rows"], whole, strict=True):
        assert row["value"] == pytest.approx(expected.value, rel=1e-9)
        if expected.low is None:
            assert row["low"] is None
        else:
            assert row["low"] == pytest.approx(expected.low, rel=3e-6, abs=1e-8)
        assert row["source"] == expected.source
    told = run("compare", "lake/*.parquet", *common).stdout
    assert "300 rows were scored." in told


def test_moments_are_told(run, write_csv, use_limits):
    write_csv()
    use_limits("ResamplingLimits", min_moment_rows=300)
    common = ["--label", "y", "--calibrators", "temperature", "--resamples", "100"]
    told = " ".join(run("compare", "p.csv", *common).stdout.split())
    start = "300 rows were scored. With 300 rows the intervals come from moments of sums over rows:"
    assert f"{start} accuracy, " in told
