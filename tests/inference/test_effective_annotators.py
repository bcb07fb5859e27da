import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal import effective_annotators


def draw(concentration, n=3000, m=8, seed=0):
    """Annotators of rows whose own probabilities are spread around what is predicted."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet([2.0, 2.0, 2.0], n)
    own = proba
    if concentration is not None:
        own = np.array([rng.dirichlet(concentration * row + 1e-9) for row in proba])
    return proba, np.array([rng.multinomial(m, row) for row in own])


@pytest.mark.parametrize("concentration", [1.0, 3.0, 9.0])
def test_the_correlation_of_a_dirichlet_multinomial_is_known(concentration):
    proba, counts = draw(concentration)
    correlation = 1.0 / (1.0 + concentration)
    assert_allclose(effective_annotators(proba, counts), 8.0 / (1.0 + 7.0 * correlation), rtol=0.06)


def test_annotators_of_a_calibrated_row_are_rows():
    assert_allclose(effective_annotators(*draw(None)), 8.0, rtol=0.1)


def test_annotators_who_all_agree_are_one():
    proba, counts = draw(None, m=1)
    weight = effective_annotators(proba, 8 * counts)
    assert_allclose(weight, 1.0, rtol=0.01)


def test_rows_count_by_their_annotators():
    proba, counts = draw(3.0, n=400)
    counts[:100] *= 2
    counts[100:150] = 0
    weight = effective_annotators(proba, counts)
    assert (weight[100:150] == 0.0).all()
    assert weight[0] > weight[-1] > 1.0
    assert np.unique(weight[150:]).size == 1


def test_one_annotator_a_row():
    proba, counts = draw(3.0, n=100, m=1)
    assert_allclose(effective_annotators(proba, counts), 1.0)


def test_logits_and_names(make_problem):
    problem = make_problem(0, n=300, k=3)
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(5, row) for row in problem.proba])
    plain = effective_annotators(problem.proba, counts)
    named = effective_annotators(problem.proba, counts, classes=["c", "a", "b"])
    assert_allclose(named, plain, rtol=1e-6)
    logits = effective_annotators(np.log(problem.proba), counts, input_scale="logit")
    assert_allclose(logits, plain, rtol=1e-2)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[0.5, 1.2]] * 4, r"`counts` must hold numbers of annotators; row 0 sums to 1.7"),
        ([[-1, 2]] * 4, r"`counts` must not be negative; row 0, column 0 is -1"),
        ([0, 1, 1, 0], r"`counts` is True, but `counts` is one label for each row"),
    ],
)
def test_bad_counts(counts, message):
    with pytest.raises(ValueError, match=message):
        effective_annotators([[0.4, 0.6]] * 4, np.array(counts))
