"""What the three parametrisations of a map share."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from dircal._core.data.chunks import row_slices
from dircal._core.data.simplex import softmax
from dircal._typing import ArrayLike, FloatArray
from dircal.maps._log import LogProbability, Normalise
from dircal.maps._map import CalibrationMap
from dircal.tables import check_probabilities, same_kind

if TYPE_CHECKING:
    from dircal.maps._parameters import (
        CanonicalParameters,
        GenerativeParameters,
        LinearParameters,
    )

__all__ = ["AbstractParameters"]


class AbstractParameters(ABC):
    """A map from rows of probabilities to calibrated ones, and its other parametrisations."""

    def predict_proba(self, q: ArrayLike) -> FloatArray:
        """Evaluate the map.

        Parameters
        ----------
        q : array or data frame of shape (n_samples, n_classes)
            Rows of probabilities. Zeros are read as the smallest normal number, 2.2e-308: these
            classes know no other floor, where a fitted calibrator has its ``clip_``.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
            Rows sum to one. Of the library and on the device of `q`.
        """
        inputs = check_probabilities("q", q, self.n_classes)
        read = CalibrationMap(self.n_classes, (Normalise(), LogProbability())).read
        proba = np.empty(inputs.shape)
        for part in row_slices(inputs.shape):
            proba[part] = softmax(self._logits(read(inputs[part]))).T
        result: FloatArray = same_kind(proba, q)
        return result

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes k."""

    @abstractmethod
    def _logits(self, scores: FloatArray) -> FloatArray:
        """Logits (k, m) of log-probabilities (k, m), up to a number for each column."""

    @abstractmethod
    def to_linear(self) -> "LinearParameters":
        """The same map in its linear parametrisation."""

    @abstractmethod
    def to_canonical(self) -> "CanonicalParameters":
        """The same map in its canonical parametrisation, which is unique."""

    @abstractmethod
    def to_generative(self) -> "GenerativeParameters":
        """The same map in a generative parametrisation; of many, the one with alpha = A + 1."""
