"""``dircal compare``: several calibrators on the same folds."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from dircal.cli._calibrators import make_calibrators
from dircal.cli._options import (
    calibrators_option,
    common_options,
    predictions_options,
    resampling_options,
)
from dircal.cli._output import print_json, print_lines, print_table, short, show_chance

if TYPE_CHECKING:
    from dircal import Comparison
    from dircal.cli._predictions_file import PredictionsFile

__all__ = ["command"]

_DEFAULT = "temperature,vector,bayesian,dirichlet,isotonic"


@click.command(
    epilog="Example: dircal compare predictions.csv --label y --calibrators temperature,dirichlet"
)
@predictions_options
@calibrators_option
@click.option(
    "--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Number of folds."
)
@resampling_options
@common_options
def command(
    source: "PredictionsFile",
    calibrators: str | None,
    folds: int,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Compare calibrators on a file of predictions.

    Each row is scored by maps that were fitted on other folds, beside no calibration. The change is
    the difference to no calibration; p is its p-value.
    """
    import dircal
    from dircal.cli._predictions_file import read_rows

    rows = read_rows(source)
    maps = make_calibrators(
        calibrators or _DEFAULT,
        scale=source.scale,
        n_classes=len(rows.classes),
        n_columns=len(rows.columns),
    )
    table = dircal.compare(
        maps,
        rows.scores,
        rows.labels,
        cv=folds,
        n_resamples=resamples,
        random_state=seed,
        classes=rows.classes.tolist(),
    )
    if as_json:
        lines = [asdict(row) for row in table]
        print_json({"predictions": source.path, "level": table.level, "rows": lines})
    else:
        _show(table)


def _show(table: "Comparison") -> None:
    """A table for each measure, so that all fits on a narrow screen."""
    for measure in dict.fromkeys(row.measure for row in table):
        rows = []
        for row in table:
            if row.measure != measure:
                continue
            ends = "" if row.low is None else f"{short(row.low)} to {short(row.high)}"
            change = "" if row.pvalue is None else f"{row.difference:+.4f}"
            rows.append((row.calibrator, short(row.value), ends, change, show_chance(row.pvalue)))
        print_table((measure, "value", f"{table.level:.0%}", "change", "p"), rows)
        print_lines([""])
