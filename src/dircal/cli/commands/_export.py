"""``dircal export``: take a fitted map to other programs."""

from pathlib import Path
from typing import Any

import click

from dircal.cli._options import common_options, map_argument, output_options
from dircal.cli._output import check_output, name_of_output, output_file, print_answer

__all__ = ["command"]


@click.command(epilog="Example: dircal export map.json --to onnx -o map.onnx")
@map_argument
@click.option(
    "--to",
    "kind",
    required=True,
    type=click.Choice(["onnx", "torch", "python"]),
    help="An ONNX model, a PyTorch program, or a Python file that needs nothing.",
)
@click.option(
    "--dtype",
    type=click.Choice(["mixed", "float64", "float32"]),
    help="Precision. ONNX: mixed, which is float32 outside and float64 inside, unless given. "
    "PyTorch: float64 or float32.",
)
@output_options("Where to write it.")
@common_options
def command(
    map_file: Path, kind: str, dtype: Any, output: Path, force: bool, as_json: bool
) -> None:
    """Take a fitted map to ONNX, PyTorch or plain Python.

    MAP is what `dircal fit` has written. What comes out needs no dircal where it runs.
    """
    import dircal

    check_output(output, force=force, inputs=[map_file])
    calibrator = dircal.load(map_file)
    precision = {} if dtype is None else {"dtype": dtype}
    with output_file(output, force=force) as temporary:
        if kind == "onnx":
            dircal.export.to_onnx(calibrator, temporary, **precision)
        elif kind == "torch":
            dircal.export.to_torch(calibrator, temporary, **precision)
        else:
            dircal.export.to_python(calibrator, temporary)
    document = {"output": output, "to": kind, "classes": calibrator.classes_}
    print_answer(as_json, document, f"Written to {name_of_output(output)}.")
