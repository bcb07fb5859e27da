"""What results of tests, intervals and comparisons have in common."""

from dataclasses import fields
from typing import Any

from dircal._frames import to_frame

__all__ = ["AbstractResult"]

_SINGLE = (bool, int, float, str)


class AbstractResult:
    """A dataclass whose numbers can be taken as a table."""

    def to_frame(self) -> Any:
        """The numbers and words as a table with one row, so that several can be stacked.

        Returns
        -------
        data frame or dict
            Of pandas or polars; a dict of lists where neither is installed.
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return to_frame({name: [one] for name, one in values.items() if isinstance(one, _SINGLE)})
