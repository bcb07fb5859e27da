"""What weights are charged for."""

import numpy as np
import pytest

from dircal._core.model.penalty import off_diagonal


def test_odir_is_the_formula_of_the_paper():
    weights = np.arange(12.0).reshape(3, 4)
    W, b = weights[:, :-1], weights[:, -1]
    penalty = off_diagonal(3, lam=5.0, mu=2.0)
    off = sum(W[i, j] ** 2 for i in range(3) for j in range(3) if i != j)
    formula = 5.0 / 6.0 * off + 2.0 / 3.0 * (b**2).sum()
    assert (penalty.weight * weights**2).sum() == pytest.approx(formula)
