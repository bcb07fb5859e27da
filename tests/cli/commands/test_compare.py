import json

from numpy.testing import assert_allclose

import dircal


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
