"""scikit-learn's own checks, and where a bare calibrator has to differ.

Many of those checks feed columns that are neither probabilities nor one for each class. Each such
check is listed with the test here that asks the same of rows on the simplex.
"""

import warnings
from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import check_estimator


@pytest.mark.representatives
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_checks_of_scikit_learn(calibrator, configure, on_the_simplex, scale):
    configure(calibrator, input_scale=scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            calibrator, expected_failed_checks=on_the_simplex, on_skip=None, on_fail=None
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) >= 20


def test_every_exception_has_its_own_test(on_the_simplex):
    here = Path(__file__).parent
    tests = [here / "test_contracts.py", here.parent / "tables" / "test_arrays.py"]
    written = "".join(path.read_text() for path in tests)
    for name in on_the_simplex.values():
        assert f"def {name}" in written, name
