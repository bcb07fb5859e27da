"""What a fitted map is worth on rows that it has not seen."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

if TYPE_CHECKING:
    from dircal.metrics import Predictions

__all__ = ["NewRowsLoss", "expected_by_fit", "loss_on_new_rows"]

_FOLDS = 5
# Seconds that the folds may take: who waits longer for them asks `dircal compare`.
_PATIENCE = 5.0


@dataclass(frozen=True)
class NewRowsLoss:
    """Mean log-loss to be expected on new rows, and how it is known: "evidence" or "folds"."""

    value: float
    source: str

    def sentence(self) -> str:
        """The number, and where it comes from."""
        how = {
            "evidence": "what to expect by the evidence for the chosen map",
            "folds": f"{_FOLDS} folds, each scored by a map that was fitted on the others",
        }
        return f"Log-loss of new rows: {self.value:.4f} ({how[self.source]})."


def loss_on_new_rows(
    fitted: Any, scores: Any, before: "Predictions", labels: Any, weights: Any, seconds: float
) -> NewRowsLoss | None:
    """The loss that the fit itself has found, or that of five folds; None where these take long.

    ``seconds`` are those of the fit.
    """
    from dircal.metrics import RECORDS

    expected = expected_by_fit(fitted)
    if expected is not None:
        return expected
    if seconds * _FOLDS > _PATIENCE or len(labels) < 2 * _FOLDS:
        return None
    proba = np.empty((len(labels), len(fitted.classes_)))
    with warnings.catch_warnings():
        # What there is to say of the rows was said of all of them.
        warnings.simplefilter("ignore")
        for fitting, scoring in KFold(_FOLDS, shuffle=True, random_state=0).split(scores):
            weight = None if weights is None else weights[fitting]
            try:
                fold = clone(fitted).fit(scores[fitting], labels[fitting], weight)
            except ValueError:
                # Too few rows for what the whole could be fitted on.
                return None
            proba[scoring] = fold.predict_proba(scores[scoring])
    after = before.with_probabilities(proba)
    return NewRowsLoss(RECORDS["log_loss"].of(after).value(after), "folds")


def expected_by_fit(fitted: Any) -> NewRowsLoss | None:
    """What the fit itself has found out; None where it does not say."""
    table = getattr(fitted, "table_", None)
    if table is None or fitted.choice_ not in table["calibrator"]:
        return None
    place = table["calibrator"].index(fitted.choice_)
    source = "evidence" if "log_evidence" in table else "folds"
    return NewRowsLoss(float(table["log_loss"][place]), source)
