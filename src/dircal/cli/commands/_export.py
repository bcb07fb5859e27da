"""``dircal export``: take a fitted map to other programs."""

from pathlib import Path
from typing import Any

import click

from dircal.cli._options import common_options, map_argument, output_options
from dircal.cli._output import check_outputs, name_of_output, output_file, print_answer

__all__ = ["command"]

# They compute in double precision wherever they run.
_WITHOUT_PRECISION = ("python", "sql")


@click.command(epilog="Example: dircal export map.json --to onnx -o map.onnx")
@map_argument
@click.option(
    "--to",
    "kind",
    required=True,
    type=click.Choice(["onnx", "torch", "keras", "python", "sql"]),
    help="An ONNX model, a PyTorch program, a Keras model, a Python file that needs nothing, or a "
    "query.",
)
@click.option(
    "--dtype",
    type=click.Choice(["mixed", "input", "float64", "float32"]),
    help="Precision. ONNX: mixed by default. PyTorch: input by default. Both take and return "
    "float32 and compute in float64. Keras: float64 by default.",
)
@click.option(
    "--table",
    multiple=True,
    help="SQL: name of the table with the scores; for one in a schema, first that of the schema "
    "and then its own.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    help="SQL: column with the scores of a class, once for each, in the order of the fit. The "
    "names or labels of the fit unless given.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    help="SQL: column that is added for a class, once for each, in the order of the labels. "
    "calibrated_ and the label unless given.",
)
@click.option(
    "--dialect",
    type=click.Choice(["duckdb", "postgres", "spark", "bigquery"]),
    help="SQL: whose it is; that of DuckDB unless given.",
)
@output_options("Where to write it.")
@common_options
def command(
    map_file: Path,
    kind: str,
    dtype: Any,
    table: tuple[str, ...],
    columns: tuple[str, ...],
    names: tuple[str, ...],
    dialect: Any,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Take a fitted map to ONNX, PyTorch, Keras, plain Python or a database.

    MAP is what `dircal fit` has written. What comes out needs no dircal where it runs, but for
    Keras.
    """
    import dircal

    query = {"table": table, "columns": columns, "names": names, "dialect": dialect}
    options = {name: value for name, value in query.items() if value}
    if kind == "sql" and not table:
        raise click.UsageError("--to sql needs the name of the table with the scores: --table.")
    if kind != "sql" and options:
        raise click.UsageError("--table, --column, --name and --dialect are for --to sql only.")
    if dtype is not None and kind in _WITHOUT_PRECISION:
        raise click.UsageError("--dtype is for --to onnx, torch and keras only.")
    check_outputs([("--output", output)], force=force, inputs=[map_file])
    calibrator = dircal.load(map_file)
    precision = {} if dtype is None else {"dtype": dtype}
    with output_file(output, force=force) as temporary:
        getattr(dircal.export, f"to_{kind}")(calibrator, temporary, **precision, **options)
    document = {"output": output, "to": kind, "classes": calibrator.classes_}
    print_answer(as_json, document, f"Written to {name_of_output(output)}.")
