"""``dircal decide``: the best action for each row of a file, by what actions cost."""

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dircal._numerals import format_interval, format_pvalue
from dircal.cli._options import (
    COSTS_HELP,
    FILE,
    ask_option,
    common_options,
    finite,
    source_options,
)
from dircal.cli._output import check_outputs, name_of_output, output_file, print_answer

if TYPE_CHECKING:
    from dircal.cli._costs_file import CostsFile
    from dircal.cli._source import PredictionsFile

__all__ = ["command"]


@click.command(
    epilog="Example: dircal decide new.csv --costs costs.csv --ask 2 --map map.json -o actions.csv"
)
@source_options
@click.option("--costs", "costs_file", required=True, type=FILE, help=COSTS_HELP)
@ask_option
@click.option("--map", "map_file", type=FILE, help="Calibrate the scores with this map first.")
@click.option(
    "--label",
    default="",
    metavar="NAME",
    help="Column with the true labels, to tell what the actions have cost.",
)
@click.option(
    "--max-risk",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    callback=finite,
    help="Also find the confidence from which on at most this share of predictions is wrong, "
    "with a certainty of 95 %; needs --label.",
)
@click.option("-o", "--output", type=FILE, help="Where to write the actions, as CSV.")
@click.option("--force", is_flag=True, help="Replace the output file if it is there already.")
@common_options
def command(
    source: "PredictionsFile",
    costs_file: Path,
    ask: float | None,
    map_file: Path | None,
    max_risk: float | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Take the action of least expected cost for each row of a file.

    PREDICTIONS is CSV or TSV (also .gz), Parquet, NPY or NPZ with calibrated probabilities, or with
    the scores that --map reads. With true labels it also tells what the actions have cost, whether
    that was foretold, and what the map has saved.
    """
    import dircal
    from dircal.cli._costs_file import read_costs
    from dircal.decide import best_actions

    if max_risk is not None and not source.label:
        raise click.UsageError("--max-risk needs --label, the column with the true labels.")
    check_outputs([("--output", output)], force=force, inputs=[costs_file, map_file])
    calibrator = None if map_file is None else dircal.load(map_file)
    rows = _read(source, read_costs(costs_file), calibrator)
    costs = rows.costs if ask is None else rows.costs.with_question(ask)
    decisions = best_actions(rows.proba, costs, classes=rows.classes)
    document, lines = _told(rows, costs, max_risk)
    if output is not None:
        with output_file(output, force=force) as temporary:
            _write(temporary, decisions)
        document["output"] = output
        lines.append(f"Actions written to {name_of_output(output)}.")
    shares = {name: float((decisions.actions == name).mean()) for name in costs.actions}
    n_rows = len(decisions.actions)
    document = {"predictions": source.path, "rows": n_rows, "actions": shares, **document}
    told = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())
    print_answer(as_json, document, f"{n_rows:,} rows: {told}.", *lines)


@dataclass(frozen=True)
class _Rows:
    """Probabilities with the label of each column, and the costs of these classes.

    ``before`` are those that a map was given, None without one; ``y`` are labels, if there are any.
    """

    proba: Any
    classes: Any
    costs: Any
    y: Any
    before: Any = None


def _read(source: "PredictionsFile", costs_file: "CostsFile", calibrator: Any) -> _Rows:
    """The rows of a file, calibrated where there is a map."""
    import numpy as np

    table = source.table
    if calibrator is None:
        table = replace(table, classes=costs_file.classes)
        rows, classes = table.loaded, table.found.classes
        return _Rows(rows.scores, classes, costs_file.table(np.sort(classes)), rows.labels)
    y = table.labels if source.label else None
    given = calibrator.predict_proba(table).scores
    classes, before = calibrator.classes_, None
    if calibrator.input_scale == "probability" and calibrator.n_features_in_ == len(classes):
        before = given[:, np.argsort(calibrator.column_classes_)]
    return _Rows(calibrator.predict_proba(given), classes, costs_file.table(classes), y, before)


def _told(rows: _Rows, costs: Any, max_risk: float | None) -> tuple[dict[str, Any], list[str]]:
    """What is expected, and with labels what came of it."""
    from dircal.decide import expected_cost, realised_cost, rejection_rule, savings

    proba, y, classes = rows.proba, rows.y, rows.classes
    told = expected_cost(proba, costs, classes=classes)
    document: dict[str, Any] = {"expected_cost": told}
    lines = [f"Expected cost {_interval(told.mean, told.low, told.high)} a row."]
    if y is None:
        return document, lines
    paid = realised_cost(y, proba, costs, classes=classes)
    document["realised_cost"] = paid
    honest = "as foretold" if paid.pvalue >= 1.0 - paid.level else "not as foretold"
    lines.append(
        f"They have cost {_interval(paid.mean, paid.low, paid.high)} a row, {honest} (p-value "
        f"{format_pvalue(paid.pvalue)})."
    )
    if rows.before is not None:
        saved = savings(y, rows.before, proba, costs, classes=classes)
        document["savings"] = saved
        lines.append(
            f"Without the map they would have cost {saved.before:.4g}: it saves "
            f"{_interval(saved.saved, saved.low, saved.high)} a row."
        )
    if max_risk is not None:
        rule = rejection_rule(y, proba, max_risk=max_risk, classes=classes)
        document["rejection_rule"] = rule
        lines.append(f"{str(rule).strip('<>').partition(': ')[2].capitalize()}.")
    return document, lines


def _interval(value: float, low: float, high: float) -> str:
    return f"{value:.4g} ({format_interval(low, high)})"


def _write(path: Path, decisions: Any) -> None:
    """A line for each row, in its order."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["action", "expected_cost", "runner_up", "margin"])
        writer.writerows(
            zip(
                decisions.actions.tolist(),
                decisions.expected_cost.tolist(),
                decisions.runner_up.tolist(),
                decisions.margin.tolist(),
                strict=True,
            )
        )
