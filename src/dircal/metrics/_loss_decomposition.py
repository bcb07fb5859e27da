"""How much of a loss calibration could take off."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from dircal._core.data.losses import log_losses, squared_errors
from dircal._core.stats.paired import standard_error
from dircal._html import card, table
from dircal._progress import Progress
from dircal._typing import ArrayLike, FloatArray
from dircal.exceptions import warn
from dircal.metrics._blocks import Block
from dircal.metrics._predictions import Predictions
from dircal.metrics._together import fold_together
from dircal.selection import (
    check_calibrator,
    check_cv,
    cross_fit,
    deal_within_classes,
    make_splits,
    scored_rows,
    used_rows,
)
from dircal.tables import check_option, check_predictions

__all__ = ["LossDecomposition", "loss_decomposition"]

_LOSSES = {"log_loss": log_losses, "brier_score": squared_errors}


@dataclass(frozen=True)
class LossDecomposition:
    """Result of `loss_decomposition`: ``total`` is ``calibration`` plus ``refinement``.

    Parameters
    ----------
    total : float
        Loss of the probabilities as they are.
    calibration : float
        What the calibrator takes off on rows that it was not fitted on.
    refinement : float
        Loss that is left.
    standard_error : float
        Of ``calibration``, from the differences of the rows, the fitted maps taken as given.
    loss : str
        Name of the loss.
    n_samples : int
        Number of rows.
    """

    total: float
    calibration: float
    refinement: float
    standard_error: float
    loss: str
    n_samples: int

    def __repr__(self) -> str:
        return (
            f"<LossDecomposition: {self.loss} {self.total:.4g} = calibration "
            f"{self.calibration:.4g} (standard error {self.standard_error:.2g}) + refinement "
            f"{self.refinement:.4g}, on {self.n_samples:,} rows>"
        )

    def _repr_html_(self) -> str:
        rows = [
            ["calibration", f"{self.calibration:.4g}", f"{self.standard_error:.2g}"],
            ["refinement", f"{self.refinement:.4g}", ""],
            ["total", f"{self.total:.4g}", ""],
        ]
        title = f"Decomposition of the {self.loss} on {self.n_samples:,} rows"
        return card(title, table(["part", "value", "standard error"], rows))


def loss_decomposition(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    calibrator: Any,
    *,
    loss: Literal["log_loss", "brier_score"] = "log_loss",
    cv: Any = 5,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
) -> LossDecomposition:
    r"""Part of a proper loss that calibration takes off, and the part that it leaves.

    Parameters
    ----------
    y_true : array-like (n,) or (n, k)
        True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers that
        count annotators.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
    calibrator : calibrator
        Fitted on the rows of all folds but one, and judged on that one; reads probabilities.
    loss : {"log_loss", "brier_score"}, default="log_loss"
        The proper loss.
    cv : int, splitter or iterable of pairs, default=5
        Number of folds, each with its share of every class; or a splitter of scikit-learn; or
        pairs of indices (rows to fit, rows to score) that score no row twice.
    sample_weight : array-like (n,), optional
        Weight of each row; in the maps and in the losses a weight of two counts like two rows.
        Copies of a row could land in different folds, and a weighted row cannot.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order than the sorted one.

    Returns
    -------
    LossDecomposition
        With ``total``, ``calibration`` and ``refinement``; printed, it is a sentence.

    Notes
    -----
    For the true probabilities :math:`c(p) = P(y \mid p)` of rows that are predicted alike,

    .. math:: \underbrace{E\,\ell(p, y)}_{\text{total}} =
              \underbrace{E\,\ell(p, y) - E\,\ell(c(p), y)}_{\text{calibration}} +
              \underbrace{E\,\ell(c(p), y)}_{\text{refinement}}

    with a proper loss :math:`\ell`. Here c is replaced by maps :math:`\hat c` of the calibrator,
    for each row one that was fitted on other folds.

    *What it estimates.* The loss that this calibrator would take off on new rows, if it were
    fitted on as many rows as the folds have. It looks at the probabilities as a whole, which bins
    cannot.

    *Bias.* The maps are not the true c: ``refinement`` comes out too large on average and
    ``calibration`` too small by the same amount, even below zero for a model that is calibrated
    already. A map fitted on the rows that it is judged on would err to the other side, without
    limit.

    **When not to use it.** With so few rows that the calibrator cannot be fitted on some of them.
    And the numbers belong to the calibrator as much as to the model: compare several.

    Examples
    --------
    >>> from dircal import DirichletCalibrator, GenerativeParameters
    >>> from dircal.metrics import loss_decomposition
    >>> world = GenerativeParameters([[1.2, 0.6], [0.5, 1.5]], [0.3, 0.7])
    >>> q, y = world.sample(2000, random_state=0)
    >>> loss_decomposition(y, q, DirichletCalibrator())
    <LossDecomposition: log_loss 0.4... = calibration 0.02... + refinement 0.4..., on 2,000 rows>
    """
    check_option("loss", loss, tuple(_LOSSES))
    check_cv(cv)
    check_calibrator(calibrator)
    if calibrator.input_scale != "probability":
        raise ValueError(
            f"`calibrator` has input_scale={calibrator.input_scale!r}, but `y_prob` holds "
            "probabilities. Pass a calibrator with input_scale='probability'."
        )
    data = check_predictions(y_true, y_prob, sample_weight, classes)
    used = used_rows(data.sample_weight, len(data.labels))
    splits = make_splits(cv, data.labels, used, deal_within_classes)
    rows = scored_rows(splits)
    with Progress("Cross-fitting", len(splits), "folds") as progress:
        proba, fit_warnings = cross_fit(calibrator, data, splits, progress.advance)
    for message, category in fit_warnings:
        warn(message, category)
    scored = data.take(rows)
    before = Predictions.of_checked(scored)
    after = before.with_probabilities(proba)
    losses = _Losses(loss)
    total, left = before.mean(losses), after.mean(losses)
    squares = fold_together([before, after], _SquaredGains(losses, total - left))
    n = before.source.total_weight
    error = standard_error(squares / n, n)
    return LossDecomposition(total, total - left, left, error, loss, len(rows))


@dataclass(frozen=True)
class _Losses:
    """What each row loses by the loss of a name."""

    loss: str

    def __call__(self, block: Block) -> FloatArray:
        return _LOSSES[self.loss](block.proba, block.label_or_mode, block.targets)


@dataclass(frozen=True)
class _SquaredGains:
    """Weighted squares of what rows gain beyond the mean."""

    losses: _Losses
    mean: float

    def __call__(self, both: tuple[Block, ...]) -> float:
        before, after = both
        squares = (self.losses(before) - self.losses(after) - self.mean) ** 2
        return float(squares.sum() if before.weight is None else before.weight @ squares)
