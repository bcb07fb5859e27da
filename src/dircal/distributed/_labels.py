"""The labels of Parquet files, before anything else is read of them."""

from collections.abc import Sequence
from dataclasses import replace

from dircal._typing import LabelArray
from dircal.distributed._door import plain_column
from dircal.distributed._loaders import row_groups
from dircal.tables import FITTING, as_labels, common_labels, observed_classes

__all__ = ["observed_labels"]


def observed_labels(files: Sequence[str], label: str) -> LabelArray:
    """The distinct labels in a column of all files, sorted; other columns are not read."""
    import narwhals.stable.v2 as nw

    words = replace(FITTING, labels=label)
    found: list[LabelArray] = []
    for group in row_groups(files)[0]:
        column = nw.from_native(group([label]), eager_only=True)[label]
        if len(column) == 0:
            continue
        try:
            labels = as_labels(plain_column(column), len(column), words)
        except ValueError as error:
            raise ValueError(f"{error} (In {group.name}.)") from error
        found.append(observed_classes(labels))
    if not found:
        raise ValueError(f"{files[0]!r} has no rows. Pass predictions with their labels.")
    classes = common_labels(found, words)
    # Texts as NumPy's own: files and messages have them so.
    return classes.astype(str) if classes.dtype.kind == "O" else classes
