"""The labels of Parquet files, before anything else is read of them."""

from collections.abc import Sequence

import numpy as np

from dircal._typing import LabelArray
from dircal.distributed._door import plain_column
from dircal.distributed._loaders import row_groups
from dircal.validation import FITTING, as_labels, observed_classes

__all__ = ["observed_labels"]


def observed_labels(files: Sequence[str], label: str) -> LabelArray:
    """The distinct labels in a column of all files, sorted; other columns are not read."""
    import narwhals.stable.v2 as nw

    found: list[LabelArray] = []
    for group in row_groups(files)[0]:
        column = nw.from_native(group([label]), eager_only=True)[label]
        if len(column) > 0:
            labels = as_labels(plain_column(column), len(column), FITTING)
            found = [np.unique(np.concatenate([*found, observed_classes(labels)]))]
    if not found:
        raise ValueError(f"{files[0]!r} has no rows. Pass predictions with their labels.")
    # Texts as NumPy's own: files and messages have them so.
    return found[0].astype(str) if found[0].dtype.kind == "O" else found[0]
