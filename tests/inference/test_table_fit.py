"""A fit on a table, with losses before and after."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dircal import (
    AutoCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
    metrics,
    scan,
)
from dircal.inference import fit_table
from dircal.tables import TableLimits

NAMES = ["ant", "bee", "cow"]


@pytest.fixture
def frame(make_problem):
    problem = make_problem(1, n=300)
    return pd.DataFrame(problem.proba, columns=NAMES).assign(y=np.array(NAMES)[problem.y])


def test_losses_are_those_of_the_library(frame):
    found = fit_table(VectorScaling(), scan(frame, label="y"))
    alone = VectorScaling().fit(frame[NAMES], frame["y"])
    np.testing.assert_array_equal(found.calibrator.coef_, alone.coef_)
    after = alone.predict_proba(frame[NAMES])
    assert found.log_loss_before == pytest.approx(metrics.log_loss(frame["y"], frame[NAMES]))
    assert found.log_loss_after == pytest.approx(metrics.log_loss(frame["y"], after))
    assert found.log_loss_new_rows_by == "folds"
    assert found.log_loss_after < found.log_loss_new_rows < found.log_loss_before
    document = found.to_dict()
    assert document["columns"] == document["column_classes"].tolist() == NAMES
    assert (document["rows"], document["calibrator"]) == (300, "VectorScaling")


def test_parts_give_the_same(frame):
    table = scan([frame[:100], frame[100:]], label="y")
    limits = TableLimits(memory_bytes=0)
    whole, parts = (
        fit_table(AutoCalibrator(), one) for one in (table, replace(table, limits=limits))
    )
    for name in ("log_loss_before", "log_loss_after"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-9)
    assert parts.sentences()[0] == whole.sentences()[0]
    assert parts.n_rows == 300
    # Folds are not tried on rows that are read in parts.
    assert fit_table(TemperatureScaling(), replace(table, limits=limits)).log_loss_new_rows is None


def test_one_column_has_losses_too(make_problem):
    problem = make_problem(0, n=200, k=2)
    frame = pd.DataFrame({"p": problem.proba[:, 1], "y": problem.y})
    found = fit_table(PlattCalibrator(), scan(frame, label="y", scores=["p"], classes=[0, 1]))
    assert found.log_loss_before == pytest.approx(metrics.log_loss(problem.y, problem.proba))
    assert found.log_loss_after < found.log_loss_before
    assert found.sentences()[1] == "Columns: p = 1."
