"""Numbers that steer `dircal.decide`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["DECIDE_LIMITS", "DecideLimits"]


@dataclass(frozen=True)
class DecideLimits:
    """Limits of costs and rejection.

    The thresholds decide how fine a rejection rule is; the bound on its errors holds with any
    number of them.
    """

    # The information of a full matrix has k^4 entries: beyond this number of classes slopes stand
    # for it.
    max_matrix_classes: int = 25
    # Directions with less of the information change nothing.
    min_information_ratio: float = 1e-10
    # Means need no draws, but p-values are at least one over this.
    min_p_value_inverse: int = 1_000_000
    # Thresholds that are tried: finer ones lose less coverage between two of them.
    n_thresholds: int = 200
    # With fewer rows a split leaves nothing to choose or to test by.
    min_rows: int = 20


DECIDE_LIMITS = in_context(DecideLimits())
