"""Frames that hold no rows yet, but say how to get them."""

import narwhals.stable.v2 as nw

__all__ = ["refuse_lazy"]


def refuse_lazy(name: str, value: object) -> None:
    """Refuse what would have to be read first, and say what fits it without reading it whole."""
    # By their names: none of these libraries need be there.
    module = type(value).__module__.partition(".")[0]
    if nw.dependencies.is_dask_dataframe(value) or module == "dask":
        what, fix = "a lazy collection of Dask", "its rows stay on the workers"
    elif nw.dependencies.is_polars_lazyframe(value):
        what, fix = "a LazyFrame of polars", "it reads Parquet: write one with `sink_parquet`"
    elif module == "pyarrow" and any(c.__name__ == "Dataset" for c in type(value).__mro__):
        what, fix = "a dataset of pyarrow", "its row groups are read one by one"
    else:
        return
    raise ValueError(
        f"`{name}` is {what}, which holds no rows yet. Fit on it with "
        f"`dircal.distributed.fit(calibrator, frame, label=...)`: {fix}. Or load the rows into "
        "memory first."
    )
