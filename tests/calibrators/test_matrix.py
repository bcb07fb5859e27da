import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal import DirichletCalibrator, MatrixScaling


def log_loss(calibrator, X, y):
    return -np.log(calibrator.predict_proba(X)[np.arange(len(y)), y]).mean()


def test_odir_test_vectors(vectors, expected):
    fit = MatrixScaling(lam=1.2, mu=0.8, input_scale="logit").fit(vectors.logits, vectors.y)
    loss = log_loss(fit, vectors.logits, vectors.y)
    off = (fit.coef_**2).sum() - (fit.coef_.diagonal() ** 2).sum()
    objective = loss + 0.1 * off + 0.2 * (fit.intercept_**2).sum()
    assert loss == pytest.approx(expected["ms_odir_lam0.1_mu0.2_sumunits_logloss"], abs=1e-9)
    name = "ms_odir_lam0.1_mu0.2_sumunits_objective"
    assert objective == pytest.approx(expected[name], abs=1e-9)


def test_unpenalised_test_vectors(vectors, expected):
    fit = MatrixScaling(penalty="none", input_scale="logit").fit(vectors.logits, vectors.y)
    loss = log_loss(fit, vectors.logits, vectors.y)
    assert loss == pytest.approx(expected["matrix_scaling_unregularised_logloss"], abs=1e-9)


def test_of_probabilities_it_is_dirichlet_calibration(vectors):
    matrix = MatrixScaling().fit(vectors.proba, vectors.y)
    dirichlet = DirichletCalibrator().fit(vectors.proba, vectors.y)
    assert_allclose(matrix.coef_, dirichlet.coef_, rtol=1e-12)


def test_a_constant_on_a_row_of_logits_is_information(vectors):
    fit = MatrixScaling(input_scale="logit").fit(vectors.logits, vectors.y)
    moved = fit.predict_proba(vectors.logits + 1.0)
    assert np.abs(moved - fit.predict_proba(vectors.logits)).max() > 1e-3


def test_a_floor_for_logits_is_refused(vectors):
    with pytest.raises(ValueError, match=r"`clip` is a floor for probabilities.*1e-06.*'learned'"):
        MatrixScaling(input_scale="logit", clip=1e-6).fit(vectors.logits, vectors.y)
