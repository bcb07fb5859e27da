"""Which numbers of a report come from moments, and which from draws."""

from collections.abc import Sequence

from dircal.report._summary import Method

__all__ = ["tell_sources_of"]


def tell_sources_of(methods: Sequence[Method], n_rows: int) -> str:
    """A sentence; empty where all are drawn, or nothing is."""
    by_source: dict[str, dict[str, None]] = {"moments": {}, "draws": {}}
    for method in methods:
        for one in method.measures:
            if one.source is not None:
                by_source[one.source][f"the ranges of {one.measure}"] = None
    for method in methods:
        for test in method.tests:
            by_source[test.source][f"the test of {test.measure}"] = None
    if not by_source["moments"]:
        return ""
    drawn = [*by_source["draws"], "the score test"]
    return (
        f"With {n_rows:,} rows these come from moments of sums over rows, in place of draws: "
        f"{', '.join(by_source['moments'])}. From draws: {', '.join(drawn)}."
    )
