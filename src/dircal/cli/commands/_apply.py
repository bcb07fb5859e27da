"""``dircal apply``: calibrate a file of predictions, a chunk at a time."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dircal.cli._kinds import input_kind, kind_of
from dircal.cli._options import common_options, map_argument, output_options, source_options
from dircal.cli._output import (
    check_outputs,
    is_stdout,
    name_of_output,
    output_file,
    print_answer,
)
from dircal.cli._own_output import made_by, note_maps

if TYPE_CHECKING:
    from dircal.cli._source import PredictionsFile
    from dircal.cli.tables import AbstractTable

__all__ = ["command"]

# Of float32, in which a file may keep what was calibrated.
_ROUNDING = 1e-6


@click.command(epilog="Example: dircal apply map.json predictions.csv -o calibrated.csv")
@map_argument
@source_options
@click.option("--prefix", default="", help="Keep the scores and add columns with this before them.")
@click.option("--suffix", default="", help="The same, with this after them.")
@output_options("Where to write the calibrated predictions, as a file of the same type.")
@common_options
def command(
    map_file: Path,
    source: "PredictionsFile",
    prefix: str,
    suffix: str,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Calibrate a file of predictions with a fitted map.

    MAP is what `dircal fit` has written. The columns with the scores are those that the map was
    fitted on, or those called like its labels, unless --columns names others. The calibrated
    probabilities take their place, or stand behind all columns with --prefix or --suffix; all other
    columns stay as they are. Files of any size are read and written in chunks.
    """
    import dircal
    from dircal.cli._unchanged import unchanged

    if not is_stdout(output) and kind_of(output) != input_kind(source.path):
        raise ValueError(
            f"--output {str(output)!r} must be of the type of the input, {input_kind(source.path)}."
        )
    check_outputs([("--output", output)], force=force, inputs=[map_file])
    calibrator = dircal.load(map_file)
    with output_file(output, force=force) as temporary, unchanged(source.path):
        count, names, marks = _calibrate(calibrator, source, temporary, prefix, suffix)
    if not is_stdout(output):
        note_maps(output, marks)
    document = {"output": output, "rows": count, "columns": names}
    line = f"{count:,} rows calibrated, written to {name_of_output(output)}."
    print_answer(as_json, document, line)


def _calibrate(
    calibrator: Any, source: "PredictionsFile", target: Path, prefix: str, suffix: str
) -> tuple[int, list[str], dict[str, str]]:
    """Write the calibrated file; gives how many rows, the names of the columns, and the marks."""
    from dircal._progress import Progress
    from dircal.cli._selection import columns_of_map
    from dircal.cli._source import open_file
    from dircal.cli._unchanged import changed
    from dircal.cli.tables import Change
    from dircal.io import to_bytes

    with open_file(source) as table:
        columns = columns_of_map(table, source.columns, calibrator)
        names = [table.names[i] for i in columns]
        added = _added_names(table, names, prefix, suffix)
        mark = hashlib.sha256(to_bytes(calibrator)).hexdigest()[:16]
        marks = {**made_by(source.path), **table.marks}
        if mark in (marks.get(name) for name in table.names_to_add(names)):
            raise _calibrated_already(source)
        rows = _Rows(calibrator, source, names, _scores_beside(table, columns, calibrator))
        with Progress("Calibrating", table.size, table.unit) as progress:
            change = Change(columns, added, rows.calibrated, progress.advance, mark)
            table.rewrite(target, change)
        if table.unit == "rows" and rows.count != table.size:
            raise changed(source.path)
        if rows.changed:
            marks |= dict.fromkeys(added or table.names_to_add(names), mark)
    return rows.count, added or names, marks


class _Rows:
    """Calibrates chunks and counts their rows."""

    def __init__(
        self,
        calibrator: Any,
        source: "PredictionsFile",
        names: list[str],
        beside: list[int] | None,
    ) -> None:
        import numpy as np

        self.count = 0
        self.changed = False
        self._beside = beside
        self._calibrator = calibrator
        self._source = source
        self._names = names
        labels = calibrator.column_classes_[-calibrator.n_features_in_ :]
        # Probabilities follow the sorted labels, and go to the columns that the scores came from.
        self._order = np.searchsorted(calibrator.classes_, labels)
        self._is_sorted = np.array_equal(self._order, np.arange(len(calibrator.classes_)))

    def calibrated(self, chunk: Any, scores: Any) -> Any:
        """Probabilities (m, c) in the order of the columns."""
        from dircal.cli._predictions_file import arguments_of, doubt_logits
        from dircal.tables import check_values

        if self.count == 0 and self._calibrator.input_scale == "logit":
            doubt_logits(scores, self._source, "The map was fitted on logits: apply it to those.")
        if self.count == 0 and self._beside is not None:
            self._refuse_own_output(scores, chunk.numbers(self._beside))
        try:
            proba = self._calibrator.predict_proba(scores)
        except ValueError:
            # Say it in terms of the file where the numbers are to blame.
            arguments = arguments_of(self._source, self._names, chunk.place)
            if len(self._names) > 1:
                check_values(scores, None, self._calibrator.input_scale, arguments)
            raise
        self.count += len(proba)
        result = self._in_columns(proba)
        self.changed = self.changed or not _nearly_equal(result, scores)
        return result

    def _in_columns(self, proba: Any) -> Any:
        return proba if self._is_sorted else proba[:, self._order]

    def _refuse_own_output(self, scores: Any, beside: Any) -> None:
        """The scores that the map was made for stand beside what is to be calibrated."""
        try:
            proba = self._in_columns(self._calibrator.predict_proba(beside))
        except ValueError:
            return
        if _nearly_equal(proba, scores) and not _nearly_equal(beside, scores):
            raise _calibrated_already(self._source)


def _nearly_equal(first: Any, second: Any) -> bool:
    import numpy as np

    return first.shape == second.shape and np.allclose(first, second, _ROUNDING, 0)


def _scores_beside(table: "AbstractTable", columns: list[int], calibrator: Any) -> list[int] | None:
    """Columns of the file that the map would read by itself, if others were chosen."""
    from dircal.cli._selection import columns_of_map

    if table.score_columns is not None:
        return None
    try:
        beside = columns_of_map(table, None, calibrator)
    except ValueError:
        return None
    return None if set(beside) & set(columns) else beside


def _calibrated_already(source: "PredictionsFile") -> ValueError:
    columns = "the columns" if source.columns is None else f"--columns {source.columns!r}"
    return ValueError(
        f"{str(source.path)!r} is calibrated by this map already ({columns}), and would be twice. "
        "Apply the map to the scores of the classifier; if these are new ones, drop the note "
        "'dircal.calibrated' from the metadata of a Parquet file, the comment of an NPZ file, or "
        "the attributes of another file, which a copy does not have."
    )


def _added_names(
    table: "AbstractTable", names: list[str], prefix: str, suffix: str
) -> list[str] | None:
    """Names of new columns; None where the scores are replaced."""
    if not prefix and not suffix:
        return None
    added = [f"{prefix}{name}{suffix}" for name in table.names_to_add(names)]
    taken = [name for name in added if table.has(name)]
    if taken:
        what = "a column" if table.score_columns is None else "an array"
        raise ValueError(
            f"{str(table.path)!r} has {what} called {taken[0]!r} already. Choose another "
            "--prefix or --suffix."
        )
    return added
