"""``dircal evaluate``: measures with intervals, tests, and gates for other people's CI."""

from typing import TYPE_CHECKING, Any

import click

from dircal.cli._errors import GATE_FAILED
from dircal.cli._gates import Gate, parse_gate
from dircal.cli._options import common_options, predictions_options, resampling_options
from dircal.cli._output import print_json, print_lines, print_table

if TYPE_CHECKING:
    from dircal.cli._evaluation import Evaluation
    from dircal.cli._source import PredictionsFile

__all__ = ["command"]

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
@common_options
@click.pass_context
def command(
    context: click.Context,
    source: "PredictionsFile",
    gates: list[Gate],
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Measure a file of predictions, with intervals and tests.

    PREDICTIONS is CSV or TSV (also .gz), Parquet, NPY or NPZ, with a column of true labels.
    """
    from dircal.cli._evaluation import evaluate_rows
    from dircal.cli._predictions_file import read_rows

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
        "gates": [
            {"rule": gate.rule, "value": values[gate.name], "failed": gate.fires(values)}
            for gate in gates
        ],
        "failed": any(gate.fires(values) for gate in gates),
    }
