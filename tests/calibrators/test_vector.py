import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal import VectorScaling
from dircal.exceptions import ConvergenceWarning


def log_loss(calibrator, X, y):
    return -np.log(calibrator.predict_proba(X)[np.arange(len(y)), y]).mean()


def test_test_vectors(vectors, expected):
    fit = VectorScaling(input_scale="logit").fit(vectors.logits, vectors.y)
    loss = log_loss(fit, vectors.logits, vectors.y)
    assert loss == pytest.approx(expected["vector_scaling_logloss"], abs=1e-9)
    assert_allclose(fit.intercept_.sum(), 0.0, atol=1e-9)
    assert_allclose(fit.coef_, np.diag(fit.coef_.diagonal()))


def test_l2_shrinks_slopes_and_intercepts(vectors):
    free = VectorScaling().fit(vectors.proba, vectors.y)
    held = VectorScaling(penalty="l2", lam=0.1).fit(vectors.proba, vectors.y)
    harder = VectorScaling(penalty="l2", lam=10.0).fit(vectors.proba, vectors.y)
    sizes = [np.abs(fit.coef_).sum() for fit in (free, held, harder)]
    assert sizes == sorted(sizes, reverse=True)
    default = VectorScaling(penalty="l2").fit(vectors.proba, vectors.y)
    written = VectorScaling(penalty="l2", lam=1e-3).fit(vectors.proba, vectors.y)
    assert_allclose(default.coef_, written.coef_)


def test_an_absent_class_warns_unless_penalised(vectors):
    y = np.where(vectors.y == 3, 0, vectors.y)
    with pytest.warns(ConvergenceWarning, match="absent class"):
        VectorScaling(classes=range(4)).fit(vectors.proba, y)
    fit = VectorScaling(penalty="l2", classes=range(4)).fit(vectors.proba, y)
    assert fit.predict_proba(vectors.proba)[:, 3].max() < 0.1
