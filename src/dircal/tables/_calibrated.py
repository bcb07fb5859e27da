"""Tables with calibrated probabilities in the place of scores, computed when they are written."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._files import whole_file
from dircal._typing import AnyFloatArray, FloatArray, LabelArray
from dircal.tables._array_files import ArrayFile
from dircal.tables._batches import ArrayBatch, RowGroup, TextBatch, arrow_errors
from dircal.tables._checks import warn_if_probabilities
from dircal.tables._columns import FITTING
from dircal.tables._score_table import ScoreTable
from dircal.tables._unchanged import changed, unchanged
from dircal.tables._values import as_matrix, check_values

__all__ = ["CalibratedTable"]

_MARKS = "dircal.calibrated"
# Rounding of float32, in which a file may keep what was calibrated.
_ROUNDING = 1e-6
# Length of the comment of a ZIP file, which has two bytes.
_COMMENT_LENGTH = 2**16 - 1


@dataclass(frozen=True)
class CalibratedTable:
    """A table whose scores are replaced by calibrated probabilities when it is written.

    ``calibrator.predict_proba(table)`` makes one of a `ScoreTable`.

    Parameters
    ----------
    table : ScoreTable
        Where the scores are.
    calibrator : calibrator
        A fitted one.
    on_rows : callable or None
        Called with the number of rows that were written.
    """

    table: ScoreTable
    calibrator: Any
    on_rows: Callable[[int], None] | None = field(default=None, repr=False)

    @cached_property
    def positions(self) -> list[int]:
        """Positions of the columns that the map reads, in its order."""
        return self.table.columns.of_map(
            self.table.scores,
            _labels_of(self.calibrator),
            getattr(self.calibrator, "feature_names_in_", None),
        )

    @property
    def columns(self) -> list[str]:
        """Names of the columns that the map reads."""
        return [self.table.columns.names[i] for i in self.positions]

    def write(self, path: str | Path, *, prefix: str = "", suffix: str = "", mark: str = "") -> int:
        """Write a file of the same type as that of the scores.

        Parameters
        ----------
        path : str or path
            Where to write it; the file is written whole or not at all.
        prefix, suffix : str, default=""
            Keep the scores, and add columns with these around their names.
        mark : str, default=""
            Identifies the map in files that have a place for it (Parquet, NPZ), so that it is not
            applied twice.

        Returns
        -------
        n_rows : int
            Number of rows.
        """
        batches = self.table.batches
        kind = type(batches[0]) if len(self.table.files) == 1 else None
        writers: Mapping[Any, Callable[..., int]] = {
            TextBatch: _write_text,
            RowGroup: _write_parquet,
            ArrayBatch: _write_array,
        }
        if kind not in writers:
            raise ValueError(
                f"{self.table.where} is not one file, and only one is written. Calibrate its files "
                "one at a time; `to_dask()` is for a Dask DataFrame."
            )
        with whole_file(path) as temporary, unchanged(*self.table.files):
            return writers[kind](_Calibration(self, prefix, suffix, mark), temporary)

    def written(self, prefix: str = "", suffix: str = "") -> list[str]:
        """Names of the columns that `write` adds or replaces; of arrays, that of the array."""
        columns = self.table.columns
        names = self.columns if columns.by_nature is None else [self.table.batches[0].file.scores]  # type: ignore[attr-defined]
        return [f"{prefix}{name}{suffix}" for name in names]

    def to_dask(self, *, prefix: str = "", suffix: str = "") -> Any:
        """Return a Dask DataFrame with calibrated columns; nothing is computed yet.

        Parameters
        ----------
        prefix, suffix : str, default=""
            Keep the scores, and add columns with these around their names.

        Returns
        -------
        frame : Dask DataFrame
            With the index, partitions and other columns of the table.
        """
        frame = self.table.dask_frame
        if frame is None:
            raise ValueError(
                f"{self.table.where} is not a Dask DataFrame. Call `write` for a file, or "
                "`calibrator.predict_proba(frame[columns])` for rows in memory."
            )
        calibration = _Calibration(self, prefix, suffix, "")
        names = calibration.added or self.columns
        meta = frame._meta.assign(**{name: np.empty(0) for name in names})
        return frame.map_partitions(
            _calibrate_partition, self.calibrator, self.columns, names, meta=meta
        )

    @property
    def scores(self) -> AnyFloatArray:
        """The scores (n, c) that the map reads, in its order."""
        parts = [rows.scores for _, rows in self.table.read(self.columns, ())]
        if not parts:
            raise ValueError(f"{self.table.where} has no rows. Pass predictions.")
        return np.concatenate(parts)

    def blocks(self) -> Iterator[FloatArray]:
        """Yield calibrated probabilities (m, k), with columns in the order of the classes."""
        for batch in self.table.batches:
            rows = batch.read(self.columns, ())
            if rows.n_rows:
                yield self._predict(as_matrix(rows.scores)[0], rows.place)

    def _predict(self, scores: AnyFloatArray, place: Callable[[int], str]) -> FloatArray:
        try:
            proba: FloatArray = self.calibrator.predict_proba(scores)
            return proba
        except ValueError:
            # In terms of the table, if its values are the reason.
            if len(self.positions) > 1:
                names = self.columns
                arguments = replace(
                    FITTING,
                    scores=self.table.where,
                    row=place,
                    column=lambda j: f"column {names[j]!r}",
                )
                check_values(scores, None, self.calibrator.map_.input_scale, arguments)
            raise


class _Calibration:
    """Calibrates the blocks of one file while it is written."""

    def __init__(self, calibrated: CalibratedTable, prefix: str, suffix: str, mark: str) -> None:
        self.calibrated, self.mark = calibrated, mark
        self.table = calibrated.table
        self.n_rows = 0
        columns = self.table.columns
        names = calibrated.columns
        if columns.by_nature is not None:
            names = [self.file.scores]
        self.replaced = names
        self.added = [f"{prefix}{name}{suffix}" for name in names] if prefix or suffix else None
        taken = columns.names if columns.by_nature is None else self.file.arrays
        twice = [name for name in self.added or () if name in taken]
        if twice:
            what = "a column" if columns.by_nature is None else "an array"
            raise ValueError(
                f"{self.table.where} has {what} called {twice[0]!r} already. Choose another "
                "prefix or suffix."
            )

    @property
    def file(self) -> Any:
        """The file of a table with one."""
        return self.table.batches[0].file  # type: ignore[attr-defined]

    @cached_property
    def beside(self) -> list[str] | None:
        """Columns that the map would read if no others were chosen."""
        if self.table.columns.by_nature is not None:
            return None
        calibrated = self.calibrated
        try:
            fitted_on = getattr(calibrated.calibrator, "feature_names_in_", None)
            found = self.table.columns.of_map(None, _labels_of(calibrated.calibrator), fitted_on)
        except ValueError:
            return None
        names = [self.table.columns.names[i] for i in found]
        return None if set(names) & set(calibrated.columns) else names

    def of(
        self,
        scores: AnyFloatArray,
        place: Callable[[int], str],
        beside: Callable[[list[str]], AnyFloatArray] | None = None,
    ) -> FloatArray:
        """Calibrate a block of scores; ``beside`` reads other columns of it."""
        calibrated, is_first = self.calibrated, self.n_rows == 0
        if is_first and calibrated.calibrator.map_.input_scale == "logit":
            fix = "The map was fitted on logits: apply it to those."
            warn_if_probabilities(scores, self.table, fix)
        result = _in_columns(calibrated.calibrator, calibrated._predict(scores, place))
        if is_first and beside is not None and self.beside is not None:
            self._reject_own_output(scores, beside(self.beside))
        self.n_rows += len(scores)
        if calibrated.on_rows is not None:
            calibrated.on_rows(len(scores))
        return result

    def _reject_own_output(self, scores: AnyFloatArray, beside: AnyFloatArray) -> None:
        """Raise if the scores that the map was made for are next to what is to be calibrated."""
        calibrated = self.calibrated
        try:
            calibrator = calibrated.calibrator
            proba = _in_columns(calibrator, calibrator.predict_proba(beside))
        except ValueError:
            return
        if _nearly_equal(proba, scores) and not _nearly_equal(beside, scores):
            raise self.calibrated_already()

    def calibrated_already(self) -> ValueError:
        """Return the error about scores that this map has calibrated already."""
        return ValueError(
            f"{self.table.where} is calibrated by this map already "
            f"({', '.join(self.replaced[:6])}), and would be twice. Apply the map to the scores of "
            "the classifier; if these are new ones, drop the note 'dircal.calibrated' from the "
            "metadata of the Parquet file or the comment of the NPZ file."
        )

    def marks_after(self, text: bytes) -> bytes:
        """Return the marks of the written file, given those of the old one."""
        marks = _read_marks(text)
        if self.mark in (marks.get(name) for name in self.replaced):
            raise self.calibrated_already()
        marks |= dict.fromkeys(self.added or self.replaced, self.mark)
        return json.dumps({_MARKS: marks}).encode()


def _nearly_equal(first: AnyFloatArray, second: AnyFloatArray) -> bool:
    return first.shape == second.shape and np.allclose(first, second, _ROUNDING, 0)


def _read_marks(text: bytes) -> dict[str, str]:
    """Which columns were made by which map, as the note in a file has it."""
    try:
        marks = json.loads(text)[_MARKS]
        return {str(name): str(mark) for name, mark in marks.items()}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}


def _write_text(calibration: _Calibration, target: Path) -> int:
    import pyarrow as pa

    file, calibrated = calibration.file, calibration.calibrated
    names = file.names
    with file.target(target) as output:
        file.write_header(output, [*names, *(calibration.added or ())])
        for rows in file.batches():
            values = calibration.of(rows.numbers(calibrated.columns), rows.place, rows.numbers)
            columns = [rows.cells.column(i).combine_chunks() for i in range(len(names))]
            for position, column in zip(
                calibrated.positions if calibration.added is None else (), values.T, strict=False
            ):
                columns[position] = pa.array(np.ascontiguousarray(column))
            if calibration.added is not None:
                columns += [pa.array(np.ascontiguousarray(column)) for column in values.T]
            file.write(output, columns)
    return calibration.n_rows


def _write_array(calibration: _Calibration, target: Path) -> int:
    file: ArrayFile = calibration.file
    scores = file.read(file.scores)
    single = scores.dtype == np.float32
    calibrated = np.empty(scores.shape, np.float32 if single else np.float64)
    is_archive = file.path.suffix.lower() == ".npz"
    if calibration.added is not None and not is_archive:
        raise ValueError(
            "prefix and suffix add columns, and an NPY file has no names for them. Leave them out, "
            "or use NPZ."
        )
    comment = b""
    if is_archive:
        comment = calibration.marks_after(file.comment)
        if len(comment) > _COMMENT_LENGTH or (file.comment and not _read_marks(file.comment)):
            comment = file.comment
    step = max(1, calibration.table.limits.block_cells // scores.shape[1])
    for start in range(0, len(scores), step):
        block = scores[start : start + step]
        calibrated[start : start + step] = calibration.of(block, _places_from(start))
    file.write(
        target, calibrated, None if calibration.added is None else calibration.added[0], comment
    )
    return calibration.n_rows


def _write_parquet(calibration: _Calibration, target: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    [path], calibrated = calibration.table.files, calibration.calibrated
    positions, limits = calibrated.positions, calibration.table.limits
    with (
        arrow_errors(path),
        pq.ParquetFile(path, buffer_size=limits.buffer_bytes, pre_buffer=False) as file,
    ):
        old = file.schema_arrow
        schema = _changed_schema(calibration, old)
        places = positions if calibration.added is None else range(len(old), len(schema))
        blocks = file.iter_batches(batch_size=max(1, limits.block_cells // len(old)))
        writer = None
        waiting: list[Any] = []
        try:
            for block in blocks:
                if writer is None:
                    writer = _parquet_writer(target, file, schema, places)
                values = calibration.of(
                    _numbers(block, calibrated.columns),
                    _places_from(calibration.n_rows),
                    partial(_numbers, block),
                )
                arrays = list(block.columns) + [None] * (len(schema) - len(old))
                for place, column in zip(places, values.T, strict=True):
                    kind = schema.field(place).type
                    arrays[place] = pa.array(column.astype(kind.to_pandas_dtype()))
                waiting.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
                if sum(rows.num_rows for rows in waiting) >= limits.group_rows:
                    writer.write_table(pa.Table.from_batches(waiting))
                    waiting.clear()
            if writer is None:
                writer = pq.ParquetWriter(target, schema)
            writer.write_table(pa.Table.from_batches(waiting, schema))
        finally:
            if writer is not None:
                writer.close()
        if calibration.n_rows != file.metadata.num_rows:
            raise changed(path)
    return calibration.n_rows


def _places_from(first: int) -> Callable[[int], str]:
    """Return the names of rows of a block, by the number of its first row."""
    return lambda row: f"row {first + row}"


def _numbers(block: Any, names: Sequence[str]) -> AnyFloatArray:
    """Numbers (m, c) of columns of a record batch."""
    import pyarrow as pa

    matrix: npt.NDArray[Any] = as_matrix(pa.table(block.select(list(names))), "scores")[0]
    return matrix


def _changed_schema(calibration: _Calibration, schema: Any) -> Any:
    """Single precision stays single; all other numbers become double."""
    import pyarrow as pa

    positions = calibration.calibrated.positions
    single = all(schema.field(i).type == pa.float32() for i in positions)
    kind = pa.float32() if single else pa.float64()
    metadata = schema.metadata or {}
    marks = calibration.marks_after(metadata.get(_MARKS.encode(), b""))
    schema = schema.with_metadata({**metadata, _MARKS.encode(): marks})
    if calibration.added is not None:
        for name in calibration.added:
            schema = schema.append(pa.field(name, kind))
        return schema
    for i in positions:
        schema = schema.set(i, schema.field(i).with_type(kind))
    return schema


def _parquet_writer(target: Path, file: Any, schema: Any, places: Sequence[int]) -> Any:
    """Open a file that is compressed as the old one, column by column.

    It is opened after the first rows have been read, which checks the metadata that is used here:
    pyarrow ends the process if they are damaged.
    """
    import pyarrow.parquet as pq

    metadata = file.metadata
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    group = next(group for group in groups if group.num_rows > 0)
    parts = [group.column(i) for i in range(group.num_columns)]
    codecs = {part.path_in_schema: part.compression for part in parts}
    words = {part.path_in_schema for part in parts if part.has_dictionary_page}
    # Hardly two calibrated numbers are equal: a dictionary of them would only take time.
    words -= {schema.field(place).name for place in places}
    codecs = {path: "NONE" if c == "UNCOMPRESSED" else c for path, c in codecs.items()}
    return pq.ParquetWriter(target, schema, compression=codecs, use_dictionary=sorted(words))


def _calibrate_partition(frame: Any, calibrator: Any, names: list[str], added: list[str]) -> Any:
    """Replace or add calibrated columns in a partition."""
    proba = np.empty((0, len(added)))
    if len(frame):
        proba = _in_columns(calibrator, calibrator.predict_proba(frame[names].to_numpy()))
    return frame.assign(**dict(zip(added, proba.T, strict=True)))


def _in_columns(calibrator: Any, proba: FloatArray) -> FloatArray:
    """Put probabilities into the order of the columns that the scores came from."""
    places = np.searchsorted(calibrator.classes_, _labels_of(calibrator))
    return proba[:, places]


def _labels_of(calibrator: Any) -> LabelArray:
    """Return the label of each column that a calibrator reads."""
    labels: LabelArray = calibrator.column_classes_[-calibrator.n_features_in_ :]
    return labels
