"""Parameters: every way to get them wrong has one clear error."""

import numpy as np
import pytest

from dircal import DirichletCalibrator, VectorScaling

GOOD = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6]])


Y = np.array([0, 1, 1, 0])


BAD_PARAMETERS = {
    "penalty": ({"penalty": "l1"}, r"`penalty` must be one of 'odir', 'l2', .*; got 'l1'"),
    "penalty type": ({"penalty": None}, r"`penalty` must be one of .*; got None"),
    "negative lam": ({"lam": -1.0}, r"`lam` must be a finite number at least 0; got -1\.0"),
    "nan lam": ({"lam": np.nan}, r"`lam` must be a finite number at least 0; got nan"),
    "lam as text": ({"lam": "1"}, r"`lam` must be a finite number at least 0; got '1'"),
    "lam as truth": ({"lam": True}, r"`lam` must be a finite number at least 0; got True"),
    "lam as time": (
        {"lam": np.timedelta64(1, "s")},
        r"`lam` must be a finite number at least 0; got np\.timedelta64",
    ),
    "negative mu": ({"mu": -1.0}, r"`mu` must be a finite number at least 0; got -1\.0"),
    "mu with l2": ({"penalty": "l2", "mu": 1.0}, r"`mu` weighs .*got mu=1\.0.*penalty='odir'"),
    "mu without penalty": ({"penalty": "none", "mu": 1.0}, r"`mu` weighs .* penalty='none'"),
    "lam without penalty": ({"penalty": "none", "lam": 1.0}, r"`lam` has no effect.*lam=1\.0"),
    "scale": ({"input_scale": "logits"}, r"`input_scale` must be one of .*; got 'logits'"),
    "clip zero": ({"clip": 0.0}, r"`clip` must be a finite number at least .*; got 0\.0"),
    "clip one": ({"clip": 1.0}, r"`clip` must be a finite number .* below 1; got 1\.0"),
    "clip word": ({"clip": "auto"}, r"`clip` must be 'learned' or a number; got 'auto'"),
    "tol": ({"tol": 0.0}, r"`tol` must be a finite number above 0; got 0\.0"),
    "max_iter": ({"max_iter": 0}, r"`max_iter` must be a whole number of at least 1; got 0"),
    "max_iter half": ({"max_iter": 1.5}, r"`max_iter` must be a whole number .*; got 1\.5"),
}


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS.values(), ids=BAD_PARAMETERS)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        DirichletCalibrator(**parameters).fit(GOOD, Y)


def test_vector_scaling_has_fewer_penalties():
    with pytest.raises(ValueError, match="`penalty` must be one of 'none', 'l2'; got 'odir'"):
        VectorScaling(penalty="odir").fit(GOOD, Y)
