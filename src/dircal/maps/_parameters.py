"""One family of calibration maps, written in three ways.

Linear parameters are what a fit finds, canonical ones are unique and meant to be read, generative
ones tell a story: a Dirichlet distribution of predictions for each class. Every map has all three
(theorem 1 of Kull et al., 2019), and each class here evaluates it by its own formula.

Row i of every matrix is output class i, column j input class j; logarithms are natural.
"""

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from scipy.special import gammaln

from dircal._core.data.simplex import log_softmax, softmax
from dircal._typing import FloatArray, IntArray
from dircal.maps._abstract_parameters import AbstractParameters
from dircal.tables import (
    LARGEST,
    check_distribution,
    check_integer,
    check_number,
    check_random_state,
    check_square,
    check_vector,
)

__all__ = [
    "CanonicalParameters",
    "GenerativeParameters",
    "InterpretationPoints",
    "LinearParameters",
]

# Logarithms divided by less leave the range of float64.
_SMALLEST_ALPHA = 1.0 / LARGEST
# The smallest entry of a canonical column may miss zero by this share of the largest entry.
_ZERO_ENTRY = 1e-9

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class LinearParameters(AbstractParameters):
    r"""The map as a linear layer on log-probabilities.

    Parameters
    ----------
    W : array of shape (n_classes, n_classes)
        The matrix.
    b : array of shape (n_classes,)
        The intercepts.

    Notes
    -----
    The map is :math:`\mu(q) = \mathrm{softmax}(W \ln q + b)`. Adding a number to a column of W,
    or to b, does not change it.

    Examples
    --------
    >>> from dircal import LinearParameters
    >>> temperature = 2.0
    >>> scaling = LinearParameters([[1 / temperature, 0], [0, 1 / temperature]], [0, 0])
    >>> scaling.predict_proba([[0.9, 0.1]])
    array([[0.75, 0.25]])
    >>> scaling.to_canonical()
    CanonicalParameters(A=array([[0.5, 0. ],
           [0. , 0.5]]), c=array([0.5, 0.5]))
    """

    W: FloatArray
    b: FloatArray

    def __post_init__(self) -> None:
        W = check_square("W", self.W)
        _store(self, W=W, b=check_vector("b", self.b, "W", len(W)))

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return len(self.b)

    def _logits(self, scores: FloatArray) -> FloatArray:
        logits: FloatArray = self.W @ scores + self.b[:, None]
        return logits

    def to_linear(self) -> "LinearParameters":
        """These parameters."""
        return self

    def to_canonical(self) -> "CanonicalParameters":
        """The same map in its canonical parametrisation, which is unique."""
        A = self.W - self.W.min(axis=0)
        # W ln u + b, up to a number: u is the centre, and the minima are the same in every row.
        log_c = log_softmax(self.b - np.log(self.n_classes) * A.sum(axis=1))
        return _convert(CanonicalParameters, A=A, c=np.exp(log_c), log_c=log_c)

    def to_generative(self) -> "GenerativeParameters":
        """The same map in a generative parametrisation; of many, the one with alpha = A + 1."""
        # W + 1 need not be positive, A + 1 is.
        return self.to_canonical().to_generative()


@dataclass(frozen=True, eq=False)
class InterpretationPoints:
    """Where a map sends the points at which its canonical parameters can be read.

    Attributes
    ----------
    points : array of shape (n_classes + 1, n_classes)
        Row j has eps for class j and equal probabilities for the others: it is near the centre of
        a facet. The last row is the centre, with equal probabilities for all.
    images : array of shape (n_classes + 1, n_classes)
        What the map makes of them, exactly. The image of the centre is c.
    exponents : array of shape (n_classes, n_classes)
        The matrix A. As eps goes to zero the probability of class i in the image of point j
        shrinks like ``eps ** exponents[i, j]``, so all of it goes to the classes with zeros in
        column j. The constant factors are those of `images`; the exponents do not tell them.
    """

    points: FloatArray
    images: FloatArray
    exponents: FloatArray


@dataclass(frozen=True, eq=False)
class CanonicalParameters(AbstractParameters):
    r"""The map in the one form that is unique, for reading.

    Parameters
    ----------
    A : array of shape (n_classes, n_classes)
        The matrix: no entry is negative, and every column has a zero. Where rounding has spoilt
        this, the smallest entry is subtracted from its column, which does not change the map.
    c : array of shape (n_classes,)
        Where the centre goes: positive probabilities that sum to one.

    Attributes
    ----------
    log_c : array of shape (n_classes,)
        Logarithm of c. A conversion keeps it where c itself underflows to zero, and the map is
        evaluated with it.

    Notes
    -----
    The map is :math:`\mu(q) = \mathrm{softmax}(A \ln(k q) + \ln c)`. The entry :math:`a_{ij}`
    speaks for class i where the probability of class j is above :math:`1/k`, and against it where
    it is below.

    Examples
    --------
    >>> from dircal import CanonicalParameters
    >>> parameters = CanonicalParameters([[1, 0], [0, 1]], [0.8, 0.2])
    >>> parameters.predict_proba([[0.5, 0.5], [0.2, 0.8]])
    array([[0.8, 0.2],
           [0.5, 0.5]])
    """

    A: FloatArray
    c: FloatArray
    log_c: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        A = check_square("A", self.A)
        lowest = A.min(axis=0)
        wrong = np.abs(lowest) > _ZERO_ENTRY * np.abs(A).max().clip(min=1.0)
        if wrong.any():
            j = int(wrong.argmax())
            raise ValueError(
                f"`A` must have no negative entry and a zero in every column; the smallest entry "
                f"of column {j} is {lowest[j]:.6g}. Subtract it from the column, or pass any "
                "matrix through LinearParameters(W, b).to_canonical()."
            )
        c = check_distribution("c", self.c, "A", len(A))
        _store(self, A=A - lowest, c=c, log_c=np.log(c))

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return len(self.c)

    def _logits(self, scores: FloatArray) -> FloatArray:
        logits: FloatArray = self.A @ (scores + np.log(self.n_classes)) + self.log_c[:, None]
        return logits

    def to_linear(self) -> LinearParameters:
        """The same map in its linear parametrisation, with W = A."""
        b = self.log_c + np.log(self.n_classes) * self.A.sum(axis=1)
        return _convert(LinearParameters, W=self.A, b=b)

    def to_canonical(self) -> "CanonicalParameters":
        """These parameters."""
        return self

    def to_generative(self) -> "GenerativeParameters":
        """The same map in a generative parametrisation; of many, the one with alpha = A + 1."""
        alpha = self.A + 1.0
        log_pi = log_softmax(self.to_linear().b + _log_beta(alpha))
        return _convert(GenerativeParameters, alpha=alpha, pi=np.exp(log_pi), log_pi=log_pi)

    def interpretation_points(self, eps: float = 1e-2) -> InterpretationPoints:
        """Where the map sends the centre of the simplex and points near the centres of its facets.

        Parameters
        ----------
        eps : float, default=0.01
            Probability of class j in point j, between 0 and 1.

        Returns
        -------
        points : InterpretationPoints
            The k + 1 points, their images and the leading exponents.
        """
        check_number("eps", eps, above=0.0, below=1.0)
        k = self.n_classes
        rest = (1.0 - eps) / (k - 1)
        facets = np.where(np.eye(k, dtype=bool), eps, rest)
        others = self.A.sum(axis=1, keepdims=True) - self.A
        logits = self.A * np.log(k * eps) + others * np.log(k * rest) + self.log_c[:, None]
        images = softmax(np.column_stack([logits, self.log_c]))
        return InterpretationPoints(np.vstack([facets, np.full(k, 1.0 / k)]), images.T, self.A)


@dataclass(frozen=True, eq=False)
class GenerativeParameters(AbstractParameters):
    r"""The map as Bayes' rule: a Dirichlet distribution of predictions for each class.

    Parameters
    ----------
    alpha : array of shape (n_classes, n_classes)
        Row i has the positive parameters of the Dirichlet distribution of class i.
    pi : array of shape (n_classes,)
        How often each class occurs: positive probabilities that sum to one.

    Attributes
    ----------
    log_pi : array of shape (n_classes,)
        Logarithm of pi. A conversion keeps it where pi itself underflows to zero, and the map is
        evaluated with it.

    Notes
    -----
    The map is :math:`\mu_i(q) = \pi_i f_i(q) / \sum_l \pi_l f_l(q)`, where :math:`f_i` is the
    density of the Dirichlet distribution of class i.

    Examples
    --------
    >>> from dircal import GenerativeParameters
    >>> truth = GenerativeParameters([[2, 1], [1, 1]], [0.5, 0.5])
    >>> truth.predict_proba([[0.5, 0.5]])
    array([[0.5, 0.5]])
    >>> q, y = truth.sample(1000, random_state=0)
    >>> q.shape, y.shape
    ((1000, 2), (1000,))
    """

    alpha: FloatArray
    pi: FloatArray
    log_pi: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        alpha = check_square("alpha", self.alpha)
        if alpha.min() < _SMALLEST_ALPHA:
            i, j = np.argwhere(alpha < _SMALLEST_ALPHA)[0]
            raise ValueError(
                f"`alpha` must be positive, and at least {_SMALLEST_ALPHA:g} to be computed with; "
                f"row {i}, column {j} is {alpha[i, j]:.6g}. Pass the parameters of Dirichlet "
                "distributions, a row for each class."
            )
        pi = check_distribution("pi", self.pi, "alpha", len(alpha))
        _store(self, alpha=alpha, pi=pi, log_pi=np.log(pi))

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return len(self.pi)

    def _logits(self, scores: FloatArray) -> FloatArray:
        log_densities = (self.alpha - 1.0) @ scores - _log_beta(self.alpha)[:, None]
        logits: FloatArray = self.log_pi[:, None] + log_densities
        return logits

    def to_linear(self) -> LinearParameters:
        """The same map in its linear parametrisation, with W = alpha - 1."""
        b = self.log_pi - _log_beta(self.alpha)
        return _convert(LinearParameters, W=self.alpha - 1.0, b=b)

    def to_canonical(self) -> CanonicalParameters:
        """The same map in its canonical parametrisation, which is unique."""
        return self.to_linear().to_canonical()

    def to_generative(self) -> "GenerativeParameters":
        """These parameters."""
        return self

    def sample(
        self, n: int, random_state: int | np.random.Generator | None = 0
    ) -> tuple[FloatArray, IntArray]:
        """Draw predictions and classes for which this map is the true calibration map.

        Parameters
        ----------
        n : int
            Number of rows.
        random_state : int, numpy Generator or None, default=0
            Seed, or the generator to draw from. None draws a new sample each time.

        Returns
        -------
        q : array of shape (n, n_classes)
            Rows of probabilities; those of class i follow the Dirichlet distribution of class i.
            Parameters far below one give entries that are zero in float64.
        y : array of shape (n,)
            Class indices 0..k-1, with probabilities pi.
        """
        check_integer("n", n, at_least=1)
        rng = check_random_state(random_state)
        y = rng.choice(self.n_classes, size=n, p=self.pi)
        alpha = self.alpha.T[:, y]
        # Gamma variables as logarithms, since those of a small parameter underflow, all k of a
        # row together: if G is gamma with alpha + 1 and E exponential, G exp(-E / alpha) is gamma
        # with alpha.
        log_gamma = np.log(rng.standard_gamma(alpha + 1.0))
        log_gamma -= rng.standard_exponential(alpha.shape) / alpha
        return np.ascontiguousarray(softmax(log_gamma).T), y


def _log_beta(alpha: FloatArray) -> FloatArray:
    """Logarithm of the multivariate beta function of each row."""
    result: FloatArray = gammaln(alpha).sum(axis=1) - gammaln(alpha.sum(axis=1))
    return result


def _store(target: object, **arrays: FloatArray) -> None:
    """Set attributes of a frozen object, and close the arrays against writing."""
    for name, array in arrays.items():
        array.setflags(write=False)
        object.__setattr__(target, name, array)


def _convert(cls: type[T], **arrays: FloatArray) -> T:
    """An instance made of clean arrays, without the checks of ``__init__``."""
    made = cls.__new__(cls)
    _store(made, **arrays)
    return made
