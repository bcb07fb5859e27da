"""Rows that wait for their label."""

from typing import Any

import numpy as np

from dircal._typing import ArrayLike, IntArray
from dircal.shift._stream_rows import StreamRows
from dircal.tables import check_keys

__all__ = ["PendingRows"]


class PendingRows:
    """At most so many rows by key, the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: dict[Any, tuple[list[float], Any, Any]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def keys(self) -> list[Any]:
        """Names of the rows, the oldest first."""
        return [*self._rows]

    def check(self, keys: list[Any]) -> None:
        """Refuse a key that is taken."""
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"`keys` must name each row once; {twice!r} occurs twice.")
        for key in keys:
            if key in self._rows:
                raise ValueError(
                    f"`keys` has {key!r}, which waits for its label already. Pass late labels to "
                    "`resolve`."
                )

    def add(self, rows: StreamRows) -> int:
        """Keep rows without a label; gives how many had to be given up for it."""
        assert rows.keys is not None
        for i, key in enumerate(rows.keys):
            self._rows[key] = (
                rows.proba[i].tolist(),
                None if rows.groups is None else rows.groups[i],
                None if rows.times is None else rows.times[i],
            )
        n_lost = max(len(self._rows) - self._most, 0)
        for key in [*self._rows][:n_lost]:
            del self._rows[key]
        return n_lost

    def find(self, keys: ArrayLike, of_type: str | None) -> list[Any]:
        """Keys that wait, or a ValueError about one that does not."""
        if keys is None:
            raise ValueError("`keys` is None. Pass the key of each row whose label came.")
        found = check_keys("keys", keys, of_type=of_type)
        for key in found:
            if key not in self._rows:
                raise ValueError(
                    f"`keys` has {key!r}, which does not wait for a label: it was never seen, has "
                    "its label, or was given up. Leave it out."
                )
        if len(set(found)) < len(found) or not found:
            raise ValueError("`keys` must name each row once, and at least one.")
        return found

    def take(self, keys: list[Any], labels: IntArray) -> StreamRows:
        """Rows that have their label now, no longer kept."""
        rows = [self._rows.pop(key) for key in keys]
        has_groups = rows[0][1] is not None
        has_times = rows[0][2] is not None
        return StreamRows(
            np.array([row[0] for row in rows]),
            labels,
            [row[1] for row in rows] if has_groups else None,
            [row[2] for row in rows] if has_times else None,
            None,
        )

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [[key, *row] for key, row in self._rows.items()]

    def from_json(self, node: list[Any], n_classes: int) -> None:
        """What `to_json` gave."""
        for key, proba, group, time in node:
            if len(proba) != n_classes:
                raise ValueError("a row that waits has another number of classes")
            self._rows[key] = ([float(one) for one in proba], group, time)
