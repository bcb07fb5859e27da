"""Numbers that steer `dircal._core.model`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["MODEL_LIMITS", "ModelLimits"]


@dataclass(frozen=True)
class ModelLimits:
    """Limits of objectives.

    Rounding and the size of caches; no result depends on them beyond rounding.
    """

    # A feature whose variance is below this part of its mean square is constant: it differs by
    # rounding.
    min_spread: float = 1e-12
    # The exponentials of larger log-odds might overflow in single precision.
    max_log_odds: float = 80.0
    # Products behind a Hessian: small enough to stay in the cache, large enough for the matrix
    # product to run at full speed.
    hessian_elements: int = 65_536


MODEL_LIMITS = in_context(ModelLimits())
