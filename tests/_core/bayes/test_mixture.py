"""The mixture of a prediction with the uniform one."""

import numpy as np
from numpy.testing import assert_allclose

from dircal._core.bayes.mixture import mix_with_uniform


def test_the_mixture_by_hand():
    logits = np.array([[2.0], [0.5], [-1.0]])
    odds = np.exp(0.5 * logits)
    expected = np.log(0.9 * odds / odds.sum() + 0.1 / 3)
    found = mix_with_uniform(logits.copy(), 0.5, 0.1, normalised=True)
    assert_allclose(found, expected, rtol=1e-12)
    moved = mix_with_uniform(logits.copy(), 0.5, 0.1, normalised=False)
    assert_allclose(moved, expected + np.log(odds.sum()), rtol=1e-12)
    bare = mix_with_uniform(logits.copy(), 0.5, 1e-300, normalised=False)
    assert_allclose(bare, 0.5 * logits, rtol=1e-12)
