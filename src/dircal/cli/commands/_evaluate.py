"""``dircal evaluate``: measures with intervals, tests, and gates for other people's CI."""

from typing import TYPE_CHECKING, Any

import click

from dircal.cli._errors import GATE_FAILED
from dircal.cli._gates import Gate, parse_gate
from dircal.cli._options import (
    common_options,
    engine_options,
    predictions_options,
    resampling_options,
)
from dircal.cli._output import print_json, print_lines, print_table

if TYPE_CHECKING:
    from dircal.cli._evaluation import Evaluation
    from dircal.cli._source import PredictionsFile

__all__ = ["command"]

_LEFT_OUT = (
    "Read in parts: intervals, tests and measures that need all rows at once are left out. Measure "
    "one file of a sample for those."
)
_OF_WHAT = (
    "Chance makes calibration errors too large: their intervals are of the value without bias."
)


@click.command(
    epilog='Example: dircal evaluate test.csv --label y --fail-if "classwise_ece > 0.02"'
)
@predictions_options
@click.option(
    "--fail-if",
    "gates",
    multiple=True,
    metavar="RULE",
    callback=lambda _, __, rules: [parse_gate(rule) for rule in rules],
    help='Exit with code 1 if this holds, such as "classwise_ece > 0.02"; may be repeated. Names '
    "are those of the measures, with .low or .high for an end of the interval and .pvalue for the "
    "test.",
)
@resampling_options
@engine_options
@common_options
@click.pass_context
def command(
    context: click.Context,
    source: "PredictionsFile",
    gates: list[Gate],
    resamples: int,
    seed: int,
    engine: str | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Measure a file of predictions, with intervals and tests.

    PREDICTIONS is CSV or TSV (also .gz), Parquet, NPY or NPZ, with a column of true labels. A
    folder of Parquet files, or a pattern in quotes such as 'scores/*.parquet', is one table of any
    size: it is read a part at a time, without intervals and tests, which need all rows at once.
    """
    from dircal.cli._evaluation import evaluate_rows
    from dircal.cli._predictions_file import read_rows
    from dircal.cli._streamed import is_streamed

    if is_streamed(source, engine):
        values = _evaluate_streamed(source, gates, (engine, scheduler), as_json)
        if any(gate.fires(values) for gate in gates):
            context.exit(GATE_FAILED)
        return
    rows = read_rows(source)
    found = evaluate_rows(rows, source.scale, n_resamples=resamples, seed=seed)
    values = found.values()
    if as_json:
        print_json(_document(source, found, gates))
    else:
        _show(found)
        print_lines(gate.sentence(values) for gate in gates)
    if any(gate.fires(values) for gate in gates):
        context.exit(GATE_FAILED)


def _evaluate_streamed(
    source: "PredictionsFile", gates: list[Gate], how: tuple[str | None, str | None], as_json: bool
) -> dict[str, float]:
    """Measure files that are read in parts, and say so; gives the measures."""
    from dircal.cli._streamed import engine_client, progress_of, read_streamed
    from dircal.distributed import SUM_MEASURES, check_rows, measure_rows
    from dircal.inference import show_number
    from dircal.validation import MEASURING

    for gate in gates:
        if gate.name not in SUM_MEASURES:
            raise ValueError(
                f"--fail-if {gate.rule!r}: {gate.name!r} is not measured of a table in parts. "
                f"There are {', '.join(SUM_MEASURES)}."
            )
    table = read_streamed(source)
    with engine_client(*how) as client, progress_of("Measuring", table) as progress:
        selection, classes = table.selection(source, client), table.classes.tolist()
        data = check_rows(selection, classes, source.scale, MEASURING, tell=progress.advance)
        found = measure_rows(data, None, source.scale)
    values = found.measures
    if as_json:
        print_json(
            {
                "predictions": source.path,
                "rows": found.n_rows,
                "classes": found.classes,
                "measures": {name: {"value": value} for name, value in values.items()},
                "gates": _outcomes(gates, values),
                "failed": any(gate.fires(values) for gate in gates),
            }
        )
    else:
        print_lines([f"{found.n_rows:,} rows of {len(found.classes)} classes", ""])
        print_table(("measure", "value"), [(n, show_number(v)) for n, v in values.items()])
        print_lines(["", _LEFT_OUT, *(gate.sentence(values) for gate in gates)])
    return values


def _outcomes(gates: list[Gate], values: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {"rule": gate.rule, "value": values[gate.name], "failed": gate.fires(values)}
        for gate in gates
    ]


def _show(found: "Evaluation") -> None:
    from dircal.inference import WITHOUT_BIAS, show_corrected, show_number, show_range

    print_lines([f"{found.n_samples:,} rows of {len(found.classes)} classes", ""])
    rows = [
        (one.measure, show_number(one.value), show_corrected(one), show_range(one.low, one.high))
        for one in found.measures
    ]
    print_table(("measure", "value", WITHOUT_BIAS, "95 %"), rows)
    print_lines([_OF_WHAT] if any(one.is_corrected for one in found.measures) else [])
    print_lines(["", *(f"- {sentence}" for sentence in found.sentences()), ""])


def _document(source: "PredictionsFile", found: "Evaluation", gates: list[Gate]) -> dict[str, Any]:
    values = found.values()
    return {
        "predictions": source.shown,
        **found.document(),
        "gates": _outcomes(gates, values),
        "failed": any(gate.fires(values) for gate in gates),
    }
