"""No calibration: what every other calibrator has to beat."""

from collections.abc import Callable, Iterable
from typing import Any

from dircal._core.data.chunks import Reader
from dircal._core.data.simplex import normalise, softmax
from dircal._typing import FloatArray, InputScale, IntArray
from dircal.calibrators._base import AbstractMapCalibrator
from dircal.validation import LabelledScores

__all__ = ["IdentityCalibrator"]


class IdentityCalibrator(AbstractMapCalibrator):
    r"""The identity: probabilities as they are, or the softmax of logits.

    It takes part in comparisons as the reference, under the same contract as any other
    calibrator: columns are assigned to labels, rows sum to one.

    Parameters
    ----------
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds.
    classes : sequence, optional
        Label of each column of `X`, in any order. Needed where the labels in `y` do not tell:
        columns in another order than sorted labels, or a class that `y` lacks.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
    n_features_in_ : int
        Number of columns of `X`.

    Notes
    -----
    The map is :math:`q`, divided by its sum where rounding made that differ from one, or
    :math:`\mathrm{softmax}(z)` for logits z. Zeros stay zeros.

    When not to use it: it changes nothing, so it is for comparing only.

    Examples
    --------
    >>> from dircal import IdentityCalibrator
    >>> identity = IdentityCalibrator().fit([[0.2, 0.8], [0.7, 0.3]], ["no", "yes"])
    >>> identity.predict_proba([[0.25, 0.75]])
    array([[0.25, 0.75]])
    """

    def __init__(
        self, *, input_scale: InputScale = "probability", classes: Iterable[Any] | None = None
    ) -> None:
        self.input_scale = input_scale
        self.classes = classes

    def _check_parameters(self) -> None:
        """There is nothing more to check."""

    def _find(self, data: LabelledScores) -> dict[str, Any]:
        del data
        return {}

    def _reader(self, columns: IntArray | None) -> Reader:
        return Reader(None, columns)

    def _map(self) -> Callable[[FloatArray], FloatArray]:
        return normalise if self.input_scale == "probability" else softmax
