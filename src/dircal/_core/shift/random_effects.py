r"""A map for each group, as random effects around a common map.

With s the log-probabilities of the common map, less their mean in a row, group g has logits

.. math:: s + \delta_g c_g s + V_g c_g s + b_g,

where :math:`c_g` makes scores of a group that hardly differ as wide as one. A priori all these
entries are normal around zero, with one precision for the slopes :math:`\delta`, one for the
matrices V, which with many classes are diagonal, and one for the intercepts b. The precisions are
those of the largest evidence of all groups together (empirical Bayes; MacKay, 1992): with
:math:`\gamma` the effective parameters of a kind in all groups and :math:`\theta` their values,

.. math:: \alpha = (\gamma + 2a) / (\|\theta\|^2 + 2a / \alpha^0),

where a gamma prior with its mode at :math:`\alpha^0` counts like 2a parameters. The
prior keeps precisions finite for groups that do not differ at all: the caller compares the evidence
with the likelihood without effects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dircal._core.data.simplex import log_softmax
from dircal._core.shift.effect_curvature import (
    AbstractCurvature,
    DenseCurvature,
    diagonal_curvature,
)
from dircal._core.shift.limits import SHIFT_LIMITS
from dircal._typing import FloatArray, IntArray

__all__ = ["GroupEffects", "fit_random_effects"]

# Precisions that are expected of slopes, matrices and intercepts: entries within a fifth, within a
# fifth over the number of those that act on a logit, and within a third.
_SLOPE, _MATRIX, _INTERCEPT = 25.0, 25.0, 9.0


@dataclass(frozen=True)
class GroupEffects:
    """Maps [W | b] (g, k, k + 1) of groups, precisions (3,) and effective parameters (3,).

    The maps act on log-probabilities less their mean in a row. ``log_evidence`` (g,) is that of the
    labels of each group, by Laplace's approximation, and ``log_likelihood`` that of all labels
    without effects.
    """

    weights: FloatArray
    log_evidence: FloatArray
    log_likelihood: float
    precisions: FloatArray
    effective_dof: FloatArray


@dataclass(frozen=True)
class _Structure:
    """Parameters of a group: a slope, entries of a matrix, and intercepts."""

    n_classes: int

    @property
    def is_full(self) -> bool:
        return self.n_classes <= SHIFT_LIMITS.get().max_effect_classes

    @property
    def kind(self) -> IntArray:
        """Slope, matrix or intercept, by parameter."""
        k = self.n_classes
        return np.repeat([0, 1, 2], [1, k * k if self.is_full else k, k])

    @property
    def mode(self) -> FloatArray:
        """Precisions that are expected."""
        width = self.n_classes if self.is_full else 1
        return np.array([_SLOPE, width * _MATRIX, _INTERCEPT])

    def weights(self, params: FloatArray, scale: float) -> FloatArray:
        """[W | b] (k, k + 1) of scores that effects see times ``scale``."""
        k = self.n_classes
        inner = params[1:-k]
        matrix = params[0] * np.eye(k) + (inner.reshape(k, k) if self.is_full else np.diag(inner))
        return np.column_stack([np.eye(k) + scale * matrix, params[-k:]])

    def logits(self, params: FloatArray, scores: FloatArray, scale: float) -> FloatArray:
        """Logits (k, m) of scores that effects see times ``scale``."""
        if self.is_full:
            weights = self.weights(params, scale)
            found: FloatArray = weights[:, :-1] @ scores + weights[:, -1:]
        else:
            k = self.n_classes
            slopes = 1.0 + scale * (params[0] + params[1:-k])
            found = slopes[:, None] * scores + params[-k:, None]
        return found

    def pull(self, residual: FloatArray, scores: FloatArray) -> FloatArray:
        """The sum over rows of the Jacobian of the logits, transposed, times residuals (k, m)."""
        if self.is_full:
            matrix = (residual @ scores.T).ravel()
        else:
            matrix = np.einsum("jm,jm->j", residual, scores)
        return np.concatenate([[np.vdot(residual, scores)], matrix, residual.sum(axis=1)])

    def curvature(
        self, proba: FloatArray, scores: FloatArray, weight: FloatArray, precision: FloatArray
    ) -> AbstractCurvature:
        """That of the loss of rows with these probabilities and scores (k, m), and the prior."""
        if not self.is_full:
            return diagonal_curvature(proba, scores, weight, precision)
        n_params = len(precision)
        hessian = np.zeros((n_params, n_params))
        # Some rows at a time: a Jacobian has k (k + 1) numbers for each.
        step = max(64, SHIFT_LIMITS.get().jacobian_elements // (len(proba) * n_params))
        for start in range(0, len(weight), step):
            part = slice(start, start + step)
            jacobian = self._jacobian(scores[:, part])
            weighted = proba[:, part, None] * jacobian
            mean = weighted.sum(axis=0)
            root = np.sqrt(weight[part])[:, None]
            flat = (jacobian * root).reshape(-1, n_params)
            hessian += flat.T @ (weighted * root).reshape(-1, n_params)
            hessian -= (mean * root).T @ (mean * root)
        return DenseCurvature(hessian, precision)

    def _jacobian(self, scores: FloatArray) -> FloatArray:
        """Of the logits of rows under full matrices, (k, m, p)."""
        k, m = scores.shape
        found = np.zeros((k, m, len(self.kind)))
        found[:, :, 0] = scores
        for j in range(k):
            found[j, :, 1 + j * k : 1 + (j + 1) * k] = scores.T
            found[j, :, j - k] = 1.0
        return found


@dataclass(frozen=True)
class _Rows:
    """Scores (k, m), labels (m,), weights (m,) and soft labels (k, m), if any, of one group."""

    structure: _Structure
    scores: FloatArray
    labels: IntArray
    weight: FloatArray
    targets: FloatArray | None = None

    @cached_property
    def scale(self) -> float:
        """By which effects see scores: those within a row are at least so wide."""
        variance = np.average(self.scores.var(axis=0), weights=self.weight)
        return max(1.0, float(1.0 / np.sqrt(max(variance, SHIFT_LIMITS.get().min_score_variance))))

    def loss(self, params: FloatArray) -> float:
        """The summed loss."""
        log_proba = self._log_proba(params)
        if self.targets is not None:
            return -float(np.vdot(self.targets * self.weight, log_proba))
        picked = log_proba[self.labels, np.arange(len(self.labels))]
        return -float(self.weight @ picked)

    def _log_proba(self, params: FloatArray) -> FloatArray:
        return log_softmax(self.structure.logits(params, self.scores, self.scale))

    def derivatives(
        self, params: FloatArray, precision: FloatArray
    ) -> tuple[FloatArray, AbstractCurvature]:
        """Gradient (p,) and curvature of the summed loss and the prior."""
        proba = np.exp(self._log_proba(params))
        if self.targets is None:
            residual = proba.copy()
            residual[self.labels, np.arange(len(self.labels))] -= 1.0
        else:
            residual = proba - self.targets
        seen = self.scale * self.scores
        gradient = self.structure.pull(residual * self.weight, seen) + precision * params
        return gradient, self.structure.curvature(proba, seen, self.weight, precision)


def fit_random_effects(
    scores: FloatArray,
    labels: IntArray,
    weight: FloatArray,
    starts: Sequence[int],
    targets: FloatArray | None = None,
) -> GroupEffects:
    """Of rows (k, n) that are sorted by group; ``starts`` are the first rows of the groups.

    Scores are log-probabilities less their mean in a row; ``targets`` (k, n) are soft labels.
    """
    limits = SHIFT_LIMITS.get()
    structure = _Structure(len(scores))
    ends = [*starts[1:], len(labels)]
    groups = [
        _Rows(
            structure,
            scores[:, a:b],
            labels[a:b],
            weight[a:b],
            None if targets is None else targets[:, a:b],
        )
        for a, b in zip(starts, ends, strict=True)
    ]
    kind, mode = structure.kind, structure.mode
    params, log_evidence = np.zeros((len(groups), len(kind))), np.zeros(len(groups))
    log_likelihood = -sum(rows.loss(none) for rows, none in zip(groups, params, strict=True))
    precisions = mode.copy()
    for _ in range(limits.max_effect_rounds):
        spread = np.zeros(3)
        for i, rows in enumerate(groups):
            params[i], variances, log_evidence[i] = _optimum(rows, params[i], precisions[kind])
            spread += np.bincount(kind, variances, 3)
        dof = len(groups) * np.bincount(kind) - precisions * spread
        squares = np.bincount(kind, (params**2).sum(axis=0))
        last = precisions
        precisions = (dof + limits.prior_parameters) / (squares + limits.prior_parameters / mode)
        precisions = np.clip(
            precisions, 1.0 / limits.max_effect_precision, limits.max_effect_precision
        )
        if np.abs(np.log(precisions / last)).max() <= limits.effect_precision_tol:
            break
    pairs = zip(params, groups, strict=True)
    weights = np.array([structure.weights(one, rows.scale) for one, rows in pairs])
    return GroupEffects(weights, log_evidence, log_likelihood, last, dof)


def _optimum(
    rows: _Rows, params: FloatArray, precision: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """The most probable parameters of a group from those before, their variances, the evidence."""
    limits = SHIFT_LIMITS.get()

    def objective(at: FloatArray) -> float:
        return rows.loss(at) + 0.5 * float(precision @ at**2)

    value = objective(params)
    gradient, curvature = rows.derivatives(params, precision)
    for _ in range(limits.max_effect_steps):
        step = curvature.solve(gradient)
        promise = 0.5 * float(step @ gradient)
        if promise <= limits.min_effect_decrease:
            break
        for _ in range(limits.max_effect_halvings):
            moved = params - step
            if (found := objective(moved)) <= value:
                params, value = moved, found
                break
            step = 0.5 * step
        else:
            break
        gradient, curvature = rows.derivatives(params, precision)
    return params, curvature.variances, -value - 0.5 * curvature.log_determinant
