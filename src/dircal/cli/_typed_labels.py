"""Labels of a file as those of a map or a state, which may be of another type."""

import numpy as np

from dircal._typing import LabelArray
from dircal.tables import label_text, show

__all__ = ["as_classes"]


def as_classes(labels: LabelArray, classes: LabelArray, where: str, fix: str) -> LabelArray:
    """Labels of the type of the classes, by their texts; ``where`` they stand, and a ``fix``."""
    known = {label_text(label): label for label in classes.tolist()}
    texts = [label_text(label) for label in labels.tolist()]
    strangers = [text for text in texts if text not in known]
    if strangers:
        raise ValueError(
            f"{where} holds the label {strangers[0]!r}, which is none of {show(classes)}. {fix}"
        )
    return np.array([known[text] for text in texts], dtype=classes.dtype)
