"""No calibration: what every other calibrator has to beat."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from dircal._typing import ArrayLike, InputScale
from dircal.calibrators._base import AbstractCalibrator
from dircal.calibrators._fit import AbstractScoreMethod, Fit
from dircal.explain import Explanation, explain_nothing
from dircal.maps import Normalise, Softmax
from dircal.tables import LabelledRows

__all__ = ["IdentityCalibrator"]


@dataclass(frozen=True, eq=False, kw_only=True)
class IdentityMethod(AbstractScoreMethod):
    """The identity as a method."""

    name: ClassVar[str] = "IdentityCalibrator"

    @property
    def fits_parts(self) -> bool:
        """Whether a fit needs only sums over rows: it needs no rows."""
        return True

    def learn(self, rows: LabelledRows) -> Fit:
        """Return the map that changes nothing."""
        step = Softmax() if self.input_scale == "logit" else Normalise()
        return Fit.from_steps(rows, self.input_scale, (step,))


class IdentityCalibrator(AbstractCalibrator):
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
    map_ : CalibrationMap
        The fitted map as a value: steps from columns to probabilities. It can be called, compared,
        pickled and printed.
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

    method_class: ClassVar = IdentityMethod

    def __init__(
        self, *, input_scale: InputScale = "probability", classes: Iterable[Any] | None = None
    ) -> None:
        self.input_scale = input_scale
        self.classes = classes

    def explain(self, X: ArrayLike | None = None) -> Explanation:
        """That nothing is corrected.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes), optional
            Rows as for any other calibrator; they are checked, and make no difference.

        Returns
        -------
        explanation : Explanation
            Without effects: print it to read it.
        """
        check_is_fitted(self)
        if X is not None:
            self.fit_.check_scores(X)
        return explain_nothing(
            type(self).__name__, "Nothing is corrected: the probabilities stay as they are."
        )
