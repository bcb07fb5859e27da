"""From what users call a table to its parts, and through the door."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from dircal._typing import InputScale
from dircal.distributed._dask import DaskTable
from dircal.distributed._door import Door
from dircal.distributed._loaders import (
    DelayedPart,
    Loader,
    frame_parts,
    parquet_files,
    row_groups,
)
from dircal.distributed._local import LocalTable
from dircal.tables import Arguments, PartitionedScores, agree, eager_frame

__all__ = ["Selection", "check_rows", "default_client"]


@dataclass(frozen=True)
class Selection:
    """What users say of a table: where it is, which of its columns are what, and who reads it."""

    frame: Any
    label: str
    weight: str | None = None
    columns: Sequence[str] | None = None
    client: Any = None


def check_rows(
    selection: Selection,
    classes: Iterable[Any] | None,
    input_scale: InputScale,
    arguments: Arguments,
    *,
    judged: bool = False,
    tell: Callable[[int], None] | None = None,
) -> PartitionedScores:
    """The rows of a table through the door, in one pass and a look at some of them.

    Where the order of the columns was ``judged`` before, nothing is said of it again.
    """
    table = _open(selection, input_scale, arguments, tell)
    summaries = table.survey()
    agreed = agree(summaries, classes, arguments)
    data = PartitionedScores.of(table.parts(agreed, summaries), agreed)
    data.judge(input_scale, arguments, order_is_known=judged)
    return data


def _open(
    selection: Selection,
    input_scale: InputScale,
    arguments: Arguments,
    tell: Callable[[int], None] | None,
) -> DaskTable | LocalTable:
    frame, client = selection.frame, selection.client
    loaders: Sequence[Loader]
    if nw.dependencies.is_dask_dataframe(frame):
        names = list(frame.columns)
        door = _door(selection, names, input_scale, arguments)
        client = default_client() if client is None else client
        delayed = frame[door.columns].to_delayed()
        if client is not None:
            loaders = [DelayedPart(None, i) for i in range(len(delayed))]
            return DaskTable(client, loaders, door, delayed, tell)
        loaders = [DelayedPart(part, i) for i, part in enumerate(delayed)]
        return LocalTable(loaders, door, tell=tell)
    loaders, names = _parts_here(frame)
    door = _door(selection, names, input_scale, arguments)
    if client is not None:
        return DaskTable(client, loaders, door, tell=tell)
    return LocalTable(loaders, door, tell=tell)


def _parts_here(frame: Any) -> tuple[Sequence[Loader], list[str]]:
    """Parts of what is no frame of Dask, and the names of their columns."""
    if isinstance(frame, str | Path):
        return row_groups(parquet_files(frame))
    # By its name: a dataset of pyarrow knows its files.
    if type(frame).__module__.startswith("pyarrow") and hasattr(frame, "files"):
        return row_groups(list(frame.files))
    if isinstance(frame, Sequence) and len(frame) > 0:
        if all(isinstance(one, str | Path) for one in frame):
            return row_groups([file for one in frame for file in parquet_files(one)])
        if all(nw.dependencies.is_into_dataframe(one) for one in frame):
            first = eager_frame("frame", frame[0])
            return frame_parts(frame), list(first.columns)
    raise ValueError(
        "`frame` must be a Dask DataFrame, the path of Parquet files (a file, a folder or a "
        f"pattern), a dataset of pyarrow, or a list of data frames; got {_what(frame)}. A table "
        "that is in memory is fitted with `calibrator.fit(X, y)`."
    )


def _what(frame: Any) -> str:
    return f"a list of {len(frame)}" if isinstance(frame, list) else f"a {type(frame).__name__}"


def _door(
    selection: Selection, names: list[str], input_scale: InputScale, arguments: Arguments
) -> Door:
    asked = {"label": selection.label, "weight": selection.weight}
    for argument, name in asked.items():
        if name is not None:
            _check_name(argument, name, names)
    aside = {*asked.values()}
    columns = selection.columns
    if isinstance(columns, str):
        raise ValueError(f"`columns` must be a list of names; got the text {columns!r}.")
    scores = [name for name in names if name not in aside] if columns is None else [*columns]
    for name in scores:
        _check_name("columns", name, names)
    if not scores:
        raise ValueError("`columns` must name the columns with the scores; got none.")
    _refuse_twice([*asked.items(), *(("columns", name) for name in scores)])
    return Door(tuple(scores), selection.label, selection.weight, input_scale, arguments)


def _check_name(argument: str, name: Any, names: list[str]) -> None:
    if names.count(name) != 1:
        many = "several columns" if name in names else "no column"
        more = ", ..." if len(names) > 12 else ""
        raise ValueError(
            f"`{argument}` is {name!r}, but the table has {many} of that name. Its columns: "
            f"{', '.join(map(repr, names[:12]))}{more}."
        )


def _refuse_twice(asked: Iterable[tuple[str, str | None]]) -> None:
    """Raise where two arguments, or one of them twice, name the same column."""
    taken: dict[str, str] = {}
    for argument, name in asked:
        if name in taken:
            again = "twice" if taken[name] == argument else f"which `{taken[name]}` names as well"
            raise ValueError(f"`{argument}` has {name!r}, {again}. Name each column once.")
        if name is not None:
            taken[name] = argument


def default_client() -> Any:
    """The client of Dask that is in use here; None where there is none."""
    try:
        from distributed import get_client
    except ModuleNotFoundError:
        return None
    try:
        return get_client()
    except ValueError:
        return None
