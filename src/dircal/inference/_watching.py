"""Who is told how far draws have come."""

from collections.abc import Callable, Sequence

from dircal._core.stats.row_blocks import ignore
from dircal._progress import Progress
from dircal.metrics import Predictions

__all__ = ["watcher_of"]


def watcher_of(several: Sequence[Predictions], progress: Progress) -> Callable[[int], None]:
    """What tells the ``progress``; nobody where the rows are folded in other processes."""
    here = all(one.source.is_in_memory for one in several)
    return progress.advance if here else ignore
