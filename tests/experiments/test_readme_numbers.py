"""The table of the README is that of the results: transcribed here, computed from the rows."""

import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
# A line of the README, and the method of the results.
METHODS = {
    "uncalibrated": "uncalibrated",
    "scikit-learn, isotonic": "scikit-learn isotonic",
    "scikit-learn, sigmoid": "scikit-learn sigmoid",
    "scikit-learn, temperature": "scikit-learn temperature",
    "netcal, temperature": "netcal temperature",
    "probmetrics, structured matrix scaling": "probmetrics SMS",
    "dircal, TemperatureScaling()": "temperature",
    "dircal, AutoCalibrator(), the default": "Auto",
}
COLUMNS = (
    lambda row: row["kind"] == "UCI" and row["half"] == "developed on",
    lambda row: row["kind"] == "UCI" and row["half"] == "held out",
    lambda row: row["kind"] == "networks" and int(row["k"]) <= 20,
    lambda row: row["kind"] == "networks" and 100 <= int(row["k"]) <= 200,
)


@pytest.fixture(scope="module")
def results():
    """Rows of whole tasks."""
    path = ROOT / "benchmarks" / "results" / "quality.csv"
    with path.open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["draw"] == "0"]


@pytest.fixture(scope="module")
def printed():
    """Cells of the README's first table by the name of the line."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Benchmarks")[2]
    lines = {}
    for line in re.findall(r"^\| (.+) \|$", section.partition("## Interfaces")[0], flags=re.M):
        name, *cells = (re.sub(r"[*`]", "", cell).strip() for cell in line.split(" | "))
        lines[name] = cells
    return lines


def by_source(rows):
    """Losses of each source."""
    losses = defaultdict(list)
    for row in rows:
        losses[row["source"]].append(float(row["log_loss"]))
    return losses


@pytest.mark.parametrize("name", METHODS)
def test_losses_are_means_over_sources(results, printed, name):
    rows = [row for row in results if row["method"] == METHODS[name]]
    for column, cell in zip(COLUMNS, printed[name], strict=True):
        losses = by_source(filter(column, rows))
        mean = np.mean([np.mean(each) for each in losses.values()])
        assert abs(float(cell) - mean) <= 0.00051


def test_all_methods_were_measured_on_the_tasks_that_are_counted(results, printed):
    counted = [re.fullmatch(r"(\d+) \((\d+)\)", cell) for cell in printed["classifiers (sources)"]]
    for method in METHODS.values():
        rows = [row for row in results if row["method"] == method]
        for column, told in zip(COLUMNS, counted, strict=True):
            losses = by_source(filter(column, rows))
            found = sum(map(len, losses.values())), len(losses)
            assert found == (int(told[1]), int(told[2]))


def test_the_default_is_best_in_every_column(printed):
    best = printed["dircal, AutoCalibrator(), the default"]
    for place in range(len(COLUMNS)):
        others = [printed[name][place] for name in METHODS if printed[name] is not best]
        assert all(float(best[place]) < float(one) for one in others)
