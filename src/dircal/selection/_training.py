"""Whether a classifier can be trained, and how its weights are called."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

__all__ = ["check_trainable", "name_of_weight"]


def check_trainable(classifier: object) -> None:
    """Refuse what has no `fit`, or is not made yet."""
    is_class = isinstance(classifier, type)
    if is_class or not hasattr(classifier, "fit"):
        what = f"the class {classifier.__name__}" if is_class else repr(classifier)  # type: ignore[attr-defined]
        raise ValueError(
            f"`estimator` must be a classifier that can be trained, with `fit`; got {what}. Pass "
            "for example LogisticRegression(), or scheme='prefit' with a model that is ready."
        )


def name_of_weight(classifier: Any) -> str | None:
    """What `fit` of a classifier calls the weights; None if it takes none."""
    if isinstance(classifier, Pipeline):
        step, last = classifier.steps[-1]
        name = name_of_weight(last)
        return None if name is None else f"{step}__{name}"
    return "sample_weight" if has_fit_parameter(classifier, "sample_weight") else None
