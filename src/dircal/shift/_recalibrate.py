"""A fitted calibrator, moved as far as new labels say."""

from typing import Any

from dircal._typing import ArrayLike
from dircal.shift._base import check_fitted_calibrator
from dircal.shift._recalibrated import RecalibratedCalibrator

__all__ = ["recalibrate"]


def recalibrate(
    calibrator: Any,
    X_new: ArrayLike,
    y_new: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> RecalibratedCalibrator:
    """Move a fitted calibrator as far as new labels say, and no farther.

    Parameters
    ----------
    calibrator : calibrator
        The fitted calibrator from before; it stays as it is.
    X_new : array or data frame of shape (n_samples, n_classes)
        Scores of new rows.
    y_new : array of shape (n_samples,) or (n_samples, n_classes)
        Their labels; classes may be absent. Or soft labels: see `AutoCalibrator.fit`.
    sample_weight : array of shape (n_samples,), optional
        Weights of the new rows.

    Returns
    -------
    recalibrated : RecalibratedCalibrator
        A fitted calibrator like any other; its ``weights_`` tell how much of the old map is left.

    See Also
    --------
    PriorShift : Where no new labels are known.
    CalibrationMonitor : Tells when it is time.

    Notes
    -----
    The old map, maps around it, and maps that know nothing of it are weighed by their evidence;
    see `RecalibratedCalibrator`. Ten labels change next to nothing, thousands make a new map.

    When not to use it: where nothing has shifted, and the old rows are at hand. Fit once on all.

    Examples
    --------
    >>> from dircal import GenerativeParameters, VectorScaling
    >>> from dircal.shift import recalibrate
    >>> alpha = [[3.0, 1.0], [1.0, 3.0]]
    >>> old = VectorScaling().fit(*GenerativeParameters(alpha, [0.5, 0.5]).sample(2000, 0))
    >>> X, y = GenerativeParameters(alpha, [0.5, 0.5]).sample(500, 1)
    >>> recalibrate(old, X, y).weights_["old"] > 0.9  # nothing has shifted
    True
    """
    fitted = check_fitted_calibrator(calibrator)
    return RecalibratedCalibrator(fitted).fit(X_new, y_new, sample_weight)
