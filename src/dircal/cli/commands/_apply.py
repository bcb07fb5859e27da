"""``dircal apply``: calibrate a file of predictions."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dircal._table_files import file_kind
from dircal.cli._options import common_options, map_argument, output_options, source_options
from dircal.cli._output import (
    check_outputs,
    is_stdout,
    name_of_output,
    output_file,
    print_answer,
)

if TYPE_CHECKING:
    from dircal.cli._source import PredictionsFile

__all__ = ["command"]


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
    columns are unchanged. Text and Parquet of any size are read and written in blocks.
    """
    import dircal
    from dircal._progress import Progress
    from dircal.io import to_bytes

    if not is_stdout(output) and file_kind(output) != source.kind:
        raise ValueError(
            f"--output {str(output)!r} must be of the type of the input, {source.kind}."
        )
    check_outputs([("--output", output)], force=force, inputs=[map_file])
    calibrator = dircal.load(map_file)
    mark = hashlib.sha256(to_bytes(calibrator)).hexdigest()[:16]
    with Progress("Calibrating", 0, "rows", counts_passes=True) as progress:
        table = replace(calibrator.predict_proba(source.table), on_rows=progress.advance)
        with output_file(output, force=force) as temporary:
            n_rows = table.write(temporary, prefix=prefix, suffix=suffix, mark=mark)
    document = {"output": output, "rows": n_rows, "columns": table.written(prefix, suffix)}
    line = f"{n_rows:,} rows calibrated, written to {name_of_output(output)}."
    print_answer(as_json, document, line)
