"""``dircal compare``: several calibrators on the same folds."""

from typing import TYPE_CHECKING

import click

from dircal._numerals import format_measure, format_measure_range, format_pvalue
from dircal.cli._calibrators import make_calibrators
from dircal.cli._options import (
    common_options,
    cross_fitting_options,
    engine_options,
    label_columns_option,
    predictions_options,
    resampling_options,
)
from dircal.cli._output import print_json, print_lines, print_table

if TYPE_CHECKING:
    from dircal import Comparison
    from dircal.cli._source import PredictionsFile

__all__ = ["command"]

_DEFAULT = "temperature,vector,bayesian,dirichlet,isotonic"


@click.command(
    epilog="Example: dircal compare predictions.csv --label y --calibrators temperature,dirichlet"
)
@predictions_options
@label_columns_option
@cross_fitting_options
@resampling_options
@engine_options
@common_options
def command(
    source: "PredictionsFile",
    calibrators: str | None,
    folds: int | None,
    resamples: int,
    seed: int,
    engine: str | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Compare calibrators on a file of predictions.

    Each row is scored by maps that were fitted on other folds, beside no calibration. The change is
    the difference to no calibration; p is its p-value. A folder of files, or a pattern in quotes
    such as 'scores/*.parquet', is one table. Parquet may be of any size: the rows of a table that
    is read in parts are split into folds by their numbers.
    """
    import dircal

    names = calibrators or _DEFAULT
    with source.opened(engine, scheduler, annotators_share=True) as table:
        found = dircal.compare(
            make_calibrators(names, source.scale, table.found),
            table,
            cv=folds,
            n_resamples=resamples,
            random_state=seed,
        )
    if as_json:
        told = {"level": found.level, "scored": found.n_scored}
        print_json({"predictions": source.shown, **told, "rows": list(found)})
    else:
        _show(found)


def _show(table: "Comparison") -> None:
    """A table for each measure, so that all fits on a narrow screen."""
    from dircal.inference import WITHOUT_BIAS, show_corrected

    for measure in dict.fromkeys(row.measure for row in table):
        of_measure = [row for row in table if row.measure == measure]
        extra = any(row.is_corrected for row in of_measure)
        rows = [
            (
                row.calibrator,
                format_measure(row.value),
                *([show_corrected(row)] if extra else []),
                format_measure_range(row.low, row.high),
                "" if row.pvalue is None else f"{row.difference:+.4f}",
                "" if row.pvalue is None else format_pvalue(row.pvalue),
            )
            for row in of_measure
        ]
        interval = [WITHOUT_BIAS] * extra + [f"{table.level:.0%}"]
        print_table((measure, "value", *interval, "change", "p"), rows)
        print_lines([""])
    print_lines([f"{table.n_scored:,} rows were scored. {table.sources()}".rstrip()])
