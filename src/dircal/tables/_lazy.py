"""Frames that hold no rows yet, but say how to get them."""

import narwhals.stable.v2 as nw

__all__ = ["refuse_lazy"]


def refuse_lazy(name: str, value: object) -> None:
    """Refuse what would have to be read first, and say what fits it without reading it whole."""
    # By their names: none of these libraries need be installed.
    module = type(value).__module__.partition(".")[0]
    source = "frame"
    if nw.dependencies.is_dask_dataframe(value) or module == "dask":
        what, effect = "a lazy collection of Dask", "its rows stay on the workers"
    elif nw.dependencies.is_polars_lazyframe(value):
        what, effect = "a LazyFrame of polars", "write it with `sink_parquet` first"
        source = "path"
    elif module == "pyarrow" and any(c.__name__ == "Dataset" for c in type(value).__mro__):
        what, effect = "a dataset of pyarrow", "its row groups are read one by one"
        source = "dataset"
    else:
        return
    raise ValueError(
        f"`{name}` is {what}, whose rows are not in memory. Fit on it with "
        f"`calibrator.fit(dircal.scan({source}, label=...))`: {effect}. Or load the rows into "
        "memory first."
    )
