"""Data frames in memory, as narwhals has them."""

from typing import Any

import narwhals.stable.v2 as nw
from narwhals.exceptions import DuplicateError

__all__ = ["eager_frame"]


def eager_frame(name: str, value: Any) -> nw.DataFrame[Any]:
    """Wrap a data frame; errors about its columns call it ``name``."""
    try:
        return nw.from_native(value, eager_only=True)
    except DuplicateError:
        columns = list(getattr(value, "column_names", value.columns))
        repeated = next(one for one in columns if columns.count(one) > 1)
        raise ValueError(
            f"`{name}` must have distinct column names; got {repeated!r:.60} more than once. "
            "Rename its columns."
        ) from None
