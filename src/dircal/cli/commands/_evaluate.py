"""``dircal evaluate``: measures with intervals, tests, and gates for other people's CI."""

from typing import TYPE_CHECKING

import click

from dircal._numerals import format_measure, format_measure_range
from dircal.cli._errors import GATE_FAILED
from dircal.cli._gates import Gate, parse_gate
from dircal.cli._options import (
    common_options,
    engine_options,
    label_columns_option,
    predictions_options,
    resampling_options,
)
from dircal.cli._output import print_json, print_lines, print_table

if TYPE_CHECKING:
    from dircal.cli._source import PredictionsFile
    from dircal.inference import Evaluation

__all__ = ["command"]

_OF_WHAT = (
    "Chance makes calibration errors too large: their intervals are of the value without bias."
)


@click.command(
    epilog='Example: dircal evaluate test.csv --label y --fail-if "classwise_ece > 0.02"'
)
@predictions_options
@label_columns_option
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
    folder of files, or a pattern in quotes such as 'scores/*.parquet', is one table, and Parquet
    may be of any size. From 100,000 rows on most intervals and tests come from moments instead of
    draws, and the output reports which.
    """
    import dircal

    with source.opened(engine, scheduler, annotators_share=True) as table:
        found = dircal.evaluate(
            table, input_scale=source.scale, n_resamples=resamples, random_state=seed
        )
    values = found.values()
    for gate in gates:
        if gate.name not in values:
            raise ValueError(
                f"--fail-if {gate.rule!r} asks for a test, which needs one label for each row; "
                "with --label-columns there is none. Ask for a measure or an end of its interval."
            )
    failed = any(gate.fires(values) for gate in gates)
    if as_json:
        outcomes = [gate.to_dict(values) for gate in gates]
        print_json(
            {"predictions": source.shown, **found.to_dict(), "gates": outcomes, "failed": failed}
        )
    else:
        _show(found)
        print_lines(gate.sentence(values) for gate in gates)
    if failed:
        context.exit(GATE_FAILED)


def _show(found: "Evaluation") -> None:
    from dircal.inference import WITHOUT_BIAS

    print_lines([f"{found.n_rows:,} rows of {len(found.classes)} classes", ""])
    rows, is_corrected = [], False
    for name, value in found.measures.items():
        one, corrected, ends = found.intervals.get(name), "", ""
        if one is not None:
            ends = format_measure_range(one.low, one.high)
            corrected = format_measure(one.corrected) if one.corrected != value else ""
            is_corrected |= bool(corrected)
        rows.append((name, format_measure(value), corrected, ends))
    print_table(("measure", "value", WITHOUT_BIAS, "95 %"), rows)
    print_lines([_OF_WHAT] if is_corrected else [])
    print_lines(["", *(f"- {sentence}" for sentence in found.sentences()), ""])
    print_lines([source, ""] if (source := found.source()) else [])
