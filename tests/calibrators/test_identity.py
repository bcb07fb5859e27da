import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from dircal import IdentityCalibrator


def test_probabilities_stay_as_they_are():
    X = np.array([[0.0, 1.0], [0.25, 0.75], [0.6, 0.4]])
    assert_allclose(IdentityCalibrator().fit(X, [0, 1, 1]).predict_proba(X), X, rtol=1e-15)


def test_logits_become_their_softmax(vectors):
    identity = IdentityCalibrator(input_scale="logit").fit(vectors.logits, vectors.y)
    assert_allclose(identity.predict_proba(vectors.logits), softmax(vectors.logits, axis=1))


def test_columns_are_put_in_the_order_of_the_labels():
    X = [[0.2, 0.7, 0.1], [0.1, 0.3, 0.6]]
    identity = IdentityCalibrator(classes=["c", "a", "b"]).fit(X, ["a", "b"])
    assert identity.classes_.tolist() == ["a", "b", "c"]
    assert_allclose(identity.predict_proba(X), [[0.7, 0.1, 0.2], [0.3, 0.6, 0.1]])


def test_it_says_that_nothing_is_corrected():
    X = [[0.2, 0.8], [0.7, 0.3]]
    identity = IdentityCalibrator().fit(X, ["no", "yes"])
    for explanation in (identity.explain(), identity.explain(X)):
        assert str(explanation) == "Nothing is corrected: the probabilities stay as they are."
        assert explanation.sentences() == [str(explanation)]
        assert explanation.table() == ""
        assert explanation.decisions_changed == 0.0
        assert explanation.to_dict()["classes"] == ()
    with pytest.raises(ValueError, match="`X`"):
        identity.explain([[0.2, 0.3, 0.5]])
