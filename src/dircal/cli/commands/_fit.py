"""``dircal fit``: from a file of predictions with labels to a map."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from dircal.cli._calibrators import NAMES, check_name, check_settings, make_calibrator
from dircal.cli._options import (
    common_options,
    engine_options,
    label_columns_option,
    output_options,
    predictions_options,
    weights_option,
)
from dircal.cli._output import name_of_output, output_file, print_answer

if TYPE_CHECKING:
    from dircal.cli._source import PredictionsFile

__all__ = ["command"]


@click.command(
    epilog="Example: dircal fit predictions.csv --label y --calibrator dirichlet -o map.json"
)
@predictions_options
@weights_option
@label_columns_option
@click.option(
    "--calibrator",
    metavar="NAME",
    default="auto",
    show_default=True,
    callback=lambda _, __, value: check_name(value),
    help=f"Which map, of {', '.join(NAMES)}, or the class of another calibrator; beta, histogram, "
    "isotonic and platt take each class against the rest.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    callback=lambda _, __, value: check_settings(value),
    help="An option of the calibrator, such as lam=0.01; may be repeated.",
)
@click.option(
    "--uncertainty",
    type=click.Choice(["none", "posterior"]),
    default="none",
    show_default=True,
    help="Whether the file keeps what `predict_interval` of a Bayesian map needs, which is large.",
)
@engine_options
@output_options("Where to write the map, as JSON.")
@common_options
def command(
    source: "PredictionsFile",
    calibrator: str,
    options: tuple[str, ...],
    uncertainty: Literal["none", "posterior"],
    engine: str | None,
    scheduler: str | None,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Learn a map from a file of predictions with labels.

    PREDICTIONS is CSV or TSV (also .gz), Parquet, NPY or NPZ, of rows that the classifier was not
    trained on. The columns with the scores are those called like the labels, unless --columns
    names others. A folder of files, or a pattern in quotes such as 'scores/*.parquet', is one
    table. Parquet may be of any size: more than fits into memory is read again in every pass.
    """
    import dircal
    from dircal.inference import fit_table

    with source.opened(engine, scheduler) as table:
        columns = table.found
        classes = columns.classes.tolist()
        found = fit_table(
            make_calibrator(calibrator, source.scale, columns, classes=classes, options=options),
            table,
        )
    with output_file(output, force=force) as temporary:
        dircal.save(found.calibrator, temporary, uncertainty=uncertainty)
    lines = [*found.sentences(), f"Written to {name_of_output(output)}."]
    print_answer(as_json, {"output": output, **found.to_dict()}, *lines)
